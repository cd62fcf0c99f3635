//! What systemd is told: ready, alive, ending. Nothing without `NOTIFY_SOCKET`.

use std::future::pending;

use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval};
use tracing::warn;

/// Clients can connect now.
pub fn ready() {
    tell(NotifyState::Ready);
}

/// Streams are being ended.
pub fn stopping() {
    tell(NotifyState::Stopping);
}

/// Says twice in the time that the unit allows (`WatchdogSec`) that the runtime still runs. Never ends.
pub async fn stay_alive() {
    let Some(silence_max) = sd_notify::watchdog_enabled() else { return pending().await };
    // A task of the runtime: it says nothing when the runtime's threads hang, which is what the watchdog is for.
    let mut due = interval(silence_max / 2);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        tell(NotifyState::Watchdog);
    }
}

fn tell(state: NotifyState) {
    if let Err(error) = sd_notify::notify(&[state]) {
        warn!("systemd cannot be told: {error}");
    }
}
