//! Threads that keep cores busy, as a solver on the server's machine would.

use std::{
    hint, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

/// Busy threads, stopped when dropped.
pub struct BusyThreads {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl BusyThreads {
    /// Starts `n` threads.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
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
