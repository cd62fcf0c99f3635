//! The one thread of a scene that deforms and cuts its tissues.
//!
//! Jobs run in the order in which they were handed in. While there are none, the written tissues are brought up to date
//! for the next job, and searched for self-crossings. Ticks read published state and never interact with this thread.
//!
//! A job that panics publishes nothing. After several panics in a row the scene is quarantined until the indices of all
//! its tissues have been rebuilt from their last published state; if that fails too, a durable scene until it has been
//! read from the disk (`recovery`), and any other scene for good.

use std::{
    io,
    sync::{Arc, atomic::Ordering::Relaxed},
    thread,
    time::Duration,
};

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, oneshot};

use tracing::{error, warn};

use super::{
    scene_life::{PANICS_MAX, SceneLife},
    scene_state::SceneEvent,
};
use crate::os::thread_priority::lower_priority;
use crate::scene::{Scene, Tissue};
use crate::service::{
    catch_panic::{Panicked, catch_panic},
    clock::now_ns,
    metrics::Metrics,
};

/// Maximum jobs that wait or run; further callers wait without holding a thread.
const JOBS_MAX: usize = 64;

/// Hands jobs to a scene's writer thread, which ends with it.
pub struct SceneWriter {
    /// Turn to make an incision: of two that are made at a time, one would be for a revision that is gone.
    pub incisions: Mutex<()>,
    jobs: Sender<Job>,
    room: Arc<Semaphore>,
    metrics: Arc<Metrics>,
}

/// Result of a job, and its duration.
#[derive(Debug)]
pub struct Written<T> {
    /// Result that the engine returned.
    pub result: T,
    /// Duration without waiting, microseconds.
    pub update_us: f64,
}

/// Reason why a job has no result.
#[derive(Debug, thiserror::Error)]
pub enum WriterError {
    /// The engine panicked in the job.
    #[error(transparent)]
    Panicked(#[from] Panicked),
    /// The thread ended before the job ran.
    #[error("the scene's writer has ended")]
    Gone,
}

/// Longest time without a job that a search for crossings waits for.
const PATIENCE_MAX: Duration = Duration::from_secs(1);

/// Remaining work on the written tissues, each list in order of the last write.
#[derive(Default)]
struct IdleWork {
    /// Tissues whose spare copy is behind the published one.
    behind: Vec<Arc<Tissue>>,
    /// Tissues that may cross themselves.
    unsearched: Vec<Arc<Tissue>>,
    /// A search for crossings is under way.
    is_searching: bool,
    /// Time without a job before a search begins: doubled each time a job overtook one. While all of a large tissue
    /// deforms, each search would be overtaken, and would take the ticks' time for nothing.
    patience: Duration,
}

impl IdleWork {
    /// Called before a job: a search under way waits for the next quiet time.
    fn leave(&mut self) {
        if std::mem::take(&mut self.is_searching) {
            self.patience = (2 * self.patience).clamp(Duration::from_millis(1), PATIENCE_MAX);
        }
    }
}

struct Job {
    tissue: Arc<Tissue>,
    run: Box<dyn FnOnce(&Tissue) -> JobOutcome + Send>,
    _room: OwnedSemaphorePermit,
}

/// Outcome of a job.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JobOutcome {
    Done,
    Panicked,
}

impl SceneWriter {
    /// Starts the thread.
    pub fn spawn(
        scene: &Arc<Scene>,
        life: &SceneLife,
        metrics: &Arc<Metrics>,
    ) -> io::Result<SceneWriter> {
        // The semaphore bounds the queue, so that a full one is awaited and never blocks a sender.
        let (jobs, queue) = crossbeam::channel::bounded(JOBS_MAX);
        let thread = thread::Builder::new().name(format!("write {}", scene.id()));
        let (scene, life) = (Arc::clone(scene), life.clone());
        thread.spawn(move || {
            // If writer, ticks and clients share two cores, ten steps lower bring the p50 of a round trip while all
            // deforms from 1.19 to 1.13 times that at rest, and the engine's p99 from 1.53 to 1.33 times. An update
            // takes as long.
            lower_priority();
            work(&queue, &scene, &life);
        })?;
        let (room, metrics) = (Arc::new(Semaphore::new(JOBS_MAX)), Arc::clone(metrics));
        Ok(SceneWriter { incisions: Mutex::default(), jobs, room, metrics })
    }

