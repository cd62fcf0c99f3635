//! One haptic loop: the tools it poses, the results of its last tick, and the order of a tick's parts.

use std::{mem, sync::Arc};

use glam::DVec3;

use super::{
    answer::{Flags, LinkAnswer, ProbeAnswer, TickAnswer, TissueState, is_uncertain},
    crossings::{FOUND_ROOM, FoundPair, LinkPairs, TrianglePairs},
    feature_pairs::{FeaturePairs, NearFeatures},
    options::{TickOptions, ToolPose, scene_from_link},
    pose_knowledge::{NothingKnown, PoseKnowledge},
    sweep::SweepRoom,
    tissue_log::TissueLog,
    tracked_link::{TickContext, TrackedLink},
};
use crate::geometry::Pose;
use crate::scene::distance::Distance;
use crate::scene::{
    RevisionGuard, Scene, SceneError, Tissue, TissueId, Tool, ToolId,
    coherence::probe_memory::ProbeMemory, distance::to_tissues, organ::Organ,
};
use crate::time_left::TimeLeft;

/// Share of a tick's time for its probes.
const PROBES_SHARE: f64 = 0.5;

/// One haptic loop: the tools it poses, the results of the last tick, and buffers to work in.
pub struct Session {
    scene: Arc<Scene>,
    tools: Vec<TrackedTool>,
    options: TickOptions,
    last_sequence: Option<u64>,
    last_contact_id: u64,
    answer: TickAnswer,
    /// Revisions that the tick in progress reads.
    tissues: Vec<(TissueId, RevisionGuard)>,
    log: TissueLog,
    found: Vec<FoundPair>,
    found_features: Vec<NearFeatures>,
    room: SweepRoom,
    /// Number of ticks so far, coalesced ones counted.
    n_ticks: u64,
    /// Link, and pair of links, with which the next tick begins: the first that had no time in the last.
    first_link: usize,
    first_pair: usize,
    /// True if the last tick had too little time for its probes: each then has its share.
    probes_in_turn: bool,
}

/// A tool of the session with its memory.
struct TrackedTool {
    tool: Arc<Tool>,
    /// Index of its pose in the tick in progress.
    at: usize,
    last_pose: Option<Pose>,
    /// Upper bound of the distance of any point at rest from the tool's origin, metres.
    size: f64,
    probes: Vec<ProbeMemory>,
    links: Vec<TrackedLink>,
}

impl Session {
    /// Creates a loop that poses these tools of the scene, each once.
    ///
    /// # Errors
    ///
    /// Returns an error if a tool is unknown.
    pub fn new(
        scene: Arc<Scene>,
        tools: &[ToolId],
        options: TickOptions,
    ) -> Result<Session, SceneError> {
        let tools: Vec<_> = tools.iter().map(|id| scene.tool(*id)).collect::<Result<_, _>>()?;
        Ok(Session::of(scene, tools, options))
    }

    /// Returns the loop from its beginning, for a tick that left it half changed; contact ids are not used again.
    pub fn restarted(&self) -> Session {
        let tools = self.tools.iter().map(|t| Arc::clone(&t.tool)).collect();
        // Half a tick may have left bounds that were never made valid for a revision: nothing of it is kept.
        let fresh = Session::of(Arc::clone(&self.scene), tools, self.options.clone());
        Session { last_contact_id: self.last_contact_id, ..fresh }
    }

    fn of(scene: Arc<Scene>, tools: Vec<Arc<Tool>>, options: TickOptions) -> Session {
        let tracked = |tool| TrackedTool::new(tool, options.max_contacts);
        let tools: Vec<TrackedTool> = tools.into_iter().map(tracked).collect();
        let has_pairs = options.triangle_pairs || options.link_pairs;
        Session {
            answer: empty_answer(&tools, &options),
            scene,
            tools,
            options,
            last_sequence: None,
            last_contact_id: 0,
            tissues: Vec::new(),
            log: TissueLog::default(),
            found: Vec::with_capacity(if has_pairs { FOUND_ROOM } else { 0 }),
            found_features: Vec::new(),
            room: SweepRoom::new(),
            n_ticks: 0,
            first_link: 0,
            first_pair: 0,
            probes_in_turn: false,
        }
    }

