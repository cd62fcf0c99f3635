//! How a servo renders.

use crate::coupling::{
    spring::{self, Spring},
    wrench::{FADE_S, WrenchLimits},
};

/// How a servo renders: the spring as the server was asked for it, and what is to be kept to.
#[derive(Clone, Debug, PartialEq)]
pub struct ServoOptions {
    /// Whose models are taken.
    pub tool: u32,
    /// Between device and proxy.
    pub spring: Spring,
    /// B as a multiple of K T, T being the time from sample to sample: 0 to 4. 1 makes up for what a sampled spring gives
    /// out; more is felt as syrup and lets the noise of encoders through.
    pub damping_samples: f64,
    /// Cap and rate of change of what is sent.
    pub limits: WrenchLimits,
    /// Keeps books of the spring's energy, and gives the hand none that nobody has put in. Off, a late model does.
    pub observes_passivity: bool,
}

/// Why a servo cannot render so.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ServoOptionsError {
    /// A number out of its range.
    #[error("{option} is {got}, expected {least} to {most}")]
    Range {
        /// Its name.
        option: &'static str,
        /// As given.
        got: f64,
        /// The least allowed.
        least: f64,
        /// The greatest allowed.
        most: f64,
    },
    /// What may be sent could not be taken back in time.
    #[error("{cap} is {got}, expected at most {most}: what {rate} lets fade within {FADE_S} s")]
    Fade {
        /// The cap's name.
        cap: &'static str,
        /// The rate's name.
        rate: &'static str,
        /// The cap as given.
        got: f64,
        /// The greatest cap that goes with that rate.
        most: f64,
    },
}

impl ServoOptions {
    /// The defaults for a tool: a desktop device of 3.3 N.
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
    /// The first option that is out of its range, or a cap that could not fade in time.
    pub fn check(&self) -> Result<(), ServoOptionsError> {
        let limits = &self.limits;
        let own = ("damping_samples", self.damping_samples, [0.0, 4.0]);
        let outside = spring::first_outside(&self.spring, own, limits);
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
