//! QueryDistances and QueryContacts: jobs that end with their time, their scene, or their client's patience.
//!
//! If triangles are as large as their surface, a point takes time in proportion to their number, so that 65,536 points
//! would take minutes and more. Abandoned queries end too: otherwise a client that asks and resets would have as many
//! jobs running as the pool has threads, counted by nobody.

use std::{num::NonZero, sync::Arc, thread::available_parallelism, time::Duration};

use super::fair_jobs::{FairJobs, JobTurn};
use crate::{
    service::{
        access::caller::Caller, clock::now_ns, host::scene_host::SceneHost, refused::Refused,
    },
    time_left::TimeLeft,
};

/// Minimum number of queries worked on at a time; a key has all but one. Others wait for their turn.
const JOBS_MIN: usize = 2;

/// Maximum time of a query: 65,536 points at 2 us each take 0.13 s.
pub const QUERY_TIME_MAX: Duration = Duration::from_secs(10);

/// Runs queries of all scenes.
pub struct QueryJobs {
    jobs: FairJobs,
}

/// A query took longer than the limit.
#[derive(Debug, thiserror::Error)]
#[error(
    "not done after {QUERY_TIME_MAX:?}, the limit; expected fewer points, or smaller triangles in what they are measured to"
)]
pub struct QueryTookTooLong;

impl QueryJobs {
    /// Creates a runner without queries.
    pub fn new() -> QueryJobs {
        // Each query takes a core; with one permit a key could not have all but one.
        let cores = available_parallelism().map_or(1, NonZero::get);
        QueryJobs { jobs: FairJobs::new(cores.max(JOBS_MIN)) }
    }

    /// Waits for a permit and for `query`, whose time is over after `time_max`, or when nobody waits for it any more.
    pub async fn run<T: Send + 'static>(
        &self,
        caller: &Caller,
        host: &SceneHost,
        time_max: Duration,
        query: impl FnOnce(&TimeLeft) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Refused> {
        let (scene, life) = (Arc::clone(&host.scene), host.life());
        let job = move |turn: &JobTurn| {
            let until_ns = now_ns() + time_max.as_nanos() as u64;
            let is_wanted = || !turn.is_left() && life.check_served(&scene).is_ok();
            // To a query, an abandoned request is late, and the turns of others take no time.
            let worked_ns = || now_ns().saturating_sub(turn.waited().as_nanos() as u64);
            let clock = || if is_wanted() { worked_ns() } else { until_ns };
            let answer = query(&TimeLeft::until(&clock, until_ns));
            life.check_served(&scene)?;
            answer
        };
        self.jobs.run(caller, job).await?
    }
}

#[cfg(test)]
mod tests {
    use tonic::{Code, Status};

    use super::*;
    use crate::{config::Config, service::host::scene_registry::SceneRegistry};

    #[tokio::test]
    async fn a_query_that_takes_too_long_is_refused() {
        let host =
            SceneRegistry::new(&Config::default()).create("s", &Caller::ANYBODY).expect("room");
        let jobs = QueryJobs::new();
        fn asked(time: &TimeLeft) -> Result<u8, Refused> {
            if time.is_over_now() { Err(QueryTookTooLong.into()) } else { Ok(7) }
        }
        let answer = jobs.run(&Caller::ANYBODY, &host, QUERY_TIME_MAX, asked).await;
        assert_eq!(answer.expect("in time"), 7);
        let refused = jobs.run(&Caller::ANYBODY, &host, Duration::ZERO, asked).await;
        let refused = refused.expect_err("too late");
        assert_eq!(Status::from(refused).code(), Code::ResourceExhausted);
    }
}