    /// Continues, before its first tick, from where another session has left its tools: one pose for each. Its first
    /// sweep begins there, against the tissues as they are now.
    pub(crate) fn go_on_from(&mut self, poses: &[ToolPose]) {
        self.n_ticks += 1;
        let tissues = self.scene.tissues();
        let met = tissues.iter().filter(|tissue| !self.is_own(tissue));
        let now: Vec<_> = met.map(|tissue| (tissue.id(), tissue.current())).collect();
        self.log.begin_tick(self.n_ticks, &now);
        self.log.end_tick(&now);
        let now = (self.n_ticks, self.log.travel_m());
        for tracked in &mut self.tools {
            let Some(pose) = poses.iter().find(|p| p.tool == tracked.tool.id) else { continue };
            tracked.last_pose = Some(pose.scene_from_tool);
            for (i, (link, shape)) in tracked.links.iter_mut().zip(&tracked.tool.links).enumerate()
            {
                link.move_to(shape, now, scene_from_link(&tracked.tool, i, pose), true);
            }
        }
    }

    /// Answers one tick. Allocates nothing once the buffers have grown.
    ///
    /// `poses`: one for each tool of the session, in any order. `now_ns`: the caller's monotonic clock.
    /// Every search checks `time`. Once it is over the rest is answered by bounds and by known results, and the next
    /// tick continues: a link says whether it was cut short.
    ///
    /// # Errors
    /// Returns an error for an invalid tick; the session is as it was before the tick.
    pub fn tick(
        &mut self,
        sequence: u64,
        poses: &[ToolPose],
        now_ns: u64,
        time: &TimeLeft,
    ) -> Result<&TickAnswer, TickError> {
        self.begin_tick(sequence, poses, now_ns)?;
        Ok(self.answer_tick(poses, time))
    }

    /// Runs the first half of [`Session::tick`]: checks the tick and takes the newest revisions, which the second half
    /// reads.
    pub(crate) fn begin_tick(
        &mut self,
        sequence: u64,
        poses: &[ToolPose],
        now_ns: u64,
    ) -> Result<&[(TissueId, RevisionGuard)], TickError> {
        // Nothing may change before all of the tick is known to be valid.
        self.check(sequence, poses)?;
        self.last_sequence = Some(sequence);
        self.n_ticks += 1;
        // The sweep of each link clears the flag if it has missed something.
        self.answer.flags = Flags { swept: true, ..Flags::default() };
        self.take_revisions(now_ns);
        for i in 0..self.tools.len() {
            self.note_jump(i, &poses[self.tools[i].at]);
        }
        Ok(&self.tissues)
    }

    /// Runs the first half with the revisions with which another session of the scene has begun its tick.
    pub(crate) fn begin_tick_beside(
        &mut self,
        sequence: u64,
        poses: &[ToolPose],
        other: &Session,
    ) -> Result<(), TickError> {
        self.check(sequence, poses)?;
        self.last_sequence = Some(sequence);
        self.answer.flags = Flags { swept: true, ..Flags::default() };
        self.n_ticks += 1;
        self.answer.tissues.clone_from(&other.answer.tissues);
        self.tissues.clear();
        let shared = |guard: &RevisionGuard| RevisionGuard::from_inner(Arc::clone(guard));
        self.tissues.extend(other.tissues.iter().map(|(id, guard)| (*id, shared(guard))));
        Ok(())
    }

    /// Returns the answer of the last tick.
    pub(crate) fn last_answer(&self) -> &TickAnswer {
        &self.answer
    }

    /// Returns true if the session poses a tool.
    pub(crate) fn has_tool(&self, tool: ToolId) -> bool {
        self.tools.iter().any(|t| t.tool.id == tool)
    }

    /// Runs the second half of [`Session::tick`], with poses in the order of the first half.
    pub(crate) fn answer_tick(&mut self, poses: &[ToolPose], time: &TimeLeft) -> &TickAnswer {
        self.answer_tick_of(poses, &NothingKnown, time)
    }

    /// Runs the second half with poses that may differ: those of proxies. `known`: knowledge about the links at these.
    pub(crate) fn answer_tick_of(
        &mut self,
        poses: &[ToolPose],
        known: &dyn PoseKnowledge,
        time: &TimeLeft,
    ) -> &TickAnswer {
        self.log.begin_tick(self.n_ticks, &self.tissues);
        self.answer.probes.clear();
        let for_probes = time.share(PROBES_SHARE);
        if self.options.probes {
            self.answer_probes(poses, &for_probes);
        }
        self.answer_links(poses, known, time);
        self.answer_link_pairs(poses, time);
        self.log.end_tick(&self.tissues);
        // A revision that is kept longer than its tick makes the writer copy the tissue.
        self.tissues.clear();
        &self.answer
    }

