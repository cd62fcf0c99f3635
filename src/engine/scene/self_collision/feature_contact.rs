//! First contact of two features of tissues: a vertex and a face, or two edges.

use std::cmp::Ordering;

use glam::DVec3;

use super::tissue_motion::SweptTissue;
use crate::{
    ccd::{FeaturePair, MovingTriangle, TriangleContact},
    geometry::{TriangleId, tolerance::CONTACT_SLACK},
    scene::{SurfacePoint, TissueId},
};

/// Kinds of features that meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FeatureKind {
    /// A vertex of the first side, a face of the second.
    VertexFace,
    /// An edge of each side.
    EdgeEdge,
}

/// First contact of two features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeatureContact {
    /// Time of impact in [0, 1], never later than the true time.
    pub toi: f64,
    /// Kinds of the features.
    pub kind: FeatureKind,
    /// Tissues of the vertex and of the face; of two edges the lesser (tissue, vertices) comes first.
    pub tissues: [TissueId; 2],
    /// The vertex and the face's three in stored order; or both edges' ends, ascending in each.
    pub vertices: [u32; 4],
    /// Points of contact at `toi`. The triangle of a vertex or edge is the least that has it.
    pub on: [SurfacePoint; 2],
    /// Unit normal from the second side towards the first; zero if neither the features nor their motion determine it.
    pub normal: DVec3,
}

impl FeatureContact {
    /// Returns the contact of two moving triangles, each of a tissue, by the names of its features.
    pub(super) fn of(
        [a, b]: [&SweptTissue; 2],
        [s, t]: [TriangleId; 2],
        [p, q]: [&MovingTriangle; 2],
        met: &TriangleContact,
    ) -> FeatureContact {
        debug_assert!((0.0..=1.0).contains(&met.toi), "toi {}", met.toi);
        let mut tissues = [a.motion().tissue, b.motion().tissue];
        let mut on = [
            surface_point(s, p.at(met.toi), met.first),
            surface_point(t, q.at(met.toi), met.second),
        ];
        let mut normal = met.normal;
        let (kind, vertices, is_turned) =
            named(met.features, tissues, a.vertices(s), b.vertices(t));
        if is_turned {
            tissues.reverse();
            on.reverse();
            normal = -normal;
        }
        FeatureContact { toi: met.toi, kind, tissues, vertices, on, normal }
    }

    /// Orders by time, kind, tissues, vertices and triangles: a total order over the contacts of one answer,
    /// independent of the way in which they were found.
    pub fn order(&self, other: &FeatureContact) -> Ordering {
        let ids = |c: &FeatureContact| (c.kind, c.tissues, c.vertices, c.on.map(|p| p.triangle));
        self.toi.total_cmp(&other.toi).then_with(|| ids(self).cmp(&ids(other)))
    }
}

/// Names features by their vertices, and returns whether the second triangle's comes first.
fn named(
    features: FeaturePair,
    tissues: [TissueId; 2],
    v: [u32; 3],
    w: [u32; 3],
) -> (FeatureKind, [u32; 4], bool) {
    match features {
        FeaturePair::VertexFace(k) => {
            (FeatureKind::VertexFace, [v[k as usize], w[0], w[1], w[2]], false)
        }
        FeaturePair::FaceVertex(k) => {
            (FeatureKind::VertexFace, [w[k as usize], v[0], v[1], v[2]], true)
        }
        FeaturePair::EdgeEdge(i, j) => {
            let (e, f) = (edge(v, i), edge(w, j));
            // Neither edge is first by nature, and trees give pairs in any order: ids decide.
            let is_turned = (tissues[1], f) < (tissues[0], e);
            let ([e0, e1], [f0, f1]) = if is_turned { (f, e) } else { (e, f) };
            (FeatureKind::EdgeEdge, [e0, e1, f0, f1], is_turned)
        }
    }
}

fn surface_point(triangle: TriangleId, corners: [DVec3; 3], weights: DVec3) -> SurfacePoint {
    debug_assert!((weights.element_sum() - 1.0).abs() <= CONTACT_SLACK, "weights {weights}");
    let [a, b, c] = corners;
    let position = a * weights.x + b * weights.y + c * weights.z;
    SurfacePoint { position, triangle, barycentric: weights }
}

/// Returns the ends of an edge, ascending.
fn edge(v: [u32; 3], k: u8) -> [u32; 2] {
    let (i, j) = (v[k as usize], v[(k as usize + 1) % 3]);
    [i.min(j), i.max(j)]
}
