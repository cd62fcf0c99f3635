//! Jobs that take a core for long, on the blocking pool: few run at a time, keys take turns, and a job stops when
//! nobody waits for it.

use std::{
    cell::{Cell, RefCell},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::service::{
    access::caller::Caller,
    catch_panic::{Panicked, catch_panic_blocking},
    host::fair_places::{FairPlace, FairPlaces},
};

/// Runs jobs of one kind. Jobs without a permit wait without a thread and without memory.
pub struct FairJobs {
    places: FairPlaces,
    /// Time that a job works before it passes its permit on to the jobs of other keys.
    turn: Duration,
}

/// Longer than most jobs take.
const TURN: Duration = Duration::from_secs(1);

/// Handle of a running job, which checks it now and then.
pub struct JobTurn {
    /// Given back by the job, not by the request's future: a job that nobody waits for works until it checks.
    place: RefCell<Option<FairPlace>>,
    is_left: Arc<AtomicBool>,
    turn: Duration,
    began: Cell<Instant>,
    waited: Cell<Duration>,
}

impl JobTurn {
    /// Returns true if nobody waits for the job any more. Blocks while it is another key's turn.
    pub fn is_left(&self) -> bool {
        let is_left = self.is_left.load(Ordering::Relaxed);
        let now = Instant::now();
        if !is_left && now - self.began.get() >= self.turn {
            let place = self.place.take().map(FairPlace::pass);
            self.place.replace(place);
            let next = Instant::now();
            self.waited.set(self.waited.get() + (next - now));
            self.began.set(next);
        }
        self.is_left.load(Ordering::Relaxed)
    }

    /// Time that the job has waited for its turns since it began.
    pub fn waited(&self) -> Duration {
        self.waited.get()
    }
}

/// Stops a job when its client is gone: the request's future is dropped then.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl FairJobs {
    /// Creates a runner of `n` jobs at a time.
    pub fn new(n: usize) -> FairJobs {
        FairJobs { places: FairPlaces::new(n), turn: TURN }
    }

    /// Waits for a permit and for `job`, which asks its [`JobTurn`] whether to go on.
    pub async fn run<T: Send + 'static>(
        &self,
        caller: &Caller,
        job: impl FnOnce(&JobTurn) -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let place = self.places.take(caller).await;
        self.run_in(place, job).await
    }

    async fn run_in<T: Send + 'static>(
        &self,
        place: FairPlace,
        job: impl FnOnce(&JobTurn) -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let place = RefCell::new(Some(place));
        let stop = StopOnDrop(Arc::default());
        let (is_left, turn) = (Arc::clone(&stop.0), self.turn);
        catch_panic_blocking(move || {
            let (began, waited) = (Cell::new(Instant::now()), Cell::default());
            job(&JobTurn { place, is_left, turn, began, waited })
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
    /// Time limit for steps that must not take forever.
    const FOREVER: Duration = Duration::from_secs(20);

    /// Ends jobs that nobody else stops, which would block the test's runtime.
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
                let job = move |turn: &JobTurn| {
                    begun.send(()).expect("the test waits");
                    while !turn.is_left() && !ended.load(Ordering::Relaxed) {
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
        assert!(!jobs.run(&Caller::ANYBODY, JobTurn::is_left).await.expect("no panic"));
    }

    #[tokio::test]
    async fn jobs_without_end_do_not_keep_another_key_waiting() {
        let jobs = Arc::new(FairJobs { turn: Duration::ZERO, ..FairJobs::new(JOBS_MAX) });
        let at_end = AtEnd(Arc::default());
        let mut endless = Vec::new();
        for key in ["a", "b"] {
            let (jobs, ended) = (Arc::clone(&jobs), Arc::clone(&at_end.0));
            let (begun, begins) = oneshot::channel();
            endless.push(tokio::spawn(async move {
                let job = move |turn: &JobTurn| {
                    begun.send(()).expect("the test waits");
                    while !turn.is_left() && !ended.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                    turn.waited()
                };
                jobs.run_in(jobs.places.take_for(Some(key.to_owned())).await, job).await
            }));
            begins.await.expect("there is room");
        }
        for n in 0..100 {
            let place = jobs.places.take_for(Some("c".to_owned()));
            let place = tokio::time::timeout(FOREVER, place).await.expect("its turn comes");
            let done = jobs.run_in(place, move |turn| (turn.is_left(), n)).await;
            assert_eq!(done.expect("no panic"), (false, n));
        }
        drop(at_end);
        let mut waited = Duration::ZERO;
        for job in endless {
            waited += job.await.expect("no panic").expect("no panic");
        }
        assert!(waited > Duration::ZERO, "one of them has waited");
    }
}
