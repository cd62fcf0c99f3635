//! The box of a node in 64 bytes.

use glam::{DMat3, DVec3};

use crate::geometry::{Aabb, Obb, tolerance::SLAB_ROUNDING};

/// A box between three pairs of parallel planes, nearly at right angles, and the index of its children or leaf. One
/// cache line.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub(super) struct BoxNode {
    /// Unit normals of the planes, to `f32` rounding.
    pub(super) axes: [[f32; 3]; 3],
    /// Least projection on each normal, rounded down.
    pub(super) min: [f32; 3],
    /// Greatest projection, rounded up.
    pub(super) max: [f32; 3],
    /// Inner node: its first child, which the other follows. Leaf: its number, with [`LEAF`] set.
    pub(super) below: u32,
}

/// Marks a leaf in [`BoxNode::below`].
pub(super) const LEAF: u32 = 1 << 31;

impl BoxNode {
    /// The box around some points with its sides along the columns of `axes`.
    pub(super) fn around(points: impl Iterator<Item = DVec3> + Clone, axes: &DMat3) -> BoxNode {
        debug_assert!(axes.is_finite(), "{axes}");
        // Axes are rounded first and corners projected on the stored axes, so that the box holds its points although
        // its axes are not quite at right angles.
        let axes = [axes.x_axis, axes.y_axis, axes.z_axis].map(|a| a.as_vec3());
        let along = |p: DVec3| {
            DVec3::new(
                axes[0].as_dvec3().dot(p),
                axes[1].as_dvec3().dot(p),
                axes[2].as_dvec3().dot(p),
            )
        };
        let bounds = Aabb::around(points.map(along));
        BoxNode {
            axes: axes.map(|a| a.to_array()),
            min: bounds.min.to_array(),
            max: bounds.max.to_array(),
            below: LEAF,
        }
    }

    pub(super) fn leaf(&self) -> Option<usize> {
        (self.below & LEAF != 0).then_some((self.below & !LEAF) as usize)
    }

    pub(super) fn axis(&self, k: usize) -> DVec3 {
        DVec3::from_array(self.axes[k].map(f64::from))
    }

    /// Centre and half edges on the normals; the half edges include a margin, since the normals are not quite at right
    /// angles.
    fn middle(&self) -> (DVec3, DVec3) {
        debug_assert!((0..3).all(|k| self.min[k] <= self.max[k]), "{self:?} is empty");
        let (min, max) = (self.min.map(f64::from), self.max.map(f64::from));
        let (min, max) = (DVec3::from_array(min), DVec3::from_array(max));
        let farthest = min.abs().max(max.abs()).element_sum();
        ((min + max) * 0.5, (max - min) * 0.5 + DVec3::splat(SLAB_ROUNDING * farthest))
    }

    fn centre(&self, along: DVec3) -> DVec3 {
        self.axis(0) * along.x + self.axis(1) * along.y + self.axis(2) * along.z
    }

    /// A right-angled box that holds this one.
    pub(super) fn obb(&self) -> Obb {
        let (along, half) = self.middle();
        debug_assert!(half.cmpge(DVec3::ZERO).all(), "{self:?}");
        let x = self.axis(0).normalize();
        // Gram-Schmidt in f64: the 15-axis test requires right angles.
        let y = (self.axis(1) - x * x.dot(self.axis(1))).normalize();
        Obb { centre: self.centre(along), axes: DMat3::from_cols(x, y, x.cross(y)), half }
    }

    /// Size for choosing between boxes: half the surface.
    pub(super) fn surface(&self) -> f32 {
        let [x, y, z] = [0, 1, 2].map(|k| self.max[k] - self.min[k]);
        x * y + y * z + z * x
    }
}
