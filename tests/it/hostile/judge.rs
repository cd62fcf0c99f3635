//! Checks of answers by brute force, against what the client knows of the scene.
//!
//! The judge skips what the client cannot decide: points on a surface to rounding, and the side of a point around which
//! an open surface has a winding number of about a half. Samples stand for the depth of a whole triangle, which is at
//! least theirs.

mod contacts;
mod link;
mod points;
mod way;

use std::sync::Arc;

use palpate::{
    oracle::Random,
    proto::{FlagMask, LinkAnswer, ProbeAnswer, ReportOptions, TissueState},
};

pub use points::judge_query;
pub use way::Way;

use super::{
    instruments::{Instrument, Posture},
    soup::Soup,
    tally::{Broken, Tally},
    tissue::{KnownTissue, Revision},
};

/// Tolerance in metres: coordinates are below a metre and sent as `f32`, 6e-8 m, and a sliver's face is answered by its
/// edges, half of 1e-6 of edges below 0.2 m.
pub const ROUNDING_M: f64 = 2e-7;
/// Winding numbers of an open surface that are nearer than this to a half decide nothing: the engine computes far parts
/// of the surface to a tenth.
const WINDING_DOUBT: f64 = 0.1;
/// Certainty from which a side is reported as certain; below it FLAG_SIGN_UNCERTAIN is set.
const CERTAIN: f64 = 0.5;

/// Knowledge of the scene that answers are judged by, and the tally.
pub struct Judge<'a> {
    pub tissues: &'a [KnownTissue],
    pub tool: &'a Instrument,
    pub report: &'a ReportOptions,
    pub tally: &'a mut Tally,
    pub random: &'a mut Random,
    /// Episode and message, for the report of a fault.
    pub about: String,
}

/// Answer to a tick or a query.
pub struct Told<'a> {
    pub flags: u32,
    pub unswept_reason: i32,
    pub tissues: &'a [TissueState],
    pub links: &'a [LinkAnswer],
    pub probes: &'a [ProbeAnswer],
}

/// A tissue in the revision that an answer saw.
pub struct Seen {
    pub id: u32,
    pub revision: Revision,
    pub soup: Arc<Soup>,
}

/// Distance of a point to a surface, and the surface's winding number around the point.
#[derive(Clone, Copy, Debug)]
struct Place {
    distance: f64,
    winding: f64,
}

impl Place {
    fn of(p: glam::DVec3, soup: &Soup) -> Place {
        Place { distance: soup.distance(p), winding: soup.winding(p) }
    }

    fn is_inside(&self) -> bool {
        self.winding > 0.5
    }

    fn is_in_doubt(&self, is_closed: bool) -> bool {
        let doubt = if is_closed { 1e-6 } else { WINDING_DOUBT };
        self.distance <= ROUNDING_M || (self.winding - 0.5).abs() <= doubt
    }

    /// Returns the depth if the point is inside for certain, else 0.
    fn depth(&self, is_closed: bool) -> f64 {
        if self.is_inside() && !self.is_in_doubt(is_closed) { self.distance } else { 0.0 }
    }
}

fn has(flags: u32, mask: FlagMask) -> bool {
    flags & mask as u32 != 0
}

impl Judge<'_> {
    /// Returns the revisions that an answer names, or `None` if nobody made one of them. `asked`: the least each may
    /// be.
    pub fn seen(&mut self, states: &[TissueState], asked: &[Revision]) -> Option<Vec<Seen>> {
        let mut seen = Vec::new();
        let all_there = states.len() == self.tissues.len();
        self.tally.hold(all_there, Broken::Revision, || format!("{}: {states:?}", self.about));
        for ((state, tissue), least) in states.iter().zip(self.tissues).zip(asked) {
            let revision = (state.geometry_revision, state.topology_revision);
            let is_fresh = revision.0 >= least.0 && revision.1 >= least.1;
            self.tally.hold(is_fresh, Broken::Revision, || {
                format!("{}: {revision:?} after {least:?} was acknowledged", self.about)
            });
            let Some(soup) = tissue.at(revision) else {
                let what = format!("{}: nobody made {revision:?} of {}", self.about, tissue.id);
                self.tally.find(Broken::Revision, what);
                return None;
            };
            seen.push(Seen { id: tissue.id, revision, soup: Arc::clone(soup) });
        }
        Some(seen)
    }

    /// Judges all that an answer says of one pose.
    pub fn judge(&mut self, told: &Told, seen: &[Seen], posture: &Posture) {
        self.tally.answers += 1;
        let is_complete = told.links.len() == self.tool.links.len();
        self.tally.hold(is_complete, Broken::Untrue, || format!("{}: links left out", self.about));
        for answer in told.links {
            let soup = self
                .tool
                .soup(answer.link as usize, &posture.scene_from_link(answer.link as usize));
            self.judge_link(answer, told.flags, seen, &soup);
        }
        for answer in told.probes {
            self.judge_probe(answer, told.flags, seen, posture);
        }
    }

    /// Judges the reported side of a point.
    fn judge_side(
        &mut self,
        place: Place,
        is_closed: bool,
        is_inside: bool,
        certainty: f64,
        what: &str,
    ) {
        if place.is_in_doubt(is_closed) {
            return;
        }
        self.tally.signs += 1;
        let is_uncertain = certainty < CERTAIN;
        self.tally.uncertain += usize::from(is_uncertain);
        let is_right = is_inside == place.is_inside();
        self.tally.hold(is_right || is_uncertain, Broken::Sign, || {
            format!("{}: {what}: told inside {is_inside} at {certainty}, {place:?}", self.about)
        });
        // A pocket counts as outside, which is a guess; every other side of a closed surface is certain.
        let is_pocket = place.winding < -0.5;
        let is_known = !is_closed || is_uncertain == is_pocket;
        self.tally.hold(is_known, Broken::Sign, || {
            format!("{}: {what}: certainty {certainty} of {place:?}", self.about)
        });
    }
}
