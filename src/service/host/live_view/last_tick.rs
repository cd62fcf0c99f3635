//! The last answer of a haptic loop, for its watchers.
//!
//! A watcher asks, and the next tick records its answer: between two frames of all watchers together, a tick only
//! notes its force and checks whether somebody has asked. The record is allocated in advance and handed over by one
//! exchange (`servo::newest`).

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use glam::DVec3;
use parking_lot::Mutex;

use super::felt_ticks::{self, FeltTick, FeltTicks};
use crate::{
    geometry::Pose,
    proxy::{RenderState, RenderedSession, Rendering},
    scene::{
        Distance, LinkAnswer, TissueId, Tool, ToolId,
        tick::{ToolPose, answer::Flags, scene_from_link},
    },
    service::metrics::TickTimes,
    servo::newest::{NewestGiver, NewestTaker, newest},
};

/// Maximum contacts, and maximum forces, of one record: more cannot be told apart in a picture.
const RECORDED_MAX: usize = 128;
/// Bytes of all records of a loop: three that are handed over, and the watchers' own; and of the list of felt ticks.
pub const SHOWN_BYTES: u64 =
    (4 * RECORDED_MAX * (size_of::<ContactRecord>() + size_of::<ForceRecord>())
        + 5 * felt_ticks::KEPT_MAX * size_of::<FeltTick>()) as u64;

/// Reading side, for the watchers.
pub struct LastTick {
    asked: Arc<AtomicBool>,
    // Shared among the watchers: no tick locks it.
    taken: Mutex<TakenTick>,
}

struct TakenTick {
    newest: NewestTaker<TickRecord>,
    last: TickRecord,
}

/// Writing side, for the loop.
pub struct TickShower {
    asked: Arc<AtomicBool>,
    giver: NewestGiver<TickRecord>,
    felt_ticks: FeltTicks,
}

/// The visible part of a tick and its answer.
#[derive(Debug)]
pub struct TickRecord {
    /// Sequence number of the tick; 0 before the first tick.
    pub sequence: u64,
    /// Time of the answer, nanoseconds of the process's clock.
    pub at_ns: u64,
    /// Time in the engine, nanoseconds.
    pub compute_ns: u64,
    /// Conditions of the answer.
    pub flags: Flags,
    /// Records of the tools.
    pub tools: Vec<ToolRecord>,
    /// Records of the links of each tool, in the same order.
    pub links: Vec<LinkRecord>,
    /// Records of the probes, each tool's in order.
    pub probes: Vec<ProbeRecord>,
    /// Contacts, deepest first in each link.
    pub contacts: Vec<ContactRecord>,
    /// Number of all contacts, including those left out.
    pub contacts_total: usize,
    /// Forces of tissues on proxies.
    pub forces: Vec<ForceRecord>,
    /// Forces of the rendered tools in the newest ticks, oldest first.
    pub felt_ticks: Vec<FeltTick>,
}

/// Pose, rendered force and distance of a tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolRecord {
    /// Tool id.
    pub tool: ToolId,
    /// Number of links of the tool.
    pub n_links: usize,
    /// Scene frame from tool frame, as the client sent it.
    pub scene_from_device: Pose,
    /// Rendered force, if the tool is rendered.
    pub felt: Option<FeltRecord>,
    /// Smallest signed distance of the tool's links, metres, negative inside.
    pub signed_distance_m: f64,
    /// True if `signed_distance_m` is only a lower bound.
    pub is_lower_bound: bool,
}

/// Force and torque sent to the hand.
#[derive(Clone, Copy, Debug)]
pub struct FeltRecord {
    /// Force, newtons.
    pub force_n: DVec3,
    /// Torque about the hold point, newton metres.
    pub torque_nm: DVec3,
    /// State of the proxy.
    pub state: RenderState,
    /// True if a cap or rate limit changed the force that is sent.
    pub limited: bool,
}

/// Poses of a link, scene frame from link frame.
#[derive(Clone, Copy, Debug)]
pub struct LinkRecord {
    /// Pose that the client sent.
    pub at_device: Pose,
    /// Pose that the tissues see.
    pub seen: Pose,
}

