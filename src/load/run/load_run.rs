//! One run: the scene is set up, all clients start at one instant, and what they counted is merged.

use std::{
    io, panic, process,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
};

use super::{hiccup::HiccupMeter, progress::Progress, start::Gate};
use crate::{
    client::{Client, ClientError, address::ServerAddress},
    load::{
        LoadError,
        clients::{
            cutter::{self, CutPlan, Cuts},
            deformer::{self, DeformPlan, Deformations},
            haptic::{self, HapticPlan, Live, WorkerError},
        },
        report::{Measured, tally::Tally},
        stage::{
            dent::Dent,
            path::Path,
            phantom::{Instrument, Organ},
        },
    },
};

/// How far apart clients are on the way, seconds: an irrational part of the sweep, so none meet.
const AHEAD_S: f64 = 1.618_034;
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is run.
#[derive(Clone)]
pub struct Plan {
    /// Haptic clients, each with a thread of its own.
    pub n_clients: u32,
    /// They share one connection instead of having one each.
    pub is_connection_shared: bool,
    /// Ticks a second of each.
    pub rate_hz: f64,
    /// How long.
    pub seconds: f64,
    /// Deformations a second; 0 for none.
    pub deform_hz: f64,
    /// Of the tissue's vertices, how many a deformation moves, in (0, 1]; `None`: a dent about the tip.
    pub deform_share: Option<f64>,
    /// Cuts a second; 0 for none.
    pub cut_hz: f64,
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
    cutter: Option<JoinHandle<Result<Cuts, WorkerError>>>,
    /// Drives the shared connection.
    shared: Option<Runtime>,
    stop: Arc<AtomicBool>,
    live: Vec<Arc<Live>>,
}

/// A scene on a server, and the connection that set it up.
pub struct Session {
    client: Client,
    scene: Scene,
}

/// Who answers the ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answering {
    /// The server that has the scene.
    Engine,
    /// A server that only echoes: nothing is deformed or cut meanwhile.
    Echo,
}

impl Session {
    /// Makes a scene of its own with the plan's tissue and tool.
    ///
    /// # Errors
    /// When the server refuses or goes, or on an interrupt.
    pub async fn set_up(
        plan: &Plan,
        server: &ServerAddress,
        interrupt: &mut Interrupt,
    ) -> Result<Session, LoadError> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let mut client = Client::connect(server).await?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let scene_id = format!("load-{}-{number}", process::id());
        client.create_scene(&scene_id).await?;
        let set_up = tokio::select! {
            scene = Scene::set_up(&mut client, &scene_id, plan) => scene.map_err(LoadError::from),
            () = interrupt.came() => Err(LoadError::Interrupted),
        };
        match set_up {
            Ok(scene) => Ok(Session { client, scene }),
            Err(error) => {
                // The first error says more.
                let _ = client.delete_scene(&scene_id).await;
                Err(error)
            }
        }
    }

    /// Runs the plan's clients in the scene, its ticks answered by `server`.
    ///
    /// # Errors
    /// When the server refuses or goes, or when a thread cannot pace.
    pub async fn measure(
        &self,
        plan: &Plan,
        (answering, server): (Answering, &ServerAddress),
        interrupt: &mut Interrupt,
    ) -> Result<(Measured, Ending), LoadError> {
        let hiccups = HiccupMeter::start()?;
        let workers = Workers::start(plan, &self.scene, answering, server).await?;
        let ending = workers.watch(plan, interrupt).await;
        let mut measured = workers.finish(plan)?;
        measured.hiccups = hiccups.finish();
        measured.tissue_triangles = plan.organ.triangles.len() as u64;
        Ok((measured, ending))
    }

    /// Removes the scene.
    ///
    /// # Errors
    /// When the server refuses or is gone.
    pub async fn close(mut self) -> Result<(), ClientError> {
        self.client.delete_scene(&self.scene.scene_id).await
    }
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
    async fn start(
        plan: &Plan,
        scene: &Scene,
        answering: Answering,
        server: &ServerAddress,
    ) -> Result<Workers, LoadError> {
        let (shared, client) = if plan.is_connection_shared {
            let (runtime, client) = connect_apart(server).await?;
            (Some(runtime), Some(client))
        } else {
            (None, None)
        };
        let stop = Arc::new(AtomicBool::new(false));
        let mut gate = Gate::new();
        let mut workers = Workers {
            haptics: Vec::new(),
            deformer: None,
            cutter: None,
            shared,
            stop: Arc::clone(&stop),
            live: Vec::new(),
        };
        for number in 0..plan.n_clients {
            let shown = Arc::new(Live::default());
            let haptic = HapticPlan {
                server: server.clone(),
                shared: client.clone(),
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
            workers.live.push(shown);
            let starter = gate.starter();
            let thread = thread::Builder::new().name(format!("haptic-{number}"));
            let work = move || or_stop_all(haptic::run(&haptic, starter), &haptic.stop);
            workers.haptics.push(thread.spawn(work)?);
        }
        if answering == Answering::Engine {
            workers.deformer = start_deformer(plan, scene, server, &stop, &mut gate)?;
            workers.cutter = start_cutter(plan, scene, server, &stop, &mut gate)?;
        }
        gate.open(|| workers.any_ended());
        Ok(workers)
    }

    /// Until all have ended; stops them on an interrupt.
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
            progress.show(started.elapsed(), self.live.iter().map(|live| live.figures()));
        }
        progress.clear();
        ending
    }

    fn any_ended(&self) -> bool {
        self.deformer.as_ref().is_some_and(JoinHandle::is_finished)
            || self.cutter.as_ref().is_some_and(JoinHandle::is_finished)
            || self.haptics.iter().any(JoinHandle::is_finished)
    }

    fn all_ended(&self) -> bool {
        self.deformer.as_ref().is_none_or(JoinHandle::is_finished)
            && self.cutter.as_ref().is_none_or(JoinHandle::is_finished)
            && self.haptics.iter().all(JoinHandle::is_finished)
    }

    fn finish(self, plan: &Plan) -> Result<Measured, WorkerError> {
        let mut measured = Measured::new(plan.deadline);
        for haptic in self.haptics {
            measured.tally.add(&join(haptic)?);
        }
        measured.deformations = self.deformer.map_or_else(|| Ok(Deformations::default()), join)?;
        measured.cuts = self.cutter.map_or_else(|| Ok(Cuts::default()), join)?;
        if let Some(runtime) = self.shared {
            runtime.shutdown_background();
        }
        Ok(measured)
    }
}

