//! What is remembered of one point of which a surface is asked again and again.

use glam::DVec3;

use crate::{
    geometry::{
        TriangleId, TriangleMesh,
        distance::point_triangle::Feature,
        mesh::pseudonormal::{Pseudonormal, pseudonormal},
        winding::Winding,
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
    /// Of a closed surface. About the point itself, and the widest on its way: along a surface that is near, one ball of
    /// the distance to it ends where the next one begins.
    clear: [Option<ClearBall>; 2],
}

/// No triangle reaches into it, so that the surface encloses each of its points as often. When vertices have moved by
/// less than its radius none has passed its centre, and what is left of it is enclosed as often as before.
#[derive(Clone, Copy, Debug)]
struct ClearBall {
    centre: DVec3,
    radius: f64,
    winding: f64,
}

impl ClearBall {
    /// Whether a point of this ball is one of another, too.
    fn touches(&self, centre: DVec3, radius: f64) -> bool {
        self.centre.distance(centre) < self.radius + radius
    }
}

impl TrackedPoint {
    /// Nothing is known.
    pub const NEW: TrackedPoint =
        TrackedPoint { tangents: Tangents::NONE, normal: None, clear: [None; 2] };

    /// Of another surface nothing is known but a triangle that is likely near.
    pub fn start_at(&mut self, t: TriangleId) {
        self.tangents.start_at(t);
        self.normal = None;
        self.clear = [None; 2];
    }

    /// Every vertex of the surface has moved by at most `moved` metres.
    pub fn loosen(&mut self, moved: f64) {
        self.tangents.loosen(moved);
        self.normal = None;
        for clear in &mut self.clear {
            let left = clear.map(|ball| ClearBall { radius: ball.radius - moved, ..ball });
            *clear = left.filter(|ball| ball.radius > 0.0);
        }
    }

    /// The surface was cut, or has moved nobody knows how far.
    pub fn forget(&mut self) {
        self.tangents.forget();
        self.normal = None;
        self.clear = [None; 2];
    }

    /// How often a closed surface encloses a point that no triangle is nearer to than `radius`. Counted where that is not
    /// known from points that are, along a way that meets no triangle.
    pub(super) fn winding_at(
        &mut self,
        centre: DVec3,
        radius: f64,
        count: impl FnOnce() -> Option<Winding>,
    ) -> Option<Winding> {
        let known = self.clear.iter().flatten().find(|ball| ball.touches(centre, radius));
        let number = known.map(|ball| ball.winding);
        let found = match number {
            Some(number) => Winding { number, error: 0.0 },
            None => count()?,
        };
        // Not where it is the mean of two sides, or summed.
        if found.error == 0.0 && found.number == found.number.round() {
            let ball = ClearBall { centre, radius, winding: found.number };
            let [newest, widest] = &mut self.clear;
            *newest = Some(ball);
            if widest.is_none_or(|w| w.radius <= radius || !w.touches(centre, radius)) {
                *widest = Some(ball);
            }
        }
        Some(found)
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
