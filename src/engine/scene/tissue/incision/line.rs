//! A line on a surface, drawn along edges of a patch.

use std::collections::HashMap;

use glam::DVec3;

use super::incision_error::IncisionError;
use crate::{
    geometry::{
        TriangleId,
        distance::point_triangle::{closest_point, nearest_on_segment},
        mesh::split_patch::{PatchFace, SplitPatch},
        tolerance::{INCISION_REACH_M, INCISION_ROUNDING, INCISION_SNAP_SHARE},
    },
    surface::Surface,
};

/// A point of the line on the surface.
#[derive(Clone, Copy)]
struct OnSurface {
    triangle: TriangleId,
    at: DVec3,
    normal: DVec3,
}

/// A line along edges of a patch.
pub(super) struct CutLine<'a> {
    pub(super) patch: SplitPatch<'a>,
    /// Representatives of its vertices, in order, and the place of each.
    pub(super) vertices: Vec<u32>,
    pub(super) places: HashMap<u32, usize>,
    vertices_max: usize,
    /// It ends where it begins; that vertex is in the list once.
    pub(super) is_closed: bool,
}

impl<'a> CutLine<'a> {
    /// Draws a line on the surface.
    pub(super) fn drawn(
        surface: &'a Surface,
        path: &[DVec3],
        vertices_max: usize,
    ) -> Result<CutLine<'a>, IncisionError> {
        let ends = path.iter().enumerate().map(|(at, p)| on_surface(surface, at, *p));
        let ends = ends.collect::<Result<Vec<_>, _>>()?;
        let slack = INCISION_SNAP_SHARE * surface.mesh().mean_edge();
        let corners = corners(&ends.iter().map(|end| end.at).collect::<Vec<_>>(), slack);
        let patch = SplitPatch::of(surface.mesh());
        let (vertices, places) = Default::default();
        let mut line = CutLine { patch, vertices, places, vertices_max, is_closed: false };
        let first = line.put(PatchFace::Whole(ends[0].triangle), ends[0].at);
        line.push(first.expect("the line has no edge yet"));
        for pair in corners.windows(2) {
            let [at, to] = [pair[0], pair[1]];
            line.draw_to(at, &ends[to], ends[at].normal, to + 1 == ends.len())?;
        }
        match line.vertices[..] {
            [_] => Err(IncisionError::NoLength),
            // Its two ends hold together a line of one edge.
            [a, b] => {
                let middle = line.patch.position(a).midpoint(line.patch.position(b));
                line.vertices.insert(1, line.patch.split_edge(a, b, middle));
                line.places.extend([(line.vertices[1], 1), (b, 2)]);
                Ok(line)
            }
            _ => Ok(line),
        }
    }

    fn push(&mut self, v: u32) {
        self.places.insert(v, self.vertices.len());
        self.vertices.push(v);
    }

    /// Goes on to a point, from face to face.
    fn draw_to(
        &mut self,
        at: usize,
        to: &OnSurface,
        normal: DVec3,
        is_last: bool,
    ) -> Result<(), IncisionError> {
        // The mean of two opposite normals has no direction, and no plane.
        let normal = (normal + to.normal).try_normalize().ok_or(IncisionError::NoWay { at })?;
        let meets = || IncisionError::MeetsItself { at };
        loop {
            let here = *self.vertices.last().expect("it has begun");
            let distance = |line: &CutLine, v: u32| line.patch.position(v).distance(to.at);
            if let Some(face) = self.holder(to, here) {
                let next = self.put(face, to.at).ok_or_else(meets)?;
                match self.places.get(&next) {
                    None => self.push(next),
                    Some(0) if is_last && self.vertices.len() > 2 => self.is_closed = true,
                    Some(_) if next == here => {}
                    Some(_) => return Err(meets()),
                }
                return Ok(());
            }
            let before = distance(self, here);
            let (edge, share) =
                self.ahead(here, to.at, normal).ok_or(IncisionError::NoWay { at })?;
            let next = self.put_on_edge(edge, share).ok_or_else(meets)?;
            if self.places.contains_key(&next) {
                return Err(meets());
            }
            if distance(self, next) >= before {
                return Err(IncisionError::NoWay { at });
            }
            self.push(next);
            if self.vertices.len() == self.vertices_max {
                return Err(IncisionError::Long { at, max: self.vertices_max });
            }
        }
    }

    /// Returns the part of the triangle of `to` in which it is, if that part is at a vertex.
    fn holder(&self, to: &OnSurface, at: u32) -> Option<PatchFace> {
        let holds = |face: &PatchFace| {
            let corners = self.patch.triangle(*face);
            let slack = INCISION_ROUNDING * extent(&corners);
            closest_point(to.at, &corners).distance_squared <= slack * slack
        };
        let mut parts = self.patch.parts_of(to.triangle).into_iter();
        parts.find(|face| self.patch.joined_corners(*face).contains(&at) && holds(face))
    }

    /// Puts a vertex at a point of a face, or takes one that is there nearly, and returns its representative; `None` on
    /// an edge of the line.
    fn put(&mut self, face: PatchFace, at: DVec3) -> Option<u32> {
        let corners = self.patch.joined_corners(face);
        let shares = closest_point(at, &self.patch.triangle(face)).barycentric.to_array();
        let k = (0..3).min_by(|a, b| shares[*a].total_cmp(&shares[*b])).expect("three");
        if shares[k] > INCISION_SNAP_SHARE {
            return Some(self.patch.split_face(face, at));
        }
        let (a, b) = ((k + 1) % 3, (k + 2) % 3);
        self.put_on_edge([corners[a], corners[b]], shares[b] / (shares[a] + shares[b]))
    }

    fn put_on_edge(&mut self, [a, b]: [u32; 2], share: f64) -> Option<u32> {
        if share < INCISION_SNAP_SHARE {
            return Some(a);
        }
        if share > 1.0 - INCISION_SNAP_SHARE {
            return Some(b);
        }
        let place = |v: u32| self.places.get(&v).copied();
        if place(a).zip(place(b)).is_some_and(|(a, b)| a.abs_diff(b) == 1) {
            return None;
        }
        let at = self.patch.position(a).lerp(self.patch.position(b), share);
        Some(self.patch.split_edge(a, b, at))
    }

    /// Returns the edge opposite a vertex that a line to a point crosses first, and where.
    fn ahead(&self, from: u32, to: DVec3, normal: DVec3) -> Option<([u32; 2], f64)> {
        let p = self.patch.position(from);
        let side = (to - p).cross(normal);
        let way = (to - p).normalize_or_zero();
        let mut best = None;
        let mut most = 0.0;
        for face in self.patch.faces_at(from) {
            let corners = self.patch.joined_corners(face);
            let k = self.patch.corner_at(face, from);
            let edge = [corners[(k + 1) % 3], corners[(k + 2) % 3]];
            let [a, b] = edge.map(|v| self.patch.position(v));
            let [on_a, on_b] = [a, b].map(|at| side.dot(at - p));
            if on_a * on_b > 0.0 || on_a == on_b {
                continue;
            }
            let share = on_a / (on_a - on_b);
            let cosine = (a.lerp(b, share) - p).normalize_or_zero().dot(way);
            if cosine > most {
                (best, most) = (Some((edge, share)), cosine);
            }
        }
        best
    }

    /// Vertices before and after the one at `k`.
    pub(super) fn neighbours(&self, k: usize) -> (Option<u32>, Option<u32>) {
        let n = self.vertices.len();
        match self.is_closed {
            true => (Some(self.vertices[(k + n - 1) % n]), Some(self.vertices[(k + 1) % n])),
            false => {
                let before = k.checked_sub(1).map(|k| self.vertices[k]);
                (before, self.vertices.get(k + 1).copied())
            }
        }
    }
}

