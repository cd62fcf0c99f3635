//! Threads that keep cores busy, as a solver beside the server would.

use std::{
    hint, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

/// Busy until it is dropped.
pub struct BusyThreads {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl BusyThreads {
    /// Starts so many.
    ///
    /// # Errors
    /// When a thread cannot be had.
    pub fn start(n: u32) -> io::Result<BusyThreads> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut busy = BusyThreads { stop, threads: Vec::new() };
        for number in 0..n {
            let stop = Arc::clone(&busy.stop);
            let thread = thread::Builder::new().name(format!("busy-{number}"));
            busy.threads.push(thread.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            })?);
        }
        Ok(busy)
    }
}

impl Drop for BusyThreads {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("it only spins");
        }
    }
}
