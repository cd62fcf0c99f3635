//! DetectSelfCollisions: jobs on the blocking pool, few at a time, that stop when nobody waits for them.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::Semaphore;

use super::{contain::contain_blocking, status::Refused, table::SceneHost};
use crate::scene::self_collision::{
    Interval, SelfCollisionError, SelfCollisionOptions, SelfCollisions, self_collisions,
};

/// Jobs that run at a time: each takes a core for up to seconds, which ticks then have less of. Others wait
/// without a thread and without memory.
const JOBS_MAX: usize = 2;

/// Runs jobs for all scenes.
pub struct SelfCollisionJobs {
    room: Arc<Semaphore>,
}

/// Tells a job to stop when its client is gone, whose request is dropped then.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl SelfCollisionJobs {
    /// None runs.
    pub fn new() -> SelfCollisionJobs {
        SelfCollisionJobs { room: Arc::new(Semaphore::new(JOBS_MAX)) }
    }

    /// Waits for room and the job. A job whose future is dropped stops soon after, and only then gives up its
    /// room.
    pub async fn run(
        &self,
        host: &SceneHost,
        intervals: Vec<Interval>,
        options: SelfCollisionOptions,
    ) -> Result<SelfCollisions, Refused> {
        let room = Arc::clone(&self.room).acquire_owned().await.expect("it is never closed");
        let (scene, life) = (Arc::clone(&host.scene), host.life());
        let stop = StopOnDrop(Arc::default());
        let told = Arc::clone(&stop.0);
        let job = move || {
            let _room = room;
            let is_over = || told.load(Ordering::Relaxed) || life.check_served(&scene).is_err();
            match self_collisions(&scene, &intervals, &options, &is_over) {
                Err(SelfCollisionError::Stopped) => {
                    life.check_served(&scene)?;
                    Err(SelfCollisionError::Stopped.into())
                }
                done => Ok(done?),
            }
        };
        contain_blocking(job).await?
    }
}
