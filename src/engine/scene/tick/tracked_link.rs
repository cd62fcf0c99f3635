//! A link of a session: its memory from tick to tick, and its part of an answer.
//!
//! A tick has only so much time, and the next tick continues the work that a link could not finish: the search for
//! contacts where it stopped, the sweep on the pose path from where it had come to. Until then known contacts stay, and
//! the rest is answered by bounds.

use super::{
    answer::{Contact, Flags, LinkAnswer, UnsweptReason, is_uncertain},
    collision_pair::CollisionPair,
    contact_ids::{AtStart, ContactTracker},
    contacts::ContactSearch,
    crossings::FoundPair,
    feature_pairs::NearFeatures,
    options::TickOptions,
    pair_distance::PairMemory,
    penetration::LOOSENESS,
    pose_knowledge::PoseKnowledge,
    pose_path::{PathSegment, PosePath, Waypoint},
    sweep::{Sweep, SweepCursor, SweepRoom, add_met},
    tissue_log::TissueLog,
};
use crate::geometry::{Pose, TriangleId, tolerance::BOUND_COVER};
use crate::scene::distance::Distance;
use crate::scene::{
    Link, RevisionGuard, TissueId, coherence::depth_bounds::DepthBounds, organ::Organ,
    tissue::vertex_history::MotionSince,
};
use crate::time_left::TimeLeft;

/// Results of the last tick, and the poses since.
pub(super) struct TrackedLink {
    /// Memory of the link and each tissue.
    memories: Vec<PairMemory>,
    depth_bounds: DepthBounds,
    contact_ids: ContactTracker,
    path: PosePath,
    /// Cursor at which the sweep of the path's first segment continues.
    sweep_from: SweepCursor,
    /// True if the sweep has not come to the last answered pose.
    is_behind: bool,
    /// True if the tracker knows which triangles the link touched at the path's start.
    start_is_known: bool,
    /// True if all that the link touched there has been searched for.
    start_is_complete: bool,
    /// Ticks for which contacts are still searched for in turn.
    ticks_in_turn: u32,
    /// Number of such ticks after the next search that takes longer than its tick.
    next_in_turn: u32,
    /// Tissue with which a tick begins: the first one that had no turn in the last.
    first_tissue: usize,
    /// Tissue that was nearest last, and the triangle of the deepest contact.
    nearest_tissue: usize,
    deepest: Option<(TissueId, TriangleId)>,
    last: Option<LastAnswer>,
}

/// Known properties of the last answer.
struct LastAnswer {
    tick: u64,
    scene_from_link: Pose,
    travel_m: f64,
    /// Bound of the last answer: no tissue was nearer or deeper than this, metres.
    clearance_m: f64,
}

/// Shared context of the links of a tick.
pub(super) struct TickContext<'a> {
    /// Number of the tick, coalesced ones counted.
    pub(super) tick: u64,
    pub(super) options: &'a TickOptions,
    pub(super) time: &'a TimeLeft<'a>,
    pub(super) tissues: &'a [(TissueId, RevisionGuard)],
    pub(super) log: &'a TissueLog,
    pub(super) known: &'a dyn PoseKnowledge,
    pub(super) flags: &'a mut Flags,
    pub(super) last_contact_id: &'a mut u64,
    /// Buffers to work in.
    pub(super) found: &'a mut Vec<FoundPair>,
    pub(super) found_features: &'a mut Vec<NearFeatures>,
    pub(super) room: &'a mut SweepRoom,
}

/// Results of a tick about a link at its pose.
struct Found {
    /// The nearest point of the link to a tissue, or the deepest.
    nearest: Option<Contact>,
    has_all_contacts: bool,
    /// True if `nearest` is proved to be the nearest.
    is_nearest: bool,
}

/// Maximum number of ticks for which contacts are searched for in turn after a search that took longer than its tick: one
/// after the first, twice as many after each further one.
const TICKS_IN_TURN_MAX: u32 = 64;
/// Share of a tick's time for the work that the last tick could not finish.
const SHARE: f64 = 0.5;