    /// Number of jobs that wait or run.
    pub fn n_jobs(&self) -> usize {
        JOBS_MAX - self.room.available_permits()
    }

    /// Runs a job (which gets the clock) after those before it. A job that was handed in runs even if nobody waits for
    /// it any more.
    pub async fn run<T: Send + 'static>(
        &self,
        tissue: Arc<Tissue>,
        job: impl FnOnce(&Tissue, u64) -> T + Send + 'static,
    ) -> Result<Written<T>, WriterError> {
        let asked_ns = now_ns();
        let metrics = Arc::clone(&self.metrics);
        let room = Arc::clone(&self.room).acquire_owned().await.map_err(|_| WriterError::Gone)?;
        let (reply, result) = oneshot::channel();
        let run = Box::new(move |tissue: &Tissue| {
            let started_ns = now_ns();
            let result = catch_panic(|| job(tissue, started_ns));
            let update_ns = now_ns() - started_ns;
            metrics.writer_wait.note(started_ns - asked_ns);
            metrics.writer_update.note(update_ns);
            let outcome = if result.is_ok() { JobOutcome::Done } else { JobOutcome::Panicked };
            metrics.writer_panics.fetch_add(u64::from(outcome == JobOutcome::Panicked), Relaxed);
            let update_us = update_ns as f64 / 1e3;
            // An error means that nobody waits for the result any more.
            let _ = reply.send(result.map(|result| Written { result, update_us }));
            outcome
        });
        let job = Job { tissue, run, _room: room };
        self.jobs.send(job).map_err(|_| WriterError::Gone)?;
        Ok(result.await.map_err(|_| WriterError::Gone)??)
    }
}

fn work(queue: &Receiver<Job>, scene: &Scene, life: &SceneLife) {
    let mut idle = IdleWork::default();
    let mut panics = 0;
    while let Some(Job { tissue, run, _room }) = next(queue, &mut idle) {
        panics = if run(&tissue) == JobOutcome::Panicked { panics + 1 } else { 0 };
        if panics == PANICS_MAX {
            panics = 0;
            idle = IdleWork::default();
            if recover(scene, life).is_err() {
                // Callers that wait for a job learn that it will not run.
                return queue.iter().for_each(drop);
            }
            continue;
        }
        if !idle.behind.iter().any(|t| Arc::ptr_eq(t, &tissue)) {
            idle.behind.push(tissue);
        }
    }
}

/// Quarantines the scene until every tissue has a new index of its last published state. If that panics as well, the
/// scene stays refused.
fn recover(scene: &Scene, life: &SceneLife) -> Result<(), Panicked> {
    // Rebuilt from memory: the last published state is there, immutable and whole, and newer than the disk.
    life.note(&SceneEvent::WriterFailed);
    warn!(scene = scene.id(), "quarantined: its writer panicked {PANICS_MAX} times in a row");
    let rebuilt = catch_panic(|| scene.tissues().iter().for_each(|tissue| tissue.recover()));
    match rebuilt {
        Ok(()) => {
            life.note(&SceneEvent::Rebuilt);
            warn!(scene = scene.id(), "rebuilt from its last good revisions and served again");
        }
        Err(_) => {
            life.note(&SceneEvent::Lost { due_ns: now_ns() });
            error!(scene = scene.id(), "cannot be rebuilt and stays refused unless it is durable");
        }
    }
    rebuilt
}

