//! A haptic client: a thread that sends each pose when it is due and reads answers in between.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use glam::DVec3;
use tokio::sync::mpsc::error::TrySendError;
use tonic::Streaming;

use super::{
    device::{DevicePlan, DeviceThread},
    guide::{self, Guide, GuidedDevice},
    pacer::{Due, Pacer},
};
use crate::proto::{
    RenderOptions, ReportOptions, Tick, ToolPose, TrackMode, TrackRequest, TrackResponse,
    TrackStart, track_request::Message,
};
use crate::{
    client::{
        Client, ClientError, Duplex, address::ServerAddress, device_deadline,
        local_model::on_the_wire,
    },
    geometry::Pose,
    load::{
        report::tally::{Tally, n_contacts, nearest_m},
        run::start::Starter,
        stage::{path::Path, phantom::Instrument},
    },
};

/// Ticks that may wait for the transport: a tenth of a second. Their time counts from their instants.
const WAITING_MAX: usize = 100;
/// Time limit of the last answers after the last tick. A tick without an answer is wrong, a late one is not: this limit
/// is longer than a machine stalls.
const LAST_ANSWERS_MAX: Duration = Duration::from_secs(10);
/// Time limit of opening a loop: a stream beyond the server's limit for one connection would wait for ever.
const OPEN_MAX: Duration = Duration::from_secs(10);
/// Answers between two updates of the metrics for the progress line.
// The progress line is drawn ten times a second, so at 1 kHz a percentile is as fresh as the line.
const SHOWN_EVERY: u64 = 100;

/// A client's thread ended early.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The server refused or is gone.
    #[error("{0}")]
    Client(#[from] ClientError),
    /// There is no runtime, timer or thread.
    #[error("cannot pace: {0}")]
    Pace(#[from] io::Error),
    /// The server did not open a loop in time.
    #[error(
        "no haptic loop has begun after {OPEN_MAX:?}, as where all streams of a connection are open (64, unless the server \
         is set so): expected fewer clients, or no --share-connection"
    )]
    NotBegun,
}

/// Plan of a haptic client.
#[derive(Clone)]
pub struct HapticPlan {
    /// Address of the server.
    pub server: ServerAddress,
    /// Connection shared with other clients; `None`: the client opens its own.
    pub shared: Option<Client>,
    /// Id of the scene.
    pub scene_id: String,
    /// Id of the tool that the client moves.
    pub tool_id: u32,
    /// The tool, and how it is held.
    pub instrument: Arc<Instrument>,
    /// Path of the tool's tip.
    pub path: Arc<Path>,
    /// Lead of the client on that path, seconds.
    pub ahead_s: f64,
    /// Ticks a second.
    pub rate_hz: f64,
    /// Total number of ticks.
    pub n_ticks: u64,
    /// Clients that share the machine.
    pub n_clients: u32,
    /// True if the tool is rendered.
    pub is_rendered: bool,
    /// True if ticks have the time limit of a device's loop.
    pub has_tick_limit: bool,
    /// Simulated device that holds the tool, instead of the path.
    pub device: Option<DevicePlan>,
    /// State through which viewers may move the device.
    pub guide: Option<Arc<Guide>>,
    /// Ticks answered later than this are missed.
    pub deadline: Duration,
    /// Ends the client early when set.
    pub stop: Arc<AtomicBool>,
    /// Metrics shown while the client runs.
    pub live: Arc<Live>,
}

/// A client's metrics while it runs.
#[derive(Debug, Default)]
pub struct Live {
    answered: AtomicU64,
    missed: AtomicU64,
    contacts: AtomicU64,
    depth_um: AtomicU64,
    p99_us: AtomicU64,
}

/// [`Live`] at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct LiveMetrics {
    /// Ticks answered so far.
    pub answered: u64,
    /// Ticks missed so far.
    pub missed: u64,
    /// Contacts of the last answer.
    pub contacts: u64,
    /// Penetration depth of the last answer, millimetres.
    pub depth_mm: f64,
    /// 99th percentile of the round trips so far, microseconds.
    pub p99_us: u64,
}

/// Stiffness of a rendered tool: 15 mm deep a hand feels 3 N, which a desktop device can exert.
pub const STIFFNESS_N_PER_M: f64 = 200.0;

impl Live {
    /// Returns the current metrics; the numbers may be a few ticks apart.
    pub fn metrics(&self) -> LiveMetrics {
        let get = |value: &AtomicU64| value.load(Ordering::Relaxed);
        LiveMetrics {
            answered: get(&self.answered),
            missed: get(&self.missed),
            contacts: get(&self.contacts),
            depth_mm: get(&self.depth_um) as f64 / 1e3,
            p99_us: get(&self.p99_us),
        }
    }