/// Distance of a probe to the nearest tissue.
#[derive(Clone, Copy, Debug)]
pub struct ProbeRecord {
    /// Tool of the probe.
    pub tool: ToolId,
    /// Signed distance, metres, negative inside.
    pub signed_distance_m: f64,
    /// True if `signed_distance_m` is only a lower bound.
    pub is_lower_bound: bool,
}

/// A contact.
#[derive(Clone, Copy, Debug)]
pub struct ContactRecord {
    /// Tissue of the contact.
    pub tissue: TissueId,
    /// Point on the tissue, scene frame, metres.
    pub position: DVec3,
    /// Unit normal, from tissue to tool.
    pub normal: DVec3,
    /// Signed distance, metres, negative inside.
    pub signed_distance_m: f64,
}

/// A force of a tissue on a proxy.
#[derive(Clone, Copy, Debug)]
pub struct ForceRecord {
    /// Point on the tissue, scene frame, metres.
    pub position: DVec3,
    /// Force, newtons.
    pub force_n: DVec3,
}

/// A tick that was just answered.
pub struct AnsweredTick<'a> {
    /// Sequence number of the tick.
    pub sequence: u64,
    /// Times of the tick.
    pub times: &'a TickTimes,
    /// The session's tools, in any order.
    pub tools: &'a [Arc<Tool>],
    /// Poses that the client sent.
    pub poses: &'a [ToolPose],
    /// Session with its last answer.
    pub session: &'a RenderedSession,
}

/// Creates both sides for a loop with these tools.
pub fn last_tick(tools: &[Arc<Tool>]) -> (TickShower, LastTick) {
    let n_links = tools.iter().map(|t| t.links.len()).sum();
    let n_probes = tools.iter().map(|t| t.probes.len()).sum();
    let first = TickRecord::with_room(tools.len(), n_links, n_probes);
    let (giver, newest) = newest(&first);
    let asked = Arc::new(AtomicBool::new(false));
    let taken = Mutex::new(TakenTick { newest, last: first });
    let felt_ticks = FeltTicks::with_room(tools.len());
    (TickShower { asked: Arc::clone(&asked), giver, felt_ticks }, LastTick { asked, taken })
}

impl TickShower {
    /// Notes a tick's force, and records the tick if a watcher has asked since the last record. Allocates nothing.
    pub fn show(&mut self, tick: &AnsweredTick) {
        self.felt_ticks.note(tick.times, tick.poses, tick.session);
        if self.asked.load(Relaxed) {
            self.asked.store(false, Relaxed);
            let felt_ticks = &self.felt_ticks;
            self.giver.give(|record| record.write(tick, felt_ticks));
        }
    }
}

impl LastTick {
    /// Requests a record of the next tick.
    pub fn ask(&self) {
        self.asked.store(true, Relaxed);
    }

    /// Passes the newest record to `read`.
    pub fn read<R>(&self, read: impl FnOnce(&TickRecord) -> R) -> R {
        let TakenTick { newest, last } = &mut *self.taken.lock();
        newest.take(|record| last.clone_from(record));
        read(last)
    }
}

impl Clone for TickRecord {
    /// Keeps the capacity, which cloned vectors alone would lose.
    fn clone(&self) -> TickRecord {
        let rooms = [self.tools.capacity(), self.links.capacity(), self.probes.capacity()];
        let mut to = TickRecord::with_room(rooms[0], rooms[1], rooms[2]);
        let TickRecord { sequence, at_ns, compute_ns, flags, contacts_total, .. } = *self;
        (to.sequence, to.at_ns, to.compute_ns) = (sequence, at_ns, compute_ns);
        (to.flags, to.contacts_total) = (flags, contacts_total);
        to.tools.extend_from_slice(&self.tools);
        to.links.extend_from_slice(&self.links);
        to.probes.extend_from_slice(&self.probes);
        to.contacts.extend_from_slice(&self.contacts);
        to.forces.extend_from_slice(&self.forces);
        to.felt_ticks.extend_from_slice(&self.felt_ticks);
        to
    }
}