impl TrackedLink {
    /// Allocates for `max_contacts` contacts.
    pub(super) fn new(max_contacts: usize) -> TrackedLink {
        TrackedLink {
            memories: Vec::new(),
            depth_bounds: DepthBounds::new(),
            contact_ids: ContactTracker::with_room(max_contacts),
            path: PosePath::new(),
            sweep_from: SweepCursor::START,
            is_behind: false,
            start_is_known: false,
            start_is_complete: false,
            ticks_in_turn: 0,
            next_in_turn: 1,
            first_tissue: 0,
            nearest_tissue: 0,
            deepest: None,
            last: None,
        }
    }

    /// Moves the link to a pose, or teleports it there. `travel_m`: of the session's log.
    pub(super) fn move_to(
        &mut self,
        link: &Link,
        (tick, travel_m): (u64, f64),
        scene_from_link: Pose,
        put: bool,
    ) {
        let clearance_m = f64::NEG_INFINITY;
        let slack_m = 0.0;
        let next = Waypoint { scene_from_link, tick, travel_m, clearance_m, put, slack_m };
        if put {
            // Contacts other than those at the start may be met after it, on triangles that are touched there.
            self.start_is_known = false;
            // Contacts after a teleport depend on nothing before.
            self.depth_bounds.forget();
        }
        if put && !self.path.has_moved() {
            self.path.start(next);
        } else {
            // To catch up, a sweep that is behind takes a nearly straight way in one.
            let negligible_m = if self.is_behind { 0.5 * link.field.tolerance() } else { -1.0 };
            self.path.push(link, next, negligible_m);
        }
    }

    /// Moves the link to a pose on a way that is known to have met nothing: no path is left to sweep.
    pub(super) fn arrive_at(&mut self, (tick, travel_m): (u64, f64), scene_from_link: Pose) {
        let (clearance_m, put, slack_m) = (f64::NEG_INFINITY, false, 0.0);
        self.path.start(Waypoint { scene_from_link, tick, travel_m, clearance_m, put, slack_m });
        self.sweep_from = SweepCursor::START;
        self.is_behind = false;
    }

    /// Answers for the link at the end of its path against the tissues.
    pub(super) fn answer(
        &mut self,
        tick: &mut TickContext,
        link: &Link,
        scene_from_link: Pose,
        answer: &mut LinkAnswer,
    ) {
        let TickOptions { sweep, contacts, max_distance_m, .. } = *tick.options;
        answer.contacts.clear();
        answer.statuses.clear();
        answer.ended.clear();
        tick.room.met.clear();
        let sweeps = sweep && contacts;
        if sweeps && self.is_behind {
            // The sweep comes first, with a share: contacts could take every tick from it.
            let share = tick.time.share(SHARE);
            self.sweep(tick, link, None, &share);
        }
        let found = self.find_contacts(tick, link, scene_from_link, answer);
        let lower_bound_m = if found.is_nearest {
            found.nearest.map_or(max_distance_m, |n| n.signed_distance_m)
        } else {
            self.lower_bound(tick, link, &scene_from_link, found.nearest)
        };
        answer.lower_bound_m = lower_bound_m;
        let beyond = Distance::Beyond(lower_bound_m);
        answer.distance = found.nearest.map_or(beyond, Distance::Within);
        let at_end = found.has_all_contacts.then_some(&answer.contacts[..]);
        let time = tick.time;
        let is_done = !sweeps || self.sweep(tick, link, at_end, time);
        add_met(&mut tick.room.met, &mut answer.contacts);
        if let Some(reason) = self.unswept_reason(tick, sweeps, is_done) {
            tick.flags.swept = false;
            tick.flags.unswept_reason = tick.flags.unswept_reason.max(Some(reason));
        }
        let uncertain = found.nearest.is_some_and(|n| is_uncertain(n.sign_certainty))
            || answer.contacts.iter().any(|c| is_uncertain(c.sign_certainty));
        tick.flags.sign_uncertain |= uncertain;
        self.identify(tick, found.has_all_contacts, answer);
        let has_all_pairs = answer.pairs.as_mut().is_none_or(|pairs| {
            let placed = (link, scene_from_link);
            let max_pairs = tick.options.max_pairs;
            let all = pairs.find(tick.tissues, placed, max_pairs, tick.found, tick.time);
            tick.flags.truncated |= pairs.is_truncated();
            all
        });
        let has_all_features = answer.feature_pairs.as_mut().is_none_or(|pairs| {
            let TickOptions { contact_margin_m, max_pairs, .. } = *tick.options;
            let within = (contact_margin_m, max_pairs);
            let placed = (link, scene_from_link);
            let all = pairs.find(tick.tissues, placed, within, tick.found_features, tick.time);
            tick.flags.truncated |= pairs.is_truncated();
            all
        });
        let has_all_pairs = has_all_pairs && has_all_features;
        answer.is_cut_short = !(found.has_all_contacts && found.is_nearest && has_all_pairs);
        // The sweep may have ended and still have taken a contact for earlier than it was.
        let is_late = sweeps && time.was_over();
        tick.flags.degraded |= answer.is_cut_short || !is_done || is_late;
        if is_done {
            self.start_is_complete = found.has_all_contacts;
        }
        self.end_tick(tick, scene_from_link, lower_bound_m, is_done);
    }

