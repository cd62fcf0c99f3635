//! What a point that moves little remembers of the last search: the triangles that it can be nearest to while it stays
//! about there, each with a tangent of its distance, and how far all others were.
//!
//! A search for the nearest triangle looks a little farther than it must, by a skin, and keeps what it comes by, as a
//! near list does. Two things hold then of any point p, the surface having moved by `loose` since:
//!
//! ```text
//! dist(p, T) >= plane(p - origin) - loose         of each triangle T that is kept       (1)
//! dist(p, T) >= horizon - |p - origin| - loose    of all others                         (2)
//! ```

use glam::DVec3;

use crate::geometry::{
    TriangleId,
    distance::tangent_planes::TangentPlanes,
    lanes::LANES,
    tolerance::{BOUND_COVER, NEAR_LIST_SKIN_M},
};

/// Triangles that are kept. More take as long to bound as a search does.
const KEPT_MAX: usize = 64;
/// The skin is as thick as so many steps of the point ...
const SKIN_STEPS: f64 = 20.0;
/// ... and as [`NEAR_LIST_SKIN_M`] at least, but no thicker than this, metres: what leaps keeps nothing.
const SKIN_MAX_M: f64 = 4.0 * NEAR_LIST_SKIN_M;
/// To keep triangles takes as long as some searches: a skin that so many steps leave behind is not worth it.
const STEPS_MIN: f64 = 8.0;
/// Searches that keep nothing where the surface is too fine for a skin worth keeping.
const WAIT: u32 = 32;
/// Rounding may not take up more of a skin than one in so many parts.
const SLACKS_MIN: f64 = 16.0;
/// The horizon of a memory that tells nothing.
const NO_HORIZON: f64 = -1.0;

/// What the last searches of one point told. Knows no surface: whoever changes the surface says so.
#[derive(Clone, Debug)]
pub struct Tangents {
    planes: [TangentPlanes; KEPT_MAX / LANES],
    /// In the order of the planes' lanes.
    triangles: [TriangleId; KEPT_MAX],
    n: usize,
    /// Where the triangles were last kept for.
    origin: DVec3,
    /// All other triangles were at least this far from it, metres.
    horizon: f64,
    /// How far any point of the surface has moved since at most, metres.
    loose: f64,
    /// What was nearest last.
    nearest: Option<TriangleId>,
    /// The last point that was asked for.
    last: Option<DVec3>,
    /// The skin in which there was room for all triangles, or at least is hoped to be, metres.
    skin_max: f64,
    /// Searches until triangles are kept again.
    wait: u32,
}

impl Tangents {
    /// Nothing is known.
    pub const NONE: Tangents = Tangents {
        planes: [TangentPlanes::NONE; KEPT_MAX / LANES],
        triangles: [TriangleId(u32::MAX); KEPT_MAX],
        n: 0,
        origin: DVec3::ZERO,
        horizon: NO_HORIZON,
        loose: 0.0,
        nearest: None,
        last: None,
        skin_max: SKIN_MAX_M,
        wait: 0,
    };

    /// Every vertex has moved by at most `moved` metres.
    pub fn loosen(&mut self, moved: f64) {
        debug_assert!(moved >= 0.0, "moved by {moved} m");
        self.loose += moved * BOUND_COVER;
    }

    /// Triangles came or went, or moved nobody knows how far. What was nearest is still where a search starts, if it is
    /// there.
    pub fn forget(&mut self) {
        self.horizon = NO_HORIZON;
    }

    /// Searches start at this triangle.
    pub fn start_at(&mut self, t: TriangleId) {
        *self = Tangents { nearest: Some(t), ..Tangents::NONE };
    }

    pub(super) fn nearest(&self) -> Option<TriangleId> {
        self.nearest
    }

    pub(super) fn origin(&self) -> DVec3 {
        self.origin
    }

    pub(super) fn loose(&self) -> f64 {
        self.loose
    }

    /// Every triangle that is not kept is farther from `p` than the limit, a distance in metres: it cannot even tie.
    pub(super) fn covers(&self, p: DVec3, limit: f64) -> bool {
        (limit + p.distance(self.origin)) * BOUND_COVER + self.loose < self.horizon
    }

    /// How much farther than the nearest triangle a search about `p` should look, metres; `None`: to keep triangles is
    /// not worth it. `slack`: what rounding takes of a bound.
    pub(super) fn skin(&mut self, p: DVec3, slack: f32) -> Option<f64> {
        // A point that was never asked for, or leaps, pays nothing.
        let step = self.last?.distance(p);
        if self.wait > 0 {
            self.wait -= 1;
            return None;
        }
        let least = (STEPS_MIN * step).max(SLACKS_MIN * f64::from(slack));
        let wanted = (SKIN_STEPS * step).clamp(NEAR_LIST_SKIN_M, SKIN_MAX_M);
        let skin = wanted.min(self.skin_max);
        if wanted >= least && skin < least {
            // So fine a surface has no room for a skin; elsewhere it may be coarser.
            (self.wait, self.skin_max) = (WAIT, SKIN_MAX_M);
        }
        (skin >= least).then_some(skin)
    }

