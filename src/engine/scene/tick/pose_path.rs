//! The poses of a link from where it was last swept to its newest pose.
//!
//! The path begins where the sweep has come to, and every tick adds a waypoint, answered or coalesced. Between two
//! waypoints a link turns and moves evenly. A long path drops waypoints and stores a bound of how far off the link may
//! have been.

use glam::{DMat3, DQuat};

use crate::geometry::Pose;
use crate::scene::Link;

/// Maximum waypoints of a path. If there are more, only every second one is kept, then every fourth and so on, and the
/// path gets as much thicker as the others were off it.
const WAYPOINTS_MAX: usize = 64;

/// Path from where the sweep has come to, to the newest pose. Empty before the first tick.
#[derive(Debug)]
pub(super) struct PosePath {
    waypoints: Vec<Waypoint>,
    /// Tick at time 0: that of the last answer that was swept, or at which the link was teleported.
    origin: u64,
    /// Ticks between waypoints; the last one may be nearer.
    stride: u64,
}

/// Pose of a link in a tick.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waypoint {
    pub(super) scene_from_link: Pose,
    /// Number of the tick, coalesced ones counted.
    pub(super) tick: u64,
    /// The session's [`travel`](super::tissue_log::TissueLog::travel_m) then or before, metres.
    pub(super) travel_m: f64,
    /// Bound: no tissue was nearer then than this, metres; minus infinity if it was not measured.
    pub(super) clearance_m: f64,
    /// The link was teleported here: it was nowhere between the waypoint before and this one.
    pub(super) put: bool,
    /// Greatest distance of a point of the link from the even motion from the waypoint before to this one, metres.
    pub(super) slack_m: f64,
}

/// A part of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathSegment {
    pub(super) from: Pose,
    pub(super) to: Pose,
    /// Start and end of the part, 0 to 1 over the whole path.
    pub(super) times: (f64, f64),
    /// Greatest distance of a point of the link from the part, metres.
    pub(super) slack_m: f64,
}

impl PosePath {
    pub(super) fn new() -> PosePath {
        PosePath { waypoints: Vec::with_capacity(WAYPOINTS_MAX), origin: 0, stride: 1 }
    }

    /// Restarts the path with only this waypoint.
    pub(super) fn start(&mut self, at: Waypoint) {
        self.waypoints.clear();
        self.waypoints.push(at);
        (self.origin, self.stride) = (at.tick, 1);
    }

    /// Moves the link on to a waypoint. `negligible_m`: a waypoint so little off the even motion may be dropped at
    /// once.
    pub(super) fn push(&mut self, link: &Link, next: Waypoint, negligible_m: f64) {
        if self.waypoints.len() == WAYPOINTS_MAX {
            self.thin(link);
        }
        debug_assert!(self.waypoints.last().is_none_or(|last| last.tick < next.tick));
        // The first segment stays as it is, for a sweep may be in the middle of it.
        if let [_, .., before, last] = self.waypoints[..] {
            let slack_m = if next.put {
                0.0
            } else {
                last.slack_m + off_the_path(link, &[before, last, next])
            };
            let is_on_time = last.tick - before.tick < self.stride;
            let is_negligible = slack_m <= negligible_m && !last.put && !next.put;
            if is_negligible || is_on_time && !last.parts(&next) {
                // The last waypoint is not due to be kept: the new one replaces it.
                self.waypoints.pop();
                return self.waypoints.push(Waypoint { slack_m, ..next });
            }
        }
        self.waypoints.push(next);
    }

    fn thin(&mut self, link: &Link) {
        // A path of 64 ticks is far behind: it is then tested coarsely, as thick as the dropped waypoints were off it,
        // and still misses nothing.
        let w = &mut self.waypoints;
        let last = w.len() - 1;
        // With a motion on one side and a leap on the other, a waypoint says which is which. If all do, as after a
        // teleport in every second tick, half of the leaps are swept: this may add contacts, but misses none.
        let is_dropped = |w: &[Waypoint], i: usize| !w[i].parts(&w[i + 1]);
        let has_to_sweep_leaps = !(2..last).step_by(2).any(|i| is_dropped(w, i));
        let mut dropped = [false; WAYPOINTS_MAX];
        for i in (2..last).step_by(2) {
            dropped[i] = has_to_sweep_leaps || is_dropped(w, i);
            if !dropped[i] {
                continue;
            }
            let off = off_the_path(link, &[w[i - 1], w[i], w[i + 1]]);
            w[i + 1].slack_m = w[i].slack_m.max(w[i + 1].slack_m) + off;
            w[i + 1].put &= w[i].put;
        }
        // If leaps keep most waypoints, the others need not get coarser.
        if 4 * dropped.iter().filter(|is| **is).count() >= WAYPOINTS_MAX {
            self.stride = self.stride.saturating_mul(2);
        }
        let mut at = 0..;
        self.waypoints.retain(|_| at.next().is_some_and(|i| !dropped[i]));
    }

