//! A held device in simulated time: the measured force contains none of a machine's noise.

use glam::DVec3;
use palpate::load::stage::held_device::{DeviceMotion, HeldDevice};

/// Position of a hand that moves down to `depth_m` below `start` within 0.3 s, and holds there.
pub fn hand(start: DVec3, depth_m: f64, seconds: f64) -> DVec3 {
    let share = (seconds / 0.3).min(1.0);
    start - DVec3::Z * depth_m * (share * share * (3.0 - 2.0 * share))
}

/// The device, and sums of the force since the last evaluation.
pub struct Simulated {
    pub device: HeldDevice,
    pub motion: DeviceMotion,
    pub force: DVec3,
    sums: (f64, DVec3, f64),
}

impl Simulated {
    pub fn at(position: DVec3) -> Simulated {
        let motion = DeviceMotion { position, velocity: DVec3::ZERO };
        let device = HeldDevice::default();
        Simulated { device, motion, force: DVec3::ZERO, sums: Default::default() }
    }

    /// Applies a force for `dt_s`.
    pub fn feel(&mut self, force: DVec3, wanted: DVec3, dt_s: f64) {
        self.force = force;
        self.device.step(&mut self.motion, wanted, force, dt_s);
        self.sums.0 += 1.0;
        self.sums.1 += force;
        self.sums.2 += force.length_squared();
    }

    /// Returns the RMS of the force about its mean since the last call, newtons, and the mean.
    pub fn rms(&mut self) -> (f64, DVec3) {
        let (n, sum, squares) = std::mem::take(&mut self.sums);
        let mean = sum / n;
        ((squares / n - mean.length_squared()).max(0.0).sqrt(), mean)
    }
}
