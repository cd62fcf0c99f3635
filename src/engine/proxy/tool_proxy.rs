//! One rendered tool: its proxy from tick to tick, and the answers about it.
//!
//! The wrench is that of a virtual coupling (Colgate, Stanley, Brown, "Issues in the haptic display of tool use",
//! 1995): a spring from the device to the proxy, and another against the rotation between them.

use std::sync::Arc;

use glam::DVec3;

use super::{
    contact_memory::ContactMemory,
    contact_plane::ContactPlane,
    feasibility::crosses,
    god_object::{GodObject, TickTissues},
    grasps::Grasps,
    linearised,
    local_bounds::Surroundings,
    motion::HowFar,
    near_contact::{ContactKey, NearContact},
    options::{RenderError, RenderOptions},
    put_tissue,
    rendering::{ProxyContact, RenderState, Rendering},
    seen_tissues::{self, SeenTissue, TissuesInMotion},
    tissue_loads::LoadRoom,
};
use crate::coupling::{
    contact_law::Speed,
    force_ramp::ForceRamp,
    local_model::LocalModel,
    posture::Posture,
    quadratic_programme::ROWS_MAX,
    wrench::{FADE_S, Wrench},
};
use crate::geometry::{Pose, TriangleId, tolerance::PROXY_AT_REST_M};
use crate::scene::{
    LinkAnswer, TissueId, Tool,
    tick::{ToolPose, scene_from_link},
};
use crate::time_left::{TimeLeft, uncounted};

/// Maximum coalesced poses that are kept; of more, every second one is kept.
const WAYPOINTS_MAX: usize = 64;
/// Maximum time between two answers that counts for the rates of force and torque, seconds: after a pause the device
/// may be anywhere, and the force has to rise as slowly as ever. Twenty ticks at 1 kHz.
const STEP_S_MAX: f64 = 0.02;
/// Time that counts for the rates when a force begins at zero, seconds: one tick at 1 kHz.
const FIRST_STEP_S: f64 = 0.001;

/// A rendered tool. Its proxy never enters tissue, and follows the device as far as tissue lets it.
pub struct ToolProxy {
    tool: Arc<Tool>,
    options: RenderOptions,
    god_object: GodObject,
    /// Pose to which the device was teleported, and the poses that it went by since the last tick.
    begin_at: Option<Posture>,
    waypoints: Vec<Posture>,
    /// Posture of the device in the last tick, and its speed.
    last_device: Option<Posture>,
    device_speed: Speed,
    has_begun: bool,
    /// The device was teleported in the last tick: nothing lies between.
    was_put: bool,
    /// In the last tick every tissue constrained the proxy all the way.
    has_met_nothing: bool,
    seen: Vec<SeenTissue>,
    memory: ContactMemory,
    sent: Wrench,
    /// Limits the force after a pause in which the hand has let go.
    ramp: Option<ForceRamp>,
    wanted: Wrench,
    grasps: Grasps,
    loads: LoadRoom,
    weights: Vec<DVec3>,
    /// Ids of the contacts of this tick.
    ids: Vec<(ContactKey, u64)>,
    planes: Vec<ContactPlane>,
    /// Buffer of a local model while none is answered.
    spare_model: Option<Box<LocalModel>>,
    rendering: Rendering,
}

/// The part of a tick that all rendered tools share.
#[derive(Clone, Copy)]
pub struct ProxyTick<'a> {
    /// Sequence of the client's tick.
    pub sequence: u64,
    /// Time at which the tick began, nanoseconds of the caller's monotonic clock.
    pub now_ns: u64,
    /// Newest revisions of the tissues, ordered by id.
    pub tissues: TickTissues<'a>,
    /// Tissues that carry no load.
    pub forbidden: &'a [TissueId],
    /// Time since the last tick, seconds, >= 0.
    pub dt_s: f64,
    /// Time to move the proxies.
    pub deadline_to_draw: &'a TimeLeft<'a>,
    /// Time of the whole tick, with that for local models, which come after the proxies.
    pub deadline: &'a TimeLeft<'a>,
}

