//! The poses that a link went through since the last answered tick.
//!
//! The path begins at the last answered pose, and every coalesced tick adds a waypoint. Between two waypoints a link
//! turns and moves evenly. A long path drops waypoints and remembers how far off the link may have been.

use glam::{DMat3, DQuat};

use crate::geometry::Pose;
use crate::scene::Link;

/// Waypoints kept of a path. When there are more only every second one is kept, then every fourth and so on, and
/// the path is as much thicker as the others were off it.
const WAYPOINTS_MAX: usize = 64;

/// From the last answered pose to the newest. Empty before the first tick.
#[derive(Debug)]
pub(super) struct PosePath {
    waypoints: Vec<Waypoint>,
    /// Ticks between waypoints; the last one may be nearer.
    stride: u32,
    /// How far a point of the link was from the even motion between two waypoints, metres: before the last waypoint
    /// but one, and since.
    slack: f64,
    slack_since: f64,
}

#[derive(Clone, Copy, Debug)]
struct Waypoint {
    scene_from_link: Pose,
    /// Ticks since the path's start.
    tick: u32,
}

/// A part of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathSegment {
    pub(super) from: Pose,
    pub(super) to: Pose,
    /// The part's start and end, 0 to 1 over the whole path.
    pub(super) times: (f64, f64),
}

impl PosePath {
    pub(super) fn new() -> PosePath {
        PosePath {
            waypoints: Vec::with_capacity(WAYPOINTS_MAX),
            stride: 1,
            slack: 0.0,
            slack_since: 0.0,
        }
    }

    /// The link is put here: nothing lies between.
    pub(super) fn start(&mut self, scene_from_link: Pose) {
        self.waypoints.clear();
        self.waypoints.push(Waypoint { scene_from_link, tick: 0 });
        (self.stride, self.slack, self.slack_since) = (1, 0.0, 0.0);
    }

    /// The link moves on to a pose.
    pub(super) fn push(&mut self, link: &Link, scene_from_link: Pose) {
        if self.waypoints.len() == WAYPOINTS_MAX {
            self.thin(link);
        }
        let tick = self.waypoints.last().map_or(0, |last| last.tick + 1);
        let next = Waypoint { scene_from_link, tick };
        match self.waypoints[..] {
            // The last waypoint is not due to be kept: the new one takes its place.
            [.., before, last] if last.tick % self.stride != 0 => {
                self.slack_since += off_the_path(link, &[before, last, next]);
                self.waypoints.pop();
            }
            _ => self.settle(),
        }
        self.waypoints.push(next);
        debug_assert!(self.waypoints.len() <= WAYPOINTS_MAX && self.slack().is_finite());
    }

    fn thin(&mut self, link: &Link) {
        // A client that sends 64 ticks while one is answered is far behind: the path is then tested coarsely and as
        // thick as what was dropped, and still misses nothing.
        self.settle();
        let each = (1..self.waypoints.len() - 1).step_by(2);
        let off = each.map(|i| off_the_path(link, &[i - 1, i, i + 1].map(|i| self.waypoints[i])));
        self.slack += off.fold(0.0, f64::max);
        self.stride *= 2;
        let (stride, last) = (self.stride, self.waypoints.last().map_or(0, |last| last.tick));
        self.waypoints.retain(|w| w.tick % stride == 0 || w.tick == last);
    }

    fn settle(&mut self) {
        self.slack = self.slack.max(self.slack_since);
        self.slack_since = 0.0;
    }

    /// There is a pose to come from.
    pub(super) fn has_moved(&self) -> bool {
        self.waypoints.len() > 1
    }

    /// How far a point of the link may have been off the segments, metres.
    pub(super) fn slack(&self) -> f64 {
        self.slack.max(self.slack_since)
    }

    /// The parts between waypoints; each tick takes as long as the others.
    pub(super) fn segments(&self) -> impl Iterator<Item = PathSegment> + '_ {
        debug_assert!(self.waypoints.windows(2).all(|w| w[0].tick < w[1].tick), "{:?}", self);
        let n = f64::from(self.waypoints.last().map_or(1, |last| last.tick.max(1)));
        self.waypoints.windows(2).map(move |ends| PathSegment {
            from: ends[0].scene_from_link,
            to: ends[1].scene_from_link,
            times: (f64::from(ends[0].tick) / n, f64::from(ends[1].tick) / n),
        })
    }

    /// No point of the link was ever farther than this from where it began, metres.
    pub(super) fn displacement_max(&self, link: &Link) -> f64 {
        self.segments().map(|s| s.displacement_max(link)).sum::<f64>() + self.slack()
    }
}

impl PathSegment {
    /// No point of the link is ever farther than this from where it began, metres: along its chord, and off it.
    pub(super) fn displacement_max(&self, link: &Link) -> f64 {
        link.displacement(&self.from, &self.to) + self.chord_error(link)
    }

    /// How far a point of the link is at most from the straight line between its two places: an eighth of
    /// its acceleration, angle squared times radius.
    fn chord_error(&self, link: &Link) -> f64 {
        // The error of linear interpolation over a unit of time: |acceleration| / 8.
        self.angle().powi(2) * link.radius() / 8.0
    }

    /// Radians.
    pub(super) fn angle(&self) -> f64 {
        // atan2 is exact for small angles, where acos of the scalar part loses half the digits.
        let turn = DQuat::from_mat3(&(self.to.rotation * self.from.rotation.transpose()));
        2.0 * turn.xyz().length().atan2(turn.w.abs())
    }

    /// Split in `n` parts, turning and moving evenly.
    pub(super) fn split(self, n: usize) -> impl Iterator<Item = PathSegment> {
        let at = move |i: usize| i as f64 / n as f64;
        (0..n).map(move |i| self.part(at(i), at(i + 1)))
    }

    /// Cut where the whole path is at a multiple of 1 / `n`.
    pub(super) fn cut(self, n: usize) -> impl Iterator<Item = PathSegment> {
        let (start, end) = self.times;
        let inside = move |k: usize| (k as f64 / n as f64 - start) / (end - start);
        let cuts = (1..n).map(inside).filter(|s| *s > 0.0 && *s < 1.0).chain([1.0]);
        cuts.scan(0.0, |from, to| Some((std::mem::replace(from, to), to)))
            .map(move |(from, to)| self.part(from, to))
    }

    /// Between two shares of it.
    fn part(&self, a: f64, b: f64) -> PathSegment {
        debug_assert!(0.0 <= a && a <= b && b <= 1.0, "from {a} to {b}");
        let time = |s: f64| self.times.0 + (self.times.1 - self.times.0) * s;
        PathSegment { from: self.pose_at(a), to: self.pose_at(b), times: (time(a), time(b)) }
    }

    /// 0 at its start, 1 at its end.
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

/// How far points of the link are at most from the even motion between two waypoints when they go by one between:
/// as far as there, and as arcs are from their chords.
fn off_the_path(link: &Link, [from, via, to]: &[Waypoint; 3]) -> f64 {
    let step = |a: &Waypoint, b: &Waypoint| {
        let times = (f64::from(a.tick), f64::from(b.tick));
        PathSegment { from: a.scene_from_link, to: b.scene_from_link, times }
    };
    let whole = step(from, to);
    let share = f64::from(via.tick - from.tick) / f64::from(to.tick - from.tick);
    let off = link.displacement(&via.scene_from_link, &whole.pose_at(share));
    let arcs = [whole, step(from, via), step(via, to)];
    off + arcs.map(|s| s.chord_error(link)).into_iter().sum::<f64>()
}
