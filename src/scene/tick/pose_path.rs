//! The poses that a link went through since the last answered tick.

use glam::{DMat3, DQuat};

use crate::geometry::Pose;
use crate::scene::Link;

/// Poses kept of a way. When there are more only every second one is kept, then every fourth and so on, and
/// the way is as much thicker as the others were off it.
const POSES_MAX: usize = 64;

/// From the last answered pose to the newest. Empty before the first tick.
#[derive(Debug)]
pub(in crate::scene) struct Way {
    stops: Vec<Stop>,
    /// Ticks between stops; the last one may be nearer.
    stride: u32,
    /// How far from the way between two stops a point of the link was, metres: before the last stop but one,
    /// and since.
    slack: f64,
    slack_since: f64,
}

#[derive(Clone, Copy, Debug)]
struct Stop {
    scene_from_link: Pose,
    /// Ticks since the way's start.
    tick: u32,
}

/// A part of a way.
#[derive(Clone, Copy, Debug)]
pub(in crate::scene) struct Step {
    pub(in crate::scene) from: Pose,
    pub(in crate::scene) to: Pose,
    /// The part's start and end, 0 to 1 over the whole way.
    pub(in crate::scene) times: (f64, f64),
}

impl Way {
    pub(in crate::scene) fn new() -> Way {
        Way { stops: Vec::with_capacity(POSES_MAX), stride: 1, slack: 0.0, slack_since: 0.0 }
    }

    /// The link is put here: nothing lies between.
    pub(in crate::scene) fn start(&mut self, scene_from_link: Pose) {
        self.stops.clear();
        self.stops.push(Stop { scene_from_link, tick: 0 });
        (self.stride, self.slack, self.slack_since) = (1, 0.0, 0.0);
    }

    /// The link goes on to a pose.
    pub(in crate::scene) fn go(&mut self, link: &Link, scene_from_link: Pose) {
        if self.stops.len() == POSES_MAX {
            self.thin(link);
        }
        let tick = self.stops.last().map_or(0, |last| last.tick + 1);
        let next = Stop { scene_from_link, tick };
        match self.stops[..] {
            [.., before, last] if last.tick % self.stride != 0 => {
                self.slack_since += off_the_way(link, &[before, last, next]);
                self.stops.pop();
            }
            _ => self.settle(),
        }
        self.stops.push(next);
    }

    fn thin(&mut self, link: &Link) {
        self.settle();
        let each = (1..self.stops.len() - 1).step_by(2);
        let off = each.map(|i| off_the_way(link, &[i - 1, i, i + 1].map(|i| self.stops[i])));
        self.slack += off.fold(0.0, f64::max);
        self.stride *= 2;
        let (stride, last) = (self.stride, self.stops.last().map_or(0, |last| last.tick));
        self.stops.retain(|stop| stop.tick % stride == 0 || stop.tick == last);
    }

    fn settle(&mut self) {
        self.slack = self.slack.max(self.slack_since);
        self.slack_since = 0.0;
    }

    /// There is a pose to come from.
    pub(in crate::scene) fn has_moved(&self) -> bool {
        self.stops.len() > 1
    }

    /// How far a point of the link may have been off the steps, metres.
    pub(in crate::scene) fn slack(&self) -> f64 {
        self.slack.max(self.slack_since)
    }

    /// The parts between stops; each tick takes as long as the others.
    pub(in crate::scene) fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        let n = f64::from(self.stops.last().map_or(1, |last| last.tick.max(1)));
        self.stops.windows(2).map(move |ends| Step {
            from: ends[0].scene_from_link,
            to: ends[1].scene_from_link,
            times: (f64::from(ends[0].tick) / n, f64::from(ends[1].tick) / n),
        })
    }

    /// No point of the link was ever farther than this from where it began, metres.
    pub(in crate::scene) fn reach(&self, link: &Link) -> f64 {
        self.steps().map(|s| s.reach(link)).sum::<f64>() + self.slack()
    }
}