impl ToolProxy {
    /// Creates a proxy that begins where the first tick poses the tool.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`RenderOptions::check`].
    pub fn new(tool: Arc<Tool>, options: RenderOptions) -> Result<ToolProxy, RenderError> {
        options.check(&tool)?;
        let rendering = Rendering {
            tool: tool.id,
            scene_from_proxy: Pose::IDENTITY,
            tool_from_link: tool.links.iter().map(|l| l.rest).collect(),
            link_lag_m: vec![0.0; tool.links.len()],
            force_n: DVec3::ZERO,
            torque_nm: DVec3::ZERO,
            state: RenderState::Free,
            residual_m: 0.0,
            limited: false,
            contacts: Vec::with_capacity(ROWS_MAX),
            loads: Vec::new(),
            grasps: Vec::new(),
            local_model: None,
        };
        Ok(ToolProxy {
            god_object: GodObject::new(Arc::clone(&tool), &options),
            tool,
            begin_at: None,
            waypoints: Vec::with_capacity(WAYPOINTS_MAX),
            last_device: None,
            device_speed: Speed::default(),
            has_begun: false,
            was_put: false,
            has_met_nothing: false,
            seen: Vec::new(),
            memory: ContactMemory::new(),
            sent: Wrench::default(),
            ramp: None,
            wanted: Wrench::default(),
            grasps: Grasps::default(),
            loads: LoadRoom::new(),
            weights: Vec::with_capacity(ROWS_MAX),
            ids: Vec::with_capacity(2 * ROWS_MAX),
            planes: Vec::with_capacity(ROWS_MAX),
            spare_model: options.local_model.then(|| Box::new(LocalModel::EMPTY)),
            options,
            rendering,
        })
    }

    /// Returns the proxy from its beginning, for a tick that left it half changed; contact ids are not used again, and
    /// the force continues from the one sent last.
    pub fn restarted(&self) -> ToolProxy {
        let fresh = ToolProxy::new(Arc::clone(&self.tool), self.options.clone());
        let mut fresh = fresh.expect("options that were checked");
        fresh.memory = self.memory.after();
        (fresh.sent, fresh.ramp) = (self.sent, self.ramp);
        fresh
    }

    /// Starts the proxy, before its first tick, where another proxy of the tool stood: every tissue counts as added
    /// about it.
    pub(super) fn go_on_from(&mut self, proxy: &ToolPose) {
        self.has_begun = true;
        self.ramp = Some(ForceRamp::from(&self.sent));
        self.god_object.put(Posture::of(&self.tool, proxy));
    }

    /// Moves the tool of a pose to the proxy, except for its cutting links, which stay where the device has them.
    pub(super) fn place(&self, device: &ToolPose, pose: &mut ToolPose) {
        let proxy = &self.god_object.posture;
        pose.scene_from_tool = proxy.scene_from_tool;
        pose.teleport = self.was_put;
        pose.tool_from_link.clear();
        pose.tool_from_link.extend_from_slice(&proxy.tool_from_link[..self.tool.links.len()]);
        for &link in &self.options.cutting_links {
            let there = scene_from_link(&self.tool, link, device);
            pose.tool_from_link[link] = proxy.scene_from_tool.inverse().then_from(&there);
        }
    }

    /// Returns true if a link came to where it is by continuous collision with every tissue, on a path that is not the
    /// straight one between two ticks: a sweep of the straight path would meet tissue that the proxy went round.
    pub(super) fn has_met_nothing(&self, link: usize) -> bool {
        self.has_met_nothing && self.god_object.constrained().contains(&link)
    }

    /// Calls `visit` with every pair of triangles of a tissue and a link within some distance of each other at the
    /// proxy's pose, and with the pair's distance, metres. Returns that distance; `None` if it is not known.
    pub(super) fn each_near_pair(
        &self,
        link: usize,
        tissue: TissueId,
        visit: &mut dyn FnMut((TriangleId, TriangleId), f64),
    ) -> Option<f64> {
        let place =
            self.seen.iter().position(|s| s.id == tissue && !s.has_moved() && !s.embeds())?;
        let search = &self.god_object.search;
        let within = search.complete_m(tissue)?;
        if !self.god_object.constrained().contains(&link) {
            return None;
        }
        for pair in search.pairs.iter().filter(|p| (p.link, p.tissue) == (link, place)) {
            visit((pair.tissue_triangle, pair.link_triangle), pair.distance_m);
        }
        Some(within)
    }

