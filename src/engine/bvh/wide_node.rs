//! Eight boxes in lanes: the form of the tree that queries for one triangle or box read.
//!
//! A wide node holds up to eight nodes that a node is divided into, largest first; the nodes between are left out. One
//! wide pass tests them all, so a single triangle keeps all lanes busy.

use glam::{DVec3, Vec3};

use super::volume::BoxNode;
#[cfg(target_arch = "x86_64")]
use crate::geometry::lanes::are_wide;
use crate::geometry::{
    Aabb, Dop16, Pose,
    direction::span_along,
    lanes::{LANES, greater, lesser},
    tolerance::SLAB_ROUNDING,
    triangle_triangle::Triangle,
};

pub(super) type Lanes = [f32; LANES];

/// Boxes of [`BoxNode`]s, and the target of each: a leaf as in [`BoxNode::below`], else the wide node of its children.
/// Unused lanes hold nothing. Eight cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct WideBoxNode {
    axes: [[Lanes; 3]; 3],
    min: [Lanes; 3],
    max: [Lanes; 3],
    pub(super) below: [u32; LANES],
}

impl WideBoxNode {
    pub(super) const EMPTY: WideBoxNode = WideBoxNode {
        axes: [[[0.0; LANES]; 3]; 3],
        min: [[f32::INFINITY; LANES]; 3],
        max: [[f32::NEG_INFINITY; LANES]; 3],
        below: [u32::MAX; LANES],
    };

    pub(super) fn set(&mut self, lane: usize, node: &BoxNode) {
        debug_assert!(lane < LANES, "lane {lane}");
        for k in 0..3 {
            for axis in 0..3 {
                self.axes[k][axis][lane] = node.axes[k][axis];
            }
            self.min[k][lane] = node.min[k];
            self.max[k][lane] = node.max[k];
        }
        self.below[lane] = node.below;
    }

    /// The box of a lane, as a node.
    pub(super) fn get(&self, lane: usize) -> BoxNode {
        BoxNode {
            axes: self.axes.map(|axis| axis.map(|lanes| lanes[lane])),
            min: self.min.map(|lanes| lanes[lane]),
            max: self.max.map(|lanes| lanes[lane]),
            below: self.below[lane],
        }
    }

    /// Bit n: neither the planes of box n nor the plane of the triangle separate them.
    pub(super) fn meet(&self, t: &SingleTriangle) -> u32 {
        let mut meets = [1; LANES];
        for k in 0..3 {
            let ([least, most], min, max) = (self.span(k, t), &self.min[k], &self.max[k]);
            for lane in 0..LANES {
                meets[lane] &=
                    u32::from(least[lane] <= max[lane]) & u32::from(most[lane] >= min[lane]);
            }
        }
        // The triangle's plane is a seventh axis: long thin triangles pass the boxes' own sides but not this plane.
        let [below, above] = self.along(t.normal, 0.0, t.slack);
        for lane in 0..LANES {
            meets[lane] &= u32::from(below[lane] <= t.height[1]);
            meets[lane] &= u32::from(above[lane] >= t.height[0]);
        }
        lanes_of_one(&meets)
    }