    /// Adds the contacts at the link's pose.
    fn find_contacts(
        &mut self,
        tick: &mut TickContext,
        link: &Link,
        scene_from_link: Pose,
        answer: &mut LinkAnswer,
    ) -> Found {
        let TickOptions { contact_margin_m: margin, max_distance_m, .. } = *tick.options;
        let contacts = &mut answer.contacts;
        let mut found = Found { nearest: None, has_all_contacts: true, is_nearest: true };
        let n_tissues = tick.tissues.len();
        self.memories.resize_with(n_tissues.max(self.memories.len()), PairMemory::new);
        let first_tissue = std::mem::take(&mut self.first_tissue);
        let (is_in_turn, mut was_late) = (self.ticks_in_turn > 0, false);
        let had_time = !tick.time.is_over_now();
        for i in (0..n_tissues).map(|i| (first_tissue + i) % n_tissues) {
            let ((tissue, revision), memory) = (&tick.tissues[i], &mut self.memories[i]);
            let (known, tissue) = ((tick.known, (answer.tool, answer.link)), *tissue);
            let organ = Organ::of(tick.tissues, i);
            let pair =
                CollisionPair { tissue, revision, organ, link, scene_from_link, margin, known };
            let is_late = tick.time.is_over_now();
            if is_late {
                // The first tissue that is late begins the next tick. This tick only checks the last nearest one.
                if !std::mem::replace(&mut was_late, true) {
                    self.first_tissue = i;
                }
                (found.has_all_contacts, found.is_nearest) = (false, false);
                if i != self.nearest_tissue {
                    continue;
                }
            }
            let first = contacts.len();
            // Nothing farther than the nearest tissue so far is wanted.
            let reach = found.nearest.map_or(max_distance_m, |n| n.signed_distance_m.max(0.0));
            let time = if is_in_turn { tick.time.share(SHARE) } else { tick.time.share(1.0) };
            let mut search = ContactSearch::new(&pair, contacts, &mut self.depth_bounds, &time);
            let has_all = if is_late {
                // The triangle may have been cut away since.
                let is_there = |t: TriangleId| revision.surface.mesh().get(t).is_some();
                let deepest = self.deepest.filter(|(of, t)| *of == tissue && is_there(*t));
                deepest.into_iter().for_each(|(_, t)| search.look_at(t));
                false
            } else if is_in_turn {
                let turn = &mut memory.contact_turn;
                search.in_turn(&mut self.contact_ids, turn, &mut tick.room.block)
            } else {
                search.all()
            };
            found.has_all_contacts &= has_all;
            let closest = pair.closest(&contacts[first..], reach, memory, tick.time);
            found.is_nearest &= has_all && !tick.time.was_over();
            let Some(mut closest) = closest else { continue };
            // A link that is wholly inside touches no triangle: its deepest point is the contact then.
            if has_all && contacts.len() == first && closest.signed_distance_m <= margin {
                closest.wholly_inside = closest.signed_distance_m < 0.0;
                contacts.push(closest);
            }
            if found.nearest.is_none_or(|n| closest.signed_distance_m < n.signed_distance_m) {
                found.nearest = Some(closest);
                self.nearest_tissue = i;
            }
        }
        self.find_in_divided(tick, (link, scene_from_link), answer, &mut found);
        answer.depth_max_m = self.depth_max(n_tissues, &found);
        tick.flags.depth_uncertain |= answer.depth_max_m.is_some();
        if is_in_turn {
            self.ticks_in_turn -= 1;
        } else if found.has_all_contacts {
            self.next_in_turn = 1;
        } else if had_time {
            self.ticks_in_turn = self.next_in_turn;
            self.next_in_turn = (2 * self.next_in_turn).min(TICKS_IN_TURN_MAX);
        }
        found
    }

