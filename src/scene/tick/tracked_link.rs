//! A link of a session: what is remembered of it from tick to tick, and its part of an answer.
//!
//! An answered tick ends the link's pose path and begins the next one. The sweep needs to know two things of the path's
//! start: which triangles the link touched there, and how far it was from all others. A tick that was late, or whose
//! sweep broke off, ends no path, so that the next one makes up for it.

use super::{
    answer::{Contact, Distance, Flags, LinkAnswer, is_uncertain},
    collision_pair::CollisionPair,
    contact_ids::ContactTracker,
    crossings::FoundPair,
    options::TickOptions,
    pair_distance::PairMemory,
    pose_path::PosePath,
    sweep::Sweep,
};
use crate::geometry::{Pose, TriangleId};
use crate::scene::{Link, RevisionGuard, TissueId, coherence::depth_bounds::DepthBounds};

/// What the last tick left, and the poses since.
pub(super) struct TrackedLink {
    /// Of the link and each tissue.
    memories: Vec<PairMemory>,
    depth_bounds: DepthBounds,
    contact_ids: ContactTracker,
    path: PosePath,
    /// The tracker knows the contacts at the path's start.
    start_is_known: bool,
    /// At the path's start no tissue was nearer than this, metres; negative when one was touched.
    clearance_m: f64,
    /// The geometry revisions at the path's start.
    start_revisions: Vec<(TissueId, u64)>,
}

/// What the links of a tick share.
pub(super) struct TickContext<'a> {
    pub(super) options: &'a TickOptions,
    /// The deadline has passed.
    pub(super) late: &'a dyn Fn() -> bool,
    pub(super) tissues: &'a [(TissueId, RevisionGuard)],
    pub(super) flags: &'a mut Flags,
    pub(super) last_contact_id: &'a mut u64,
    /// Room to work in.
    pub(super) found: &'a mut Vec<FoundPair>,
}

impl TrackedLink {
    /// With room for so many contacts.
    pub(super) fn new(max_contacts: usize) -> TrackedLink {
        TrackedLink {
            memories: Vec::new(),
            depth_bounds: DepthBounds::new(),
            contact_ids: ContactTracker::with_room(max_contacts),
            path: PosePath::new(),
            start_is_known: false,
            clearance_m: 0.0,
            start_revisions: Vec::new(),
        }
    }

    /// The link moves on to a pose, or is put there.
    pub(super) fn move_to(&mut self, link: &Link, scene_from_link: Pose, teleport: bool) {
        if teleport {
            self.path.start(scene_from_link);
            self.start_is_known = false;
            // What is met after a teleport depends on nothing before.
            self.depth_bounds.forget();
        } else {
            self.path.push(link, scene_from_link);
        }
    }

    /// The link at the end of its path against the tissues. Once the tick is late, only distances are looked for,
    /// and the path goes on.
    pub(super) fn answer(
        &mut self,
        tick: &mut TickContext,
        link: &Link,
        scene_from_link: Pose,
        answer: &mut LinkAnswer,
    ) {
        answer.contacts.clear();
        answer.statuses.clear();
        answer.ended.clear();
        let mut late = (tick.late)();
        let nearest = self.find_contacts(tick, link, scene_from_link, &mut late, answer);
        if let Some(pairs) = &mut answer.pairs {
            pairs.clear();
            if !late {
                pairs.find(
                    tick.tissues,
                    (link, scene_from_link),
                    tick.options.max_pairs,
                    tick.found,
                );
            }
            tick.flags.truncated |= pairs.is_truncated();
        }
        let beyond = Distance::Beyond(tick.options.max_distance_m);
        answer.distance = nearest.map_or(beyond, Distance::Within);
        let TickOptions { sweep, contacts, .. } = *tick.options;
        let sweeps = !late && sweep && contacts && self.path.has_moved();
        let is_swept = sweeps && self.sweep(tick, link, &mut answer.contacts);
        tick.flags.swept &= is_swept;
        // The next sweep makes up for one that broke off.
        let is_open = late || sweeps && !is_swept && (tick.late)();
        tick.flags.degraded |= is_open;
        let uncertain = nearest.is_some_and(|n| is_uncertain(n.sign_certainty))
            || answer.contacts.iter().any(|c| is_uncertain(c.sign_certainty));
        tick.flags.sign_uncertain |= uncertain;
        self.identify(tick, late, answer);
        if !is_open {
            self.end_path(tick, scene_from_link, answer);
        }
    }

