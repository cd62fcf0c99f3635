//! Reads of the field: value, gradient and certified interval at once.

use glam::{DVec3, UVec3};

use super::{
    candidate_lists::CandidateList,
    cell::Cell,
    field::Field,
    grid::{Grid, offset},
    locate::LeafAnswer,
    reading::Reading,
    trilinear::trilinear,
};
use crate::geometry::{
    TriangleMesh, direction::direction, mesh::pseudonormal::pseudonormal, tolerance::BOUND_COVER,
};

/// Number of points that are read together.
// Points are read together to overlap the waits of their descents. Interpolating in lanes as well is 1.4 times as fast
// on a field of 57 MB, but single reads lose as much, and a tick waits for one point more often than for eight.
const LANES: usize = 8;

/// A cell whose bounds are looser than this share of a radius is resolved by its triangles: for tighter cells that
/// costs more than it saves.
const WIDE: f64 = 0.25;

impl Field {
    /// Reads the field at `p`. `mesh`: the mesh that it was built from.
    pub fn read(&self, mesh: &TriangleMesh, p: DVec3) -> Reading {
        let [reading] = self.reads(mesh, &[p]);
        reading
    }

    /// Reads the field at many points, each as [`Field::read`] does, eight together.
    pub fn read_many(&self, mesh: &TriangleMesh, points: &[DVec3], readings: &mut Vec<Reading>) {
        readings.clear();
        let (eights, rest) = points.as_chunks::<LANES>();
        eights.iter().for_each(|points| readings.extend(self.reads(mesh, points)));
        readings.extend(rest.iter().map(|p| self.read(mesh, *p)));
    }

    /// As [`Field::read`], for several points together: their waits for memory overlap.
    pub fn reads<const N: usize>(&self, mesh: &TriangleMesh, points: &[DVec3; N]) -> [Reading; N] {
        let inside = points.map(|p| self.root.nearest(p));
        let locations = self.locate(&inside);
        let mut readings = [Reading::BEYOND; N];
        for lane in 0..N {
            let p = inside[lane];
            let near = match self.leaf(locations[lane], p) {
                LeafAnswer::Grid(grid) => self.read_grid(mesh, grid, p),
                LeafAnswer::Free(region, leaf) => leaf.read(&region, p),
            };
            let is_inside = p == points[lane];
            debug_assert!(near.is_well_formed(), "{near:?} at {p}");
            readings[lane] = if is_inside { near } else { self.outside(points[lane], p, &near) };
        }
        readings
    }

    /// Lower bound of the signed distance at `p`, without exact work.
    pub fn lower_bound(&self, p: DVec3) -> f64 {
        let [lower] = self.lower_bounds(&[p]);
        lower
    }

    /// As [`Field::lower_bound`], for several points whose leaves are located together.
    pub fn lower_bounds<const N: usize>(&self, points: &[DVec3; N]) -> [f64; N] {
        let inside = points.map(|p| self.root.nearest(p));
        let locations = self.locate(&inside);
        let mut lowers = [f64::NEG_INFINITY; N];
        for lane in 0..N {
            let p = inside[lane];
            let lower = match self.leaf(locations[lane], p) {
                LeafAnswer::Grid(grid) => grid.lower_bound(p),
                LeafAnswer::Free(region, leaf) => leaf.lower_bound(&region, p),
            };
            lowers[lane] = self.beyond(points[lane], p, lower);
        }
        lowers
    }

    /// Returns false only if the signed distance at `p` is more than `radius` metres.
    pub fn may_be_within(&self, mesh: &TriangleMesh, p: DVec3, radius: f64) -> bool {
        if !self.root.contains(p) {
            return self.lower_bound(p) <= radius;
        }
        let [location] = self.locate(&[p]);
        match self.leaf(location, p) {
            LeafAnswer::Grid(grid) => grid.may_be_within(mesh, p, radius, self.tolerance),
            LeafAnswer::Free(region, leaf) => leaf.lower_bound(&region, p) <= radius,
        }
    }

    /// Converts a bound at the nearest point of the root to a bound outside it.
    fn beyond(&self, p: DVec3, inside: DVec3, lower: f64) -> f64 {
        let displacement = p.distance(inside);
        if displacement == 0.0 {
            return lower;
        }
        // Two bounds hold outside the root: Lipschitz from its nearest point, and the distance of the triangles' box.
        // At a large distance the second is better.
        let to_surface = p.distance(p.clamp(self.surface.min, self.surface.max));
        (lower - displacement).max(to_surface)
    }

    /// Converts a reading at the nearest point of the root to a reading outside it.
    fn outside(&self, p: DVec3, inside: DVec3, near: &Reading) -> Reading {
        let displacement = p.distance(inside);
        debug_assert!(displacement >= 0.0, "{displacement} m from {inside} to {p}");
        let upper = near.upper + displacement;
        // If both bounds are sharp, their rounding can cross them.
        let lower = self.beyond(p, inside, near.lower).min(upper);
        let gradient = direction(p - inside).unwrap_or_default();
        Reading {
            // The middle of the interval is off by at most half of it.
            value: 0.5 * (lower + upper),
            lower,
            upper,
            gradient,
            exact: None,
            certainty: near.certainty,
        }
    }

