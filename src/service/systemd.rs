//! Notifications to systemd: ready, alive, stopping. Does nothing without `NOTIFY_SOCKET`, or on Windows, which has no
//! systemd.

use std::{future::pending, time::Duration};

use tokio::time::{MissedTickBehavior, interval};

use super::heartbeat::Heartbeat;

enum ToldState {
    Ready,
    Alive,
    Stopping,
}

/// Notifies that clients can connect now.
pub fn ready() {
    tell(ToldState::Ready);
}

/// Notifies that streams are being ended.
pub fn stopping() {
    tell(ToldState::Stopping);
}

/// Notifies twice in the interval that the unit sets (`WatchdogSec`), as long as the runtime of ticks still runs: a
/// busy runtime is not taken for a hanging one. Never ends.
pub async fn stay_alive(heart: &Heartbeat) {
    let Some(silence_max) = silence_max() else { return pending().await };
    let mut due = interval(silence_max / 2);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        // With that delay, systemd restarts a hanging server after at most twice the time.
        if heart.silence() < silence_max {
            tell(ToldState::Alive);
        }
    }
}

#[cfg(unix)]
fn silence_max() -> Option<Duration> {
    sd_notify::watchdog_enabled()
}

#[cfg(not(unix))]
fn silence_max() -> Option<Duration> {
    None
}

#[cfg(unix)]
fn tell(state: ToldState) {
    use sd_notify::NotifyState;
    let state = match state {
        ToldState::Ready => NotifyState::Ready,
        ToldState::Alive => NotifyState::Watchdog,
        ToldState::Stopping => NotifyState::Stopping,
    };
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!("systemd cannot be told: {error}");
    }
}

#[cfg(not(unix))]
fn tell(_state: ToldState) {}
