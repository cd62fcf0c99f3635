//! Moves a proxy as far as it can go, by continuous collision of every pair of triangles that may come near.
//!
//! Tissue vertices move straight. A point of the tool moves along an arc; the test takes its chord, and adds the
//! greatest error of a chord to the thickness. So the proxy may stop early, but passes through nothing. Pairs with
//! contacts are tested like all others: another part of a link may pass through a triangle that the link touches
//! already.

use super::{near_contact::NearTriangles, seen_tissues::TissuesInMotion};
use crate::coupling::{
    extent::Extent,
    posture::{LinkScrews, Posture},
    quadratic_programme::Displacement,
};
use crate::scene::Tool;
use crate::{
    ccd::{MovingTriangle, Owned, Shared, stay_apart, triangle_pair},
    geometry::{
        Pose,
        tolerance::{STAND_OFF_M, STAND_OFF_MIN_M},
    },
    time_left::{TimeLeft, note_step},
};
use glam::DVec3;

/// Maximum parts that a motion is split into.
const PARTS_MAX: f64 = 32.0;
/// Shares of the least gap, or of the stand-off if that is less: the share that a motion may use up before it is
/// stopped, and the share that a chord may be off its arc.
const GAP_SHARE: f64 = 0.5;
const CHORD_SHARE: f64 = 0.25;

/// Progress of a proxy towards a pose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HowFar {
    /// The proxy is as near as tissue lets it.
    Arrived,
    /// The rounds of a tick were used up, or more is near than a search may hold: the next tick continues.
    OnItsWay,
    /// The deadline passed: the next tick continues.
    Late,
}

/// A proxy about to move, while the tissues move on from one time to another.
pub(super) struct ProxyMotion<'a> {
    pub(super) tool: &'a Tool,
    pub(super) tissues: TissuesInMotion<'a>,
    pub(super) time_end: f64,
    /// Every pair that may come near.
    pub(super) pairs: &'a [NearTriangles],
    pub(super) from: Posture,
    pub(super) displacement: &'a Displacement,
    pub(super) hold: DVec3,
    pub(super) screws: &'a LinkScrews,
    /// Upper bound of the distance of the tool's points from its hold point, metres.
    pub(super) radius: f64,
    /// The least distance of all pairs, metres.
    pub(super) clearance_m: f64,
    /// Deadline that ends the motion.
    pub(super) deadline: &'a TimeLeft<'a>,
}

impl ProxyMotion<'_> {
    /// Returns the share of the displacement, and of the time, that the tool can go: it is stopped before it is nearer
    /// to anything than half of its former gap.
    pub(super) fn share(&self) -> f64 {
        let extent = Extent::of(self.displacement, self.screws, self.radius);
        let tissue_m = self.tissues.displacement_max() * (self.time_end - self.tissues.time);
        // The reference gap. Below the least stand-off all is as if the gap were that small, so that moves away go on.
        let gap = self.clearance_m.min(STAND_OFF_M);
        let chord_error = 0.25 * extent.curved_m;
        let n = (chord_error / (CHORD_SHARE * gap)).sqrt().ceil().clamp(1.0, PARTS_MAX);
        // A rotation too long for its parts is cut short: its error falls with the square of the share.
        let most =
            ((CHORD_SHARE * gap * n * n) / chord_error.max(f64::MIN_POSITIVE)).sqrt().min(1.0);
        let thickness = GAP_SHARE * gap;
        let reach = extent.length_m + tissue_m + thickness;
        let share = self.first_contact(n as usize, most, thickness, reach);
        let is_stopped = share < most;
        // At so small a gap, a part of a motion only brings the gap nearer to rounding.
        if is_stopped && gap < STAND_OFF_MIN_M {
            0.0
        } else if is_stopped && self.deadline.was_over() {
            // Half of the gap is free for any pairs: without time to test them the proxy still moves that far.
            let untested = GAP_SHARE * self.clearance_m / (extent.length_m + tissue_m);
            share.max(untested.min(most))
        } else {
            share
        }
    }

    /// Returns when a pair comes within the thickness, or when the time is over, as a share of the displacement; `most`
    /// if neither happens.
    fn first_contact(&self, n: usize, most: f64, thickness: f64, reach: f64) -> f64 {
        let share_at = |part: usize| most * part as f64 / n as f64;
        let near = |p: &&NearTriangles| p.distance_m <= reach;
        let (time, time_end) = (self.tissues.time, self.time_end);
        let mut start = self.from;
        for part in 0..n {
            let ends = [share_at(part), share_at(part + 1)];
            let end = self.from.moved(self.displacement, ends[1], self.hold, self.screws);
            let times = ends.map(|s| time + (time_end - time) * s);
            let mut first = 1.0f64;
            // Pairs of one link are consecutive.
            let mut posed: Option<(usize, [Pose; 2])> = None;
            for pair in self.pairs.iter().filter(near) {
                note_step();
                // Some pairs were not tested in this part.
                if self.deadline.is_over() {
                    return ends[0];
                }
                let (_, poses) = match &mut posed {
                    Some(posed) if posed.0 == pair.link => posed,
                    posed => posed.insert((
                        pair.link,
                        [&start, &end].map(|posture| posture.scene_from_link(pair.link)),
                    )),
                };
                let toi = self.pair_contact(pair, poses, times, thickness);
                first = toi.map_or(first, |toi| first.min(toi));
            }
            if first < 1.0 {
                return ends[0] + (ends[1] - ends[0]) * first;
            }
            start = end;
        }
        most
    }

    fn pair_contact(
        &self,
        pair: &NearTriangles,
        poses: &[Pose; 2],
        times: [f64; 2],
        thickness: f64,
    ) -> Option<f64> {
        let view = self.tissues.view(pair.tissue);
        let [t0, t1] = times.map(|time| view.triangle_at(pair.tissue_triangle, time));
        let tissue = MovingTriangle { t0, t1, owned: Owned::ALL };
        let own = self.tool.links[pair.link].surface.mesh().triangle(pair.link_triangle);
        let [start, end] = poses;
        let (t0, t1) = (start.triangle(&own), end.triangle(&own));
        let link = MovingTriangle { t0, t1, owned: Owned::ALL };
        if stay_apart(&tissue, &link, pair.along.as_dvec3(), thickness) {
            return None;
        }
        // Two meshes share no vertex, so all features of both are tested.
        triangle_pair(&tissue, &link, Shared::NONE, thickness).map(|found| found.toi)
    }
}
