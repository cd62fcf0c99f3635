//! A link of a session: what is remembered of it from tick to tick, and its part of an answer.

use super::{
    TickOptions,
    answer::Flags,
    contact_ids::Lifecycle,
    contacts::{Meeting, MeetingHint},
    crossings::Found,
    deepest_first, is_uncertain,
    pose_path::Way,
    sweep::Sweep,
};
use crate::geometry::{Pose, TriangleId};
use crate::scene::{
    Contact, Distance, Held, Link, LinkAnswer, TissueId, coherence::depth_bounds::Proofs,
};

/// What the last tick left, and the way since.
pub(in crate::scene) struct TrackedLink {
    /// Of each tissue.
    hints: Vec<MeetingHint>,
    proofs: Proofs,
    lifecycle: Lifecycle,
    way: Way,
    /// The contacts that the lifecycle knows are those at the way's start.
    start_is_known: bool,
    /// At the way's start no tissue was nearer than this, metres; negative when one was touched.
    clear_m: f64,
    /// The geometry revisions at the way's start.
    seen: Vec<(TissueId, u64)>,
}

/// What the links of a tick share.
pub(in crate::scene) struct Tick<'a> {
    pub(in crate::scene) options: &'a TickOptions,
    /// The deadline has passed.
    pub(in crate::scene) late: &'a dyn Fn() -> bool,
    pub(in crate::scene) tissues: &'a [(TissueId, Held)],
    pub(in crate::scene) flags: &'a mut Flags,
    pub(in crate::scene) last_contact_id: &'a mut u64,
    /// Room to work in.
    pub(in crate::scene) found: &'a mut Vec<Found>,
}

impl TrackedLink {
    /// With room for so many contacts.
    pub(in crate::scene) fn new(room: usize) -> TrackedLink {
        TrackedLink {
            hints: Vec::new(),
            proofs: Proofs::new(),
            lifecycle: Lifecycle::with_room(room),
            way: Way::new(),
            start_is_known: false,
            clear_m: 0.0,
            seen: Vec::new(),
        }
    }

    /// The link goes on to a pose, or is put there.
    pub(in crate::scene) fn go(&mut self, link: &Link, scene_from_link: Pose, teleport: bool) {
        if teleport {
            self.way.start(scene_from_link);
            self.start_is_known = false;
            self.proofs.forget();
        } else {
            self.way.go(link, scene_from_link);
        }
    }

    /// The link at the end of its way against the tissues. Once the tick is late, only distances are looked for,
    /// and the way goes on.
    pub(in crate::scene) fn answer(
        &mut self,
        tick: &mut Tick,
        link: &Link,
        scene_from_link: Pose,
        answer: &mut LinkAnswer,
    ) {
        answer.contacts.clear();
        answer.lives.clear();
        answer.ended.clear();
        let mut late = (tick.late)();
        let nearest = self.touch(tick, link, scene_from_link, &mut late, answer);
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
        let sweeps = !late && sweep && contacts && self.way.has_moved();
        let is_swept = sweeps && self.sweep(tick, link, &mut answer.contacts);
        tick.flags.swept &= is_swept;
        // A sweep that was broken off is made up for by the next.
        let is_open = late || sweeps && !is_swept && (tick.late)();
        tick.flags.degraded |= is_open;
        let uncertain = nearest.is_some_and(|n| is_uncertain(n.sign_certainty))
            || answer.contacts.iter().any(|c| is_uncertain(c.sign_certainty));
        tick.flags.sign_uncertain |= uncertain;
        self.follow(tick, late, answer);
        if !is_open {
            self.arrive(tick, scene_from_link, answer);
        }
    }

    /// The contacts where the link is, and the nearest or deepest of all. Once `late`, the contacts are left out.
    fn touch(
        &mut self,
        tick: &mut Tick,
        link: &Link,
        scene_from_link: Pose,
        late: &mut bool,
        answer: &mut LinkAnswer,
    ) -> Option<Contact> {
        let TickOptions { contact_margin_m: margin, max_distance_m, .. } = *tick.options;
        let found = &mut answer.contacts;
        let mut nearest: Option<Contact> = None;
        let n_tissues = tick.tissues.len();
        if self.hints.len() < n_tissues {
            self.hints.resize_with(n_tissues, MeetingHint::new);
        }
        for ((tissue, revision), hint) in tick.tissues.iter().zip(&mut self.hints) {
            let meeting = Meeting { tissue: *tissue, revision, link, scene_from_link, margin };
            let first = found.len();
            let reach = nearest.map_or(max_distance_m, |n| n.signed_distance_m.max(0.0));
            *late = *late || !meeting.find(found, &mut self.proofs, tick.late);
            let closest = if *late {
                meeting.apart_or_inside(reach, hint)
            } else {
                meeting.closest(&found[first..], reach, hint)
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
        self.proofs.turn();
        if *late {
            found.clear();
        }
        nearest
    }

    /// Adds what the link met on its way. True when no contact on the way can have been missed.
    fn sweep(&self, tick: &Tick, link: &Link, contacts: &mut Vec<Contact>) -> bool {
        let mut complete = true;
        for (tissue, revision) in tick.tissues {
            let before = self.seen.iter().find(|(seen, _)| seen == tissue);
            let past = before.and_then(|(_, geometry)| revision.since(*geometry));
            let Some(past) = past else {
                complete = false;
                continue;
            };
            let gone_m = self.way.reach(link) + past.farthest();
            if gone_m == 0.0 || self.start_is_known && gone_m < self.clear_m {
                continue;
            }
            let sweep = Sweep { tissue: *tissue, revision, past, link, way: &self.way, gone_m };
            let is_known =
                |t: TriangleId| self.start_is_known && self.lifecycle.knows((*tissue, t));
            // Of what is within the margin at the end no triangle was left out.
            let all_near = gone_m < tick.options.contact_margin_m;
            complete &= sweep.find(&is_known, all_near, contacts, tick.late);
        }
        complete
    }

    /// Orders the contacts, gives them their lives and leaves as many as were asked for.
    fn follow(&mut self, tick: &mut Tick, late: bool, answer: &mut LinkAnswer) {
        let LinkAnswer { contacts, lives, ended, contacts_total, .. } = answer;
        let max_contacts = if tick.options.contacts { tick.options.max_contacts } else { 0 };
        *contacts_total = if tick.options.contacts { contacts.len() } else { 0 };
        contacts.sort_unstable_by(deepest_first);
        if tick.options.contacts && !late {
            self.lifecycle.follow(contacts, tick.tissues, tick.last_contact_id, lives, ended);
            lives.truncate(max_contacts);
        }
        contacts.truncate(max_contacts);
        tick.flags.truncated |= contacts.len() < *contacts_total;
    }

    /// The next way starts here.
    fn arrive(&mut self, tick: &Tick, scene_from_link: Pose, answer: &LinkAnswer) {
        self.way.start(scene_from_link);
        self.start_is_known = tick.options.contacts;
        self.clear_m = match &answer.distance {
            Distance::Within(nearest) => nearest.signed_distance_m,
            Distance::Beyond(bound) => *bound,
        };
        self.seen.clear();
        self.seen.extend(tick.tissues.iter().map(|(id, held)| (*id, held.geometry_revision)));
    }
}
