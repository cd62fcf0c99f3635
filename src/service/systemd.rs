//! What systemd is told: ready, alive, ending. Nothing without `NOTIFY_SOCKET`.

use std::future::pending;

use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval};
use tracing::warn;

use super::heartbeat::Heartbeat;

/// Clients can connect now.
pub fn ready() {
    tell(NotifyState::Ready);
}

/// Streams are being ended.
pub fn stopping() {
    tell(NotifyState::Stopping);
}

/// Says twice in the time that the unit allows (`WatchdogSec`) that the runtime of ticks still runs, if it does: one that
/// is busy is not taken for one that hangs. Never ends.
pub async fn stay_alive(heart: &Heartbeat) {
    let Some(silence_max) = sd_notify::watchdog_enabled() else { return pending().await };
    let mut due = interval(silence_max / 2);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        // Told late by as much as that, systemd restarts a hanging server after twice the time at most.
        if heart.silence() < silence_max {
            tell(NotifyState::Watchdog);
        }
    }
}

fn tell(state: NotifyState) {
    if let Err(error) = sd_notify::notify(&[state]) {
        warn!("systemd cannot be told: {error}");
    }
}