    /// A search begins that comes by every triangle within `radius` metres of `origin`.
    pub(super) fn begin(&mut self, origin: DVec3, radius: f64) {
        self.planes.fill(TangentPlanes::NONE);
        (self.n, self.origin, self.horizon, self.loose) = (0, origin, radius, 0.0);
    }

    /// The search came by these. Returns a new radius, metres, once there is no more room.
    #[inline(always)]
    pub(super) fn keep(&mut self, planes: &TangentPlanes, triangles: &[TriangleId]) -> Option<f64> {
        for (lane, t) in triangles.iter().enumerate() {
            let far = f64::from(planes.at_origin(lane));
            debug_assert!(!far.is_nan(), "{t:?}");
            if far > self.horizon {
                continue;
            }
            if self.n < KEPT_MAX {
                self.planes[self.n / LANES].copy_lane(self.n % LANES, planes, lane);
                self.triangles[self.n] = *t;
                self.n += 1;
            } else {
                self.horizon = far;
            }
        }
        (self.n == KEPT_MAX).then_some(self.horizon)
    }

    /// The search is over: it looked `skin` metres farther than `limit`, or as far as there was room.
    pub(super) fn end(&mut self, limit: f64, skin: f64) {
        debug_assert!(self.n <= KEPT_MAX);
        let reached = self.horizon - limit;
        self.skin_max = if reached < skin { reached } else { SKIN_MAX_M.min(2.0 * self.skin_max) };
    }

    /// The nearest triangle to `p` has been found.
    pub(super) fn note(&mut self, p: DVec3, nearest: Option<TriangleId>) {
        self.last = Some(p);
        // Where nothing is in reach what was nearest last is as good a start as any.
        self.nearest = nearest.or(self.nearest);
    }

    /// Blocks of triangles that are kept.
    pub(super) fn n_blocks(&self) -> usize {
        self.n.div_ceil(LANES)
    }

    pub(super) fn block(&self, block: usize) -> &TangentPlanes {
        &self.planes[block]
    }

    pub(super) fn triangle(&self, block: usize, lane: usize) -> TriangleId {
        self.triangles[LANES * block + lane]
    }

    /// The closest point of a triangle, which has these corners, to `p` is in the direction of `-away`, a unit vector.
    pub(super) fn replant(
        &mut self,
        (block, lane): (usize, usize),
        away: DVec3,
        corners: &[DVec3; 3],
    ) {
        self.planes[block].replant(lane, away, &corners.map(|v| v - self.origin));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        geometry::{TriangleMesh, distance::point_triangle::closest_point},
        index::{LatLonOptions, SkipList},
        oracle::{Random, shapes},
        time_left::TimeLeft,
    };

    /// A point wanders about an organ as a tip does: what is nearest to it is what a search without memory finds, and few
    /// of its questions are searches.
    #[test]
    fn what_is_nearest_is_found_without_a_search() {
        let seed = 23;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mesh = TriangleMesh::new(shapes::organ(20_000, 3));
        let list = SkipList::build(&mesh, &LatLonOptions::default());
        let on_surface = |random: &mut Random| {
            let t = TriangleId(random.below(mesh.triangle_id_end() as usize) as u32);
            mesh.triangle(t).iter().sum::<DVec3>() / 3.0
        };
        let (mut tangents, mut searches) = (Tangents::NONE, 0);
        const QUESTIONS: usize = 20_000;
        const STEP_M: f64 = 5e-5;
        let (mut along, mut target) = (on_surface(&mut random), on_surface(&mut random));
        for question in 0..QUESTIONS {
            if along.distance(target) < 0.01 {
                target = on_surface(&mut random);
            }
            // In steps of all lengths up to that of a tip at 50 mm/s, in and out of the surface.
            let step = STEP_M * random.f64();
            along += ((target - along).normalize() + 0.3 * random.unit_vector()) * step;
            let height = 4e-3 * (question as f64 / 500.0).sin();
            let p = along + DVec3::new(0.8, -0.6, 0.0) * height;
            let to_last = |t| closest_point(p, &mesh.triangle(t)).distance_squared.sqrt();
            let limit = tangents.nearest.map_or(f64::INFINITY, to_last);
            searches += usize::from(!tangents.covers(p, limit));
            let time = &TimeLeft::endless();
            let found = list.nearest_tracked(p, f64::INFINITY, &mut tangents, time);
            let truth = list.nearest(p, f64::INFINITY, found.map(|f| f.triangle), time);
            assert_eq!(found, truth, "question {question}, at {p}");
            along =
                list.nearest(along, f64::INFINITY, None, time).expect("a surface").closest.point;
        }
        assert!(8 * searches < QUESTIONS, "{searches} of {QUESTIONS}");
    }
}