    /// Returns the revisions that the tick in progress reads.
    pub(crate) fn tick_tissues(&self) -> &[(TissueId, RevisionGuard)] {
        &self.tissues
    }

    /// Takes the poses of a tick that a newer one coalesced: the tools passed them on their way to the next tick's.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Session::tick`]; the poses are left out then.
    pub fn coalesce(&mut self, sequence: u64, poses: &[ToolPose]) -> Result<(), TickError> {
        self.coalesce_but(sequence, poses, &|_| false)
    }

    /// Runs [`Session::coalesce`] without tools that are not where their poses are: proxies move there later.
    pub(crate) fn coalesce_but(
        &mut self,
        sequence: u64,
        poses: &[ToolPose],
        is_elsewhere: &dyn Fn(ToolId) -> bool,
    ) -> Result<(), TickError> {
        self.check(sequence, poses)?;
        self.last_sequence = Some(sequence);
        self.n_ticks += 1;
        let now = (self.n_ticks, self.log.travel_m());
        for TrackedTool { tool, links, at, .. } in &mut self.tools {
            if is_elsewhere(tool.id) {
                continue;
            }
            let pose = &poses[*at];
            for (i, (tracked, link)) in links.iter_mut().zip(&tool.links).enumerate() {
                tracked.move_to(link, now, scene_from_link(tool, i, pose), pose.teleport);
            }
        }
        Ok(())
    }

    fn check(&mut self, sequence: u64, poses: &[ToolPose]) -> Result<(), TickError> {
        if let Some(last) = self.last_sequence.filter(|last| sequence <= *last) {
            return Err(TickError::Sequence { got: sequence, last });
        }
        let in_scene = self.scene.tools();
        for (at, pose) in poses.iter().enumerate() {
            let tool = pose.tool.0;
            // A stream has few tools: comparing each two is faster than a set, and allocates nothing.
            if poses[..at].iter().any(|p| p.tool == pose.tool) {
                return Err(TickError::Repeated { at, tool });
            }
            let tracked = self.tools.iter_mut().find(|t| t.tool.id == pose.tool);
            let tracked = tracked.ok_or(TickError::NotTracked { at, tool })?;
            let (got, expected) = (pose.tool_from_link.len(), tracked.tool.links.len());
            if got != 0 && got != expected {
                return Err(TickError::LinkPoses { at, got, expected });
            }
            tracked.at = at;
        }
        // An answer covers every tool, and a pose that is kept from before would be a guess.
        for t in &self.tools {
            let tool = t.tool.id.0;
            let at = poses.iter().position(|p| p.tool == t.tool.id);
            let at = at.ok_or(TickError::Missing { tool })?;
            if !in_scene.iter().any(|s| s.id == t.tool.id) {
                return Err(TickError::Removed { at, tool });
            }
        }
        Ok(())
    }

    /// Returns true for a tissue that is one of the session's own tools.
    fn is_own(&self, tissue: &Tissue) -> bool {
        self.tools.iter().any(|t| tissue.kind().is_of(t.tool.id))
    }

    /// Takes the newest revision of every tissue that the tools meet.
    fn take_revisions(&mut self, now_ns: u64) {
        self.tissues.clear();
        self.answer.tissues.clear();
        for tissue in self.scene.tissues().iter() {
            if self.is_own(tissue) {
                continue;
            }
            let revision = tissue.current();
            let state = TissueState::of(tissue.id(), &revision, now_ns);
            let limit = self.options.stale_after_ns;
            self.answer.flags.stale |= limit.is_some_and(|limit| state.age_ns > limit);
            debug_assert!(self.answer.tissues.last().is_none_or(|t| t.tissue < state.tissue));
            self.answer.tissues.push(state);
            self.tissues.push((tissue.id(), revision));
        }
    }

    fn note_jump(&mut self, tool: usize, pose: &ToolPose) {
        let tracked = &mut self.tools[tool];
        let here = pose.scene_from_tool;
        // Farther than its own size in one tick: more likely a tracking error than a hand.
        let jumped = |last: Pose| here.translation.distance(last.translation) > tracked.size;
        self.answer.flags.pose_jump |= !pose.teleport && tracked.last_pose.is_some_and(jumped);
        tracked.last_pose = Some(here);
    }

