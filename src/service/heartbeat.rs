//! Whether the runtime of ticks runs, as others see it.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use tokio::time::sleep;

use super::clock::now_ns;

/// How often it beats.
const BEAT: Duration = Duration::from_millis(20);

/// A runtime that has not run for so long hangs: no task keeps its thread for longer than `ticks.time_max`, milliseconds.
const SILENCE_MAX: Duration = Duration::from_secs(5);

/// When a runtime last ran.
#[derive(Default)]
pub struct Heartbeat(AtomicU64);

impl Heartbeat {
    /// Beats on the runtime of the caller. Never ends.
    pub async fn beat(&self) {
        loop {
            self.0.store(now_ns(), Relaxed);
            sleep(BEAT).await;
        }
    }

    /// Whether it runs, busy or not.
    pub fn is_beating(&self) -> bool {
        self.silence() < SILENCE_MAX
    }

    /// Time since it beat last.
    pub fn silence(&self) -> Duration {
        Duration::from_nanos(now_ns().saturating_sub(self.0.load(Relaxed)))
    }
}