    /// Extends a local model without contacts to the free space: `links` are the tick's, at the proxy's pose.
    pub(super) fn widen(&mut self, links: &[LinkAnswer]) {
        let is_embedded = self.rendering.state == RenderState::Embedded;
        let Some(model) = &mut self.rendering.local_model else { return };
        if is_embedded || !model.rows().is_empty() {
            return;
        }
        let constrained = self.god_object.constrained();
        let own = links.iter().filter(|l| l.tool == self.tool.id && constrained.contains(&l.link));
        let free_m = own.map(|l| l.lower_bound_m).reduce(f64::min);
        // Links that cut find no tissue.
        model.widen(free_m.unwrap_or(0.0));
    }

    /// Returns the options of the proxy.
    pub fn options(&self) -> &RenderOptions {
        &self.options
    }

    /// Returns the rendering sent last.
    pub fn rendering(&self) -> &Rendering {
        &self.rendering
    }

    /// Takes a pose that a newer one coalesced: the device went by it, so the proxy moves there first.
    pub fn coalesce(&mut self, pose: &ToolPose) {
        let posture = Posture::of(&self.tool, pose);
        if pose.teleport || !self.has_begun && self.begin_at.is_none() {
            self.begin_at = Some(posture);
            self.waypoints.clear();
            return;
        }
        if self.waypoints.len() == WAYPOINTS_MAX {
            // A client that sends 64 ticks while one is answered is far behind: the proxy takes a coarser path.
            let mut place = 0;
            self.waypoints.retain(|_| {
                place += 1;
                place % 2 == 0
            });
        }
        self.waypoints.push(posture);
    }

    /// Moves the proxy to where the device is. [`ToolProxy::send`] returns the force for the hand. Allocates nothing
    /// once the buffers have grown.
    pub fn tick(&mut self, pose: &ToolPose, tick: &ProxyTick) {
        let ProxyTick { tissues, deadline_to_draw, .. } = *tick;
        self.coalesce(pose);
        let before = self.god_object.posture;
        self.god_object.begin_tick(tissues);
        seen_tissues::follow(&mut self.seen, tissues, tick.dt_s);
        self.was_put = self.begin_at.is_some();
        if let Some(posture) = self.begin_at.take() {
            self.begin(posture, tick);
        }
        self.look_at_new(tick);
        let followed = self.follow_tissues(tick);
        let (mut drawn, mut last) = (if followed { HowFar::Arrived } else { HowFar::Late }, None);
        let god_object = &mut self.god_object;
        for posture in &self.waypoints {
            last = Some(*posture);
            // A late proxy still begins the next tick towards the newest pose: a path that is too long is cut short.
            if drawn == HowFar::Arrived {
                drawn = god_object.draw_to(posture, tissues, &mut self.seen, deadline_to_draw);
            }
        }
        self.waypoints.clear();
        let device = last.unwrap_or(god_object.posture);
        if drawn == HowFar::OnItsWay {
            god_object.pull_towards(&device, (tissues, &self.seen));
        }
        self.has_met_nothing =
            followed && !self.was_put && !self.seen.iter().any(|s| s.embeds() || s.has_moved());
        self.free_what_is_outside(tick);
        if tissues.iter().any(|(_, revision)| revision.feel.is_some()) {
            self.note_speeds(&before, &device, tick.dt_s);
        } else {
            (self.last_device, self.device_speed) = (None, Speed::default());
            self.god_object.speed = Speed::default();
        }
        self.answer(&device, (followed, drawn), tick);
    }

    /// Notes the speeds of device and proxy, on which the laws of contacts depend: friction on that of the ticks before.
    fn note_speeds(&mut self, proxy_before: &Posture, device: &Posture, dt_s: f64) {
        let god_object = &mut self.god_object;
        let hold = self.options.hold_point_m;
        let moved =
            |from: &Posture, to: &Posture| from.displacement_along(to, hold, god_object.screws());
        if let Some(before) = self.last_device.replace(*device).filter(|_| !self.was_put) {
            self.device_speed.note(&moved(&before, device), dt_s);
            let gone = moved(proxy_before, &god_object.posture);
            god_object.speed.note(&gone, dt_s);
        }
    }

