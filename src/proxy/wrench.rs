//! The force and torque that are sent: capped in size, and in how fast they change.

use glam::DVec3;

use super::options::RenderOptions;

/// A force and the torque about the hold point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Wrench {
    /// Newtons.
    pub(super) force: DVec3,
    /// Newton metres.
    pub(super) torque: DVec3,
}

impl Wrench {
    /// What is sent `dt_s` seconds after this was, on the way to `wanted`. True when caps or rates changed it.
    pub(super) fn towards(
        &self,
        wanted: &Wrench,
        options: &RenderOptions,
        dt_s: f64,
    ) -> (Wrench, bool) {
        debug_assert!(dt_s >= 0.0 && wanted.force.is_finite() && wanted.torque.is_finite());
        let limit = |from: DVec3, to: DVec3, most: f64, rate: f64| {
            // Both ends are within the cap, and so is all between them.
            let capped = to.clamp_length_max(most);
            from + (capped - from).clamp_length_max(rate * dt_s)
        };
        let force =
            limit(self.force, wanted.force, options.max_force_n, options.max_force_rate_n_per_s);
        let torque = limit(
            self.torque,
            wanted.torque,
            options.max_torque_nm,
            options.max_torque_rate_nm_per_s,
        );
        let sent = Wrench { force, torque };
        // What is within reach is sent as it is: adding a difference rounds.
        let is_force = (force - wanted.force).length() <= f64::EPSILON * options.max_force_n;
        let is_torque = (torque - wanted.torque).length() <= f64::EPSILON * options.max_torque_nm;
        if is_force && is_torque { (*wanted, false) } else { (sent, true) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{oracle::Random, scene::ToolId};

    #[test]
    fn cap_and_rate_hold_whatever_is_wanted() {
        let options = RenderOptions::of(ToolId(1));
        let mut random = Random::new(3);
        let mut sent = Wrench::default();
        for _ in 0..10_000 {
            let wanted = Wrench {
                force: random.unit_vector() * random.range(0.0, 8.0),
                torque: random.unit_vector() * random.range(0.0, 0.3),
            };
            let dt_s = random.range(0.0, 0.01);
            let (next, limited) = sent.towards(&wanted, &options, dt_s);
            assert!(next.force.length() <= options.max_force_n * (1.0 + 1e-12));
            assert!(next.torque.length() <= options.max_torque_nm * (1.0 + 1e-12));
            let step = (next.force - sent.force).length();
            assert!(step <= options.max_force_rate_n_per_s * dt_s + 1e-12, "{step} N in {dt_s} s");
            let turn = (next.torque - sent.torque).length();
            assert!(turn <= options.max_torque_rate_nm_per_s * dt_s + 1e-12);
            assert_eq!(limited, next != wanted);
            sent = next;
        }
    }
}