/// A connection whose work is done by a thread of its own, so that it goes on while others wait.
async fn connect_apart(server: &ServerAddress) -> Result<(Runtime, Client), LoadError> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let server = server.clone();
    let connected = runtime.spawn(async move { Client::connect(&server).await }).await;
    match connected.expect("connecting does not panic") {
        Ok(client) => Ok((runtime, client)),
        Err(error) => {
            runtime.shutdown_background();
            Err(error.into())
        }
    }
}

fn start_deformer(
    plan: &Plan,
    scene: &Scene,
    server: &ServerAddress,
    stop: &Arc<AtomicBool>,
    gate: &mut Gate,
) -> io::Result<Option<JoinHandle<Result<Deformations, WorkerError>>>> {
    let n_frames = (plan.deform_hz * plan.seconds).round() as u64;
    if n_frames == 0 {
        return Ok(None);
    }
    let (rest, length_m) = (plan.organ.rest.clone(), plan.organ.length_m());
    let deform = DeformPlan {
        server: server.clone(),
        scene_id: scene.scene_id.clone(),
        tissue_id: scene.tissue_id,
        dent: match plan.deform_share {
            Some(share) => Dent::of_share(rest, length_m, share),
            None => Dent::new(rest, length_m),
        },
        path: Arc::clone(&scene.path),
        rate_hz: plan.deform_hz,
        n_frames,
        n_clients: plan.n_clients,
        stop: Arc::clone(stop),
    };
    let starter = gate.starter();
    let thread = thread::Builder::new().name("deformer".to_owned());
    let stop = Arc::clone(stop);
    thread.spawn(move || or_stop_all(deformer::run(deform, starter), &stop)).map(Some)
}

fn start_cutter(
    plan: &Plan,
    scene: &Scene,
    server: &ServerAddress,
    stop: &Arc<AtomicBool>,
    gate: &mut Gate,
) -> io::Result<Option<JoinHandle<Result<Cuts, WorkerError>>>> {
    let n_cuts = (plan.cut_hz * plan.seconds).round() as u64;
    if n_cuts == 0 {
        return Ok(None);
    }
    let cut = CutPlan {
        server: server.clone(),
        scene_id: scene.scene_id.clone(),
        tissue_id: scene.tissue_id,
        rest: plan.organ.rest.clone(),
        triangles: plan.organ.triangles.clone(),
        rate_hz: plan.cut_hz,
        n_cuts,
        n_clients: plan.n_clients,
        stop: Arc::clone(stop),
    };
    let starter = gate.starter();
    let thread = thread::Builder::new().name("cutter".to_owned());
    thread.spawn(move || or_stop_all(cutter::run(&cut, starter), &cut.stop)).map(Some)
}

/// What a worker ended with. When it failed the others stop; one that has done all it had to leaves them to theirs.
fn or_stop_all<T>(result: Result<T, WorkerError>, stop: &AtomicBool) -> Result<T, WorkerError> {
    result.inspect_err(|_| stop.store(true, Ordering::Relaxed))
}

/// A panic there goes on here.
fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|payload| panic::resume_unwind(payload))
}
