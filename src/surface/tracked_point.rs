//! What is remembered of one point of which a surface is asked again and again.

use crate::{
    geometry::{
        TriangleId, TriangleMesh,
        distance::point_triangle::Feature,
        mesh::pseudonormal::{Pseudonormal, pseudonormal},
    },
    index::Tangents,
};

/// What the last answers about a point told of one surface. It changes the work of the next, never the answer.
///
/// True of the surface as it was then: whoever changes it says so before the next question, by
/// [`loosen`](TrackedPoint::loosen) or [`forget`](TrackedPoint::forget). A rebuilt index changes nothing.
#[derive(Clone, Debug)]
pub struct TrackedPoint {
    pub(super) tangents: Tangents,
    /// At the last closest point: a tip stays on a feature for some steps, and a vertex has a whole ring. The side is not
    /// remembered: by which rule it is told may be found out between two answers.
    normal: Option<(TriangleId, Feature, Pseudonormal)>,
}

impl TrackedPoint {
    /// Nothing is known.
    pub const NEW: TrackedPoint = TrackedPoint { tangents: Tangents::NONE, normal: None };

    /// Of another surface nothing is known but a triangle that is likely near.
    pub fn start_at(&mut self, t: TriangleId) {
        self.tangents.start_at(t);
        self.normal = None;
    }

    /// Every vertex of the surface has moved by at most `moved` metres.
    pub fn loosen(&mut self, moved: f64) {
        self.tangents.loosen(moved);
        self.normal = None;
    }

    /// The surface was cut, or has moved nobody knows how far.
    pub fn forget(&mut self) {
        self.tangents.forget();
        self.normal = None;
    }

    /// The pseudonormal at a feature.
    pub(super) fn normal_at(
        &mut self,
        mesh: &TriangleMesh,
        t: TriangleId,
        feature: Feature,
    ) -> Pseudonormal {
        match self.normal {
            Some((of, at, normal)) if (of, at) == (t, feature) => normal,
            _ => {
                let normal = pseudonormal(mesh, t, feature);
                self.normal = Some((t, feature, normal));
                normal
            }
        }
    }
}
