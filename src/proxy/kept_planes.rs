//! The planes of a local model from tick to tick: while little has moved, those of the last survey serve again.
//!
//! A survey costs up to half of a tick. The planes hold for every displacement within the survey's radius, so also for
//! all that begin at a later posture and end within it: motion only uses up the radius. Each point of the tool has moved
//! by at most d since the survey, and each link has turned by at most psi. A displacement of the model from here that
//! moves no point by more than r, and turns no link by more than its share of r, stays within the survey's radius R and
//! turn phi if r + d <= R and the turns add up to no more than phi.

use glam::DVec3;

use super::{
    contact_plane::ContactPlane, local_bounds::Surroundings, near_contact::NearContact,
    seen_tissues::TissuesInMotion,
};
use crate::coupling::{posture::Posture, quadratic_programme::ROWS_MAX, screw::rotation_vector};
use crate::scene::TissueId;

/// Share of the radius that motion may use up before the next survey. With more, devices leave the radius more often;
/// with less, more ticks survey.
const USED_UP_SHARE: f64 = 0.3;

/// Maximum ticks in a row without a survey. A survey also finds contacts that come near, within the errors of the
/// planes, and a servo whose answers are late leans on them. Without a maximum, pliers that pressed the tongue gave back
/// 0.4 % more energy than was put in, with answers 20 ms late; with this one, as much as with a survey in each tick.
const TICKS_MAX: u32 = 1;

/// A tissue, and its revisions of geometry and topology.
type SurveyedTissue = (TissueId, u64, u64);

/// Planes, and where they were found.
#[derive(Debug, Default)]
pub(super) struct KeptPlanes {
    pub(super) planes: Vec<ContactPlane>,
    /// The tool's point of each plane, link frame.
    of_link: Vec<DVec3>,
    /// Posture of the survey; `None` if none holds.
    posture: Option<Posture>,
    /// Ticks that the planes have served again.
    n_ticks: u32,
    radius_m: f64,
    turn: f64,
    curved_m: f64,
    /// The tissues then, with their revisions, and their speed.
    tissues: Vec<SurveyedTissue>,
    speed_m_s: f64,
}

impl KeptPlanes {
    /// Allocates for the rows of a model.
    pub(super) fn new() -> KeptPlanes {
        KeptPlanes {
            planes: Vec::with_capacity(ROWS_MAX),
            of_link: Vec::with_capacity(ROWS_MAX),
            ..KeptPlanes::default()
        }
    }

    /// Forgets the survey.
    pub(super) fn forget(&mut self) {
        self.posture = None;
    }

    /// Finds planes about a proxy: those of its contacts, and of pairs that these do not keep apart. Returns the radius
    /// within which they are complete, metres.
    pub(super) fn survey(&mut self, about: &Surroundings, contacts: &[NearContact]) -> f64 {
        self.n_ticks = 0;
        self.planes.clear();
        self.planes.extend(contacts.iter().map(|c| about.plane_of(c)));
        self.radius_m = about.bound(&mut self.planes);
        self.of_link.clear();
        self.of_link.extend(
            self.planes.iter().map(|plane| {
                about.posture.scene_from_link(plane.link).inverse().point(plane.on_tool)
            }),
        );
        self.posture = are_all_still(&about.motion).then_some(*about.posture);
        (self.turn, self.curved_m) = about.turn_and_curve(self.radius_m);
        self.tissues.clear();
        self.tissues.extend(revisions(&about.motion));
        self.speed_m_s = about.motion.speed_max();
        self.radius_m
    }

    /// Returns the radius within which the planes are complete about a later posture, metres; `None` if they are not
    /// known to be, or much of the radius is used up.
    pub(super) fn radius_left(&self, about: &Surroundings, links: &[usize]) -> Option<f64> {
        let from = self.posture.as_ref().filter(|_| self.n_ticks < TICKS_MAX)?;
        let motion = &about.motion;
        let is_still = are_all_still(motion)
            && revisions(motion).eq(self.tissues.iter().copied())
            && motion.speed_max() == self.speed_m_s;
        if !is_still {
            return None;
        }
        let (mut moved_m, mut turned) = (0.0f64, 0.0f64);
        for &link in links {
            let [before, now] = [from, about.posture].map(|p| p.scene_from_link(link));
            moved_m = moved_m.max(about.tool.links[link].displacement(&before, &now));
            let turn = now.rotation * before.rotation.transpose();
            turned = turned.max(rotation_vector(&turn).length());
        }
        let (turn_here, _) = about.turn_and_curve(1.0);
        let by_turn =
            if turn_here > 0.0 { (self.turn - turned) / turn_here } else { f64::INFINITY };
        let left = (self.radius_m - moved_m).min(by_turn);
        let (_, curved_here) = about.turn_and_curve(left.max(0.0));
        let holds = left >= (1.0 - USED_UP_SHARE) * self.radius_m && curved_here <= self.curved_m;
        holds.then_some(left)
    }

    /// Moves the tool's points of the planes to a later posture.
    pub(super) fn move_to(&mut self, posture: &Posture) {
        self.n_ticks += 1;
        for (plane, of_link) in self.planes.iter_mut().zip(&self.of_link) {
            plane.on_tool = posture.scene_from_link(plane.link).point(*of_link);
        }
    }
}

fn revisions<'a>(motion: &TissuesInMotion<'a>) -> impl Iterator<Item = SurveyedTissue> + use<'a> {
    motion.tissues.iter().map(|(id, r)| (*id, r.geometry_revision, r.topology_revision))
}

/// Returns true if the proxy sees all tissues where they are, and all constrain it.
fn are_all_still(motion: &TissuesInMotion) -> bool {
    !motion.seen.iter().any(|s| s.has_moved() || s.embeds())
}
