//! A haptic device and the hand that holds it: a mass, a damper, and a spring to the hand's target position.

use std::str::FromStr;

use glam::DVec3;

use crate::servo::stiffness::stiffness_max;

/// Longest step of the motion, seconds: a hundredth of the stiffest device's period.
const STEP_S_MAX: f64 = 50e-6;

/// A device in a hand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldDevice {
    /// Mass of device and hand, kilograms.
    pub mass_kg: f64,
    /// Damping of the device, N s/m.
    pub damping_n_s_per_m: f64,
    /// Stiffness of the hand, N/m.
    pub hand_n_per_m: f64,
    /// Damping of the hand, N s/m.
    pub hand_damping_n_s_per_m: f64,
}

/// Position and velocity of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceMotion {
    /// Position, metres.
    pub position: DVec3,
    /// Velocity, m/s.
    pub velocity: DVec3,
}

impl Default for HeldDevice {
    fn default() -> HeldDevice {
        // A desktop arm, and fingers that hold it lightly.
        HeldDevice {
            mass_kg: 0.08,
            damping_n_s_per_m: 0.15,
            hand_n_per_m: 150.0,
            hand_damping_n_s_per_m: 0.8,
        }
    }
}

impl HeldDevice {
    /// A hand that is led along its path and hardly gives way: fifteen times the stiffness of the demo's spring, with
    /// enough damping not to swing.
    pub fn led() -> HeldDevice {
        HeldDevice { hand_n_per_m: 3_000.0, hand_damping_n_s_per_m: 30.0, ..HeldDevice::default() }
    }

    /// Returns the damping of device and hand, N s/m: b of the stability rule for a sampled spring.
    pub fn damping(&self) -> f64 {
        self.damping_n_s_per_m + self.hand_damping_n_s_per_m
    }

    /// Returns the greatest stable stiffness of a force that is held for `sample_s` and is `delay_s` late, N/m: K = b /
    /// (T/2 + delay).
    pub fn stiffness_max(&self, sample_s: f64, delay_s: f64) -> f64 {
        stiffness_max(self.damping(), sample_s, delay_s)
    }

    /// Advances the device by `dt_s` under a constant force; the hand pulls it to `wanted`.
    pub fn step(&self, motion: &mut DeviceMotion, wanted: DVec3, force: DVec3, dt_s: f64) {
        let n = (dt_s / STEP_S_MAX).ceil().max(1.0);
        let step_s = dt_s / n;
        for _ in 0..n as u32 {
            let pull = (wanted - motion.position) * self.hand_n_per_m;
            let drag = motion.velocity * self.damping();
            // Velocity comes first (symplectic Euler): the spring of the hand gains no energy by the steps.
            motion.velocity += (force + pull - drag) / self.mass_kg * step_s;
            motion.position += motion.velocity * step_s;
        }
    }
}

/// A text is no device.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "got {got:?}, expected mass=KG, damping=N_S_PER_M, hand=N_PER_M or hand-damping=N_S_PER_M, above 0"
)]
pub struct HeldDeviceError {
    got: String,
}

impl FromStr for HeldDevice {
    type Err = HeldDeviceError;

    fn from_str(text: &str) -> Result<HeldDevice, HeldDeviceError> {
        let mut device = HeldDevice::default();
        for part in text.split(',') {
            let bad = || HeldDeviceError { got: part.to_owned() };
            let (name, value) = part.split_once('=').ok_or_else(bad)?;
            let value: f64 = value.parse().map_err(|_| bad())?;
            if !(value > 0.0 && value.is_finite()) {
                return Err(bad());
            }
            match name {
                "mass" => device.mass_kg = value,
                "damping" => device.damping_n_s_per_m = value,
                "hand" => device.hand_n_per_m = value,
                "hand-damping" => device.hand_damping_n_s_per_m = value,
                _ => return Err(bad()),
            }
        }
        Ok(device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A spring that is held between samples shakes the hand exactly when the rule says so.
    #[test]
    fn a_sampled_spring_is_stable_as_the_rule_says() {
        let device = HeldDevice::default();
        for sample_s in [1e-3, 2.5e-4] {
            let limit = device.stiffness_max(sample_s, 0.0);
            for (share, is_stable) in [(0.8, true), (1.3, false)] {
                let stiffness = share * limit;
                let mut motion = DeviceMotion { position: DVec3::Z * 1e-4, ..Default::default() };
                let mut sizes = [0.0f64; 2];
                for step in 0..(2.0 / sample_s) as u32 {
                    let force = -stiffness * motion.position;
                    device.step(&mut motion, DVec3::ZERO, force, sample_s);
                    let size = &mut sizes[usize::from(f64::from(step) * sample_s > 1.0)];
                    *size = size.max(motion.position.length());
                }
                assert_eq!(sizes[1] < sizes[0], is_stable, "{share} of {limit} N/m: {sizes:?}");
            }
        }
    }

    #[test]
    fn reads_its_parts_and_refuses_others() {
        let device: HeldDevice = "mass=0.1,hand=200".parse().expect("a device");
        assert_eq!((device.mass_kg, device.hand_n_per_m), (0.1, 200.0));
        assert_eq!(device.damping_n_s_per_m, HeldDevice::default().damping_n_s_per_m);
        for bad in ["", "mass", "mass=0", "mass=NaN", "weight=1"] {
            assert!(bad.parse::<HeldDevice>().is_err(), "{bad:?}");
        }
    }
}
