//! A session of the engine in this process: a thread that answers the device's newest pose, or ticks in lock-step.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use palpate::{
    client::device_deadline,
    geometry::Pose,
    proto,
    proxy::{RenderOptions, RenderedSession},
    scene::{
        Tool, ToolId,
        limits::{CONTACTS_MAX, PAIRS_MAX},
        tick::{TickOptions, ToolPose},
    },
    servo::{DeviceFeed, DevicePose},
    time_left::TimeLeft,
};
use parking_lot::Mutex;

use super::LocalScene;
use crate::{
    backend::snapshot::Snapshot,
    border::{PANICKED, at_most},
    code::{Failure, palpate_code::*},
    plain::{palpate_render_state, palpate_session_options},
};

/// Maximum time of a tick in the engine, equal to a server's default.
const TICK_MAX: Duration = Duration::from_millis(5);

/// A session, and its thread unless it is in lock-step.
pub(crate) struct LocalSession {
    scene: Arc<LocalScene>,
    work: Arc<Mutex<Work>>,
    seen: Arc<Mutex<Seen>>,
    is_closed: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// State that answers ticks, one at a time.
struct Work {
    session: RenderedSession,
    feed: DeviceFeed,
    sequence: u64,
    pose: ToolPose,
    scene: Arc<LocalScene>,
    is_lock_step: bool,
    /// Time limit of a tick.
    tick_max: Option<Duration>,
    /// Buffers of an earlier answer, which the next one is converted into.
    spare: Snapshot,
}

/// State that C reads between ticks.
struct Seen {
    newest: Snapshot,
    /// Time of the newest answer; none before the first.
    answered: Option<Instant>,
    opened: Instant,
    failure: Option<String>,
}

impl LocalSession {
    pub(super) fn open(
        scene: &Arc<LocalScene>,
        options: &palpate_session_options,
        render: &proto::RenderOptions,
        feed: DeviceFeed,
    ) -> Result<LocalSession, Failure> {
        let tool = ToolId(options.tool_id);
        let posed = scene.scene.tool(tool).map_err(super::of_scene)?;
        let n_links = posed.links.len();
        let answers = tick_options(options, &posed)?;
        let render = of_options(tool, render);
        let opened = RenderedSession::new(Arc::clone(&scene.scene), &[tool], answers, &[render]);
        let session = opened.map_err(|e| Failure::argument(e.to_string()))?;
        let pose = ToolPose {
            tool,
            scene_from_tool: Pose::IDENTITY,
            tool_from_link: Vec::with_capacity(n_links),
            teleport: false,
        };
        let is_lock_step = options.lock_step != 0;
        let rate_hz = if options.rate_hz == 0.0 { 1e3 } else { options.rate_hz };
        // A tick in lock-step has no time limit unless it is asked for: a slow machine returns equal answers.
        let usual = (!is_lock_step).then(|| device_deadline(rate_hz).min(TICK_MAX));
        let tick_max = super::super::deadline(options)?.or(usual);
        let work = Work {
            session,
            feed,
            sequence: 0,
            pose,
            scene: Arc::clone(scene),
            is_lock_step,
            tick_max,
            spare: Snapshot::default(),
        };
        let (newest, opened) = (Snapshot::default(), Instant::now());
        let seen = Seen { newest, answered: None, opened, failure: None };
        let mut opened = LocalSession {
            scene: Arc::clone(scene),
            work: Arc::new(Mutex::new(work)),
            seen: Arc::new(Mutex::new(seen)),
            is_closed: Arc::default(),
            thread: None,
        };
        if !is_lock_step {
            opened.start(Duration::from_secs_f64(1.0 / rate_hz))?;
        }
        Ok(opened)
    }

