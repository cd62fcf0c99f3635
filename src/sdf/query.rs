//! Reading the field: value, gradient and certified interval in one go.

use glam::{DVec3, UVec3};

use super::{
    cell::{Cell, ShortList, list_winding},
    field::Field,
    grid::{Grid, offset},
    octree::Node,
    region::Region,
};
use crate::geometry::{
    TriangleId, TriangleMesh,
    point_triangle::{ClosestPoint, closest_point},
    pseudonormal::pseudonormal,
    winding::Winding,
};

/// The field at a point, link frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Metres, negative inside; within the interval.
    pub value: f64,
    /// The true signed distance is at least this.
    pub lower: f64,
    /// And at most this. The sign is certain when the interval excludes 0.
    pub upper: f64,
    /// Which way the value grows; unit where the answer is exact, else as interpolated.
    pub gradient: DVec3,
    /// The nearest triangle and point, where the cell answers exactly.
    pub exact: Option<(TriangleId, ClosestPoint)>,
    /// 0 (the sign is a guess) to 1; below 1 only for surfaces that are open or of several bodies.
    pub certainty: f64,
}

impl Field {
    /// The field at `p`, with the mesh that it was built of.
    pub fn read(&self, mesh: &TriangleMesh, p: DVec3) -> Reading {
        if !self.root.contains(p) {
            return self.read_outside(mesh, p);
        }
        match self.locate(p) {
            Place::Grid(grid) => self.read_grid(mesh, grid, p),
            Place::Deleted(region, corners) => read_deleted(&region, corners, p),
        }
    }

    /// A lower bound of the signed distance at `p`, without exact work.
    pub fn lower_bound(&self, p: DVec3) -> f64 {
        let inside = p.clamp(self.root.min, self.root.max);
        let lower = match self.locate(inside) {
            Place::Grid(grid) => grid.lower_bound(inside),
            Place::Deleted(region, corners) => read_deleted(&region, corners, inside).lower,
        };
        self.beyond(p, inside, lower)
    }

    /// From a bound at the nearest point of the root to a bound outside it.
    fn beyond(&self, p: DVec3, inside: DVec3, lower: f64) -> f64 {
        let gone = p.distance(inside);
        if gone == 0.0 {
            return lower;
        }
        let to_surface = p.distance(p.clamp(self.surface.min, self.surface.max));
        (lower - gone).max(to_surface)
    }

    fn read_outside(&self, mesh: &TriangleMesh, p: DVec3) -> Reading {
        let inside = p.clamp(self.root.min, self.root.max);
        let near = self.read(mesh, inside);
        let gone = p.distance(inside);
        let upper = near.upper + gone;
        // Where both are sharp their rounding can cross them.
        let lower = self.beyond(p, inside, near.lower).min(upper);
        let gradient = (p - inside) / gone;
        Reading {
            value: 0.5 * (lower + upper),
            lower,
            upper,
            gradient,
            exact: None,
            certainty: near.certainty,
        }
    }

