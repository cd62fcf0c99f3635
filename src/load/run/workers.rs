//! The threads of a run: all clients start at one instant, and their counts are merged.

use std::{
    io, panic,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tokio::runtime::{Builder, Runtime};

use super::{
    busy_threads::BusyThreads, hiccup::HiccupMeter, plan::Plan, progress::Progress, start::Gate,
};
use crate::{
    client::{Client, address::ServerAddress},
    load::{
        clients::{
            cutter::{self, CutPlan, Cuts},
            deformer::{self, DeformPlan, Deformations},
            guide::Guide,
            haptic::{self, HapticPlan, Live, WorkerError},
        },
        error::LoadError,
        report::{Measured, tally::Tally},
        stage::Stage,
    },
    os::interrupt::Interrupt,
};

/// Distance between clients on the path, seconds: an irrational part of the sweep, so none meet.
const AHEAD_S: f64 = 1.618_034;
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The server that answers the ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answerer {
    /// The server that has the scene.
    Engine,
    /// A server that only echoes: nothing is deformed or cut meanwhile.
    Echo,
}

/// Reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The run lasted its full time.
    Done,
    /// The user interrupted the run.
    Interrupted,
}

/// Runs the plan's clients in the scene, with `server` answering the ticks.
///
/// # Errors
/// Returns an error if the server refuses or goes away, or if a thread cannot pace.
pub async fn measure(
    stage: &Stage,
    plan: &Plan,
    (answerer, server): (Answerer, &ServerAddress),
    interrupt: &mut Interrupt,
) -> Result<(Measured, Ending), LoadError> {
    // Hiccups are measured during the run, not before it: they come and go.
    let hiccups = HiccupMeter::start()?;
    let _busy = BusyThreads::start(plan.busy_threads)?;
    let workers = Workers::start(plan, stage, answerer, server).await?;
    let ending = workers.watch(plan, interrupt).await;
    let mut measured = workers.finish(plan)?;
    (measured.hiccups, measured.stalls) = hiccups.finish();
    measured.tissue_triangles = plan.organ.triangles.len() as u64;
    Ok((measured, ending))
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

impl Workers {
    async fn start(
        plan: &Plan,
        stage: &Stage,
        answerer: Answerer,
        server: &ServerAddress,
    ) -> Result<Workers, LoadError> {
        // Connecting precedes the clients' threads: if nobody answers, there is nothing to stop yet.
        let (shared, client) = if plan.is_connection_shared {
            let (runtime, client) = connect_apart(server).await?;
            (Some(runtime), Some(client))
        } else {
            (None, None)
        };
        let guide = plan.is_guided.then(Arc::<Guide>::default);
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
                scene_id: stage.scene_id.clone(),
                tool_id: stage.tool_id,
                instrument: Arc::clone(&plan.instrument),
                path: Arc::clone(&stage.path),
                // Clients are apart on the path, so that they ask about different triangles.
                ahead_s: AHEAD_S * f64::from(number),
                rate_hz: plan.rate_hz,
                n_ticks: (plan.rate_hz * plan.seconds).round() as u64,
                n_clients: plan.n_clients,
                is_rendered: plan.is_rendered && answerer == Answerer::Engine,
                has_tick_limit: plan.is_rendered,
                // Only the first client has the simulated hand; the others press along the path.
                device: plan.device.clone().filter(|_| number == 0 && answerer == Answerer::Engine),
                guide: guide.clone(),
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
        // The echo has no tissue; deforming and cutting would also take cores that no answer of the echo depends on.
        if answerer == Answerer::Engine {
            workers.deformer = start_deformer(plan, stage, (server, guide), &stop, &mut gate)?;
            workers.cutter = start_cutter(plan, stage, server, &stop, &mut gate)?;
        }
        // If the gate does not open, its end wakes the waiting threads, and the error is that of the thread that
        // failed.
        gate.open(|| workers.any_ended());
        Ok(workers)
    }

    /// Waits until all threads have ended; stops them on an interrupt.
    async fn watch(&self, plan: &Plan, interrupt: &mut Interrupt) -> Ending {
        let progress = Progress::new(plan.seconds);
        let started = Instant::now();
        let mut ending = Ending::Done;
        while !self.all_ended() {
            tokio::select! {
                () = tokio::time::sleep(POLL_INTERVAL) => {}
                () = interrupt.came() => {
                    ending = Ending::Interrupted;
                    // Relaxed: nothing but the flag is passed on with it.
                    self.stop.store(true, Ordering::Relaxed);
                }
            }
            progress.show(started.elapsed(), self.live.iter().map(|live| live.metrics()));
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
            // All threads have ended when this is called, so no join waits, and an error of one leaves no thread
            // behind.
            measured.tally.add(&join(haptic)?);
        }
        measured.deformations = self.deformer.map_or_else(|| Ok(Deformations::default()), join)?;
        measured.cuts = self.cutter.map_or_else(|| Ok(Cuts::default()), join)?;
        if let Some(runtime) = self.shared {
            // A dropped runtime waits for its tasks, which tokio forbids within another runtime.
            runtime.shutdown_background();
        }
        Ok(measured)
    }
}

/// Opens a connection that a thread of its own drives, so that it goes on while others wait.
async fn connect_apart(server: &ServerAddress) -> Result<(Runtime, Client), LoadError> {
    // The runtime is multi-threaded: a current-thread runtime would drive the connection only while it is waited on.
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
    stage: &Stage,
    (server, guide): (&ServerAddress, Option<Arc<Guide>>),
    stop: &Arc<AtomicBool>,
    gate: &mut Gate,
) -> io::Result<Option<JoinHandle<Result<Deformations, WorkerError>>>> {
    let n_frames = (plan.deform_hz * plan.seconds).round() as u64;
    if n_frames == 0 {
        return Ok(None);
    }
    let deform = DeformPlan {
        server: server.clone(),
        scene_id: stage.scene_id.clone(),
        tissue_id: stage.tissue_id,
        dent: plan.dent(),
        path: Arc::clone(&stage.path),
        guide,
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
    stage: &Stage,
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
        scene_id: stage.scene_id.clone(),
        tissue_id: stage.tissue_id,
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

/// Passes on a worker's result. A failure stops the other workers; a worker that finished leaves them running.
fn or_stop_all<T>(result: Result<T, WorkerError>, stop: &AtomicBool) -> Result<T, WorkerError> {
    result.inspect_err(|_| stop.store(true, Ordering::Relaxed))
}

/// Joins a thread; resumes its panic here.
fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|payload| panic::resume_unwind(payload))
}
