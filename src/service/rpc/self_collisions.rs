//! DetectSelfCollisions: jobs on the blocking pool, few at a time, that stop when nobody waits for them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::scene::self_collision::{
    Interval, SelfCollisionError, SelfCollisionOptions, SelfCollisions, self_collisions,
};
use crate::service::{
    access::caller::Caller,
    catch_panic::{Panicked, catch_panic_blocking},
    host::{fair_places::FairPlaces, scene_registry::SceneHost},
    refused::Refused,
};

/// Jobs that run at a time: each takes a core, for seconds if need be, which ticks then have less of. Others wait
/// without a thread and without memory. One key has one of the two.
const JOBS_MAX: usize = 2;

/// The longest that a job may run. The limit on pairs alone would not do: where everything meets in one point, a
/// pair takes a thousand times as long as where nothing does.
const JOB_TIME_MAX: Duration = Duration::from_secs(60);

/// Runs jobs for all scenes.
pub struct SelfCollisionJobs {
    places: FairPlaces,
    time_max: Duration,
}

/// A job took longer than any may.
#[derive(Debug, thiserror::Error)]
#[error("not done after {limit:?}, the limit; expected less motion, thickness or triangles")]
pub struct TookTooLong {
    limit: Duration,
}

/// Tells a job to stop when its client is gone: the request's future is dropped then.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl SelfCollisionJobs {
    /// None runs.
    pub fn new() -> SelfCollisionJobs {
        SelfCollisionJobs { places: FairPlaces::new(JOBS_MAX), time_max: JOB_TIME_MAX }
    }

    /// Waits for room and the job.
    pub async fn run(
        &self,
        caller: &Caller,
        host: &SceneHost,
        intervals: Vec<Interval>,
        options: SelfCollisionOptions,
    ) -> Result<SelfCollisions, Refused> {
        let (scene, life) = (Arc::clone(&host.scene), host.life());
        let limit = self.time_max;
        let job = move |is_left: &dyn Fn() -> bool| {
            let started = Instant::now();
            let is_late = || started.elapsed() >= limit;
            let is_over = || is_left() || life.check_served(&scene).is_err() || is_late();
            let found = self_collisions(&scene, &intervals, &options, &is_over);
            if matches!(found, Err(SelfCollisionError::Stopped)) {
                life.check_served(&scene)?;
                if is_late() {
                    return Err(TookTooLong { limit }.into());
                }
            }
            Ok(found?)
        };
        self.run_until_left(caller, job).await?
    }

    /// Tells `job` when its future was dropped. Only when the job has ended does it give up its room.
    async fn run_until_left<T: Send + 'static>(
        &self,
        caller: &Caller,
        job: impl FnOnce(&dyn Fn() -> bool) -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        // Given up by the job, not by this future: a job that nobody waits for runs until it looks at `is_left`.
        let place = self.places.take(caller).await;
        let stop = StopOnDrop(Arc::default());
        let is_left = Arc::clone(&stop.0);
        catch_panic_blocking(move || {
            let _place = place;
            job(&|| is_left.load(Ordering::Relaxed))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;
    use tokio::sync::oneshot;
    use tonic::{Code, Status};

    use super::*;
    use crate::{
        config::Config,
        geometry::{
            MeshData,
            mesh::load::{LoadOptions, load},
        },
        scene::{TissueOptions, self_collision::Scope},
        service::host::scene_registry::SceneRegistry,
    };

    /// For what must not take forever.
    const FOREVER: Duration = Duration::from_secs(20);

    /// Frees jobs that nobody else stops, or they would hold up the test's runtime.
    struct AtEnd(Arc<AtomicBool>);

    impl Drop for AtEnd {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn a_job_that_nobody_waits_for_stops_and_gives_its_room_back() {
        let jobs = Arc::new(SelfCollisionJobs::new());
        let at_end = AtEnd(Arc::default());
        for _ in 0..JOBS_MAX {
            let (jobs, ended) = (Arc::clone(&jobs), Arc::clone(&at_end.0));
            let (begun, begins) = oneshot::channel();
            let waits = tokio::spawn(async move {
                let job = move |is_left: &dyn Fn() -> bool| {
                    begun.send(()).expect("the test waits");
                    while !is_left() && !ended.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                };
                jobs.run_until_left(&Caller::ANYBODY, job).await
            });
            begins.await.expect("there is room");
            waits.abort();
        }
        let mut all = Vec::new();
        for _ in 0..JOBS_MAX {
            let place = tokio::time::timeout(FOREVER, jobs.places.take(&Caller::ANYBODY)).await;
            all.push(place.expect("both have stopped"));
        }
    }

    #[tokio::test]
    async fn a_panic_ends_its_job_only() {
        let jobs = SelfCollisionJobs::new();
        for _ in 0..=JOBS_MAX {
            let failed: Result<(), Panicked> =
                jobs.run_until_left(&Caller::ANYBODY, |_| panic!("on purpose")).await;
            failed.expect_err("a panic");
        }
        assert!(
            !jobs.run_until_left(&Caller::ANYBODY, |is_left| is_left()).await.expect("no panic")
        );
    }

    #[tokio::test]
    async fn a_job_that_takes_too_long_is_refused() {
        let host =
            SceneRegistry::new(&Config::default()).create("s", &Caller::ANYBODY).expect("room");
        let positions = vec![Vec3::ZERO, Vec3::X, Vec3::Y];
        let data = MeshData { positions, triangles: vec![[0, 1, 2]] };
        let mesh = load(data, &LoadOptions::default()).expect("a mesh");
        let added = host.scene.add_tissue("t", mesh, TissueOptions::default(), 0);
        let tissue = added.expect("room").id();
        let options = SelfCollisionOptions {
            thickness_m: 0.0,
            scope: Scope::All,
            max_contacts: 1,
            max_pairs: 1,
        };
        let asked = || vec![Interval { tissue, from: None, to: None }];
        let mut jobs = SelfCollisionJobs::new();
        jobs.run(&Caller::ANYBODY, &host, asked(), options).await.expect("in time");
        jobs.time_max = Duration::ZERO;
        let refused =
            jobs.run(&Caller::ANYBODY, &host, asked(), options).await.expect_err("too late");
        assert_eq!(Status::from(refused).code(), Code::ResourceExhausted);
    }
}
