//! A field on a plane through the middle of a link, pixel by pixel.

use glam::DVec3;
use rayon::prelude::*;

use crate::{sdf::Field, surface::Surface};

/// Readings on a rectangle parallel to two axes.
pub struct Slice {
    /// The axis to the right and the axis upwards, 0 to 2.
    pub axes: (usize, usize),
    /// The lower left corner; its third coordinate is that of the plane. Link frame, metres.
    pub corner: DVec3,
    /// Edge of a pixel on both axes, metres.
    pub pixel: f64,
    /// Pixels to the right.
    pub width: usize,
    /// Pixels upwards.
    pub height: usize,
    /// Signed distance, metres; rows from the bottom.
    pub values: Vec<f64>,
    /// Upper less lower end of the certified interval, metres.
    pub widths: Vec<f64>,
    /// True if the pixel lies on the border of a subspace.
    pub borders: Vec<bool>,
}

/// The longer side of a slice, pixels.
const LONGER_SIDE: usize = 700;
/// Margin around the surface, as a share of the surface's longer side in the plane.
const MARGIN: f64 = 0.12;

impl Slice {
    /// Reads a plane through the middle of the surface's box; `normal`: the axis across the plane, 0 to 2.
    pub fn new(field: &Field, surface: &Surface, normal: usize) -> Slice {
        let bounds = surface.bounds();
        let axes = [(1, 2), (0, 2), (0, 1)][normal];
        let (size, mut corner) = (bounds.size(), bounds.centre());
        let longer = size[axes.0].max(size[axes.1]);
        let margin = MARGIN * longer;
        let pixel = (longer + 2.0 * margin) / LONGER_SIDE as f64;
        let pixels = |axis: usize| ((size[axis] + 2.0 * margin) / pixel).round().max(1.0) as usize;
        let (width, height) = (pixels(axes.0), pixels(axes.1));
        for (axis, n) in [(axes.0, width), (axes.1, height)] {
            corner[axis] -= 0.5 * n as f64 * pixel;
        }
        let mut slice = Slice {
            axes,
            corner,
            pixel,
            width,
            height,
            values: Vec::new(),
            widths: Vec::new(),
            borders: vec![false; width * height],
        };
        let read = |i: usize| {
            let reading = field.read(surface.mesh(), slice.at(i % width, i / width));
            (reading.value, reading.upper - reading.lower)
        };
        // Half a million readings, each independent of the others.
        (slice.values, slice.widths) = (0..width * height).into_par_iter().map(read).unzip();
        // The three axes are 0, 1 and 2, so the third is 3 less the sum of the other two.
        slice.mark_borders(field, 3 - axes.0 - axes.1);
        slice
    }

    /// Returns the centre of a pixel.
    fn at(&self, i: usize, j: usize) -> DVec3 {
        let mut p = self.corner;
        p[self.axes.0] += (i as f64 + 0.5) * self.pixel;
        p[self.axes.1] += (j as f64 + 0.5) * self.pixel;
        p
    }

    fn mark_borders(&mut self, field: &Field, normal: usize) {
        let (u, v) = self.axes;
        let plane = self.corner[normal];
        // Intervals are half open: a plane through a face that two subspaces share is in one of them.
        for (min, max) in field.subspaces().filter(|(a, b)| a[normal] <= plane && plane < b[normal])
        {
            let place = |p: DVec3, axis: usize| (p[axis] - self.corner[axis]) / self.pixel;
            let (left, right) = (place(min, u).floor(), place(max, u).floor());
            let (low, high) = (place(min, v).floor(), place(max, v).floor());
            for i in left.max(0.0) as usize..self.width.min(right.max(0.0) as usize) {
                self.mark(i as f64, low);
                self.mark(i as f64, high);
            }
            for j in low.max(0.0) as usize..self.height.min(high.max(0.0) as usize) {
                self.mark(left, j as f64);
                self.mark(right, j as f64);
            }
        }
    }

    fn mark(&mut self, i: f64, j: f64) {
        if (0.0..self.width as f64).contains(&i) && (0.0..self.height as f64).contains(&j) {
            self.borders[j as usize * self.width + i as usize] = true;
        }
    }

    /// Returns true if the value is on another level than at the right or the upper neighbour.
    pub fn crosses(&self, i: usize, j: usize, level: impl Fn(f64) -> i64) -> bool {
        let at = |i: usize, j: usize| level(self.values[j * self.width + i]);
        let here = at(i, j);
        // Two of four neighbours are compared, so that each change of level is drawn once.
        (i + 1 < self.width && at(i + 1, j) != here)
            || (j + 1 < self.height && at(i, j + 1) != here)
    }

    /// Returns the least and the greatest of some numbers.
    pub fn range(numbers: &[f64]) -> (f64, f64) {
        let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        (least, numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    }
}
