//! Force and torque for the hand, capped in size and rate of change.

use glam::DVec3;

/// Time within which a force that nothing vouches for any more fades to zero, seconds.
pub const FADE_S: f64 = 0.05;

/// Force, and torque about the hold point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wrench {
    /// Force, newtons.
    pub force: DVec3,
    /// Torque, newton metres.
    pub torque: DVec3,
}

/// Greatest force and torque that are ever sent, and their fastest change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WrenchLimits {
    /// Greatest force, newtons, 0 to 1,000.
    pub max_force_n: f64,
    /// Greatest torque, newton metres, 0 to 100.
    pub max_torque_nm: f64,
    /// Greatest change of the force, N/s, 0.001 to 1,000,000.
    pub max_force_rate_n_per_s: f64,
    /// Greatest change of the torque, N m/s, 0.001 to 100,000.
    pub max_torque_rate_nm_per_s: f64,
}

impl WrenchLimits {
    /// Limits for a desktop device of 3.3 N.
    pub const DESKTOP: WrenchLimits = WrenchLimits {
        max_force_n: 3.3,
        max_torque_nm: 0.1,
        max_force_rate_n_per_s: 300.0,
        max_torque_rate_nm_per_s: 9.0,
    };

    /// Replaces each value of 0 by that for a desktop device, as the contract requires.
    pub fn or_desktop(self) -> WrenchLimits {
        let or = |given: f64, usual: f64| if given == 0.0 { usual } else { given };
        let usual = WrenchLimits::DESKTOP;
        WrenchLimits {
            max_force_n: or(self.max_force_n, usual.max_force_n),
            max_torque_nm: or(self.max_torque_nm, usual.max_torque_nm),
            max_force_rate_n_per_s: or(self.max_force_rate_n_per_s, usual.max_force_rate_n_per_s),
            max_torque_rate_nm_per_s: or(
                self.max_torque_rate_nm_per_s,
                usual.max_torque_rate_nm_per_s,
            ),
        }
    }
}

impl Wrench {
    /// Returns the wrench sent `dt_s` seconds after this one, on the way to `wanted`, and true if caps or rates changed
    /// it.
    pub fn towards(&self, wanted: &Wrench, limits: &WrenchLimits, dt_s: f64) -> (Wrench, bool) {
        debug_assert!(dt_s >= 0.0 && wanted.force.is_finite() && wanted.torque.is_finite());
        let limit = |from: DVec3, to: DVec3, most: f64, rate: f64| {
            // Both ends are within the cap, and so is everything between them.
            let capped = to.clamp_length_max(most);
            from + (capped - from).clamp_length_max(rate * dt_s)
        };
        let force =
            limit(self.force, wanted.force, limits.max_force_n, limits.max_force_rate_n_per_s);
        let torque = limit(
            self.torque,
            wanted.torque,
            limits.max_torque_nm,
            limits.max_torque_rate_nm_per_s,
        );
        let sent = Wrench { force, torque };
        // A wanted wrench within reach is sent exactly: adding a difference rounds.
        let is_force = (force - wanted.force).length() <= f64::EPSILON * limits.max_force_n;
        let is_torque = (torque - wanted.torque).length() <= f64::EPSILON * limits.max_torque_nm;
        if is_force && is_torque { (*wanted, false) } else { (sent, true) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Random;

    #[test]
    fn cap_and_rate_hold_whatever_is_wanted() {
        let limits = WrenchLimits {
            max_force_n: 3.3,
            max_torque_nm: 0.1,
            max_force_rate_n_per_s: 300.0,
            max_torque_rate_nm_per_s: 9.0,
        };
        let mut random = Random::new(3);
        let mut sent = Wrench::default();
        for _ in 0..10_000 {
            let wanted = Wrench {
                force: random.unit_vector() * random.range(0.0, 8.0),
                torque: random.unit_vector() * random.range(0.0, 0.3),
            };
            let dt_s = random.range(0.0, 0.01);
            let (next, limited) = sent.towards(&wanted, &limits, dt_s);
            assert!(next.force.length() <= limits.max_force_n * (1.0 + 1e-12));
            assert!(next.torque.length() <= limits.max_torque_nm * (1.0 + 1e-12));
            let step = (next.force - sent.force).length();
            assert!(step <= limits.max_force_rate_n_per_s * dt_s + 1e-12, "{step} N in {dt_s} s");
            let turn = (next.torque - sent.torque).length();
            assert!(turn <= limits.max_torque_rate_nm_per_s * dt_s + 1e-12);
            assert_eq!(limited, next != wanted);
            sent = next;
        }
    }
}
