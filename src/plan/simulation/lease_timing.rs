//! When an owner that failed stops to acknowledge, and when somebody else may take its scenes.

use crate::{oracle::Random, plan::workload::Faults};

/// Both, in seconds of the simulation.
#[derive(Clone, Copy, Debug)]
pub struct LeaseTiming {
    /// The old owner acknowledges nothing from then on.
    pub silent_s: f64,
    /// By the clock of whoever takes it, the lease has run out.
    pub free_s: f64,
}

impl LeaseTiming {
    /// Of a server that fails now. One that was cut off goes on until its own clock says that its lease is about to end.
    pub fn draw(
        faults: &Faults,
        now_s: f64,
        was_cut_off: bool,
        random: &mut Random,
    ) -> LeaseTiming {
        let error_s = 1e-3 * faults.clock_error_ms;
        // It was renewed at some moment of the third of a lease before.
        let ends_s = now_s + faults.lease_s * (1.0 - random.f64() / 3.0);
        let free_s = ends_s + random.range(-error_s, error_s);
        let by_its_clock_s =
            ends_s - 1e-3 * faults.lease_margin_ms + random.range(-error_s, error_s);
        LeaseTiming {
            silent_s: if was_cut_off { by_its_clock_s.max(now_s) } else { now_s },
            free_s: free_s.max(now_s),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::simulation::tests::faults;

    proptest! {
        /// The rule that no edit is lost by: the margin is at least twice what a clock may be off.
        #[test]
        fn no_two_owners_acknowledge(seed: u64, lease_s in 1.0f64..60.0, clock_error_ms in 0.0f64..400.0, more in 1.0f64..3.0) {
            let lease_margin_ms = 2.0 * clock_error_ms * more;
            let faults = Faults { lease_s, clock_error_ms, lease_margin_ms, ..faults() };
            let timing = LeaseTiming::draw(&faults, 1000.0, true, &mut Random::new(seed));
            prop_assert!(timing.silent_s <= timing.free_s, "{timing:?}");
        }
    }
}
