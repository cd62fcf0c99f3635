//! Distance of two features at one instant, by other formulas than the engine's.

use glam::DVec3;
use palpate::{
    ccd::{FeatureVerdict, edge_edge, vertex_face},
    oracle::{
        ccd_queries::{CcdQuery, QueryKind},
        triangle::closest_on_triangle,
    },
};

/// Four points of one kind of test, at both ends of a step.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub kind: QueryKind,
    pub t0: [DVec3; 4],
    pub t1: [DVec3; 4],
}

impl From<&CcdQuery> for Case {
    fn from(q: &CcdQuery) -> Case {
        Case { kind: q.kind, t0: q.t0, t1: q.t1 }
    }
}

impl Case {
    pub fn judge(&self, thickness: f64) -> FeatureVerdict {
        match self.kind {
            QueryKind::VertexFace => vertex_face(&self.t0, &self.t1, thickness),
            QueryKind::EdgeEdge => edge_edge(&self.t0, &self.t1, thickness),
        }
    }

    /// Distance of the two features at a time of the step; for edges, that of the origin from the parallelogram of
    /// their differences. Accurate to 3e-8 of the longest edge at worst.
    pub fn distance(&self, t: f64) -> f64 {
        let [p, q, r, s] = std::array::from_fn(|k| self.t0[k].lerp(self.t1[k], t));
        let away = |p: DVec3, triangle: [DVec3; 3]| p.distance(closest_on_triangle(p, &triangle));
        match self.kind {
            QueryKind::VertexFace => away(p, [q, r, s]),
            QueryKind::EdgeEdge => {
                let half = |middle: DVec3| away(DVec3::ZERO, [r - p, middle, s - q]);
                half(r - q).min(half(s - p))
            }
        }
    }

    /// Largest extent of all eight points along an axis.
    pub fn scale(&self) -> f64 {
        let all = || self.t0.iter().chain(&self.t1).copied();
        let low = all().fold(DVec3::INFINITY, DVec3::min);
        (all().fold(DVec3::NEG_INFINITY, DVec3::max) - low).max_element()
    }
}