    /// Continues [`TrackedLink::find_contacts`] with the depth of the link in organs that are divided into several
    /// tissues, which no single tissue gives.
    fn find_in_divided(
        &mut self,
        tick: &mut TickContext,
        (link, scene_from_link): (&Link, Pose),
        answer: &mut LinkAnswer,
        found: &mut Found,
    ) {
        let margin = tick.options.contact_margin_m;
        let known = (tick.known, (answer.tool, answer.link));
        for organ in Organ::each(tick.tissues).filter(Organ::is_divided) {
            let first = organ.parts().next().expect("several");
            let (tissue, revision) = (organ.id(first), &*tick.tissues[first].1);
            let pair =
                CollisionPair { tissue, revision, organ, link, scene_from_link, margin, known };
            let is_of = |c: &&Contact| organ.parts().any(|part| organ.id(part) == c.tissue);
            let has_contacts = answer.contacts.iter().any(|c| is_of(&c));
            let depths = answer.contacts.iter().filter(is_of).map(|c| -c.signed_distance_m);
            let depth_m = depths.fold(0.0, f64::max);
            let nearest_m = organ.parts().map(|part| self.memories[part].apart_m);
            let apart_m = nearest_m.fold(f64::INFINITY, f64::min);
            let memory = &mut self.memories[first];
            let deepest = pair.deepest_in_organ(depth_m, apart_m, memory, tick.time);
            found.is_nearest &= !tick.time.was_over();
            let Some(mut deepest) = deepest else { continue };
            if found.has_all_contacts && !has_contacts {
                deepest.wholly_inside = true;
                answer.contacts.push(deepest);
            }
            if found.nearest.is_none_or(|n| deepest.signed_distance_m < n.signed_distance_m) {
                found.nearest = Some(deepest);
            }
        }
    }

    /// Upper bound of the link's depth if the search was complete and could not decide, metres.
    fn depth_max(&mut self, n_tissues: usize, found: &Found) -> Option<f64> {
        let in_link = self.depth_bounds.end_tick(found.has_all_contacts);
        let in_tissues = self.memories[..n_tissues].iter().filter_map(PairMemory::depth_max);
        let depth_max_m = in_link.into_iter().chain(in_tissues).fold(0.0, f64::max);
        // A tick that was cut short reports itself that the link may be deeper.
        let is_complete = found.has_all_contacts && found.is_nearest;
        // The link may be deeper in a tissue than some other tissue may be in it.
        let told_m = found.nearest.map_or(0.0, |n| -n.signed_distance_m);
        (depth_max_m > 0.0 && is_complete).then_some(depth_max_m.max(told_m))
    }

    /// Bound in a tick that had no time to measure: no tissue is nearer or deeper than this, metres. `found`: its
    /// results.
    fn lower_bound(
        &self,
        tick: &TickContext,
        link: &Link,
        scene_from_link: &Pose,
        found: Option<Contact>,
    ) -> f64 {
        let bounds = link.surface.bounds();
        let here = scene_from_link.aabb(bounds);
        let by_box = |organ: Organ| {
            let tissue = &organ.bounds();
            // An inside point is no farther from the surface than it is from any of its points.
            let deepest = bounds.diagonal().max(tissue.diagonal());
            let gap = here.distance(tissue);
            if organ.may_be_inside(&here) { -deepest - gap } else { gap }
        };
        let by_boxes = Organ::each(tick.tissues).map(by_box).fold(f64::INFINITY, f64::min);
        let closed =
            link.surface.is_closed() && tick.tissues.iter().all(|t| t.1.surface.is_closed());
        // A tissue that was outside and has not moved as far as its distance was has crossed nothing. Through an open
        // end it may have come in all the same.
        let since_last = self.last.as_ref().filter(|last| {
            let was_seen = |t: &(TissueId, RevisionGuard)| tick.log.has_seen(t.0, last.tick);
            closed && last.clearance_m > 0.0 && tick.tissues.iter().all(was_seen)
        });
        let by_last = since_last.map_or(f64::NEG_INFINITY, |last| {
            let displacement = link.displacement(&last.scene_from_link, scene_from_link);
            let travel = tick.log.travel_m() - last.travel_m;
            last.clearance_m - (displacement + travel) * BOUND_COVER
        });
        let by_last = if by_last > 0.0 { by_last } else { f64::NEG_INFINITY };
        let most = found.map_or(f64::INFINITY, |n| n.signed_distance_m);
        by_boxes.max(by_last).min(most).min(tick.options.max_distance_m)
    }

