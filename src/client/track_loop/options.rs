//! Options of a loop.

use std::time::{Duration, Instant};

use crate::servo::DeviceFeed;

/// Share of its period that a device's loop gives the engine for a rendered tick. The rest of the period is for the way
/// there and back; the rest of the tick goes on in the next one, and the hand holds its force.
// The demo by turns, 1 kHz, five seconds each, on two cores on which a tick takes 0.4 ms at p50: without a limit 30 and
// 36 % of the ticks came later than 1 ms, up to 159 in a row, and the force was 0.076 N RMS off that of a proxy that is
// never late. With 0.6: 3.3 and 5.5 %, nine in a row, 0.064 N. With 1.0: 32 and 44 %, 0.069 N. With 0.4: 2.2 and 3.0 %,
// but 0.22 N, as most ticks are cut short.
const ENGINE_SHARE: f64 = 0.6;

/// Returns the time limit of rendered ticks of a device's loop at a rate.
pub fn device_deadline(rate_hz: f64) -> Duration {
    Duration::from_secs_f64(ENGINE_SHARE / rate_hz.clamp(1.0, 1e3))
}

/// Options of a loop.
pub struct LoopOptions {
    /// Time limit of reconnecting after the connection broke, while no server says that it will serve again.
    pub reconnect_max: Duration,
    /// Device that receives the loop's models, and whose poses the loop sends at [`LoopOptions::rate_hz`].
    pub device: Option<DeviceFeed>,
    /// Rate at which the device's newest pose is sent, per second, 1 to 1,000; 0: only the poses given to
    /// [`TrackLoop::send`](super::TrackLoop::send) are sent.
    pub rate_hz: f64,
    /// Time limit of each tick from its arrival at the server, which can only lower the server's own. After it the answer
    /// has what was found so far. None: six tenths of the period of a device's poses; without a device the server's own.
    pub deadline: Option<Duration>,
    /// Instant at which the clocks of the loop and of its device are 0.
    pub epoch: Instant,
}

impl LoopOptions {
    /// Returns the time limit of a tick, if it is not the server's own.
    pub(super) fn tick_deadline(&self) -> Option<Duration> {
        let of_device = self.device.is_some() && self.rate_hz > 0.0;
        self.deadline.or_else(|| of_device.then(|| device_deadline(self.rate_hz)))
    }
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
