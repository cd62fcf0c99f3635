//! Two features that move straight, relative to a corner of the first: the input of every filter.

use glam::DVec3;

use crate::geometry::tolerance::UNIT_ROUNDOFF;

/// A vector at the step's two ends, linear in between.
pub(super) type Moving = [DVec3; 2];

/// Kinds of the two features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FeatureKinds {
    /// Face `a`, `a + u`, `a + v`; vertex `a + r`.
    VertexFace,
    /// Edges `a`, `a + u` and `a + r`, `a + r + v`.
    EdgeEdge,
}

/// The two features relative to corner `a`.
#[derive(Clone, Copy, Debug)]
pub(super) struct MovingFeatures {
    pub kinds: FeatureKinds,
    pub u: Moving,
    pub v: Moving,
    pub r: Moving,
    pub axes: AxisGaps,
}

impl MovingFeatures {
    /// From (vertex, a, b, c) at both ends.
    pub fn vertex_face(t0: &[DVec3; 4], t1: &[DVec3; 4]) -> MovingFeatures {
        let from_a = |k: usize| [t0[k] - t0[1], t1[k] - t1[1]];
        let corners = |t: &[DVec3; 4]| AxisGaps::at([t[1], t[2], t[3]], [t[0]]);
        MovingFeatures {
            kinds: FeatureKinds::VertexFace,
            u: from_a(2),
            v: from_a(3),
            r: from_a(0),
            axes: corners(t0).during(corners(t1)),
        }
    }

    /// From (a, b, c, d), edges ab and cd, at both ends.
    pub fn edge_edge(t0: &[DVec3; 4], t1: &[DVec3; 4]) -> MovingFeatures {
        // The second edge is relative to its own end and not to a: its vector is short even if the edges are far apart,
        // and so are its errors.
        let v = [t0[3] - t0[2], t1[3] - t1[2]];
        let from_a = |k: usize| [t0[k] - t0[0], t1[k] - t1[0]];
        let corners = |t: &[DVec3; 4]| AxisGaps::at([t[0], t[1]], [t[2], t[3]]);
        MovingFeatures {
            kinds: FeatureKinds::EdgeEdge,
            u: from_a(1),
            v,
            r: from_a(2),
            axes: corners(t0).during(corners(t1)),
        }
    }

    /// Largest |component| of the six vectors along x, y and z. Each computed component is off by at most
    /// U times this.
    pub fn extent(&self) -> DVec3 {
        let most = |m: &Moving| m[0].abs().max(m[1].abs());
        most(&self.u).max(most(&self.v)).max(most(&self.r))
    }

    /// Vectors from each corner of the first feature to each of the second at end 0 or 1; every vector between the two
    /// features is a mean of these. (A vertex and a face have three, one of them given twice.)
    pub fn gaps(&self, end: usize) -> [DVec3; 4] {
        debug_assert!(end < 2, "end {end}");
        let (u, v, r) = (self.u[end], self.v[end], self.r[end]);
        match self.kinds {
            FeatureKinds::VertexFace => [r, r - u, r - v, r],
            FeatureKinds::EdgeEdge => [r, r - u, r + v, r + v - u],
        }
    }

    /// u, v and r at time `t`.
    pub fn at(&self, t: f64) -> (DVec3, DVec3, DVec3) {
        debug_assert!((0.0..=1.0).contains(&t), "time {t}");
        let at = |m: &Moving| m[0].lerp(m[1], t);
        (at(&self.u), at(&self.v), at(&self.r))
    }
}

/// Corners of one feature minus those of another along x, y and z: least and greatest.
#[derive(Clone, Copy, Debug)]
pub(super) struct AxisGaps {
    low: DVec3,
    high: DVec3,
}

impl AxisGaps {
    /// Gaps of `second` minus `first`.
    pub fn at<const N: usize, const M: usize>(first: [DVec3; N], second: [DVec3; M]) -> AxisGaps {
        let low = |points: &[DVec3]| points[1..].iter().fold(points[0], |low, p| low.min(*p));
        let high = |points: &[DVec3]| points[1..].iter().fold(points[0], |high, p| high.max(*p));
        AxisGaps { low: low(&second) - high(&first), high: high(&second) - low(&first) }
    }

    /// Gaps from one end of a step to the other.
    pub fn during(self, end: AxisGaps) -> AxisGaps {
        // Corners move straight, so gaps are linear in time and least at an end.
        AxisGaps { low: self.low.min(end.low), high: self.high.max(end.high) }
    }

    /// Returns true if the two stay apart by more than `thickness` along some axis. Rounding a difference keeps its
    /// sign and order, so without a thickness the result is exact.
    pub fn separate(&self, thickness: f64) -> bool {
        debug_assert!(self.low.cmple(self.high).all(), "{self:?}");
        // The product is rounded, and so is the gap; both losses are covered twice.
        let apart = DVec3::splat(thickness * (1.0 + 4.0 * UNIT_ROUNDOFF));
        self.low.cmpgt(apart).any() || self.high.cmplt(-apart).any()
    }
}

/// A cross product of two moving vectors: n(t) = n0 (1-t)^2 + m t (1-t) + n1 t^2.
#[derive(Clone, Copy, Debug)]
pub(super) struct MovingNormal {
    pub n0: DVec3,
    pub m: DVec3,
    pub n1: DVec3,
}

impl MovingNormal {
    /// u(t) x w(t).
    pub fn of(u: &Moving, w: &Moving) -> MovingNormal {
        // 1.2, with m = u0 x w1 + u1 x w0: one product more than from n0 and n1, less cancellation.
        MovingNormal {
            n0: u[0].cross(w[0]),
            m: u[0].cross(w[1]) + u[1].cross(w[0]),
            n1: u[1].cross(w[1]),
        }
    }
}