    /// Continues the sweep as far as the time allows, and adds the contacts that were met. Returns true if it has come
    /// to the end of the path. `contacts`: all at that end.
    fn sweep(
        &mut self,
        tick: &mut TickContext,
        link: &Link,
        contacts: Option<&[Contact]>,
        time: &TimeLeft,
    ) -> bool {
        let Some(start) = self.path.front().copied() else { return true };
        // From the last answer on the motion of the tissue is known; before, only a bound of it.
        let is_fresh =
            self.path.is_whole() && self.last.as_ref().is_some_and(|last| last.tick <= start.tick);
        let whole = self.path.displacement_max(link);
        let margin = tick.options.contact_margin_m;
        while let Some((front, segment)) = self.path.first_segment() {
            // At such a start a tick was coalesced, or had no time.
            let start_is_open = front.put || self.path.is_whole() && !self.start_is_complete;
            // With an open start, triangles crossed all along were not reported yet.
            let rests = |displacement_m: f64| displacement_m == 0.0 && !start_is_open;
            let swept = segment.into_iter().flat_map(|s| tick.tissues.iter().map(move |t| (s, t)));
            for (segment, (tissue, revision)) in swept {
                // A tissue that was added later was not there to be met.
                if *tissue < self.sweep_from.tissue || !tick.log.has_seen(*tissue, front.tick) {
                    continue;
                }
                let motion = is_fresh.then(|| tick.log.motion(*tissue, revision)).flatten();
                let mut only_near = false;
                let sweep = if let Some(motion) = motion {
                    let displacement_m = whole + motion.displacement_max();
                    // The sweep runs if link and tissue have together moved at least as far as the last clearance. A
                    // triangle within the margin at the start has not necessarily been touched: a needle may be near a
                    // membrane on one side, and near it on the other a tick later.
                    if rests(displacement_m) || displacement_m < start.clearance_m {
                        continue;
                    }
                    // Every triangle within the margin at the end is among the contacts, and on a path that is shorter
                    // than the margin nothing else can have been met.
                    let reach = displacement_m + link.field.tolerance();
                    if let Some(contacts) = contacts.filter(|_| displacement_m < margin) {
                        only_near = true;
                        list_near(contacts, *tissue, reach, &mut tick.room.near);
                    }
                    Sweep { tissue: *tissue, revision, motion, link, slack_m: 0.0, start_is_open }
                } else {
                    // The tissue counts as always at its present place, and everything is thicker by a bound of its
                    // motion.
                    let slack_m = (tick.log.travel_m() - front.travel_m) * BOUND_COVER;
                    let displacement_m = segment.displacement_max(link) + segment.slack_m + slack_m;
                    if rests(displacement_m) || displacement_m < front.clearance_m {
                        continue;
                    }
                    let motion = MotionSince::NONE;
                    Sweep { tissue: *tissue, revision, motion, link, slack_m, start_is_open }
                };
                if !self.sweep_tissue(&sweep, segment, only_near, tick.room, time) {
                    return false;
                }
            }
            self.sweep_from = SweepCursor::START;
            self.path.pass_front();
        }
        true
    }

    /// Runs [`TrackedLink::sweep`] for one tissue, along one part of the path.
    fn sweep_tissue(
        &mut self,
        sweep: &Sweep,
        segment: PathSegment,
        only_near: bool,
        room: &mut SweepRoom,
        time: &TimeLeft,
    ) -> bool {
        let tissue = sweep.tissue;
        if self.sweep_from.tissue != tissue {
            self.sweep_from = SweepCursor::at_tissue(tissue);
        }
        let (ids, start_is_known) = (&self.contact_ids, self.start_is_known);
        // The reported point is the deepest within this error.
        let doubt_m = LOOSENESS * sweep.link.field.tolerance() * BOUND_COVER;
        let at_start = |t: TriangleId| match start_is_known {
            true => ids.at_start((tissue, t), doubt_m),
            false => AtStart::Apart,
        };
        let cursor = &mut self.sweep_from;
        let meets_nothing = only_near && room.near.is_empty();
        // Checked before a path is split into chords, which takes 30 us.
        if !meets_nothing
            && (time.is_over_now()
                || !sweep.go_on(segment, &at_start, only_near, cursor, room, time))
        {
            return false;
        }
        self.sweep_from = SweepCursor::at_tissue(TissueId(tissue.0 + 1));
        true
    }