    /// Squared distance of each box to the triangle, never too large; infinite in unused lanes.
    pub(super) fn distances_squared(&self, t: &SingleTriangle) -> Lanes {
        #[cfg(target_arch = "x86_64")]
        if are_wide() {
            // SAFETY: lanes are wide only if the processor has AVX2.
            return unsafe { self.distances_squared_wide(t) };
        }
        self.distances_squared_by(t)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn distances_squared_wide(&self, t: &SingleTriangle) -> Lanes {
        self.distances_squared_by(t)
    }

    #[inline(always)]
    fn distances_squared_by(&self, t: &SingleTriangle) -> Lanes {
        let ([p, q, r], [nx, ny, nz]) = (t.corners, t.normal);
        let mut squared = [0.0; LANES];
        // The compiler vectorises one loop over lanes without stored intermediates.
        for lane in 0..LANES {
            let (mut sum, mut centre, mut reach) = (0.0, 0.0, t.slack);
            for k in 0..3 {
                let [x, y, z] = [&self.axes[k][0], &self.axes[k][1], &self.axes[k][2]];
                let (x, y, z) = (x[lane], y[lane], z[lane]);
                let (min, max) = (self.min[k][lane], self.max[k][lane]);
                let p = x * p[0] + y * p[1] + z * p[2];
                let q = x * q[0] + y * q[1] + z * q[2];
                let r = x * r[0] + y * r[1] + z * r[2];
                let least = lesser(lesser(p, q), r) - t.slack;
                let most = greater(greater(p, q), r) + t.slack;
                let gap = greater(greater(min - most, least - max), 0.0);
                sum += gap * gap;
                let cosine = nx * x + ny * y + nz * z;
                centre += cosine * (0.5 * (min + max));
                reach += cosine.abs() * (0.5 * (max - min));
            }
            // NaN, the value of an unused lane, is not greater.
            let (below, above) = (centre - reach, centre + reach);
            let gap = greater(greater(below - t.height[1], t.height[0] - above), 0.0);
            // Both are lower bounds of one distance: the greater one holds.
            squared[lane] = greater(gap * gap, sum) * (1.0 - SLAB_ROUNDING as f32);
        }
        squared
    }

    /// Range of the triangle along side `k` of each box, widened by the rounding.
    #[inline(always)]
    fn span(&self, k: usize, t: &SingleTriangle) -> [Lanes; 2] {
        let [p, q, r] = &t.corners;
        let [x, y, z] = &self.axes[k];
        let (mut least, mut most) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let (x, y, z) = (x[lane], y[lane], z[lane]);
            let (p, q, r) = (
                x * p[0] + y * p[1] + z * p[2],
                x * q[0] + y * q[1] + z * q[2],
                x * r[0] + y * r[1] + z * r[2],
            );
            least[lane] = lesser(lesser(p, q), r) - t.slack;
            most[lane] = greater(greater(p, q), r) + t.slack;
        }
        [least, most]
    }

    /// Start of each box along a unit vector; infinite in unused lanes.
    pub(super) fn begins(&self, along: [f32; 3], farthest: f32) -> Lanes {
        #[cfg(target_arch = "x86_64")]
        if are_wide() {
            // SAFETY: lanes are wide only if the processor has AVX2.
            return unsafe { self.begins_wide(along, farthest) };
        }
        self.begins_by(along, farthest)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn begins_wide(&self, along: [f32; 3], farthest: f32) -> Lanes {
        self.begins_by(along, farthest)
    }

    #[inline(always)]
    fn begins_by(&self, along: [f32; 3], farthest: f32) -> Lanes {
        let [mut begins, _] = self.along(along, 0.0, farthest * SLAB_ROUNDING as f32);
        for (begin, below) in begins.iter_mut().zip(self.below) {
            *begin = if below == u32::MAX { f32::INFINITY } else { *begin };
        }
        begins
    }

    /// Axis-aligned boxes that hold these boxes, in the frame that the pose maps to. `slack` covers the loss of `f32`,
    /// metres.
    pub(super) fn aabbs(&self, pose: &SinglePose, slack: f32) -> PlacedBoxes {
        debug_assert!(slack >= 0.0, "{slack} m");
        let mut boxes = PlacedBoxes::EMPTY;
        for axis in 0..3 {
            let sides = self.along(pose.rows[axis], pose.translation[axis], slack);
            [boxes.min[axis], boxes.max[axis]] = sides;
        }
        boxes
    }

    /// Range of each box along a unit vector, relative to `origin` and widened by `slack`.
    #[inline(always)]
    fn along(&self, [x, y, z]: [f32; 3], origin: f32, slack: f32) -> [Lanes; 2] {
        let (mut centre, mut reach) = ([origin; LANES], [slack; LANES]);
        for k in 0..3 {
            let [ax, ay, az] = &self.axes[k];
            let (min, max) = (&self.min[k], &self.max[k]);
            for lane in 0..LANES {
                let cosine = x * ax[lane] + y * ay[lane] + z * az[lane];
                centre[lane] += cosine * (0.5 * (min[lane] + max[lane]));
                // The half extent of a box along an axis is the sum of its half sides' projections.
                reach[lane] += cosine.abs() * (0.5 * (max[lane] - min[lane]));
            }
        }
        let (mut begin, mut end) = (centre, centre);
        for lane in 0..LANES {
            begin[lane] -= reach[lane];
            end[lane] += reach[lane];
        }
        [begin, end]
    }
}

/// A triangle in the tree's frame, in `f32`.
#[derive(Clone, Copy, Debug)]
pub(super) struct SingleTriangle {
    corners: [[f32; 3]; 3],
    /// Rounding error along any axis, metres.
    slack: f32,
    /// Further axis, unit or zero: the triangle's normal, unless [`SingleTriangle::seen_along`] set another.
    normal: [f32; 3],
    /// Least and greatest projection of the corners on `normal`.
    height: [f32; 2],
    /// Widened by the rounding.
    pub(super) dop: Dop16,
}

impl SingleTriangle {
    /// `farthest` bounds the coordinate sum of any point of the tree, `error` the error of the corners' coordinates.
    pub(super) fn of(t: &Triangle, farthest: f32, error: f64) -> SingleTriangle {
        debug_assert!(farthest >= 0.0 && error >= 0.0, "{farthest}, {error}");
        let corners = [t[0].as_vec3(), t[1].as_vec3(), t[2].as_vec3()];
        let reach = corners[0].abs().max(corners[1].abs()).max(corners[2].abs());
        // Rounding to f32 costs far less than the first term allows. One bound covers all: corners, axes and products
        // are each rounded to f32.
        let slack = (farthest + reach.element_sum()) * SLAB_ROUNDING as f32 + error as f32;
        let mut dop = Dop16 { min: [f32::INFINITY; 8], max: [f32::NEG_INFINITY; 8] };
        for p in corners {
            let along = [p.x, p.y, p.z, p.x + p.y, p.x + p.z, p.y + p.z, p.x - p.y, p.x - p.z];
            for (d, along) in along.into_iter().enumerate() {
                dop.min[d] = lesser(dop.min[d], along - slack);
                dop.max[d] = greater(dop.max[d], along + slack);
            }
        }
        let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize_or_zero();
        let corners = corners.map(|p| p.to_array());
        let single = SingleTriangle { corners, slack, normal: [0.0; 3], height: [0.0; 2], dop };
        single.seen_along(normal)
    }

