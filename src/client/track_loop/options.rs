//! Options of a loop.

use std::time::{Duration, Instant};

use crate::servo::DeviceFeed;

/// Options of a loop.
pub struct LoopOptions {
    /// Time limit of reconnecting after the connection broke, while no server says that it will serve again.
    pub reconnect_max: Duration,
    /// Device that receives the loop's models, and whose poses the loop sends at [`LoopOptions::rate_hz`].
    pub device: Option<DeviceFeed>,
    /// Rate at which the device's newest pose is sent, per second, 1 to 1,000; 0: only the poses given to
    /// [`TrackLoop::send`](super::TrackLoop::send) are sent.
    pub rate_hz: f64,
    /// Time limit of each tick from its arrival at the server; none: the server's own, which this can only lower. After
    /// it the answer has what was found so far.
    pub deadline: Option<Duration>,
    /// Instant at which the clocks of the loop and of its device are 0.
    pub epoch: Instant,
}

impl Default for LoopOptions {
    fn default() -> LoopOptions {
        LoopOptions {
            // A server's default time limit of a session.
            reconnect_max: Duration::from_secs(10),
            device: None,
            rate_hz: 1_000.0,
            deadline: None,
            epoch: Instant::now(),
        }
    }
}
