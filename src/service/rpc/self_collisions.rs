//! DetectSelfCollisions: jobs on the blocking pool, few at a time, that stop when nobody waits for them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::fair_jobs::{FairJobs, JobTurn};
use crate::scene::self_collision::{
    Interval, SelfCollisionError, SelfCollisionOptions, SelfCollisions, self_collisions,
};
use crate::service::{
    access::caller::Caller,
    host::{
        quota::{Reservation, RoomRefused, Share},
        scene_host::SceneHost,
    },
    refused::Refused,
};

/// Maximum jobs that run at a time: each takes a core, for seconds if need be, which ticks then lack. Other jobs wait
/// without a thread and without memory, except those that have begun. A key has one of the two.
const JOBS_MAX: usize = 2;

/// Maximum time that a job may work. The limit on pairs alone is not enough: if everything meets in one point, a pair
/// takes a thousand times as long as if nothing does.
const JOB_TIME_MAX: Duration = Duration::from_secs(60);

/// Runs jobs for all scenes.
pub struct SelfCollisionJobs {
    jobs: FairJobs,
    time_max: Duration,
}

/// A job took longer than the limit.
#[derive(Debug, thiserror::Error)]
#[error("not done after {limit:?}, the limit; expected less motion, thickness or triangles")]
pub struct TookTooLong {
    limit: Duration,
}

impl SelfCollisionJobs {
    /// Creates a runner without jobs.
    pub fn new() -> SelfCollisionJobs {
        SelfCollisionJobs { jobs: FairJobs::new(JOBS_MAX), time_max: JOB_TIME_MAX }
    }

    /// Waits for room and for the job.
    pub async fn run(
        &self,
        caller: &Caller,
        host: &SceneHost,
        intervals: Vec<Interval>,
        options: SelfCollisionOptions,
        reserve: impl FnOnce(Share) -> Result<Reservation, RoomRefused> + Send + 'static,
    ) -> Result<SelfCollisions, Refused> {
        let (scene, life) = (Arc::clone(&host.scene), host.life());
        let limit = self.time_max;
        let job = move |turn: &JobTurn| {
            // Reserved here, not while the job waits in the queue, where it has no memory yet.
            let _room = reserve(Share::of_self_collision(&scene, &intervals, &options))?;
            let started = Instant::now();
            let is_late = || started.elapsed().saturating_sub(turn.waited()) >= limit;
            let is_over = || turn.is_left() || life.check_served(&scene).is_err() || is_late();
            let found = self_collisions(&scene, &intervals, &options, &is_over);
            if matches!(found, Err(SelfCollisionError::Stopped)) {
                life.check_served(&scene)?;
                if is_late() {
                    return Err(TookTooLong { limit }.into());
                }
            }
            Ok(found?)
        };
        self.jobs.run(caller, job).await?
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;
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

    #[tokio::test]
    async fn a_job_that_takes_too_long_is_refused() {
        let registry = Arc::new(SceneRegistry::new(&Config::default()));
        let host = registry.create("s", &Caller::ANYBODY).expect("room");
        let reserve = || {
            let registry = Arc::clone(&registry);
            move |share| registry.reserve(&Caller::ANYBODY, share)
        };
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
        let all = jobs.run(&Caller::ANYBODY, &host, asked(), options, reserve()).await;
        all.expect("in time");
        jobs.time_max = Duration::ZERO;
        let late = jobs.run(&Caller::ANYBODY, &host, asked(), options, reserve()).await;
        let refused = late.expect_err("too late");
        assert_eq!(Status::from(refused).code(), Code::ResourceExhausted);
    }
}
