//! Jobs that take a core for long, on the blocking pool: few at a time, shared fairly between keys, and told to stop when
//! nobody waits for them.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::service::{
    access::caller::Caller,
    catch_panic::{Panicked, catch_panic_blocking},
    host::fair_places::FairPlaces,
};

/// Runs jobs of one kind. Those that have no place yet wait without a thread and without memory.
pub struct FairJobs {
    places: FairPlaces,
}

/// Tells a job to stop when its client is gone: the request's future is dropped then.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl FairJobs {
    /// So many at a time.
    pub fn new(n: usize) -> FairJobs {
        FairJobs { places: FairPlaces::new(n) }
    }

    /// Waits for a place and for `job`, which is told when nobody waits for it any more. Only when it has ended does it
    /// give up its place.
    pub async fn run<T: Send + 'static>(
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
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::*;

    const JOBS_MAX: usize = 2;
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
        let jobs = Arc::new(FairJobs::new(JOBS_MAX));
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
                jobs.run(&Caller::ANYBODY, job).await
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
        let jobs = FairJobs::new(JOBS_MAX);
        for _ in 0..=JOBS_MAX {
            let failed: Result<(), Panicked> =
                jobs.run(&Caller::ANYBODY, |_| panic!("on purpose")).await;
            failed.expect_err("a panic");
        }
        assert!(!jobs.run(&Caller::ANYBODY, |is_left| is_left()).await.expect("no panic"));
    }
}
