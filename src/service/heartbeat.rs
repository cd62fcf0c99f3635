//! Heartbeat of the runtime of ticks, for other threads.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use tokio::time::sleep;

use super::clock::now_ns;

/// Interval of beats.
const BEAT: Duration = Duration::from_millis(20);

/// Silence after which a runtime counts as hanging: no task keeps its thread for longer than `ticks.time_max`,
/// milliseconds.
const SILENCE_MAX: Duration = Duration::from_secs(5);

/// Time at which a runtime last ran.
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

    /// Returns true if the runtime runs, busy or not.
    pub fn is_beating(&self) -> bool {
        self.silence() < SILENCE_MAX
    }

    /// Returns the time since the last beat.
    pub fn silence(&self) -> Duration {
        Duration::from_nanos(now_ns().saturating_sub(self.0.load(Relaxed)))
    }
}
