//! Memory of the last search of a point that moves little: the triangles that can be nearest while it stays near, each
//! with a tangent of its distance, and the distance of all others.
//!
//! A search for the nearest triangle extends a little farther than necessary, by a skin, and keeps the triangles that
//! it visits, as a near list does. Two bounds then hold for any point p, if the surface has moved by `loose` since:
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

/// Maximum kept triangles. More take as long to bound as a search does.
const KEPT_MAX: usize = 64;
/// Thickness of the skin in steps of the point ...
const SKIN_STEPS: f64 = 20.0;
/// ... and at least [`NEAR_LIST_SKIN_M`], but no thicker than this, metres: a point that leaps keeps nothing.
const SKIN_MAX_M: f64 = 4.0 * NEAR_LIST_SKIN_M;
/// Minimum number of steps that a skin must last: keeping triangles takes as long as some searches.
const STEPS_MIN: f64 = 8.0;
/// Searches that keep nothing if the surface is too fine for a useful skin.
const WAIT: u32 = 32;
/// Minimum thickness of a skin as a multiple of the rounding slack.
const SLACKS_MIN: f64 = 16.0;
/// Horizon of a memory without results.
const NO_HORIZON: f64 = -1.0;

/// Results of the last searches of one point. Independent of the surface: any change of the surface must be reported.
#[derive(Clone, Debug)]
pub struct Tangents {
    planes: [TangentPlanes; KEPT_MAX / LANES],
    /// Triangles in the order of the planes' lanes.
    triangles: [TriangleId; KEPT_MAX],
    n: usize,
    /// Point for which the triangles were last kept.
    origin: DVec3,
    /// Lower bound of the distance of all other triangles from the origin, metres.
    horizon: f64,
    /// Upper bound of the movement of any point of the surface since then, metres.
    loose: f64,
    /// Last nearest triangle.
    nearest: Option<TriangleId>,
    /// Last query point.
    last: Option<DVec3>,
    /// Skin in which the kept triangles fitted, or are hoped to fit, metres.
    skin_max: f64,
    /// Searches until triangles are kept again.
    wait: u32,
}

impl Tangents {
    /// No results.
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

    /// Accounts for a move of every vertex by at most `moved` metres.
    pub fn loosen(&mut self, moved: f64) {
        debug_assert!(moved >= 0.0, "moved by {moved} m");
        self.loose += moved * BOUND_COVER;
    }

    /// Forgets the kept triangles: triangles were added or removed, or moved by an unknown distance. A search still
    /// starts at the last nearest triangle, if it exists.
    pub fn forget(&mut self) {
        self.horizon = NO_HORIZON;
    }

    /// Starts searches at this triangle.
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

    /// Returns true if every triangle that is not kept is farther from `p` than the limit, a distance in metres: it
    /// cannot even tie.
    pub(super) fn covers(&self, p: DVec3, limit: f64) -> bool {
        (limit + p.distance(self.origin)) * BOUND_COVER + self.loose < self.horizon
    }

    /// Distance beyond the nearest triangle that a search about `p` should cover, metres; `None` if keeping triangles
    /// is not worth it. `slack`: rounding error of a bound.
    pub(super) fn skin(&mut self, p: DVec3, slack: f32) -> Option<f64> {
        // A point without an earlier query, or one that leaps, costs nothing.
        let step = self.last?.distance(p);
        if self.wait > 0 {
            self.wait -= 1;
            return None;
        }
        let least = (STEPS_MIN * step).max(SLACKS_MIN * f64::from(slack));
        let wanted = (SKIN_STEPS * step).clamp(NEAR_LIST_SKIN_M, SKIN_MAX_M);
        let skin = wanted.min(self.skin_max);
        if wanted >= least && skin < least {
            // A surface this fine leaves no space for a skin; elsewhere it may be coarser.
            (self.wait, self.skin_max) = (WAIT, SKIN_MAX_M);
        }
        (skin >= least).then_some(skin)
    }

    /// Begins a search that visits every triangle within `radius` metres of `origin`.
    pub(super) fn begin(&mut self, origin: DVec3, radius: f64) {
        self.planes.fill(TangentPlanes::NONE);
        (self.n, self.origin, self.horizon, self.loose) = (0, origin, radius, 0.0);
    }

    /// Keeps triangles that the search visited. Returns a new radius, metres, once the memory is full.
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

    /// Ends the search, which covered `skin` metres beyond `limit`, or as much as the memory could hold.
    pub(super) fn end(&mut self, limit: f64, skin: f64) {
        debug_assert!(self.n <= KEPT_MAX);
        let reached = self.horizon - limit;
        self.skin_max = if reached < skin { reached } else { SKIN_MAX_M.min(2.0 * self.skin_max) };
    }

    /// Records the nearest triangle found for `p`.
    pub(super) fn note(&mut self, p: DVec3, nearest: Option<TriangleId>) {
        self.last = Some(p);
        // If no triangle is in reach, the last nearest one is as good a start as any.
        self.nearest = nearest.or(self.nearest);
    }

    /// Number of blocks of kept triangles.
    pub(super) fn n_blocks(&self) -> usize {
        self.n.div_ceil(LANES)
    }

    pub(super) fn block(&self, block: usize) -> &TangentPlanes {
        &self.planes[block]
    }

    pub(super) fn triangle(&self, block: usize, lane: usize) -> TriangleId {
        self.triangles[LANES * block + lane]
    }

    /// Replaces a tangent: the closest point to `p` of the triangle with these corners is in the direction of `-away`,
    /// a unit vector.
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

    /// A point moves about an organ as a tip does: its nearest triangle equals that of a search without memory, and few
    /// of its queries are searches.
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
            // Steps of all lengths up to that of a tip at 50 mm/s, in and out of the surface.
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