    /// Returns the force of the last tick, within its caps and rates, as sent `since_s` seconds after the one before.
    pub fn send(&mut self, since_s: f64) -> &Rendering {
        // A hand without a force for so long has let go: the last force, given at once, would strike it.
        let step_s = if since_s > FADE_S {
            self.sent = Wrench::default();
            self.ramp = Some(ForceRamp::from(&self.sent));
            FIRST_STEP_S
        } else {
            since_s.min(STEP_S_MAX)
        };
        let limits = ForceRamp::limits(&mut self.ramp, &self.options.limits, step_s);
        let (sent, limited) = self.sent.towards(&self.wanted, &limits, step_s);
        self.sent = sent;
        self.rendering.force_n = sent.force;
        self.rendering.torque_nm = sent.torque;
        self.rendering.limited = limited;
        &self.rendering
    }

    /// Teleports the proxy to where the device is: every tissue counts as added about it.
    fn begin(&mut self, posture: Posture, tick: &ProxyTick) {
        self.has_begun = true;
        self.god_object.put(posture);
        self.device_speed = Speed::default();
        self.rendering.contacts.clear();
        self.weights.clear();
        seen_tissues::take_all(&mut self.seen, tick.tissues);
        self.seen.iter_mut().for_each(|s| {
            s.set_free();
            s.is_new = true;
        });
    }

    /// Stops tissues that were added about the proxy from constraining it. Tissue that a cut placed through it is found
    /// while it is followed.
    fn look_at_new(&mut self, tick: &ProxyTick) {
        let around = self.god_object.around();
        for (place, seen) in self.seen.iter_mut().enumerate() {
            if std::mem::take(&mut seen.is_new) {
                put_tissue::meet(seen, (tick.tissues, place), &around, tick.deadline_to_draw);
            }
        }
    }

    /// Returns false if the deadline passed before the tissues were where they are.
    fn follow_tissues(&mut self, tick: &ProxyTick) -> bool {
        let (tissues, seen) = (tick.tissues, &mut self.seen);
        let followed = self.god_object.follow_tissues(tissues, seen, tick.deadline_to_draw);
        if followed < 1.0 {
            seen_tissues::stay_all_at(seen, tissues, followed);
            return false;
        }
        seen_tissues::take_arrived(seen, tissues);
        true
    }

    /// Lets a tissue constrain the proxy again once the proxy is outside it. The test takes what is left of the whole
    /// tick: within the time to move the proxies, a proxy that always takes that time would never come free.
    fn free_what_is_outside(&mut self, tick: &ProxyTick) {
        let mut is_free = false;
        let around = self.god_object.around();
        for (place, seen) in self.seen.iter_mut().enumerate() {
            if seen.embeds() {
                is_free |= put_tissue::leave(seen, (tick.tissues, place), &around, tick.deadline);
            }
        }
        if is_free {
            self.god_object.search.list.forget();
        }
    }

