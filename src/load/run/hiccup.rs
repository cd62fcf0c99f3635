//! The machine's own stalls: a thread that only measures the lateness of its wakes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::load::report::{latencies::Latencies, stalls::Stalls};

// The period of a haptic loop: a stall of this thread stalls a client as well.
const NAP: Duration = Duration::from_millis(1);

/// Measures until it is stopped.
pub struct HiccupMeter {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(Latencies, Stalls)>,
}

impl HiccupMeter {
    /// Starts to measure.
    ///
    /// # Errors
    /// Returns an error if no thread can be started.
    pub fn start() -> std::io::Result<HiccupMeter> {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = thread::Builder::new().name("hiccups".to_owned()).spawn(move || {
            let (mut late, mut stalls) = (Latencies::new(), Stalls::default());
            while !told.load(Ordering::Relaxed) {
                // Counted from the last wake and not from a fixed schedule: a stall is counted once and not again in
                // the naps behind it.
                let due = Instant::now() + NAP;
                thread::sleep(NAP);
                let woke = Instant::now();
                late.record(woke.saturating_duration_since(due));
                stalls.note(due, woke.max(due));
            }
            (late, stalls)
        })?;
        Ok(HiccupMeter { stop, thread })
    }

    /// Returns the lateness of each nap, and the stalls.
    ///
    /// # Panics
    /// Panics if the thread panicked.
    pub fn finish(self) -> (Latencies, Stalls) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("only sleeps")
    }
}
