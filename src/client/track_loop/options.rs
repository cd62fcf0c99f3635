//! How a loop runs.

use std::time::{Duration, Instant};

use crate::servo::DeviceFeed;

/// How a loop runs.
pub struct LoopOptions {
    /// How long it tries to come back once its connection broke, and no server says that it will serve again.
    pub reconnect_max: Duration,
    /// A device whose models it gives, and whose poses it sends at [`LoopOptions::rate_hz`].
    pub device: Option<DeviceFeed>,
    /// The device's newest pose is sent so many times a second, 1 to 1,000; 0: what is sent is only what
    /// [`TrackLoop::send`](super::TrackLoop::send) is given.
    pub rate_hz: f64,
    /// Where the clocks of the loop and of its device are 0.
    pub epoch: Instant,
}

impl Default for LoopOptions {
    fn default() -> LoopOptions {
        LoopOptions {
            // As long as a server keeps a session unless it is set otherwise.
            reconnect_max: Duration::from_secs(10),
            device: None,
            rate_hz: 1_000.0,
            epoch: Instant::now(),
        }
    }
}