    fn locate(&self, p: DVec3) -> Place<'_> {
        let (mut node, mut region) = (&self.nodes[0], self.root);
        loop {
            match node {
                Node::Inner(first) => {
                    let i = region.octant_of(p);
                    region = region.octant(i);
                    node = &self.nodes[*first as usize + i];
                }
                Node::Kept(grid) => return Place::Grid(&self.grids[*grid as usize]),
                Node::Deleted(corners) => return Place::Deleted(region, corners),
            }
        }
    }

    fn read_grid(&self, mesh: &TriangleMesh, grid: &Grid, p: DVec3) -> Reading {
        let (index, fraction) = grid.place(p);
        match grid.cells[grid.cell_index(index)] {
            Cell::List(n) => self.read_list(mesh, &grid.lists[n as usize], fraction, p),
            Cell::Interpolate { below, above } => {
                let (value, gradient) = grid.interpolate(index, fraction);
                let lipschitz = grid.lipschitz(fraction);
                let below = f64::from(below).min(lipschitz) + grid.rounding;
                let above = f64::from(above).min(lipschitz) + grid.rounding;
                let (lower, upper) = if value < 0.0 {
                    (value - above, value + below)
                } else {
                    (value - below, value + above)
                };
                Reading { value, lower, upper, gradient, exact: None, certainty: 1.0 }
            }
            Cell::Wide => {
                let (value, gradient) = grid.interpolate(index, fraction);
                // The sign may change in here, and where a surface crosses itself or is open it does so
                // without passing 0: only the unsigned distance is 1-Lipschitz then.
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
        list: &ShortList,
        fraction: DVec3,
        p: DVec3,
    ) -> Reading {
        let mut best: Option<(TriangleId, ClosestPoint)> = None;
        for &t in &list.triangles {
            let closest = closest_point(p, &mesh.triangle(t));
            if best.is_none_or(|(_, b)| closest.distance_squared < b.distance_squared) {
                best = Some((t, closest));
            }
        }
        let (triangle, closest) = best.expect("a list names the nearest triangle at least");
        let (away, pseudo) = (p - closest.point, pseudonormal(mesh, triangle, closest.feature));
        let (inside, certainty) = match &list.far_winding {
            None => (away.dot(pseudo.direction) < 0.0, f64::from(pseudo.complete)),
            Some(far) => {
                let far = trilinear(&far.map(f64::from), fraction);
                let number = far + list_winding(mesh, &list.triangles, p);
                Winding { number, error: 0.0 }.inside(false)
            }
        };
        let side = if inside { -1.0 } else { 1.0 };
        let value = closest.distance_squared.sqrt() * side;
        let gradient = away.try_normalize().map_or(pseudo.direction, |d| d * side);
        Reading {
            value,
            lower: value,
            upper: value,
            gradient,
            exact: Some((triangle, closest)),
            certainty,
        }
    }
}

enum Place<'a> {
    Grid(&'a Grid),
    Deleted(Region, &'a [f32; 8]),
}

impl Grid {
    /// The cell of a point of the region, and where in it the point is (0 to 1 on each axis).
    fn place(&self, p: DVec3) -> (UVec3, DVec3) {
        let local = (p - self.region.min) * self.per_metre;
        let index = local.max(DVec3::ZERO).as_uvec3().min(self.dims - 2);
        (index, (local - index.as_dvec3()).clamp(DVec3::ZERO, DVec3::ONE))
    }

    fn around(&self, index: UVec3) -> [f64; 8] {
        std::array::from_fn(|k| f64::from(self.samples[self.sample_index(index + offset(k))]))
    }

    /// Trilinear value and its gradient.
    fn interpolate(&self, index: UVec3, s: DVec3) -> (f64, DVec3) {
        let d = self.around(index);
        let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
        let x = [
            mix(d[0], d[1], s.x),
            mix(d[2], d[3], s.x),
            mix(d[4], d[5], s.x),
            mix(d[6], d[7], s.x),
        ];
        let y = [mix(x[0], x[1], s.y), mix(x[2], x[3], s.y)];
        let value = mix(y[0], y[1], s.z);
        let dx = mix(mix(d[1] - d[0], d[3] - d[2], s.y), mix(d[5] - d[4], d[7] - d[6], s.y), s.z);
        let dy = mix(x[1] - x[0], x[3] - x[2], s.z);
        (value, DVec3::new(dx, dy, y[1] - y[0]) * self.per_metre)
    }

    /// Largest error of trilinear interpolation of a 1-Lipschitz function.
    fn lipschitz(&self, s: DVec3) -> f64 {
        (self.step * self.step * s * (DVec3::ONE - s)).element_sum().sqrt()
    }

    fn lower_bound(&self, p: DVec3) -> f64 {
        let (index, s) = self.place(p);
        let (value, _) = self.interpolate(index, s);
        let lipschitz = self.lipschitz(s);
        let error = match self.cells[self.cell_index(index)] {
            Cell::Interpolate { below, above } => {
                f64::from(if value < 0.0 { above } else { below }).min(lipschitz)
            }
            Cell::List(_) | Cell::Wide => {
                let d = self.around(index);
                let one_side = d.iter().all(|x| *x > 0.0);
                let farthest = d.into_iter().map(f64::abs).fold(0.0, f64::max);
                if one_side { lipschitz } else { value + farthest + lipschitz }
            }
        };
        value - error - self.rounding
    }
}

fn trilinear(d: &[f64; 8], s: DVec3) -> f64 {
    let weight = |k: usize| {
        let o = offset(k).as_dvec3();
        (o * s + (DVec3::ONE - o) * (DVec3::ONE - s)).element_product()
    };
    (0..8).map(|k| d[k] * weight(k)).sum()
}

/// Outside, free of triangles: bounds from the corners.
fn read_deleted(region: &Region, corners: &[f32; 8], p: DVec3) -> Reading {
    let d = corners.map(f64::from);
    let rounding = d.iter().fold(0.0f64, |m, d| m.max(*d)) * f64::from(f32::EPSILON);
    let (mut lower, mut upper) = (0.0f64, f64::INFINITY);
    for (k, d) in d.iter().enumerate() {
        let gone = p.distance(region.corner(k));
        lower = lower.max(d - gone);
        upper = upper.min(d + gone);
    }
    let (lower, upper) = ((lower - rounding).max(0.0), upper + rounding);
    let size = region.size();
    let s = (p - region.min) / size;
    let value = trilinear(&d, s).min(upper).max(lower);
    let slope = |k: usize| {
        let mut ends = [s; 2];
        (ends[0][k], ends[1][k]) = (0.0, 1.0);
        (trilinear(&d, ends[1]) - trilinear(&d, ends[0])) / size[k]
    };
    let gradient = DVec3::new(slope(0), slope(1), slope(2));
    Reading { value, lower, upper, gradient, exact: None, certainty: 1.0 }
}
