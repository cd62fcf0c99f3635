//! Timing of a lost lease: when a failed owner stops acknowledging, and when another server may take its scenes.

use crate::{oracle::Random, plan::workload::Faults};

/// Heartbeats in a lease.
const SIGNS: f64 = 4.0;

/// Both times, in seconds of the simulation.
#[derive(Clone, Copy, Debug)]
pub struct LeaseTiming {
    /// From this time on the old owner acknowledges nothing.
    pub silent_s: f64,
    /// From this time on the lease has expired, by the clock of the server that takes over.
    pub free_s: f64,
}

impl LeaseTiming {
    /// Draws the timing of a server that fails now. A server that was cut off goes on until its own clock says that its
    /// lease is about to end.
    pub fn draw(
        faults: &Faults,
        now_s: f64,
        was_cut_off: bool,
        random: &mut Random,
    ) -> LeaseTiming {
        let error_s = 1e-3 * faults.clock_error_ms;
        // The last heartbeat was sent within the quarter of a lease before, and seen at most as long after it was sent.
        let ends_s = now_s + faults.lease_s * (1.0 - random.f64() / SIGNS);
        let seen_s = faults.lease_s / SIGNS * random.f64();
        let free_s = ends_s + seen_s + random.range(-error_s, error_s);
        let silent_s =
            ends_s - faults.lease_margin * faults.lease_s + random.range(-error_s, error_s);
        let silent_s = if was_cut_off { silent_s.max(now_s) } else { now_s };
        LeaseTiming { silent_s, free_s: free_s.max(now_s) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::simulation::tests::faults;

    proptest! {
        /// The condition under which no edit is lost: the margin is at least twice the clock error.
        #[test]
        fn no_two_owners_acknowledge(
            seed: u64, lease_s in 1.0f64..60.0, lease_margin in 0.0f64..1.0, used in 0.0f64..1.0,
        ) {
            let clock_error_ms = 1e3 * lease_s * lease_margin / 2.0 * used;
            let faults = Faults { lease_s, clock_error_ms, lease_margin, ..faults() };
            let timing = LeaseTiming::draw(&faults, 1000.0, true, &mut Random::new(seed));
            // Tolerance for rounding: both are sums of numbers near a thousand.
            prop_assert!(timing.silent_s <= timing.free_s + 1e-9, "{timing:?}");
        }
    }
}