    fn start(&mut self, period: Duration) -> Result<(), Failure> {
        let (work, seen) = (Arc::clone(&self.work), Arc::clone(&self.seen));
        let is_closed = Arc::clone(&self.is_closed);
        let run = move || {
            let mut due = Instant::now();
            while !is_closed.load(Ordering::Relaxed) {
                // Late ticks are not made up for: the newest pose stands for all of them.
                due = (due + period).max(Instant::now());
                thread::sleep(due.saturating_duration_since(Instant::now()));
                let mut work = work.lock();
                let Some(at) = work.feed.pose() else { continue };
                // In a deleted scene no tick is answered, and the force fades.
                if work.scene.check().is_ok()
                    && let Err(message) = work.tick(&at, &seen)
                {
                    seen.lock().failure = Some(message);
                }
            }
        };
        let thread = thread::Builder::new().name("palpate-engine".to_owned()).spawn(run);
        let no_thread = |e| Failure::new(PALPATE_INTERNAL, format!("there is no thread: {e}"));
        self.thread = Some(thread.map_err(no_thread)?);
        self.scene.n_running.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn scene(&self) -> &LocalScene {
        &self.scene
    }

    pub(super) fn step(&self, pose: &Pose, links: &[Pose], at_ns: u64) -> Result<(), Failure> {
        let mut at =
            DevicePose { posture: crate::device_call::posture(pose, links), n_links: 0, at_ns };
        at.n_links = links.len();
        let ticked = self.work.lock().tick(&at, &self.seen);
        // The error is returned here, with the pose that caused it: the session continues.
        ticked.map_err(Failure::argument)
    }

    pub(super) fn read_seen(&self, read: &mut dyn FnMut(&Snapshot)) {
        let seen = self.seen.lock();
        if seen.answered.is_some() {
            read(&seen.newest);
        }
    }

    pub(super) fn state_now(&self) -> Option<palpate_render_state> {
        let seen = self.seen.try_lock()?;
        seen.answered.map(|_| seen.newest.rendering.state)
    }

    pub(super) fn age_s(&self) -> f64 {
        let seen = self.seen.lock();
        seen.answered.unwrap_or(seen.opened).elapsed().as_secs_f64()
    }

    pub(super) fn failure(&self) -> Result<(), Failure> {
        self.seen.lock().failure.take().map_or(Ok(()), |message| Err(Failure::argument(message)))
    }
}

impl Drop for LocalSession {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Waits for at most a tick and a period.
            let _ = thread.join();
            self.scene.n_running.fetch_sub(1, Ordering::Relaxed);
        } else {
            // A host's time that stands still would make tissue fast.
            self.scene.stepped_ns.store(super::NOT_STEPPED, Ordering::Relaxed);
        }
    }
}

impl Work {
    /// Answers a tick and shows its answer; a panic costs this answer only, as in a server.
    ///
    /// # Errors
    /// Returns the reason if the tick was refused.
    fn tick(&mut self, at: &DevicePose, seen: &Mutex<Seen>) -> Result<(), String> {
        catch_unwind(AssertUnwindSafe(|| self.answer(at))).unwrap_or_else(|_| {
            self.session = self.session.restarted();
            Err(PANICKED.to_owned())
        })?;
        let shown = match self.is_lock_step {
            true => Some(seen.lock()),
            // No tick waits for a thread that copies an answer: the next one replaces that.
            false => seen.try_lock(),
        };
        if let Some(mut seen) = shown {
            mem::swap(&mut seen.newest, &mut self.spare);
            seen.answered = Some(Instant::now());
        }
        Ok(())
    }

    fn answer(&mut self, at: &DevicePose) -> Result<(), String> {
        self.sequence += 1;
        self.pose.scene_from_tool = at.posture.scene_from_tool;
        self.pose.tool_from_link.clear();
        self.pose.tool_from_link.extend_from_slice(&at.posture.tool_from_link[..at.n_links]);
        let clock = || self.scene.now_ns();
        let time = match self.tick_max {
            None => TimeLeft::endless(),
            Some(most) => TimeLeft::until(&clock, clock() + most.as_nanos() as u64),
        };
        let poses = std::slice::from_ref(&self.pose);
        let ticked = self.session.tick(self.sequence, poses, at.at_ns, &time);
        ticked.map_err(|e| e.to_string())?;
        let rendering = self.session.renderings().next().expect("one tool is rendered");
        if let Some(model) = &rendering.local_model {
            self.feed.give(model, at.at_ns);
        }
        self.spare.become_of_engine(self.sequence, &self.session);
        Ok(())
    }
}

/// Options of the session's ticks, within the limits of a server.
pub(super) fn tick_options(
    options: &palpate_session_options,
    tool: &Tool,
) -> Result<TickOptions, Failure> {
    let (sweep, feature_pairs) = (options.omit_sweep == 0, options.feature_pairs != 0);
    let mut ticks = TickOptions { sweep, feature_pairs, ..TickOptions::default() };
    let (margin, most) = (options.contact_margin_m, ticks.max_distance_m);
    if !(0.0..=most).contains(&margin) {
        let message = format!("contact_margin_m is {margin}, expected 0 to {most}");
        return Err(Failure::argument(message));
    }
    at_most(options.max_contacts as usize, CONTACTS_MAX, "max_contacts")?;
    at_most(options.max_feature_pairs as usize, PAIRS_MAX, "max_feature_pairs")?;
    if margin > 0.0 {
        ticks.contact_margin_m = margin;
    } else {
        ticks.fit_margin([tool]);
    }
    if options.max_contacts > 0 {
        ticks.max_contacts = options.max_contacts as usize;
    }
    if options.max_feature_pairs > 0 {
        ticks.max_pairs = options.max_feature_pairs as usize;
    }
    Ok(ticks)
}

fn of_options(tool: ToolId, sent: &proto::RenderOptions) -> RenderOptions {
    let servo = palpate::client::local_model::servo_options(sent);
    let hold = sent.hold_point_m.unwrap_or_default();
    RenderOptions {
        spring: servo.spring,
        friction: sent.friction,
        force_shading_rad: sent.force_shading_rad,
        limits: servo.limits,
        cutting_links: sent.cutting_links.iter().map(|link| *link as usize).collect(),
        hold_point_m: glam::DVec3::new(hold.x, hold.y, hold.z),
        local_model: true,
        ..RenderOptions::of(tool)
    }
}
