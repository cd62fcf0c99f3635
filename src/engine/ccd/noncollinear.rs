//! Quartics that give the side of a line on which a point stays: the non-collinear filter of source 000.
//!
//! Each is a dot product of two moving normals (the source's five scalars S_i are its coefficients times 1, 4, 6, 4,
//! 1). If it is positive all along, the point is outside all along: at a contact it would have to be zero or less.

use glam::DVec3;

use super::{
    bernstein::largest,
    moving_features::{FeatureKinds, MovingFeatures, MovingNormal},
};
use crate::geometry::tolerance::{OUTSIDE_ROUNDINGS, RESTRICTION_ROUNDINGS, UNIT_ROUNDOFF};

/// Bernstein coefficients of up to three outside tests, each within `error` of the truth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outsides {
    pub k: [[f64; 5]; 3],
    pub error: f64,
}

impl Outsides {
    /// Returns `None` if one of them culls. `n` is u x v.
    pub fn new(moving: &MovingFeatures, n: &MovingNormal, extent: DVec3) -> Option<Outsides> {
        let (nu, nv) =
            (MovingNormal::of(&moving.u, &moving.r), MovingNormal::of(&moving.r, &moving.v));
        let area = DVec3::new(extent.y * extent.z, extent.x * extent.z, extent.x * extent.y);
        let error = OUTSIDE_ROUNDINGS * UNIT_ROUNDOFF * area.length_squared() + f64::MIN_POSITIVE;
        let k = match moving.kinds {
            // 1.3: -n.N_abp, -n.N_pac, and -n.N_bcp = n.N_abp + n.N_pac - n.n.
            FeatureKinds::VertexFace => {
                let ab = dot(n, &nu);
                let ca = dot(n, &nv);
                // Derived from the other two, since the three outside tests sum to -n.n: one product less than with a
                // normal of its own.
                let nn = dot(n, n);
                let bc = std::array::from_fn(|i| ab[i] + ca[i] - nn[i]);
                [ab.map(|x| -x), ca.map(|x| -x), bc]
            }
            // 1.4: H2 = N_abc.N_abd with N_abd = N_abc + n, H1 = N_cda.N_cdb with N_cdb = N_cda - n.
            FeatureKinds::EdgeEdge => {
                let abd = combined(&nu, n, 1.0);
                let cdb = combined(&nv, n, -1.0);
                // Two edges have two outside tests; a third that is never positive culls nothing.
                [dot(&nu, &abd), dot(&nv, &cdb), [-1.0; 5]]
            }
        };
        debug_assert!(error.is_finite(), "{error}");
        let culls = |k: &[f64; 5]| k.iter().all(|x| *x > error);
        if k.iter().any(culls) { None } else { Some(Outsides { k, error }) }
    }

    /// Error of a restriction of quartic `j` to a part of the step.
    pub fn restricted_error(&self, j: usize) -> f64 {
        self.error + RESTRICTION_ROUNDINGS * 4.0 * UNIT_ROUNDOFF * largest(&self.k[j])
    }
}

fn combined(a: &MovingNormal, b: &MovingNormal, sign: f64) -> MovingNormal {
    MovingNormal { n0: a.n0 + b.n0 * sign, m: a.m + b.m * sign, n1: a.n1 + b.n1 * sign }
}

/// 1.3: G0 = n0.q0, G1 = (n0.r + m.q0) / 4, G2 = (n0.q1 + n1.q0 + m.r) / 6, G3 = (m.q1 + n1.r) / 4, G4 = n1.q1.
fn dot(n: &MovingNormal, q: &MovingNormal) -> [f64; 5] {
    [
        n.n0.dot(q.n0),
        (n.n0.dot(q.m) + n.m.dot(q.n0)) / 4.0,
        (n.n0.dot(q.n1) + n.n1.dot(q.n0) + n.m.dot(q.m)) / 6.0,
        (n.m.dot(q.n1) + n.n1.dot(q.m)) / 4.0,
        n.n1.dot(q.n1),
    ]
}