fn on_surface(surface: &Surface, at: usize, p: DVec3) -> Result<OnSurface, IncisionError> {
    let far = |distance_m| IncisionError::Far { at, distance_m };
    if !p.is_finite() {
        return Err(far(p.length()));
    }
    let found = surface.nearest(p, f64::INFINITY, None).ok_or_else(|| far(f64::INFINITY))?;
    let distance = found.closest.distance_squared.sqrt();
    if distance > INCISION_REACH_M {
        return Err(far(distance));
    }
    let normal = area_vector(&surface.mesh().triangle(found.triangle)).normalize_or_zero();
    Ok(OnSurface { triangle: found.triangle, at: found.closest.point, normal })
}

/// Returns the numbers of the points that a line through them needs, if it may be off by `slack` metres (Douglas and
/// Peucker 1973): a point in a triangle splits it, and small triangles at the lips do not let them part.
fn corners(line: &[DVec3], slack: f64) -> Vec<usize> {
    let last = line.len() - 1;
    let mut kept = vec![0, last];
    let mut spans = vec![(0, last)];
    while let Some((from, to)) = spans.pop() {
        let off = |k: &usize| {
            let share = nearest_on_segment(line[*k], line[from], line[to]);
            line[*k].distance(line[from].lerp(line[to], share))
        };
        let Some(farthest) = (from + 1..to).max_by(|a, b| off(a).total_cmp(&off(b))) else {
            continue;
        };
        if off(&farthest) > slack {
            kept.push(farthest);
            spans.extend([(from, farthest), (farthest, to)]);
        }
    }
    kept.sort_unstable();
    kept
}

/// Returns the normal of a triangle, twice as long as its area.
pub(super) fn area_vector([a, b, c]: &[DVec3; 3]) -> DVec3 {
    (b - a).cross(c - a)
}

fn extent([a, b, c]: &[DVec3; 3]) -> f64 {
    a.distance(*b).max(b.distance(*c)).max(c.distance(*a))
}