    fn show(&self, tally: &Tally, answer: &TrackResponse) {
        let set = |value: &AtomicU64, to| value.store(to, Ordering::Relaxed);
        set(&self.answered, tally.answered);
        set(&self.missed, tally.missed);
        set(&self.contacts, n_contacts(answer).into());
        set(&self.depth_um, (-1e6 * nearest_m(answer).unwrap_or(0.0)).max(0.0) as u64);
        // A percentile walks the whole histogram, which is too slow for each answer. The remainder is 1, not 0: the
        // line shows a percentile from the first answer on.
        if tally.answered % SHOWN_EVERY == 1 {
            set(&self.p99_us, tally.round_trip.percentile_us(99.0).unwrap_or(0.0) as u64);
        }
    }
}

/// Runs one client to its end on the calling thread.
///
/// # Errors
/// Returns an error if the server refuses or goes away, or if there is no timer.
pub fn run(plan: &HapticPlan, starter: Starter) -> Result<Tally, WorkerError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // The client connects before the start: no client's first tick waits for a handshake.
        let mut client = match &plan.shared {
            Some(client) => client.clone(),
            None => Client::connect(&plan.server).await?,
        };
        let rendered = RenderOptions {
            tool_id: plan.tool_id,
            stiffness_n_per_m: plan
                .device
                .as_ref()
                .map_or(STIFFNESS_N_PER_M, |d| d.stiffness_n_per_m),
            local_model: plan.device.is_some(),
            tissue_loads: true,
            ..Default::default()
        };
        let start = TrackStart {
            scene_id: plan.scene_id.clone(),
            tool_ids: vec![plan.tool_id],
            mode: TrackMode::Latest.into(),
            report: Some(ReportOptions { report_stages: true, ..Default::default() }),
            render: plan.is_rendered.then_some(rendered).into_iter().collect(),
            ..Default::default()
        };
        let begun = client.track(start, WAITING_MAX);
        let begun = tokio::time::timeout(OPEN_MAX, begun).await;
        let stream = begun.map_err(|_| WorkerError::NotBegun)??;
        if let Some(guide) = &plan.guide {
            let (scene_id, guide) = (plan.scene_id.clone(), Arc::clone(guide));
            // The task ends with this runtime. Sixty small messages a second take no time from its ticks.
            tokio::spawn(guide::listen(client.clone(), scene_id, plan.tool_id, guide));
        }
        match starter.wait() {
            Some(started) => drive(plan, &client, stream, started).await,
            None => Ok(Tally::new(plan.deadline)),
        }
    })
}

// This loop uses `Client::track` and not `Client::haptics`, which would send on another thread, drop the oldest tick
// when the transport is full, and reconnect when its connection breaks. Here each tick's time counts from the instant
// at which it was due, on the thread that sends it and reads its answer, and a lost tick or a broken connection is a
// finding.
async fn drive(
    plan: &HapticPlan,
    client: &Client,
    stream: Duplex<TrackRequest, TrackResponse>,
    started: Instant,
) -> Result<Tally, WorkerError> {
    let Duplex { requests, mut answers } = stream;
    let mut tally = Tally::new(plan.deadline);
    let mut held = HeldTool::new(plan, started);
    let mut pacer = Pacer::new(started, plan.rate_hz, plan.n_ticks, plan.n_clients)?;
    while !plan.stop.load(Ordering::Relaxed) {
        tokio::select! {
            biased;
            // Answers are polled first: a tick answered in time must not be read late because another is due.
            answer = answers.message() => match answer {
                Ok(Some(answer)) => {
                    tally.answered(&answer, Instant::now());
                    held.answered(&answer, &mut tally);
                    plan.live.show(&tally, &answer);
                }
                Ok(None) => return Err(ClientError::ended(client.server(), "Track").into()),
                Err(status) => return Err(ClientError::of(client.server(), "Track", &status).into()),
            },
            due = pacer.due() => match due? {
                Some(due) => {
                    // The client never waits for queue space: a schedule that waits for the server would hide how late
                    // the server is.
                    let given = requests.try_send(held.tick(&due));
                    // Sequences count from 1.
                    let (sequence, now) = (due.index + 1, Instant::now());
                    match given {
                        Ok(()) => tally.sent(sequence, due.intended, now),
                        // A tick that does not fit in the queue is lost and missed.
                        Err(_) => tally.not_sent(sequence, due.intended, now),
                    }
                    // A stream that has ended reports its error above.
                    if let Err(TrySendError::Closed(_)) = given {
                        tokio::task::yield_now().await;
                    }
                }
                None => break,
            },
        }
    }
    if let Some(device) = held.device {
        tally.servo = device.end();
    }
    // Without an end of the requests the server would keep the stream open, and the wait below would last its whole
    // time.
    drop(requests);
    let last = read_last_answers(&mut answers, &mut tally);
    // Answers that do not come in time stay open and count as missed.
    let _ = tokio::time::timeout(LAST_ANSWERS_MAX, last).await;
    tally.finish();
    Ok(tally)
}

