//! Times in fixed buckets, as Prometheus wants them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Upper ends of the buckets, microseconds; what is longer goes into one more.
// Close together about the millisecond of a tick, far apart beyond it: where a quantile falls is known to a third
// there.
pub const BOUNDS_US: [u64; 15] = [
    20, 50, 100, 200, 300, 500, 750, 1_000, 1_500, 2_000, 5_000, 10_000, 50_000, 200_000, 1_000_000,
];

/// How many times were how long.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; BOUNDS_US.len() + 1],
    sum_ns: AtomicU64,
}

impl Histogram {
    /// A time, from one of many threads.
    pub fn note(&self, ns: u64) {
        self.buckets[bucket(ns)].fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(ns, Relaxed);
    }

    /// A time, from the only thread that writes: a load and a store instead of a locked addition.
    pub fn note_alone(&self, ns: u64) {
        // A macro of the `metrics` crate costs a tick 41 ns, a load and a store next to none.
        let add = |to: &AtomicU64, n| to.store(to.load(Relaxed) + n, Relaxed);
        add(&self.buckets[bucket(ns)], 1);
        add(&self.sum_ns, ns);
    }

    /// Adds what another counted.
    pub fn add(&self, other: &Histogram) {
        for (into, from) in self.buckets.iter().zip(&other.buckets) {
            into.fetch_add(from.load(Relaxed), Relaxed);
        }
        self.sum_ns.fetch_add(other.sum_ns.load(Relaxed), Relaxed);
    }

    /// Times up to each bound, then all of them.
    pub fn cumulative(&self) -> [u64; BOUNDS_US.len() + 1] {
        let mut sum = 0;
        self.buckets.each_ref().map(|bucket| {
            sum += bucket.load(Relaxed);
            sum
        })
    }

    /// All times together, seconds.
    pub fn sum_s(&self) -> f64 {
        self.sum_ns.load(Relaxed) as f64 / 1e9
    }

    /// The bound, in microseconds, that this share of all times stayed within; `None` when it lies beyond the
    /// last, or nothing was noted.
    pub fn within_us(&self, share: f64) -> Option<u64> {
        let cumulative = self.cumulative();
        let all = cumulative[BOUNDS_US.len()];
        let enough = |n: &u64| all > 0 && *n as f64 >= share * all as f64;
        cumulative.iter().zip(BOUNDS_US).find(|(n, _)| enough(n)).map(|(_, bound)| bound)
    }
}

fn bucket(ns: u64) -> usize {
    BOUNDS_US.partition_point(|bound| bound * 1000 < ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_on_a_bound_counts_below_it() {
        let times = Histogram::default();
        for ns in [0, 20_000, 20_001, 1_000_000_000, 1_000_000_001, u64::MAX / 4] {
            times.note_alone(ns);
        }
        let cumulative = times.cumulative();
        assert_eq!((cumulative[0], cumulative[1], cumulative[14], cumulative[15]), (2, 3, 4, 6));
    }

    #[test]
    fn a_share_is_within_the_first_bound_that_holds_it() {
        let times = Histogram::default();
        assert_eq!(times.within_us(0.5), None);
        (0..99).for_each(|_| times.note(90_000));
        times.note(u64::from(u32::MAX));
        assert_eq!((times.within_us(0.5), times.within_us(0.99)), (Some(100), Some(100)));
        assert_eq!(times.within_us(1.0), None);
        let twice = Histogram::default();
        twice.add(&times);
        twice.add(&times);
        assert_eq!(twice.cumulative()[15], 200);
    }
}