    /// Stores what is known of the newest waypoint, once its tick is answered.
    pub(super) fn note_end(&mut self, travel_m: f64, clearance_m: f64) {
        let end = self.waypoints.last_mut().expect("a tick has a pose");
        (end.travel_m, end.clearance_m) = (travel_m, clearance_m);
    }

    /// Returns the start of the path; `None` before the first tick.
    pub(super) fn front(&self) -> Option<&Waypoint> {
        self.waypoints.first()
    }

    /// Returns true if there is an earlier pose.
    pub(super) fn has_moved(&self) -> bool {
        self.waypoints.len() > 1
    }

    /// Drops the first segment, which has been swept: the path begins at its end.
    pub(super) fn pass_front(&mut self) {
        self.waypoints.remove(0);
        debug_assert!(!self.waypoints.is_empty(), "a path ends somewhere");
    }

    /// Returns true if no segment has been dropped as swept.
    pub(super) fn is_whole(&self) -> bool {
        self.front().is_some_and(|front| front.tick == self.origin)
    }

    /// Returns true if the newest waypoint was teleported there.
    pub(super) fn ends_put(&self) -> bool {
        self.waypoints.last().is_some_and(|end| end.put)
    }

    /// Returns the first part and its start; no part if the link was teleported to its end.
    pub(super) fn first_segment(&self) -> Option<(Waypoint, Option<PathSegment>)> {
        let (front, to) = (self.waypoints.first()?, self.waypoints.get(1)?);
        Some((*front, self.segments().next().filter(|_| !to.put)))
    }

    /// Returns the parts between waypoints; each tick takes as long as the others.
    pub(super) fn segments(&self) -> impl Iterator<Item = PathSegment> + '_ {
        debug_assert!(self.waypoints.windows(2).all(|w| w[0].tick < w[1].tick), "{:?}", self);
        let end = self.waypoints.last().map_or(0, |last| last.tick);
        let n = end.saturating_sub(self.origin).max(1) as f64;
        let time = move |w: &Waypoint| (w.tick - self.origin) as f64 / n;
        self.waypoints.windows(2).map(move |ends| PathSegment {
            from: ends[0].scene_from_link,
            to: ends[1].scene_from_link,
            times: (time(&ends[0]), time(&ends[1])),
            slack_m: ends[1].slack_m,
        })
    }

    /// Upper bound of the distance of any point of the link from where it began, metres.
    pub(super) fn displacement_max(&self, link: &Link) -> f64 {
        let slack = self.segments().map(|s| s.slack_m).fold(0.0, f64::max);
        self.segments().map(|s| s.displacement_max(link)).sum::<f64>() + slack
    }
}

impl Waypoint {
    /// Returns true if the link moved here and was teleported to the next one, or the other way round.
    fn parts(&self, next: &Waypoint) -> bool {
        self.put != next.put
    }
}

impl PathSegment {
    /// Upper bound of the distance of any point of the link from where it began, metres: along its chord, and off it.
    pub(super) fn displacement_max(&self, link: &Link) -> f64 {
        // Rounding makes a turn by nothing a small turn: a link at rest would be swept again and again.
        if self.from == self.to {
            return 0.0;
        }
        link.displacement(&self.from, &self.to) + self.chord_error(link)
    }

    /// Upper bound of the distance of a point of the link from the straight line between its two places: an eighth of
    /// its acceleration, angle squared times radius.
    fn chord_error(&self, link: &Link) -> f64 {
        // The error of linear interpolation over a unit of time: |acceleration| / 8.
        self.angle().powi(2) * link.radius() / 8.0
    }

    /// Rotation angle, radians.
    pub(super) fn angle(&self) -> f64 {
        // atan2 is exact for small angles, but acos of the scalar part loses half the digits.
        let turn = DQuat::from_mat3(&(self.to.rotation * self.from.rotation.transpose()));
        2.0 * turn.xyz().length().atan2(turn.w.abs())
    }

    /// Splits the segment in `n` parts, turning and moving evenly.
    pub(super) fn split(self, n: usize) -> impl Iterator<Item = PathSegment> {
        let at = move |i: usize| i as f64 / n as f64;
        (0..n).map(move |i| self.part(at(i), at(i + 1)))
    }

    /// Cuts the segment at multiples of 1 / `n` of the whole path.
    pub(super) fn cut(self, n: usize) -> impl Iterator<Item = PathSegment> {
        let (start, end) = self.times;
        let inside = move |k: usize| (k as f64 / n as f64 - start) / (end - start);
        let cuts = (1..n).map(inside).filter(|s| *s > 0.0 && *s < 1.0).chain([1.0]);
        cuts.scan(0.0, |from, to| Some((std::mem::replace(from, to), to)))
            .map(move |(from, to)| self.part(from, to))
    }