impl TickRecord {
    fn with_room(n_tools: usize, n_links: usize, n_probes: usize) -> TickRecord {
        TickRecord {
            sequence: 0,
            at_ns: 0,
            compute_ns: 0,
            flags: Flags::default(),
            tools: Vec::with_capacity(n_tools),
            links: Vec::with_capacity(n_links),
            probes: Vec::with_capacity(n_probes),
            contacts: Vec::with_capacity(RECORDED_MAX),
            contacts_total: 0,
            forces: Vec::with_capacity(RECORDED_MAX),
            felt_ticks: Vec::with_capacity(felt_ticks::KEPT_MAX),
        }
    }

    fn write(&mut self, tick: &AnsweredTick, felt_ticks: &FeltTicks) {
        let AnsweredTick { sequence, times, tools, poses, session } = *tick;
        let answer = session.last_answer();
        (self.sequence, self.at_ns) = (sequence, times.done_ns);
        self.compute_ns = times.computed_ns - times.started_ns;
        self.flags = answer.flags;
        self.tools.clear();
        self.links.clear();
        for pose in poses {
            let Some(tool) = tools.iter().find(|t| t.id == pose.tool) else { continue };
            let rendering = session.renderings().find(|r| r.tool == pose.tool);
            self.tools.push(tool_record(tool, pose, rendering, &answer.links));
            let links = (0..tool.links.len()).map(|link| link_record(tool, link, pose, rendering));
            self.links.extend(links);
        }
        self.probes.clear();
        self.probes.extend(answer.probes.iter().map(|probe| {
            let (signed_distance_m, is_lower_bound) = match &probe.distance {
                Distance::Within(near) => (near.signed_distance_m, false),
                Distance::Beyond(bound) => (*bound, true),
            };
            ProbeRecord { tool: probe.tool, signed_distance_m, is_lower_bound }
        }));
        let of_all = |link: &LinkAnswer| link.contacts_total;
        self.contacts_total = answer.links.iter().map(of_all).sum();
        self.contacts.clear();
        let contacts = answer.links.iter().flat_map(|link| &link.contacts);
        self.contacts.extend(contacts.take(RECORDED_MAX).map(|c| ContactRecord {
            tissue: c.tissue,
            position: c.on_tissue.position,
            normal: c.normal,
            signed_distance_m: c.signed_distance_m,
        }));
        self.forces.clear();
        let forces = session.renderings().flat_map(|r| &r.contacts);
        let forces = forces.filter(|c| c.force_n != DVec3::ZERO).take(RECORDED_MAX);
        self.forces
            .extend(forces.map(|c| ForceRecord { position: c.position, force_n: c.force_n }));
        self.felt_ticks.clear();
        self.felt_ticks.extend(felt_ticks.iter());
        debug_assert!(self.contacts.capacity() >= RECORDED_MAX, "it was made with its room");
    }
}

fn tool_record(
    tool: &Tool,
    pose: &ToolPose,
    rendering: Option<&Rendering>,
    links: &[LinkAnswer],
) -> ToolRecord {
    let least = links.iter().filter(|link| link.tool == pose.tool);
    let least = least.map(|link| match &link.distance {
        Distance::Within(near) => (near.signed_distance_m, false),
        Distance::Beyond(bound) => (*bound, true),
    });
    let least = least.min_by(|a, b| a.0.total_cmp(&b.0));
    let (signed_distance_m, is_lower_bound) = least.unwrap_or((0.0, true));
    let felt = rendering.map(|r| FeltRecord {
        force_n: r.force_n,
        torque_nm: r.torque_nm,
        state: r.state,
        limited: r.limited,
    });
    let (n_links, scene_from_device) = (tool.links.len(), pose.scene_from_tool);
    ToolRecord {
        tool: tool.id,
        n_links,
        scene_from_device,
        felt,
        signed_distance_m,
        is_lower_bound,
    }
}