    fn answer_probes(&mut self, poses: &[ToolPose], time: &TimeLeft) {
        let mut n_left = self.tools.iter().map(|t| t.probes.len()).sum::<usize>();
        let is_in_turn = mem::take(&mut self.probes_in_turn);
        for TrackedTool { tool, probes: memories, at, .. } in &mut self.tools {
            for (i, (probe, memory)) in tool.probes.iter().zip(memories).enumerate() {
                let centre = scene_from_link(tool, probe.link, &poses[*at]).point(probe.position);
                // The sphere is at the requested distance when its centre is a radius farther.
                let reach = self.options.max_distance_m + probe.radius;
                // A probe whose search takes longer than a tick leaves the others their time.
                let share = is_in_turn.then(|| time.share(1.0 / n_left as f64));
                n_left -= 1;
                let time = share.as_ref().unwrap_or(time);
                let in_time = !time.is_over_now();
                let ask = || to_tissues(&self.tissues, centre, reach, memory, time);
                let distance = match in_time.then(ask).flatten() {
                    Some(Distance::Within(mut found)) => {
                        self.answer.flags.sign_uncertain |= is_uncertain(found.sign_certainty);
                        found.signed_distance_m -= probe.radius;
                        Distance::Within(found)
                    }
                    Some(Distance::Beyond(_)) => Distance::Beyond(self.options.max_distance_m),
                    None => {
                        self.answer.flags.degraded = true;
                        self.probes_in_turn = true;
                        let bound = bound_by_boxes(&self.tissues, centre).min(reach);
                        Distance::Beyond(bound - probe.radius)
                    }
                };
                self.answer.probes.push(ProbeAnswer { tool: tool.id, probe: i, distance });
            }
        }
    }

    /// Answers for every link of every tool.
    fn answer_links(&mut self, poses: &[ToolPose], known: &dyn PoseKnowledge, time: &TimeLeft) {
        let n_links = self.answer.links.len();
        let first_link = mem::take(&mut self.first_link);
        let mut was_late = false;
        for at in (0..n_links).map(|i| (first_link + i) % n_links) {
            // The first link that is late begins the next tick, so that each link has its turn.
            if time.is_over_now() && !mem::replace(&mut was_late, true) {
                self.first_link = at;
            }
            let answer = &mut self.answer.links[at];
            let tool = self.tools.iter_mut().find(|t| t.tool.id == answer.tool).expect("tracked");
            let TrackedTool { tool, links, at: pose, .. } = tool;
            let pose = &poses[*pose];
            let (tracked, link) = (&mut links[answer.link], &tool.links[answer.link]);
            let scene_from_link = scene_from_link(tool, answer.link, pose);
            let mut tick = TickContext {
                tick: self.n_ticks,
                options: &self.options,
                time,
                tissues: &self.tissues,
                log: &self.log,
                known,
                flags: &mut self.answer.flags,
                last_contact_id: &mut self.last_contact_id,
                found: &mut self.found,
                found_features: &mut self.found_features,
                room: &mut self.room,
            };
            let now = (self.n_ticks, self.log.travel_m());
            if known.has_met_nothing((answer.tool, answer.link)) {
                tracked.arrive_at(now, scene_from_link);
            } else {
                tracked.move_to(link, now, scene_from_link, pose.teleport);
            }
            tracked.answer(&mut tick, link, scene_from_link, answer);
        }
    }

    /// Answers for every two links of the session's tools.
    fn answer_link_pairs(&mut self, poses: &[ToolPose], time: &TimeLeft) {
        // All pairs of links share the limit, because their number grows with the square of the links.
        let mut room = self.options.max_pairs;
        let placed = |(tool, link): (ToolId, usize)| {
            let tracked = self.tools.iter().find(|t| t.tool.id == tool).expect("tracked");
            let pose = scene_from_link(&tracked.tool, link, &poses[tracked.at]);
            (&tracked.tool.links[link], pose)
        };
        let n_pairs = self.answer.link_pairs.len();
        let first_pair = mem::take(&mut self.first_pair);
        for at in (0..n_pairs).map(|i| (first_pair + i) % n_pairs) {
            let LinkPairs { link, other, pairs } = &mut self.answer.link_pairs[at];
            pairs.clear();
            if time.is_over() {
                self.answer.flags.degraded = true;
                continue;
            }
            let (found, one, two) = (&mut self.found, placed(*link), placed(*other));
            if !pairs.find_of_links(one, two, room, found, time) {
                self.first_pair = at;
                self.answer.flags.degraded = true;
            }
            debug_assert!(pairs.given.len() <= room, "{} of {room}", pairs.given.len());
            room -= pairs.given.len();
            self.answer.flags.truncated |= pairs.is_truncated();
        }
    }
}