/// The tool of one client: its pose at each tick, and the answers to it.
struct HeldTool<'a> {
    plan: &'a HapticPlan,
    started: Instant,
    device: Option<DeviceThread>,
    guided: Option<GuidedDevice>,
    places: DevicePlaces,
}

impl<'a> HeldTool<'a> {
    fn new(plan: &'a HapticPlan, started: Instant) -> HeldTool<'a> {
        let device = plan.device.as_ref().map(|device| {
            let held = (Arc::clone(&plan.instrument), Arc::clone(&plan.path));
            let seconds = plan.n_ticks as f64 / plan.rate_hz;
            DeviceThread::start(device, plan.tool_id, held, (started, seconds))
        });
        let guided = plan.guide.clone().map(GuidedDevice::new);
        HeldTool { plan, started, device, guided, places: DevicePlaces::default() }
    }

    fn tick(&mut self, due: &Due) -> TrackRequest {
        let HeldTool { plan, started, .. } = *self;
        let mut pose = plan.pose(due, started);
        if let Some(guided) = &mut self.guided {
            let site = plan.path.site(plan.seconds(due, started));
            pose = guided.step(&pose, &site, 1.0 / plan.rate_hz);
        }
        if let Some(device) = &mut self.device {
            device.deliver(Instant::now());
            pose = device.pose();
        }
        self.places.note(due.index + 1, pose.translation);
        plan.tick(due, started, &pose)
    }

    fn answered(&mut self, answer: &TrackResponse, tally: &mut Tally) {
        if self.plan.is_rendered {
            tally.renderings.note(answer, self.places.of(answer.sequence));
        }
        if let (Some(guided), [rendering]) = (&self.guided, &answer.renderings[..]) {
            guided.felt(rendering);
        }
        if let Some(device) = &mut self.device {
            device.answered(answer, Instant::now());
        }
    }
}

/// Reads answers until the server, after the end of the requests, ends the stream.
async fn read_last_answers(answers: &mut Streaming<TrackResponse>, tally: &mut Tally) {
    while let Ok(Some(answer)) = answers.message().await {
        tally.answered(&answer, Instant::now());
    }
}

/// Positions of the device at the last ticks: the tool's origin, scene frame.
struct DevicePlaces([DVec3; PLACES]);

/// Remembered positions, in ticks; no answer is this late.
const PLACES: usize = 4_096;

impl Default for DevicePlaces {
    fn default() -> DevicePlaces {
        DevicePlaces([DVec3::ZERO; PLACES])
    }
}

impl DevicePlaces {
    fn note(&mut self, sequence: u64, place: DVec3) {
        self.0[sequence as usize % PLACES] = place;
    }

    fn of(&self, sequence: u64) -> DVec3 {
        self.0[sequence as usize % PLACES]
    }
}

impl HapticPlan {
    /// Returns the pose of the tool on the path at a tick.
    fn pose(&self, due: &Due, started: Instant) -> Pose {
        let seconds = self.seconds(due, started);
        // The pose follows the intended instant and not the clock: the path does not depend on how late a tick is sent.
        self.instrument.pose(&self.path.site(seconds), self.path.side)
    }

    /// Returns the time on the path of a tick, seconds.
    fn seconds(&self, due: &Due, started: Instant) -> f64 {
        (due.intended - started).as_secs_f64() + self.ahead_s
    }

    fn tick(&self, due: &Due, started: Instant, pose: &Pose) -> TrackRequest {
        let since_start = due.intended - started;
        let seconds = self.seconds(due, started);
        let tick = Tick {
            sequence: due.index + 1,
            client_time_ns: since_start.as_nanos() as i64,
            tools: vec![ToolPose {
                tool_id: self.tool_id,
                pose: Some(on_the_wire(pose)),
                link_poses: self.instrument.link_poses(seconds).iter().map(on_the_wire).collect(),
                // At the start there is no motion that could be swept.
                teleport: due.index == 0,
            }],
            // A tick that is not rendered cannot go on in the next one.
            deadline_us: match self.has_tick_limit {
                true => device_deadline(self.rate_hz).as_micros() as u32,
                false => 0,
            },
        };
        TrackRequest { message: Some(Message::Tick(tick)) }
    }
}