/// Returns the next job; while there is none, does the idle work. `None` if the scene is gone.
fn next(queue: &Receiver<Job>, idle: &mut IdleWork) -> Option<Job> {
    loop {
        match queue.try_recv() {
            Ok(job) => {
                idle.leave();
                return Some(job);
            }
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
        if let Some(tissue) = idle.behind.pop() {
            // A panic is in the log already; the next job finds the tissue as it is.
            let _ = catch_panic(|| tissue.catch_up());
            if !idle.unsearched.iter().any(|t| Arc::ptr_eq(t, &tissue)) {
                idle.unsearched.push(tissue);
            }
            continue;
        }
        let Some(tissue) = idle.unsearched.last() else { return queue.recv().ok() };
        if !idle.is_searching {
            match queue.recv_timeout(idle.patience) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => idle.is_searching = true,
            }
        }
        // Searches a slice at a time, so that a job waits for a fraction of a millisecond.
        if catch_panic(|| tissue.search_crossings()).unwrap_or(true) {
            idle.unsearched.pop();
            (idle.is_searching, idle.patience) = (false, Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, sync::atomic::AtomicUsize};

    use glam::Vec3;
    use tokio::task::JoinSet;
    use tonic::{Code, Status};

    use super::*;
    use crate::{
        config::Config,
        geometry::{
            MeshData,
            mesh::load::{self, LoadOptions, LoadedMesh},
        },
        scene::{
            TissueId, TissueKind, TissueOptions,
            saved::{SavedTissue, SceneChange},
            tissue::deform::Deformation,
        },
        service::{
            access::caller::Caller,
            catch_panic::injected,
            host::{
                durable::recovery::revive, fields::Fields, scene_host::SceneHost,
                scene_life::Ended, scene_registry::SceneRegistry,
            },
        },
        store::scenes::scene_store::SceneStore,
    };

    thread_local! {
        static HELD: RefCell<Option<Sender<()>>> = const { RefCell::new(None) };
    }

    fn triangle() -> LoadedMesh {
        let positions = vec![Vec3::ZERO, Vec3::X, Vec3::Y];
        let options = LoadOptions { max_vertices: 9, max_triangles: 9, ..LoadOptions::default() };
        let mesh = load::load(MeshData { positions, triangles: vec![[0, 1, 2]] }, &options);
        mesh.expect("a triangle")
    }

    fn host() -> (Arc<SceneHost>, Arc<Tissue>) {
        let host =
            SceneRegistry::new(&Config::default()).create("s", &Caller::ANYBODY).expect("room");
        let options = TissueOptions::default();
        let tissue = host.scene.add_tissue("patch", triangle(), options, 0).expect("room");
        (host, tissue)
    }

    async fn panic_in_a_row(host: &SceneHost, tissue: &Arc<Tissue>, in_recovery: u32) {
        for at in 1..=PANICS_MAX {
            host.check_served().expect("fewer panics than that");
            let job = move |_: &Tissue, _| {
                injected::panics(if at == PANICS_MAX { in_recovery } else { 0 });
                panic!("on purpose");
            };
            let failed = host.writer.run(Arc::clone(tissue), job).await;
            assert!(matches!(failed.map(|w: Written<()>| w.result), Err(WriterError::Panicked(_))));
        }
    }

    #[tokio::test]
    async fn three_panics_in_a_row_rebuild_the_scene_and_it_goes_on() {
        let (host, tissue) = host();
        let lift = |by: f32| {
            let positions = vec![Vec3::Z * by, Vec3::X, Vec3::Y];
            move |tissue: &Tissue, now_ns| tissue.deform(Deformation::Dense(positions), now_ns)
        };
        host.writer
            .run(Arc::clone(&tissue), lift(0.1))
            .await
            .expect("it runs")
            .result
            .expect("good");
        panic_in_a_row(&host, &tissue, 0).await;
        let done = host.writer.run(Arc::clone(&tissue), lift(0.2)).await.expect("it runs");
        assert_eq!(done.result.expect("good").geometry_revision, 2);
        host.check_served().expect("the job was behind the recovery");
        tissue.current().surface.assert_well_formed();
        assert_eq!(tissue.current().surface.mesh().positions()[0], Vec3::Z * 0.2);
    }

    #[tokio::test]
    async fn a_scene_that_cannot_be_rebuilt_stays_refused() {
        let (host, tissue) = host();
        panic_in_a_row(&host, &tissue, 1).await;
        let refused = host.writer.run(tissue, |_, _| ()).await;
        assert!(matches!(refused, Err(WriterError::Gone)), "{refused:?}");
        assert!(matches!(host.check_served(), Err(Ended::Quarantined { .. })));
        let status = Status::from(host.check_served().expect_err("it is refused"));
        assert_eq!(status.code(), Code::FailedPrecondition);
    }

    #[tokio::test]
    async fn a_durable_scene_that_cannot_be_rebuilt_is_read_from_the_disk() {
        let folder = std::env::temp_dir().join(format!("palpate-revive-{}", std::process::id()));
        let registry = Arc::new(SceneRegistry::new(&Config::default()));
        let store = SceneStore::open(&folder).expect("a new store");
        registry.keep_in(store).expect("a thread");
        let host = registry.create_durable("s", &Caller::ANYBODY).expect("room");
        let tissue = Tissue::new(
            ("patch".to_owned(), TissueKind::Tissue),
            triangle(),
            TissueOptions::default(),
            0,
        );
        let added = SavedTissue { id: TissueId(1), ..tissue.saved() };
        let turn = host.turn().await.expect("served");
        turn.keep(vec![SceneChange::TissueAdded(Box::new(added))]).await.expect("room");
        let tissue = host.scene.put_tissue(tissue).expect("room");
        drop(turn);
        panic_in_a_row(&host, &tissue, 1).await;
        let gone = host.writer.run(tissue, |_, _| ()).await;
        assert!(matches!(gone, Err(WriterError::Gone)), "the recovery was before it");
        assert!(host.note(&SceneEvent::ReadAgain { now_ns: now_ns() }));
        let fields = Fields::new(None, std::time::Duration::from_secs(9), registry.metrics());
        let (registered, lost) = (Arc::clone(&registry), Arc::clone(&host));
        let revived = tokio::task::spawn_blocking(move || revive(&registered, &fields, &lost));
        revived.await.expect("no panic").expect("it is on the disk");
        assert!(matches!(host.check_served(), Err(Ended::Replaced { .. })));
        let again = registry.served("s").expect("served again");
        let tissue = again.scene.tissue(TissueId(1)).expect("it was kept");
        again.writer.run(tissue, |_, _| ()).await.expect("a writer of its own");
        // Checks that a later deletion also removes the scene from the disk.
        let deleted = Arc::clone(&registry);
        let deleted = tokio::task::spawn_blocking(move || deleted.delete("s", &Caller::ANYBODY));
        deleted.await.expect("no panic").expect("there");
        let (store, _) = registry.keeping().expect("set");
        assert_eq!(store.ids().expect("a list"), [""; 0]);
        // May fail: the registry has its lock file open, and Windows keeps its name until it is closed.
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[tokio::test]
    async fn a_panic_is_the_job_s_own() {
        let (host, tissue) = host();
        let failed = host.writer.run(Arc::clone(&tissue), |_, _| panic!("on purpose")).await;
        assert!(matches!(failed.map(|w: Written<()>| w.result), Err(WriterError::Panicked(_))));
        let next = host.writer.run(tissue, |tissue, _| tissue.name().to_owned()).await;
        assert_eq!(next.expect("the thread goes on").result, "patch");
    }

    #[tokio::test]
    async fn more_jobs_than_fit_wait_without_a_thread_and_run_in_order() {
        let (host, tissue) = host();
        let (open, gate) = crossbeam::channel::bounded::<()>(0);
        let order = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let mut jobs = JoinSet::new();
        let handed_in = Arc::new(AtomicUsize::new(0));
        for at in 0..3 * JOBS_MAX {
            let (host, tissue) = (Arc::clone(&host), Arc::clone(&tissue));
            let (gate, order) = (gate.clone(), Arc::clone(&order));
            let handed_in = Arc::clone(&handed_in);
            jobs.spawn(async move {
                let job = move |_: &Tissue, _| {
                    // The first job waits until all have been handed in; then the gate is gone.
                    let _ = gate.recv();
                    order.lock().push(at);
                };
                handed_in.fetch_add(1, Relaxed);
                host.writer.run(tissue, job).await.expect("it runs").result
            });
        }
        // This runtime has one thread: had a job blocked it, this would not end.
        while handed_in.load(Relaxed) < 3 * JOBS_MAX {
            tokio::task::yield_now().await;
        }
        drop(open);
        jobs.join_all().await;
        assert!(order.lock().is_sorted());
        assert_eq!(order.lock().len(), 3 * JOBS_MAX);
    }

    #[tokio::test]
    async fn the_thread_ends_with_its_writer() {
        let (host, tissue) = host();
        let (alive, ended) = crossbeam::channel::bounded::<()>(0);
        // The thread's locals are dropped when it ends.
        let keep = move |_: &Tissue, _| HELD.set(Some(alive));
        host.writer.run(tissue, keep).await.expect("it runs");
        assert!(ended.try_recv().is_err_and(|e| e.is_empty()), "the thread waits for jobs");
        drop(host);
        assert!(ended.recv().is_err());
    }
}