    fn answer(&mut self, device: &Posture, (followed, drawn): (bool, HowFar), tick: &ProxyTick) {
        let god_object = &self.god_object;
        let posture = god_object.posture;
        self.rendering.scene_from_proxy = posture.scene_from_tool;
        self.rendering
            .tool_from_link
            .copy_from_slice(&posture.tool_from_link[..self.tool.links.len()]);
        for (i, link) in self.tool.links.iter().enumerate() {
            let (proxy, device) = (&posture.tool_from_link[i], &device.tool_from_link[i]);
            self.rendering.link_lag_m[i] = link.displacement(proxy, device);
        }
        // A proxy that has not arrived has surroundings all the same, and a servo moves its own proxy from there; if
        // tissue was not followed, the surroundings are not known.
        let margin_m = self.survey(followed, tick);
        self.name_contacts(margin_m.is_some());
        if drawn == HowFar::Late {
            self.hold_force(device, tick);
        } else {
            self.list_contacts(tick);
        }
        let bears = self.rendering.contacts.iter().any(|c| c.force_n != DVec3::ZERO);
        let residual_m = self.god_object.residual_m.max(self.god_object.squeezed_m);
        let is_embedded = self.seen.iter().any(SeenTissue::embeds);
        let is_squeezed = residual_m > PROXY_AT_REST_M;
        self.rendering.state = if is_embedded {
            RenderState::Embedded
        } else if drawn == HowFar::Late {
            RenderState::Late
        } else if is_squeezed {
            RenderState::Squeezed
        } else if bears {
            RenderState::Touching
        } else {
            RenderState::Free
        };
        self.rendering.residual_m = if is_squeezed { residual_m } else { 0.0 };
        let Rendering { contacts, loads, grasps, link_lag_m, .. } = &mut self.rendering;
        self.loads.fill(contacts, &self.weights, tick.tissues, loads);
        grasps.clear();
        self.grasps.follow(contacts, link_lag_m, grasps);
        if let Some(margin_m) = margin_m {
            let surroundings = Surroundings {
                tool: &self.tool,
                posture: &self.god_object.posture,
                screws: self.god_object.screws(),
                motion: TissuesInMotion { tissues: tick.tissues, seen: &self.seen, time: 1.0 },
                pairs: self.god_object.surveyed().0,
                margin_m,
                force_shading_rad: self.options.force_shading_rad,
                reach_m: posture.radius(&self.tool, self.options.hold_point_m),
                deadline: tick.deadline,
            };
            if let Some(mut model) = self.spare_model.take() {
                (model.tool, model.sequence) = (self.tool.id.0, tick.sequence);
                model.server_time_ns = tick.now_ns;
                (model.friction, model.hold_m) = (self.options.friction, self.options.hold_point_m);
                let contacts = self.god_object.surveyed().1;
                linearised::fill(&mut model, &surroundings, contacts, &self.ids, &mut self.planes);
                self.rendering.local_model = Some(model);
            }
        }
        if cfg!(debug_assertions) {
            uncounted(|| self.assert_well_formed(tick));
        }
    }

    /// Searches for a local model; `None` if there will be none. `followed`: every tissue is where the proxy knows it.
    fn survey(&mut self, followed: bool, tick: &ProxyTick) -> Option<f64> {
        self.ids.clear();
        if !self.options.local_model {
            return None;
        }
        if let Some(model) = self.rendering.local_model.take() {
            self.spare_model = Some(model);
        }
        let motion = TissuesInMotion { tissues: tick.tissues, seen: &self.seen, time: 1.0 };
        followed.then(|| self.god_object.survey(&motion, tick.deadline)).flatten()
    }

    /// Gives the contacts their ids, those with a force first. `with_survey`: also those of the survey.
    fn name_contacts(&mut self, with_survey: bool) {
        let GodObject { contacts, forces, .. } = &self.god_object;
        self.memory.begin();
        for bears in [true, false] {
            // Contacts whose features met before go first, so that no neighbour takes their ids.
            for is_known in [true, false] {
                for (contact, force) in contacts.iter().zip(forces) {
                    let key = &contact.key;
                    if (force.normal_n > 0.0) != bears || self.memory.is_known(key) != is_known {
                        continue;
                    }
                    self.ids.push((contact.key, self.memory.note(contact)));
                }
            }
        }
        // A local model searches farther: contacts that it alone has found have their ids too.
        let surveyed: &[NearContact] = if with_survey { self.god_object.surveyed().1 } else { &[] };
        for is_known in [true, false] {
            for contact in surveyed {
                let is_listed = self.ids.iter().any(|(key, _)| *key == contact.key);
                if !is_listed && self.memory.is_known(&contact.key) == is_known {
                    self.ids.push((contact.key, self.memory.note(contact)));
                }
            }
        }
        self.memory.end();
    }