    /// Returns why contacts may have been missed since the last answer; `None` if that cannot be.
    fn unswept_reason(
        &self,
        tick: &TickContext,
        sweeps: bool,
        is_done: bool,
    ) -> Option<UnsweptReason> {
        // A loop that continues from elsewhere sweeps in its first tick, and may continue in the next.
        let Some(last) = &self.last else {
            let goes_on = sweeps && !is_done;
            return Some(if goes_on { UnsweptReason::GoingOn } else { UnsweptReason::FirstTick });
        };
        let is_new = |t: &(TissueId, RevisionGuard)| !tick.log.has_seen(t.0, last.tick);
        match () {
            () if !sweeps => Some(UnsweptReason::NotAskedFor),
            () if !is_done => Some(UnsweptReason::GoingOn),
            () if self.path.ends_put() => Some(UnsweptReason::Teleport),
            () if tick.tissues.iter().any(is_new) => Some(UnsweptReason::NewTissue),
            () => None,
        }
    }

    /// Orders the contacts, gives them their ids and keeps as many as were asked for. `complete`: these are all.
    fn identify(&mut self, tick: &mut TickContext, complete: bool, answer: &mut LinkAnswer) {
        let LinkAnswer { contacts, statuses, ended, contacts_total, .. } = answer;
        if cfg!(debug_assertions) {
            contacts.iter().for_each(Contact::assert_sound);
        }
        let max_contacts = if tick.options.contacts { tick.options.max_contacts } else { 0 };
        *contacts_total = if tick.options.contacts { contacts.len() } else { 0 };
        contacts.sort_unstable_by(Contact::by_depth);
        self.deepest = contacts.first().map(|c| (c.tissue, c.on_tissue.triangle));
        if tick.options.contacts {
            // Ids come before the rest is left out: a contact that is not given now keeps its id for the tick that
            // gives it.
            let last_id = &mut *tick.last_contact_id;
            let ids = &mut self.contact_ids;
            ids.match_ids(contacts, complete, tick.tissues, last_id, statuses, ended);
            statuses.truncate(max_contacts);
        }
        contacts.truncate(max_contacts);
        debug_assert_eq!(statuses.len(), contacts.len(), "a contact without a status");
        tick.flags.truncated |= contacts.len() < *contacts_total;
    }

    /// Stores the state for the next tick.
    fn end_tick(
        &mut self,
        tick: &TickContext,
        scene_from_link: Pose,
        clearance_m: f64,
        is_swept: bool,
    ) {
        debug_assert!(!clearance_m.is_nan());
        let travel_m = tick.log.travel_m();
        if is_swept {
            // The next path starts here.
            let (tick, put, slack_m) = (tick.tick, false, 0.0);
            let here = Waypoint { scene_from_link, tick, travel_m, clearance_m, put, slack_m };
            self.path.start(here);
            self.sweep_from = SweepCursor::START;
        } else {
            self.path.note_end(travel_m, clearance_m);
        }
        self.is_behind = !is_swept;
        // Without contacts it is unknown which triangles the link touched, and the next sweep tests them all.
        self.start_is_known = tick.options.contacts;
        self.last = Some(LastAnswer { tick: tick.tick, scene_from_link, travel_m, clearance_m });
    }
}

/// Lists the triangles of a tissue's contacts within `reach` metres, ascending.
fn list_near(contacts: &[Contact], tissue: TissueId, reach: f64, near: &mut Vec<TriangleId>) {
    near.clear();
    // A contact's point is the nearest to the field's tolerance.
    let is_near = |c: &&Contact| c.tissue == tissue && c.signed_distance_m <= reach;
    near.extend(contacts.iter().filter(is_near).map(|c| c.on_tissue.triangle));
    near.sort_unstable();
}