/// Bound by boxes: no tissue is nearer to a point or holds it deeper than this, metres.
fn bound_by_boxes(tissues: &[(TissueId, RevisionGuard)], p: DVec3) -> f64 {
    let bound = |organ: Organ| {
        let bounds = organ.bounds();
        let gap = bounds.distance_squared(p).sqrt();
        let is_outside = organ.inside_distance_squared(p) > 0.0;
        if is_outside { gap } else { -bounds.diagonal() - gap }
    };
    Organ::each(tissues).map(bound).fold(f64::INFINITY, f64::min)
}

impl TrackedTool {
    /// Allocates for `max_contacts` contacts of each link.
    fn new(tool: Arc<Tool>, max_contacts: usize) -> TrackedTool {
        TrackedTool {
            at: 0,
            last_pose: None,
            size: tool.reach_at_rest(),
            probes: tool.probes.iter().map(|_| ProbeMemory::new()).collect(),
            links: tool.links.iter().map(|_| TrackedLink::new(max_contacts)).collect(),
            tool,
        }
    }
}

/// Returns an answer with an entry, and its buffers, for every link and every two links.
fn empty_answer(tools: &[TrackedTool], options: &TickOptions) -> TickAnswer {
    let of_link = |tool: &Arc<Tool>, link| LinkAnswer {
        tool: tool.id,
        link,
        distance: Distance::Beyond(options.max_distance_m),
        depth_max_m: None,
        contacts: Vec::with_capacity(options.max_contacts),
        statuses: Vec::with_capacity(options.max_contacts),
        ended: Vec::with_capacity(options.max_contacts),
        contacts_total: 0,
        pairs: options.triangle_pairs.then(|| TrianglePairs::with_room(options.max_pairs)),
        feature_pairs: options.feature_pairs.then(|| FeaturePairs::with_room(options.max_pairs)),
        is_cut_short: false,
        lower_bound_m: 0.0,
    };
    let of_tool = |t: &TrackedTool| {
        let tool = t.tool.clone();
        (0..tool.links.len()).map(move |link| of_link(&tool, link)).collect::<Vec<_>>()
    };
    let links: Vec<LinkAnswer> = tools.iter().flat_map(of_tool).collect();
    let mut answer = TickAnswer { links, ..TickAnswer::default() };
    if options.link_pairs {
        let each = answer.links.iter().map(|l| (l.tool, l.link)).enumerate();
        let two = each
            .clone()
            .flat_map(|(i, link)| each.clone().skip(i + 1).map(move |(_, other)| (link, other)));
        let pairs = TrianglePairs::default;
        answer.link_pairs =
            two.map(|(link, other)| LinkPairs { link, other, pairs: pairs() }).collect();
    }
    answer
}

/// Errors of a refused tick. It changed nothing.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum TickError {
    /// The sequence did not rise.
    #[error("sequence is {got}, expected more than {last}")]
    Sequence {
        /// Given sequence.
        got: u64,
        /// Sequence of the tick before.
        last: u64,
    },
    /// A tool that the session does not track.
    #[error("tools[{at}].tool_id = {tool} is not tracked by this stream")]
    NotTracked {
        /// Index in the tick.
        at: usize,
        /// Given id.
        tool: u32,
    },
    /// A tool posed twice.
    #[error("tools[{at}].tool_id = {tool} was posed before")]
    Repeated {
        /// Index in the tick.
        at: usize,
        /// Given id.
        tool: u32,
    },
    /// A tool left out.
    #[error("tools has no pose of tool {tool}")]
    Missing {
        /// The tool without a pose.
        tool: u32,
    },
    /// Number of link poses that does not match the tool's links.
    #[error("tools[{at}].link_poses has {got} poses, expected none or {expected}")]
    LinkPoses {
        /// Index in the tick.
        at: usize,
        /// Given poses.
        got: usize,
        /// Links of the tool.
        expected: usize,
    },
    /// A tool that was removed from the scene.
    #[error("tools[{at}].tool_id = {tool} was removed from the scene")]
    Removed {
        /// Index in the tick.
        at: usize,
        /// The removed tool.
        tool: u32,
    },
}