impl Step {
    /// No point of the link is ever farther than this from where it began, metres: along its chord, and off it.
    pub(in crate::scene) fn reach(&self, link: &Link) -> f64 {
        farthest_gone(link, &self.from, &self.to) + self.chord_error(link)
    }

    /// How far a point of the link is at most from the straight line between its two places: an eighth of
    /// its acceleration, angle squared times radius.
    fn chord_error(&self, link: &Link) -> f64 {
        self.angle().powi(2) * radius(link) / 8.0
    }

    /// Radians.
    pub(in crate::scene) fn angle(&self) -> f64 {
        let turn = DQuat::from_mat3(&(self.to.rotation * self.from.rotation.transpose()));
        2.0 * turn.xyz().length().atan2(turn.w.abs())
    }

    /// Split in `n` parts, turning and moving evenly.
    pub(in crate::scene) fn split(self, n: usize) -> impl Iterator<Item = Step> {
        let at = move |i: usize| i as f64 / n as f64;
        (0..n).map(move |i| self.part(at(i), at(i + 1)))
    }

    /// Cut where the whole way is at a multiple of 1 / `n`.
    pub(in crate::scene) fn cut(self, n: usize) -> impl Iterator<Item = Step> {
        let (start, end) = self.times;
        let inside = move |k: usize| (k as f64 / n as f64 - start) / (end - start);
        let cuts = (1..n).map(inside).filter(|s| *s > 0.0 && *s < 1.0).chain([1.0]);
        cuts.scan(0.0, |from, to| Some((std::mem::replace(from, to), to)))
            .map(move |(from, to)| self.part(from, to))
    }

    /// Between two shares of it.
    fn part(&self, a: f64, b: f64) -> Step {
        let time = |s: f64| self.times.0 + (self.times.1 - self.times.0) * s;
        Step { from: self.pose_at(a), to: self.pose_at(b), times: (time(a), time(b)) }
    }

    /// 0 at its start, 1 at its end.
    pub(in crate::scene) fn pose_at(&self, s: f64) -> Pose {
        let (a, b) = (DQuat::from_mat3(&self.from.rotation), DQuat::from_mat3(&self.to.rotation));
        let rotation = match s {
            0.0 => self.from.rotation,
            1.0 => self.to.rotation,
            _ => DMat3::from_quat(a.slerp(b, s)),
        };
        Pose { rotation, translation: self.from.translation.lerp(self.to.translation, s) }
    }
}

/// The farthest that a point of the link is from its origin: a corner of its box.
pub(in crate::scene) fn radius(link: &Link) -> f64 {
    link.surface.bounds().corners().map(|c| c.length()).into_iter().fold(0.0, f64::max)
}

/// The greatest distance between the two places of a point of the link: of a corner of its box.
pub(in crate::scene) fn farthest_gone(link: &Link, from: &Pose, to: &Pose) -> f64 {
    let corners = link.surface.bounds().corners();
    corners.map(|c| from.point(c).distance(to.point(c))).into_iter().fold(0.0, f64::max)
}

/// How far points of the link are at most from the even way between two stops when they go by one between:
/// as far as there, and as arcs are from their chords.
fn off_the_way(link: &Link, [from, via, to]: &[Stop; 3]) -> f64 {
    let step = |a: &Stop, b: &Stop| {
        let times = (f64::from(a.tick), f64::from(b.tick));
        Step { from: a.scene_from_link, to: b.scene_from_link, times }
    };
    let whole = step(from, to);
    let share = f64::from(via.tick - from.tick) / f64::from(to.tick - from.tick);
    let off = farthest_gone(link, &via.scene_from_link, &whole.pose_at(share));
    let arcs = [whole, step(from, via), step(via, to)];
    off + arcs.map(|s| s.chord_error(link)).into_iter().sum::<f64>()
}
