//! The machine's own stalls: a thread that only measures how late it wakes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::load::report::latencies::Latencies;

const NAP: Duration = Duration::from_millis(1);

/// Measures until it is stopped.
pub struct HiccupMeter {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Latencies>,
}

impl HiccupMeter {
    /// # Errors
    /// When no thread can be had.
    pub fn start() -> std::io::Result<HiccupMeter> {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = thread::Builder::new().name("hiccups".to_owned()).spawn(move || {
            let mut late = Latencies::new();
            while !told.load(Ordering::Relaxed) {
                let slept = Instant::now();
                thread::sleep(NAP);
                late.record(slept.elapsed().saturating_sub(NAP));
            }
            late
        })?;
        Ok(HiccupMeter { stop, thread })
    }

    /// How late each nap ended.
    ///
    /// # Panics
    /// When the thread did.
    pub fn finish(self) -> Latencies {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("only sleeps")
    }
}