    /// Adds the contacts where the link is. Returns the nearest of all its points to a tissue, or the deepest. Once
    /// `late`, the contacts are left out.
    fn find_contacts(
        &mut self,
        tick: &mut TickContext,
        link: &Link,
        scene_from_link: Pose,
        late: &mut bool,
        answer: &mut LinkAnswer,
    ) -> Option<Contact> {
        let TickOptions { contact_margin_m: margin, max_distance_m, .. } = *tick.options;
        let found = &mut answer.contacts;
        let mut nearest: Option<Contact> = None;
        let n_tissues = tick.tissues.len();
        if self.memories.len() < n_tissues {
            self.memories.resize_with(n_tissues, PairMemory::new);
        }
        for ((tissue, revision), memory) in tick.tissues.iter().zip(&mut self.memories) {
            let pair = CollisionPair { tissue: *tissue, revision, link, scene_from_link, margin };
            let first = found.len();
            // Farther than the nearest tissue so far nothing is wanted.
            let reach = nearest.map_or(max_distance_m, |n| n.signed_distance_m.max(0.0));
            *late = *late || !pair.find_contacts(found, &mut self.depth_bounds, tick.late);
            let closest = if *late {
                pair.apart_or_inside(reach, memory)
            } else {
                pair.closest(&found[first..], reach, memory)
            };
            let Some(mut closest) = closest else { continue };
            // A link that is wholly inside touches no triangle: its deepest point is the contact then.
            if !*late && found.len() == first && closest.signed_distance_m <= margin {
                closest.wholly_inside = closest.signed_distance_m < 0.0;
                found.push(closest);
            }
            if nearest.is_none_or(|n| closest.signed_distance_m < n.signed_distance_m) {
                nearest = Some(closest);
            }
        }
        let in_link = self.depth_bounds.end_tick();
        if *late {
            found.clear();
        }
        // A late tick says itself that it may be deeper.
        let in_tissues = self.memories[..n_tissues].iter().filter_map(PairMemory::depth_max);
        let depth_max_m = in_link.into_iter().chain(in_tissues).fold(0.0, f64::max);
        answer.depth_max_m = Some(depth_max_m).filter(|d| *d > 0.0 && !*late);
        tick.flags.depth_uncertain |= answer.depth_max_m.is_some();
        nearest
    }

    /// Adds what the link met on its path. True when no contact on the path can have been missed.
    fn sweep(&self, tick: &TickContext, link: &Link, contacts: &mut Vec<Contact>) -> bool {
        let mut complete = true;
        for (tissue, revision) in tick.tissues {
            // A tissue that was added since, or deformed too often, has no motion that could be tested.
            let start = self.start_revisions.iter().find(|(id, _)| id == tissue);
            let motion = start.and_then(|(_, geometry)| revision.since(*geometry));
            let Some(motion) = motion else {
                complete = false;
                continue;
            };
            let displacement_m = self.path.displacement_max(link) + motion.displacement_max();
            debug_assert!(displacement_m >= 0.0, "link and tissue moved by {displacement_m} m");
            // The sweep runs when link and tissue have together moved at least as far as the last clearance. To be
            // within the margin at the start is not to have touched: a needle may be near a membrane on one side, and
            // near it on the other a tick later.
            if displacement_m == 0.0 || self.start_is_known && displacement_m < self.clearance_m {
                continue;
            }
            let path = &self.path;
            let sweep = Sweep { tissue: *tissue, revision, motion, link, path, displacement_m };
            let touched =
                |t: TriangleId| self.start_is_known && self.contact_ids.touched((*tissue, t));
            // Every triangle within the margin at the end is among the contacts, and on a path that is shorter than
            // the margin nothing else can have been met.
            let all_near = displacement_m < tick.options.contact_margin_m;
            complete &= sweep.find(&touched, all_near, contacts, tick.late);
        }
        complete
    }

    /// Orders the contacts, gives them their ids and leaves as many as were asked for.
    fn identify(&mut self, tick: &mut TickContext, late: bool, answer: &mut LinkAnswer) {
        let LinkAnswer { contacts, statuses, ended, contacts_total, .. } = answer;
        if cfg!(debug_assertions) {
            contacts.iter().for_each(Contact::assert_sound);
        }
        let max_contacts = if tick.options.contacts { tick.options.max_contacts } else { 0 };
        *contacts_total = if tick.options.contacts { contacts.len() } else { 0 };
        contacts.sort_unstable_by(Contact::by_depth);
        if tick.options.contacts && !late {
            // Before the rest is left out: a contact that is not given today keeps its id for the tick that gives it.
            let last_id = &mut *tick.last_contact_id;
            self.contact_ids.match_ids(contacts, tick.tissues, last_id, statuses, ended);
            statuses.truncate(max_contacts);
        }
        contacts.truncate(max_contacts);
        debug_assert!(late || statuses.len() == contacts.len(), "a contact without a status");
        tick.flags.truncated |= contacts.len() < *contacts_total;
    }

    /// The next path starts here.
    fn end_path(&mut self, tick: &TickContext, scene_from_link: Pose, answer: &LinkAnswer) {
        self.path.start(scene_from_link);
        // Without contacts nothing says which triangles the link touched, and the next sweep tests them all.
        self.start_is_known = tick.options.contacts;
        self.clearance_m = match &answer.distance {
            Distance::Within(nearest) => nearest.signed_distance_m,
            Distance::Beyond(bound) => *bound,
        };
        debug_assert!(!self.clearance_m.is_nan());
        self.start_revisions.clear();
        let revisions = tick.tissues.iter().map(|(id, revision)| (*id, revision.geometry_revision));
        self.start_revisions.extend(revisions);
    }
}