    /// Replaces the triangle's further axis, initially its normal, by another unit vector.
    pub(super) fn seen_along(self, normal: Vec3) -> SingleTriangle {
        debug_assert!(normal.is_finite(), "{normal}");
        let [a, b, c] = self.corners.map(|p| normal.dot(Vec3::from_array(p)));
        let height = [lesser(lesser(a, b), c), greater(greater(a, b), c)];
        SingleTriangle { normal: normal.to_array(), height, ..self }
    }

    /// The further axis, unit or zero.
    pub(super) fn further_axis(&self) -> DVec3 {
        Vec3::from_array(self.normal).as_dvec3().normalize_or_zero()
    }

    /// Lower bound of a triangle's squared distance along the further axis, square metres.
    pub(super) fn gap_squared(&self, t: &Triangle) -> f64 {
        let normal = Vec3::from_array(self.normal).as_dvec3();
        let ([begins, ends], [least, most]) = (span_along(t, normal), self.height.map(f64::from));
        // Computed in f64 from here on, so that only the slack of the corners in f32 is subtracted.
        let gap = (begins - most).max(least - ends) - f64::from(self.slack);
        let gap = gap.max(0.0);
        gap * gap * (1.0 - SLAB_ROUNDING)
    }
}

/// A pose in `f32`.
pub(super) struct SinglePose {
    rows: [[f32; 3]; 3],
    translation: [f32; 3],
}

impl SinglePose {
    pub(super) fn of(pose: &Pose) -> SinglePose {
        let rows = pose.rotation.transpose();
        let single = |v: DVec3| v.as_vec3().to_array();
        SinglePose {
            rows: [single(rows.x_axis), single(rows.y_axis), single(rows.z_axis)],
            translation: single(pose.translation),
        }
    }
}

/// Axis-aligned boxes in lanes; unused lanes hold nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedBoxes {
    min: [Lanes; 3],
    max: [Lanes; 3],
}

impl PlacedBoxes {
    pub(super) const EMPTY: PlacedBoxes =
        PlacedBoxes { min: [[f32::INFINITY; LANES]; 3], max: [[f32::NEG_INFINITY; LANES]; 3] };

    /// Bit n: box n overlaps `b`. NaN, the value of an unused lane, overlaps nothing.
    pub(super) fn overlap(&self, b: &Aabb) -> u32 {
        let mut meets = [1; LANES];
        for axis in 0..3 {
            let (min, max) = (b.min[axis], b.max[axis]);
            let sides = self.min[axis].iter().zip(&self.max[axis]);
            for (meets, (own_min, own_max)) in meets.iter_mut().zip(sides) {
                *meets &= u32::from(*own_min <= max) & u32::from(*own_max >= min);
            }
        }
        lanes_of_one(&meets)
    }
}

fn lanes_of_one(ones: &[u32; LANES]) -> u32 {
    ones.iter().enumerate().fold(0, |mask, (lane, one)| mask | one << lane)
}