    fn read_grid(&self, mesh: &TriangleMesh, grid: &Grid, p: DVec3) -> Reading {
        let (index, fraction) = grid.locate(p);
        match grid.cells[grid.cell_index(index)].get() {
            Cell::List(n) => self.read_list(mesh, grid, grid.lists.get(n), fraction, p),
            Cell::Interpolate { below, above } => {
                // The smaller of two bounds: the cell's certified bound, and Lipschitz at this exact position.
                let (value, gradient) = grid.interpolate(index, fraction);
                let lipschitz = grid.lipschitz(fraction);
                let below = below.value().min(lipschitz) + grid.rounding;
                let above = above.value().min(lipschitz) + grid.rounding;
                let (lower, upper) = if value < 0.0 {
                    (value - above, value + below)
                } else {
                    (value - below, value + above)
                };
                Reading { value, lower, upper, gradient, exact: None, certainty: 1.0 }
            }
            Cell::Wide => {
                let (value, gradient) = grid.interpolate(index, fraction);
                // The sign may change in this cell, and if a surface crosses itself or is open it does so without
                // passing 0: only the unsigned distance is then 1-Lipschitz.
                let farthest = grid.around(index).into_iter().map(f64::abs).fold(0.0, f64::max);
                let reach = farthest + grid.lipschitz(fraction) + grid.rounding;
                let (lower, upper) = (-reach, reach);
                Reading { value, lower, upper, gradient, exact: None, certainty: 0.0 }
            }
        }
    }

    fn read_list(
        &self,
        mesh: &TriangleMesh,
        grid: &Grid,
        list: CandidateList,
        fraction: DVec3,
        p: DVec3,
    ) -> Reading {
        let (triangle, closest) = list.nearest(mesh, p, grid.centre_distance(fraction));
        let normal = || pseudonormal(mesh, triangle, closest.feature);
        let away = p - closest.point;
        let side = list.side(mesh, (p, fraction), away, normal);
        let value = closest.distance_squared.sqrt() * side.sign();
        let gradient = side.outwards(away, normal);
        Reading {
            value,
            lower: value,
            upper: value,
            gradient,
            exact: Some((triangle, closest)),
            certainty: side.certainty,
        }
    }
}

impl Grid {
    /// Cell of a point of the region, and the point's position in it (0 to 1 on each axis).
    fn locate(&self, p: DVec3) -> (UVec3, DVec3) {
        let local = (p - self.region.min) * self.per_metre;
        let index = local.max(DVec3::ZERO).as_uvec3().min(self.dims - 2);
        debug_assert!(local.is_finite(), "{local} of {p}");
        (index, (local - index.as_dvec3()).clamp(DVec3::ZERO, DVec3::ONE))
    }

    fn around(&self, index: UVec3) -> [f64; 8] {
        std::array::from_fn(|k| f64::from(self.samples[self.sample_index(index + offset(k))]))
    }

    /// Distance from the centre of a cell to a point of it, metres.
    fn centre_distance(&self, s: DVec3) -> f64 {
        ((s - 0.5) * self.step).length()
    }

    /// Trilinear value and its gradient.
    fn interpolate(&self, index: UVec3, s: DVec3) -> (f64, DVec3) {
        let (value, slope) = trilinear(&self.around(index), s);
        (value, slope * self.per_metre)
    }

    /// Largest error of trilinear interpolation of a 1-Lipschitz function.
    fn lipschitz(&self, s: DVec3) -> f64 {
        (self.step * self.step * s * (DVec3::ONE - s)).element_sum().sqrt()
    }

    /// Returns false only if the signed distance is more than a radius. If the cell is too wide for that, its triangles
    /// decide: a link of few large faces has cells as wide as its cavity, and their bounds would accept every point in
    /// the cavity. Accurate to the field's tolerance, as all its results.
    fn may_be_within(&self, mesh: &TriangleMesh, p: DVec3, radius: f64, tolerance: f64) -> bool {
        if self.lower_bound(p) > radius {
            return false;
        }
        let (index, s) = self.locate(p);
        let Cell::List(n) = self.cells[self.cell_index(index)].get() else { return true };
        let lipschitz = self.lipschitz(s);
        if lipschitz <= WIDE * radius || self.interpolate(index, s).0 + lipschitz <= radius {
            return true;
        }
        let list = self.lists.get(n);
        let (triangle, closest) = list.nearest(mesh, p, self.centre_distance(s));
        closest.distance_squared.sqrt() <= (radius + tolerance) * BOUND_COVER || {
            let normal = || pseudonormal(mesh, triangle, closest.feature);
            let side = list.side(mesh, (p, s), p - closest.point, normal);
            side.inside || side.certainty < 1.0
        }
    }

    fn lower_bound(&self, p: DVec3) -> f64 {
        let (index, s) = self.locate(p);
        let (value, _) = self.interpolate(index, s);
        let lipschitz = self.lipschitz(s);
        let error = match self.cells[self.cell_index(index)].get() {
            Cell::Interpolate { below, above } => {
                if value < 0.0 { above } else { below }.value().min(lipschitz)
            }
            Cell::List(_) | Cell::Wide => {
                let d = self.around(index);
                // With a corner inside or on the surface the sign may change in the cell, and only the unsigned
                // distance is bounded.
                let one_side = d.iter().all(|x| *x > 0.0);
                let farthest = d.into_iter().map(f64::abs).fold(0.0, f64::max);
                if one_side { lipschitz } else { value + farthest + lipschitz }
            }
        };
        debug_assert!(error >= 0.0, "{error} m at {p}");
        value - error - self.rounding
    }
}