    /// Returns the part between two shares of the segment.
    fn part(&self, a: f64, b: f64) -> PathSegment {
        debug_assert!(0.0 <= a && a <= b && b <= 1.0, "from {a} to {b}");
        let time = |s: f64| self.times.0 + (self.times.1 - self.times.0) * s;
        let times = (time(a), time(b));
        PathSegment { from: self.pose_at(a), to: self.pose_at(b), times, ..*self }
    }

    /// Returns the pose at `s`, 0 at the start, 1 at the end.
    pub(super) fn pose_at(&self, s: f64) -> Pose {
        let (a, b) = (DQuat::from_mat3(&self.from.rotation), DQuat::from_mat3(&self.to.rotation));
        // At the ends as given: a quaternion and back rounds, and a path would begin beside the last one's end.
        let rotation = match s {
            0.0 => self.from.rotation,
            1.0 => self.to.rotation,
            _ => DMat3::from_quat(a.slerp(b, s)),
        };
        Pose { rotation, translation: self.from.translation.lerp(self.to.translation, s) }
    }
}

/// Upper bound of the distance of the link's points from the even motion between two waypoints when they pass one in
/// between: as far as there, and as arcs are from their chords.
fn off_the_path(link: &Link, [from, via, to]: &[Waypoint; 3]) -> f64 {
    let poses = [from, via, to].map(|w| w.scene_from_link);
    if poses[0] == poses[1] && poses[1] == poses[2] {
        return 0.0;
    }
    let step = |a: &Waypoint, b: &Waypoint| {
        let times = (a.tick as f64, b.tick as f64);
        PathSegment { from: a.scene_from_link, to: b.scene_from_link, times, slack_m: 0.0 }
    };
    let whole = step(from, to);
    let share = (via.tick - from.tick) as f64 / (to.tick - from.tick) as f64;
    let off = link.displacement(&via.scene_from_link, &whole.pose_at(share));
    let arcs = [whole, step(from, via), step(via, to)];
    off + arcs.map(|s| s.chord_error(link)).into_iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::{
        geometry::mesh::load::{LoadOptions, load},
        oracle::shapes,
        scene::tool::field::default_field,
    };

    const STEP_M: f64 = 1e-4;
    const LEAP_M: f64 = 1.0;

    fn ball() -> Link {
        let mesh = load(shapes::sphere(0.01, 2), &LoadOptions::default()).expect("a mesh");
        Link::new("ball".to_owned(), mesh, Pose::IDENTITY, default_field)
    }

    /// Returns how far the link goes on the parts that are swept, and how often it leaps.
    fn swept(mut path: PosePath, link: &Link) -> (f64, usize) {
        let (mut gone_m, mut leaps) = (0.0, 0);
        while let Some((_, segment)) = path.first_segment() {
            leaps += usize::from(segment.is_none());
            gone_m += segment.map_or(0.0, |s| s.displacement_max(link));
            path.pass_front();
        }
        (gone_m, leaps)
    }

    /// A path of many ticks with a leap after every `period` of them.
    fn leaping(link: &Link, n: u64, period: u64) -> PosePath {
        let mut path = PosePath::new();
        let mut x = 0.0;
        for tick in 0..n {
            let put = tick % period == period - 1;
            x += if put { LEAP_M } else { STEP_M };
            let scene_from_link = Pose { translation: DVec3::X * x, ..Pose::IDENTITY };
            let (travel_m, clearance_m, slack_m) = (0.0, 0.0, 0.0);
            let at = Waypoint { scene_from_link, tick, travel_m, clearance_m, put, slack_m };
            if tick == 0 {
                path.start(at)
            } else {
                path.push(link, at, -1.0)
            }
            assert!(path.waypoints.len() <= WAYPOINTS_MAX);
        }
        path
    }

    #[test]
    fn a_long_path_sweeps_no_leap() {
        let link = ball();
        for (n, period) in [(300, 201), (300, 150), (1_000, 100), (70, 5)] {
            let leaps = (n / period) as usize;
            let (gone_m, told) = swept(leaping(&link, n, period), &link);
            assert_eq!(told, leaps, "{n} ticks");
            let moves = (n as usize - 1 - leaps) as f64 * STEP_M;
            assert!((gone_m - moves).abs() < 1e-9, "{gone_m} m of {moves} in {n} ticks");
        }
    }

    /// More leaps than waypoints: all motion is still swept, and some leaps are too.
    #[test]
    fn a_path_of_leaps_alone_stays_short() {
        let link = ball();
        for period in [1, 2, 3] {
            let (gone_m, _) = swept(leaping(&link, 10_000, period), &link);
            let moves = (10_000 - 10_000 / period) as f64 * STEP_M;
            assert!(gone_m >= (moves - 2.0 * STEP_M) * 0.999, "{gone_m} m of {moves}");
        }
    }
}
