//! One run: the scene is set up, all clients start at one instant, and what they counted is merged.

use std::{
    io, panic, process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{
    LoadError,
    client::{Client, ClientError},
    deformer::{self, DeformPlan, Deformations},
    dent::Dent,
    haptic::{self, HapticPlan, Live, WorkerError},
    hiccup::HiccupMeter,
    path::Path,
    phantom::{Instrument, Organ},
    progress::Progress,
    report::Measured,
    start::Gate,
    tally::Tally,
};

/// How far apart clients are on the way, seconds: an irrational part of the sweep, so none meet.
const AHEAD_S: f64 = 1.618_034;
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is run.
pub struct Plan {
    /// Haptic clients, each with a connection and a thread of its own.
    pub n_clients: u32,
    /// Ticks a second of each.
    pub rate_hz: f64,
    /// How long.
    pub seconds: f64,
    /// Deformations a second; 0 for none.
    pub deform_hz: f64,
    /// Later than this is missed.
    pub deadline: Duration,
    /// The tissue.
    pub organ: Organ,
    /// The tool that all clients share; each has its own pose of it.
    pub instrument: Arc<Instrument>,
}

/// Ctrl-C or SIGTERM.
pub struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupt {
    /// From now on neither ends the process by itself.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn catch() -> io::Result<Interrupt> {
        let (interrupt, terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(Interrupt { interrupt, terminate })
    }

    async fn came(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// A scene on the server, ready.
struct Scene {
    scene_id: String,
    tissue_id: u32,
    tool_id: u32,
    path: Arc<Path>,
}

/// The threads of a run.
struct Workers {
    haptics: Vec<JoinHandle<Result<Tally, WorkerError>>>,
    deformer: Option<JoinHandle<Result<Deformations, WorkerError>>>,
    stop: Arc<AtomicBool>,
    live: Vec<Arc<Live>>,
}

/// Runs a plan against the server at `host:port`; the scene is removed at the end.
///
/// # Errors
/// When the server refuses or goes, when a thread cannot pace, or on an interrupt before the start.
pub async fn run(
    plan: &Plan,
    server: &str,
    interrupt: &mut Interrupt,
) -> Result<(Measured, Ending), LoadError> {
    let mut client = Client::connect(server).await?;
    let scene_id = format!("load-{}", process::id());
    client.create_scene(&scene_id).await?;
    let measured = measure(plan, &mut client, &scene_id, server, interrupt).await;
    let deleted = client.delete_scene(&scene_id).await;
    let measured = measured?;
    deleted?;
    Ok(measured)
}

async fn measure(
    plan: &Plan,
    client: &mut Client,
    scene_id: &str,
    server: &str,
    interrupt: &mut Interrupt,
) -> Result<(Measured, Ending), LoadError> {
    let scene = tokio::select! {
        scene = Scene::set_up(client, scene_id, plan) => scene?,
        () = interrupt.came() => return Err(LoadError::Interrupted),
    };
    let hiccups = HiccupMeter::start()?;
    let workers = Workers::start(plan, &scene, server)?;
    let ending = workers.watch(plan, interrupt).await;
    let (tally, deformations) = workers.finish(plan)?;
    let (hiccups, tissue_triangles) = (hiccups.finish(), plan.organ.n_triangles as u64);
    Ok((Measured { tally, deformations, hiccups, tissue_triangles }, ending))
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was long enough.
    Done,
    /// Somebody wanted it to.
    Interrupted,
}

impl Scene {
    async fn set_up(
        client: &mut Client,
        scene_id: &str,
        plan: &Plan,
    ) -> Result<Scene, ClientError> {
        let tissue_id = client.add_tissue(scene_id, "organ", &plan.organ.mesh).await?.tissue_id;
        let Instrument { links, probes, .. } = plan.instrument.as_ref();
        let tool_id = client.add_tool(scene_id, "instrument", links, probes).await?.tool_id;
        let path = Path::survey(client, scene_id, tissue_id, &plan.organ.bounds).await?;
        Ok(Scene { scene_id: scene_id.to_owned(), tissue_id, tool_id, path: Arc::new(path) })
    }
}

impl Workers {
    fn start(plan: &Plan, scene: &Scene, server: &str) -> Result<Workers, LoadError> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut gate = Gate::new();
        let mut haptics = Vec::new();
        let mut live = Vec::new();
        for number in 0..plan.n_clients {
            let shown = Arc::new(Live::default());
            let haptic = HapticPlan {
                server: server.to_owned(),
                scene_id: scene.scene_id.clone(),
                tool_id: scene.tool_id,
                instrument: Arc::clone(&plan.instrument),
                path: Arc::clone(&scene.path),
                ahead_s: AHEAD_S * f64::from(number),
                rate_hz: plan.rate_hz,
                n_ticks: (plan.rate_hz * plan.seconds).round() as u64,
                n_clients: plan.n_clients,
                deadline: plan.deadline,
                stop: Arc::clone(&stop),
                live: Arc::clone(&shown),
            };
            live.push(shown);
            let starter = gate.starter();
            let thread = thread::Builder::new().name(format!("haptic-{number}"));
            haptics.push(thread.spawn(move || haptic::run(&haptic, starter))?);
        }
        let deformer = match (plan.deform_hz * plan.seconds).round() as u64 {
            0 => None,
            n_frames => {
                let deform = DeformPlan {
                    server: server.to_owned(),
                    scene_id: scene.scene_id.clone(),
                    tissue_id: scene.tissue_id,
                    dent: Dent::new(plan.organ.rest.clone(), plan.organ.length_m()),
                    path: Arc::clone(&scene.path),
                    rate_hz: plan.deform_hz,
                    n_frames,
                    n_clients: plan.n_clients,
                    stop: Arc::clone(&stop),
                };
                let starter = gate.starter();
                let thread = thread::Builder::new().name("deformer".to_owned());
                Some(thread.spawn(move || deformer::run(deform, starter))?)
            }
        };
        let workers = Workers { haptics, deformer, stop, live };
        gate.open(|| workers.any_ended());
        Ok(workers)
    }

    /// Until all have ended; stops the others when one ends early, and all on an interrupt.
    async fn watch(&self, plan: &Plan, interrupt: &mut Interrupt) -> Ending {
        let progress = Progress::new(plan.seconds);
        let started = Instant::now();
        let mut ending = Ending::Done;
        while !self.all_ended() {
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = interrupt.came() => {
                    ending = Ending::Interrupted;
                    self.stop.store(true, Ordering::Relaxed);
                }
            }
            let is_early = started.elapsed().as_secs_f64() < plan.seconds;
            if is_early && self.any_ended() {
                self.stop.store(true, Ordering::Relaxed);
            }
            progress.show(started.elapsed(), self.live.iter().map(|live| live.figures()));
        }
        progress.clear();
        ending
    }

    fn any_ended(&self) -> bool {
        self.deformer.as_ref().is_some_and(JoinHandle::is_finished)
            || self.haptics.iter().any(JoinHandle::is_finished)
    }

    fn all_ended(&self) -> bool {
        self.deformer.as_ref().is_none_or(JoinHandle::is_finished)
            && self.haptics.iter().all(JoinHandle::is_finished)
    }

    fn finish(self, plan: &Plan) -> Result<(Tally, Deformations), WorkerError> {
        let mut tally = Tally::new(plan.deadline);
        for haptic in self.haptics {
            tally.add(&join(haptic)?);
        }
        let deformations = self.deformer.map_or_else(|| Ok(Deformations::default()), join)?;
        Ok((tally, deformations))
    }
}

/// A panic there goes on here.
fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|payload| panic::resume_unwind(payload))
}
