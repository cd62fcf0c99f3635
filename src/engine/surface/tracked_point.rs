//! State kept between repeated queries of one point against a surface.

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

/// Results of earlier queries of a point against one surface. They change the work of the next query, never its result.
///
/// They hold for the surface as it was then: after a change of the surface, call [`loosen`](TrackedPoint::loosen) or
/// [`forget`](TrackedPoint::forget) before the next query. A rebuilt index changes nothing.
#[derive(Clone, Debug)]
pub struct TrackedPoint {
    pub(super) tangents: Tangents,
    /// Pseudonormal at the last closest point: a tip stays on a feature for some steps, and a vertex has a whole ring.
    /// The side is not remembered: the rule that decides it may be found out between two queries.
    normal: Option<(TriangleId, Feature, Pseudonormal)>,
    /// Clear balls of a closed surface: about the point itself, and the widest one on its way. Along a near surface, a
    /// ball with the radius of the distance ends where the next one begins.
    clear: [Option<ClearBall>; 2],
}

/// A ball that no triangle reaches into, so all its points have the same winding number. If vertices have moved by less
/// than its radius, none has passed its centre, and the rest of the ball keeps its winding number.
#[derive(Clone, Copy, Debug)]
struct ClearBall {
    centre: DVec3,
    radius: f64,
    winding: f64,
}

impl ClearBall {
    /// Returns true if this ball and the other have a point in common.
    fn touches(&self, centre: DVec3, radius: f64) -> bool {
        self.centre.distance(centre) < self.radius + radius
    }
}

impl TrackedPoint {
    /// No known results.
    pub const NEW: TrackedPoint =
        TrackedPoint { tangents: Tangents::NONE, normal: None, clear: [None; 2] };

    /// Starts on another surface, with only a triangle that is likely near.
    pub fn start_at(&mut self, t: TriangleId) {
        self.tangents.start_at(t);
        self.normal = None;
        self.clear = [None; 2];
    }

    /// Accounts for a move of every vertex of the surface by at most `moved` metres.
    pub fn loosen(&mut self, moved: f64) {
        self.tangents.loosen(moved);
        self.normal = None;
        for clear in &mut self.clear {
            let left = clear.map(|ball| ClearBall { radius: ball.radius - moved, ..ball });
            *clear = left.filter(|ball| ball.radius > 0.0);
        }
    }

    /// Forgets all results: the surface was cut, or has moved by an unknown distance.
    pub fn forget(&mut self) {
        self.tangents.forget();
        self.normal = None;
        self.clear = [None; 2];
    }

    /// Winding number of a closed surface around a point that has no triangle nearer than `radius`. Counted, unless a
    /// path that meets no triangle leads to points whose winding number is known.
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
        // Results that are the mean of two sides, or summed, are not kept.
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