fn link_record(
    tool: &Tool,
    link: usize,
    pose: &ToolPose,
    rendering: Option<&Rendering>,
) -> LinkRecord {
    let at_device = scene_from_link(tool, link, pose);
    let of_proxy =
        rendering.and_then(|r| Some(r.scene_from_proxy.then_from(r.tool_from_link.get(link)?)));
    LinkRecord { at_device, seen: of_proxy.unwrap_or(at_device) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        counting::calls_during,
        geometry::mesh::load::{LoadOptions, load},
        oracle::shapes,
        proxy::RenderOptions,
        scene::{
            Limits, Link, Scene, TissueOptions, ToolParts, tick::TickOptions,
            tool::field::default_field,
        },
        time_left::TimeLeft,
    };

    /// A ball is pressed into a slab, and a viewer asks for every tick: no tick allocates for the viewer.
    #[test]
    fn a_tick_that_is_shown_allocates_nothing() {
        let loaded = |mesh| load(mesh, &LoadOptions::default()).expect("a mesh");
        let scene = Arc::new(Scene::new("s".to_owned(), Limits::default()));
        let slab = loaded(shapes::cuboid(DVec3::new(0.1, 0.1, 0.02)));
        scene.add_tissue("slab", slab, TissueOptions::default(), 0).expect("room");
        let ball = loaded(shapes::sphere(0.01, 4));
        let links = vec![Link::new("ball".to_owned(), ball, Pose::IDENTITY, default_field)];
        let parts = ToolParts { name: "ball".to_owned(), links, probes: Vec::new() };
        let tool = scene.add_tool(parts).expect("room");
        let render = [RenderOptions::of(tool.id)];
        let mut session =
            RenderedSession::new(scene, &[tool.id], TickOptions::default(), &render).expect("good");
        let tools = [Arc::clone(&tool)];
        let (mut shower, last) = last_tick(&tools);
        let mut n_pressed = 0;
        for sequence in 1..=300 {
            let height = 0.025 - 4e-5 * sequence as f64;
            let scene_from_tool =
                Pose { translation: DVec3::new(0.011, 0.007, height), ..Pose::IDENTITY };
            let (tool, tool_from_link, teleport) = (tool.id, Vec::new(), false);
            let poses = [ToolPose { tool, scene_from_tool, tool_from_link, teleport }];
            let at_ns = sequence * 1_000_000;
            session.tick(sequence, &poses, at_ns, &TimeLeft::endless()).expect("accepted");
            last.ask();
            let (tools, poses, session) = (&tools[..], &poses[..], &session);
            let times = TickTimes {
                received_ns: at_ns,
                started_ns: at_ns,
                drawn_ns: None,
                computed_ns: at_ns,
                done_ns: at_ns + 1,
                stopped_ns: 0,
            };
            let tick = AnsweredTick { sequence, times: &times, tools, poses, session };
            assert_eq!(calls_during(|| shower.show(&tick)), 0, "tick {sequence}");
            last.read(|record| {
                assert_eq!(record.sequence, sequence);
                n_pressed += usize::from(!record.forces.is_empty());
                assert_eq!(record.felt_ticks.len(), felt_ticks::KEPT_MAX.min(sequence as usize));
                let (felt, tool) = (record.felt_ticks.last().expect("this tick"), record.tools[0]);
                let force_n = tool.felt.map(|felt| felt.force_n.length());
                assert_eq!((felt.at_ns, Some(felt.force_n)), (record.at_ns, force_n));
            });
        }
        assert!(n_pressed > 100, "{n_pressed} ticks press");
    }

    #[test]
    fn a_copy_has_the_room_of_what_it_copies() {
        let record = TickRecord::with_room(2, 5, 3);
        let copy = record.clone();
        assert_eq!(copy.tools.capacity(), record.tools.capacity());
        assert_eq!(copy.links.capacity(), record.links.capacity());
        assert_eq!(copy.probes.capacity(), record.probes.capacity());
        assert!(copy.contacts.capacity() >= RECORDED_MAX && copy.forces.capacity() >= RECORDED_MAX);
    }
}
