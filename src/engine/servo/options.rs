//! Options of a servo.

use crate::coupling::{
    spring::{self, Spring},
    wrench::{FADE_S, WrenchLimits},
};

/// Options of a servo: the spring as requested from the server, and the limits to keep to.
#[derive(Clone, Debug, PartialEq)]
pub struct ServoOptions {
    /// Tool whose models are taken.
    pub tool: u32,
    /// Spring between device and proxy.
    pub spring: Spring,
    /// B as a multiple of K T, where T is the time from sample to sample: 0 to 4. 1 makes up for the energy that a
    /// sampled spring gives out; more feels like syrup and lets the noise of encoders through.
    pub damping_samples: f64,
    /// Cap and rate of change of the wrench that is sent.
    pub limits: WrenchLimits,
    /// Keeps an energy balance of the spring, and gives the hand none that nobody has put in. Off, a late model does.
    pub observes_passivity: bool,
}

/// Errors of the options of a servo.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ServoOptionsError {
    /// A number out of its range.
    #[error("{option} is {got}, expected {least} to {most}")]
    Range {
        /// Name of the option.
        option: &'static str,
        /// Given value.
        got: f64,
        /// Least allowed value.
        least: f64,
        /// Greatest allowed value.
        most: f64,
    },
    /// A cap that could not fade in time.
    #[error("{cap} is {got}, expected at most {most}: what {rate} lets fade within {FADE_S} s")]
    Fade {
        /// Name of the cap.
        cap: &'static str,
        /// Name of the rate.
        rate: &'static str,
        /// Given cap.
        got: f64,
        /// Greatest cap that goes with that rate.
        most: f64,
    },
}

impl ServoOptions {
    /// Returns the default options for a tool: a desktop device of 3.3 N.
    pub fn of(tool: u32) -> ServoOptions {
        ServoOptions {
            tool,
            spring: Spring::DESKTOP,
            damping_samples: 1.0,
            limits: WrenchLimits::DESKTOP,
            observes_passivity: true,
        }
    }

    /// # Errors
    /// Returns an error for the first option that is out of its range, or a cap that could not fade in time.
    pub fn check(&self) -> Result<(), ServoOptionsError> {
        let limits = &self.limits;
        let own = ("damping_samples", self.damping_samples, [0.0, 4.0]);
        let outside = spring::first_outside(&self.spring, &[own], limits);
        if let Some((option, got, [least, most])) = outside {
            return Err(ServoOptionsError::Range { option, got, least, most });
        }
        for (cap, rate, got, per_s) in [
            (
                "max_force_n",
                "max_force_rate_n_per_s",
                limits.max_force_n,
                limits.max_force_rate_n_per_s,
            ),
            (
                "max_torque_nm",
                "max_torque_rate_nm_per_s",
                limits.max_torque_nm,
                limits.max_torque_rate_nm_per_s,
            ),
        ] {
            let most = per_s * FADE_S;
            if got > most {
                return Err(ServoOptionsError::Fade { cap, rate, got, most });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_that_cannot_fade_in_time_is_refused() {
        let usual = ServoOptions::of(1);
        assert_eq!(usual.check(), Ok(()));
        let mut strong = usual.clone();
        strong.limits.max_force_n = 15.1;
        let refused = strong.check().expect_err("15.1 N at 300 N/s take 50.3 ms");
        assert!(
            refused.to_string().contains("max_force_n is 15.1, expected at most 15"),
            "{refused}"
        );
        strong.limits.max_force_n = 15.0;
        assert_eq!(strong.check(), Ok(()));
        let slow = WrenchLimits { max_torque_rate_nm_per_s: 1.0, ..usual.limits };
        let refused = ServoOptions { limits: slow, ..usual.clone() }.check();
        assert!(matches!(refused, Err(ServoOptionsError::Fade { cap: "max_torque_nm", .. })));
        let refused = ServoOptions { damping_samples: f64::NAN, ..usual }.check();
        assert!(matches!(refused, Err(ServoOptionsError::Range { option: "damping_samples", .. })));
    }
}