    /// Lists the contacts in the order of their ids, and sums up their forces.
    fn list_contacts(&mut self, tick: &ProxyTick) {
        let GodObject { contacts, forces, posture, .. } = &self.god_object;
        let listed = &mut self.rendering.contacts;
        listed.clear();
        self.weights.clear();
        let held = posture.scene_from_tool.point(self.options.hold_point_m);
        self.wanted = Wrench::default();
        for (key, id) in &self.ids[..contacts.len().min(forces.len())] {
            let at = contacts.iter().position(|c| c.key == *key).expect("contacts were named");
            let contact = &contacts[at];
            let force_n = self.god_object.felt(at, &self.device_speed);
            self.weights.push(contact.tissue_weights);
            let (position, gap_m) =
                self.god_object.gap_to_newest(contact, (tick.tissues, &self.seen));
            listed.push(ProxyContact {
                id: *id,
                tissue: key.tissue,
                triangle: contact.tissue_triangle,
                is_forbidden: tick.forbidden.contains(&key.tissue),
                link: key.link,
                link_triangle: contact.link_triangle,
                position,
                normal: contact.normal,
                gap_m,
                force_n,
            });
            // K (x - x_d) = sum of lambda_i J_i at the programme's minimum: the condition of stationarity (Boyd and
            // Vandenberghe, "Convex Optimization", 2004, (5.49)). So once the proxy has arrived the sum over the
            // rigid contacts is the coupling's wrench, k_t (x_p - x_d) and k_r log(R_p R_d^-1).
            self.wanted.force += force_n;
            self.wanted.torque += (position - held).cross(force_n);
        }
    }

    /// Keeps, in a late tick, the contacts and the force of the last tick that was in time: planes extrapolated over
    /// millimetres give forces that no surface supports. Contacts on removed tissue are dropped, and the force is at
    /// most that of the spring between the proxy and the device.
    fn hold_force(&mut self, device: &Posture, tick: &ProxyTick) {
        let (listed, weights) = (&mut self.rendering.contacts, &mut self.weights);
        let is_there = |c: &ProxyContact| {
            let tissue = tick.tissues.iter().find(|(id, _)| *id == c.tissue);
            tissue.is_some_and(|(_, r)| r.surface.mesh().get(c.triangle).is_some())
        };
        let held = self.god_object.posture.scene_from_tool.point(self.options.hold_point_m);
        for place in (0..listed.len()).rev() {
            if is_there(&listed[place]) {
                continue;
            }
            let gone = listed.remove(place);
            weights.remove(place);
            self.wanted.force -= gone.force_n;
            self.wanted.torque -= (gone.position - held).cross(gone.force_n);
        }
        if listed.is_empty() {
            self.wanted = Wrench::default();
        }
        let spring = &self.options.spring;
        let x = self.god_object.posture.body_displacement_to(device, self.options.hold_point_m);
        let (shift, turn) = (DVec3::new(x[0], x[1], x[2]), DVec3::new(x[3], x[4], x[5]));
        let most = spring.stiffness_n_per_m * shift.length();
        self.wanted.force = self.wanted.force.clamp_length_max(most);
        let most = spring.rotational_stiffness_nm_per_rad * turn.length();
        self.wanted.torque = self.wanted.torque.clamp_length_max(most);
    }

    /// Panics unless no constrained link crosses a tissue that constrains the proxy, and nothing near is unlisted.
    /// O(triangles about the proxy).
    pub fn assert_well_formed(&self, tick: &ProxyTick) {
        let posture = &self.god_object.posture;
        for (seen, (id, revision)) in self.seen.iter().zip(tick.tissues) {
            // A tissue whose motion a late tick could not follow yet is not where the proxy knows it.
            if seen.embeds() || seen.has_moved() {
                continue;
            }
            for &link in self.god_object.constrained() {
                let pose = posture.scene_from_link(link);
                let link_there = &self.tool.links[link];
                let tissue = seen.newest(revision);
                let crosses = crosses(&tissue, link_there, &pose, &TimeLeft::endless());
                assert!(!crosses, "link {link} crosses tissue {id:?} at {pose:?}");
            }
        }
        if !self.seen.iter().any(|s| s.embeds() || s.has_moved()) {
            let motion = TissuesInMotion { tissues: tick.tissues, seen: &self.seen, time: 1.0 };
            self.god_object.assert_well_formed(&motion);
        }
    }
}
