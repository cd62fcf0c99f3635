//! The one thread of a scene that deforms and cuts its tissues.
//!
//! Jobs run in the order they were handed in. While there are none, the tissues that were written are
//! brought up to date for the next job. Ticks read what was published and never meet this thread.

use std::{io, sync::Arc, thread, time::Instant};

use crossbeam_channel::{Receiver, Sender, TryRecvError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::{
    clock::now_ns,
    contain::{Panicked, contain},
};
use crate::scene::Tissue;

/// Jobs that wait or run; whoever brings more waits without holding a thread.
const JOBS_MAX: usize = 64;

/// Hands jobs to a scene's writer thread, which ends with it.
pub struct Writer {
    jobs: Sender<Job>,
    room: Arc<Semaphore>,
}

/// What a job returned, and how long it ran.
#[derive(Debug)]
pub struct Written<T> {
    /// What the engine said.
    pub result: T,
    /// Waiting excluded.
    pub update_us: f64,
}

/// Why a job has no result.
#[derive(Debug, thiserror::Error)]
pub enum WriterError {
    /// The engine panicked in it.
    #[error(transparent)]
    Panicked(#[from] Panicked),
    /// The thread ended before the job ran.
    #[error("the scene's writer has ended")]
    Gone,
}

struct Job {
    tissue: Arc<Tissue>,
    run: Box<dyn FnOnce(&Tissue) + Send>,
    _room: OwnedSemaphorePermit,
}

impl Writer {
    /// Starts the thread.
    pub fn spawn(scene_id: &str) -> io::Result<Writer> {
        // The semaphore bounds the queue, so that a full one is awaited and never blocks a sender.
        let (jobs, queue) = crossbeam_channel::bounded(JOBS_MAX);
        thread::Builder::new().name(format!("write {scene_id}")).spawn(move || work(&queue))?;
        Ok(Writer { jobs, room: Arc::new(Semaphore::new(JOBS_MAX)) })
    }

    /// Runs a job (which gets the clock) after those before it. A job that was handed in runs even when
    /// nobody waits for it any more.
    pub async fn run<T: Send + 'static>(
        &self,
        tissue: Arc<Tissue>,
        job: impl FnOnce(&Tissue, u64) -> T + Send + 'static,
    ) -> Result<Written<T>, WriterError> {
        let room = Arc::clone(&self.room).acquire_owned().await.map_err(|_| WriterError::Gone)?;
        let (reply, result) = oneshot::channel();
        let run = Box::new(move |tissue: &Tissue| {
            let started = Instant::now();
            let result = contain(|| job(tissue, now_ns()));
            let update_us = started.elapsed().as_secs_f64() * 1e6;
            // An error: nobody waits for it any more.
            let _ = reply.send(result.map(|result| Written { result, update_us }));
        });
        let job = Job { tissue, run, _room: room };
        self.jobs.send(job).map_err(|_| WriterError::Gone)?;
        Ok(result.await.map_err(|_| WriterError::Gone)??)
    }
}

fn work(queue: &Receiver<Job>) {
    let mut behind: Vec<Arc<Tissue>> = Vec::new();
    while let Some(Job { tissue, run, _room }) = next(queue, &mut behind) {
        run(&tissue);
        if !behind.iter().any(|t| Arc::ptr_eq(t, &tissue)) {
            behind.push(tissue);
        }
    }
}

/// The next job; while there is none, brings up to date what is `behind`. `None` when the scene is gone.
fn next(queue: &Receiver<Job>, behind: &mut Vec<Arc<Tissue>>) -> Option<Job> {
    loop {
        match queue.try_recv() {
            Ok(job) => return Some(job),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {
                let Some(tissue) = behind.pop() else { return queue.recv().ok() };
                // A panic is in the log already; the next job meets the tissue as it is.
                let _ = contain(|| tissue.catch_up());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use glam::Vec3;
    use parking_lot::Mutex;
    use tokio::task::JoinSet;

    use super::*;
    use crate::{
        geometry::{
            MeshData,
            mesh_load::{self, Basis, LoadOptions},
        },
        scene::{Limits, Scene, TissueOptions},
    };

    thread_local! {
        static HELD: RefCell<Option<Sender<()>>> = const { RefCell::new(None) };
    }

    fn tissue() -> Arc<Tissue> {
        let positions = vec![Vec3::ZERO, Vec3::X, Vec3::Y];
        let options = LoadOptions {
            scale_to_m: 1.0,
            basis: Basis::RightHanded,
            max_vertices: 9,
            max_triangles: 9,
        };
        let mesh = mesh_load::load(MeshData { positions, triangles: vec![[0, 1, 2]] }, &options);
        let scene = Scene::new("s".to_owned(), Limits::default());
        let options = TissueOptions::default();
        scene.add_tissue("patch", mesh.expect("a triangle"), options, 0).expect("room")
    }

    #[tokio::test]
    async fn a_panic_is_the_job_s_own() {
        let (writer, tissue) = (Writer::spawn("s").expect("a thread"), tissue());
        let failed = writer.run(Arc::clone(&tissue), |_, _| panic!("on purpose")).await;
        assert!(matches!(failed.map(|w: Written<()>| w.result), Err(WriterError::Panicked(_))));
        let next = writer.run(tissue, |tissue, _| tissue.name().to_owned()).await;
        assert_eq!(next.expect("the thread goes on").result, "patch");
    }

    #[tokio::test]
    async fn more_jobs_than_fit_wait_without_a_thread_and_run_in_order() {
        let (writer, tissue) = (Arc::new(Writer::spawn("s").expect("a thread")), tissue());
        let (open, gate) = crossbeam_channel::bounded::<()>(0);
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut jobs = JoinSet::new();
        for at in 0..3 * JOBS_MAX {
            let (writer, tissue) = (Arc::clone(&writer), Arc::clone(&tissue));
            let (gate, order) = (gate.clone(), Arc::clone(&order));
            jobs.spawn(async move {
                let job = move |_: &Tissue, _| {
                    // The first waits until all have been handed in; then the gate is gone.
                    let _ = gate.recv();
                    order.lock().push(at);
                };
                writer.run(tissue, job).await.expect("it runs").result
            });
        }
        // This runtime has one thread: had a job blocked it, this line would not be reached.
        tokio::task::yield_now().await;
        drop(open);
        jobs.join_all().await;
        assert!(order.lock().is_sorted());
        assert_eq!(order.lock().len(), 3 * JOBS_MAX);
    }

    #[tokio::test]
    async fn the_thread_ends_with_its_writer() {
        let (writer, tissue) = (Writer::spawn("s").expect("a thread"), tissue());
        let (alive, ended) = crossbeam_channel::bounded::<()>(0);
        // The thread's locals are dropped when it ends.
        let keep = move |_: &Tissue, _| HELD.set(Some(alive));
        writer.run(tissue, keep).await.expect("it runs");
        assert!(ended.try_recv().is_err_and(|e| e.is_empty()), "the thread waits for jobs");
        drop(writer);
        assert!(ended.recv().is_err());
    }
}
