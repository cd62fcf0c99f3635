//! What systemd is told: ready, alive, ending. Nothing without `NOTIFY_SOCKET`, nor on Windows, which has no systemd.

use std::{future::pending, time::Duration};

use tokio::time::{MissedTickBehavior, interval};

use super::heartbeat::Heartbeat;

enum ToldState {
    Ready,
    Alive,
    Stopping,
}

/// Clients can connect now.
pub fn ready() {
    tell(ToldState::Ready);
}

/// Streams are being ended.
pub fn stopping() {
    tell(ToldState::Stopping);
}

/// Says twice in the time that the unit allows (`WatchdogSec`) that the runtime of ticks still runs, if it does: one that
/// is busy is not taken for one that hangs. Never ends.
pub async fn stay_alive(heart: &Heartbeat) {
    let Some(silence_max) = silence_max() else { return pending().await };
    let mut due = interval(silence_max / 2);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        // Told late by as much as that, systemd restarts a hanging server after twice the time at most.
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
