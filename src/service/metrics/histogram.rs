//! Histogram of times in fixed buckets, as Prometheus requires.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Upper bounds of the buckets, microseconds; longer times go into one more bucket.
// Dense around the millisecond of a tick, sparse beyond it.
pub const BOUNDS_US: [u64; 15] = [
    20, 50, 100, 200, 300, 500, 750, 1_000, 1_500, 2_000, 5_000, 10_000, 50_000, 200_000, 1_000_000,
];

/// Number of equal parts in which a bucket is counted, so that percentiles are finer than buckets: to a tenth from
/// 20 us to 10 ms.
const PARTS: usize = 16;
/// Number of parts of all bounded buckets, and one for longer times.
const N_PARTS: usize = PARTS * BOUNDS_US.len() + 1;

/// Counts of times by their length.
#[derive(Debug)]
pub struct Histogram {
    parts: [AtomicU64; N_PARTS],
    sum_ns: AtomicU64,
}

/// Snapshot of a histogram, to be compared with a later one.
#[derive(Clone, Debug)]
pub struct TimeCounts([u64; N_PARTS]);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { parts: [const { AtomicU64::new(0) }; N_PARTS], sum_ns: AtomicU64::new(0) }
    }
}

impl Histogram {
    /// Adds a time; may be called by many threads.
    pub fn note(&self, ns: u64) {
        self.parts[part(ns)].fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(ns, Relaxed);
    }

    /// Adds a time from the only writing thread: a load and a store instead of a locked addition.
    pub fn note_alone(&self, ns: u64) {
        // A macro of the `metrics` crate costs a tick 41 ns, a load and a store next to none.
        let add = |to: &AtomicU64, n| to.store(to.load(Relaxed) + n, Relaxed);
        add(&self.parts[part(ns)], 1);
        add(&self.sum_ns, ns);
    }

    /// Adds the counts of another histogram.
    pub fn add(&self, other: &Histogram) {
        for (into, from) in self.parts.iter().zip(&other.parts) {
            into.fetch_add(from.load(Relaxed), Relaxed);
        }
        self.sum_ns.fetch_add(other.sum_ns.load(Relaxed), Relaxed);
    }

    /// Returns the number of times up to each bound, then of all.
    pub fn cumulative(&self) -> [u64; BOUNDS_US.len() + 1] {
        let mut sum = 0;
        let counts = self.counts().0;
        let mut buckets = counts.chunks(PARTS);
        std::array::from_fn(|_| {
            sum += buckets.next().map_or(0, |parts| parts.iter().sum());
            sum
        })
    }

    /// Returns the sum of all times, seconds.
    pub fn sum_s(&self) -> f64 {
        self.sum_ns.load(Relaxed) as f64 / 1e9
    }

    /// Returns the present counts.
    pub fn counts(&self) -> TimeCounts {
        TimeCounts(self.parts.each_ref().map(|part| part.load(Relaxed)))
    }
}

impl TimeCounts {
    /// Returns the number of all times.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the counts since an earlier snapshot.
    pub fn since(&self, earlier: &TimeCounts) -> TimeCounts {
        TimeCounts(std::array::from_fn(|i| self.0[i].saturating_sub(earlier.0[i])))
    }

    /// Returns the quantile `share` of all times, microseconds, interpolated linearly within its part of a bucket.
    /// `None` if it lies beyond the last bound, or nothing was counted.
    pub fn quantile_us(&self, share: f64) -> Option<f64> {
        let total = self.total();
        let wanted = share * total as f64;
        let mut before = 0;
        for (i, n) in self.0.iter().take(N_PARTS - 1).enumerate() {
            if *n > 0 && (before + n) as f64 >= wanted {
                let within = (wanted - before as f64) / *n as f64;
                let (from_ns, width_ns) = bucket(i / PARTS);
                let parts = (i % PARTS) as f64 + within;
                return Some((from_ns as f64 + parts * width_ns as f64) / 1e3);
            }
            before += n;
        }
        None
    }
}

/// Returns the lower bound of a bounded bucket, and the width of each of its parts, nanoseconds.
fn bucket(at: usize) -> (u64, u64) {
    let from_ns = if at == 0 { 0 } else { BOUNDS_US[at - 1] * 1000 };
    (from_ns, (BOUNDS_US[at] * 1000 - from_ns) / PARTS as u64)
}

fn part(ns: u64) -> usize {
    let at = BOUNDS_US.partition_point(|bound| bound * 1000 < ns);
    if at == BOUNDS_US.len() {
        return N_PARTS - 1;
    }
    let (from_ns, width_ns) = bucket(at);
    // A bound belongs to the part below it.
    at * PARTS + (ns.saturating_sub(from_ns + 1) / width_ns) as usize
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
    fn a_quantile_lies_in_the_part_that_holds_it() {
        let times = Histogram::default();
        assert_eq!(times.counts().quantile_us(0.5), None);
        (0..99).for_each(|_| times.note(90_000));
        times.note(u64::from(u32::MAX));
        let counts = times.counts();
        for share in [0.01, 0.5, 0.99] {
            let got = counts.quantile_us(share).expect("within the bounds");
            // The bucket from 50 to 100 us has 16 parts.
            assert!((87.5..=90.625).contains(&got), "{got}");
        }
        assert_eq!(counts.quantile_us(1.0), None);
        let twice = Histogram::default();
        twice.add(&times);
        twice.add(&times);
        assert_eq!(twice.cumulative()[15], 200);
        assert_eq!(twice.counts().since(&counts).total(), 100);
    }

    /// Compares with sorted times: a quantile is off by at most one part.
    #[test]
    fn quantiles_are_those_of_sorted_times() {
        let times = Histogram::default();
        let mut all: Vec<u64> = (1..=10_000u64).map(|n| n * n % 10_000_019 + 1).collect();
        all.iter().for_each(|ns| times.note_alone(*ns));
        all.sort_unstable();
        let counts = times.counts();
        for share in [0.01, 0.1, 0.5, 0.9, 0.99, 0.999] {
            let exact = all[(share * all.len() as f64) as usize - 1] as f64 / 1e3;
            let got = counts.quantile_us(share).expect("within the bounds");
            assert!((got - exact).abs() <= 0.1 * exact.max(20.0), "{share}: {got}, not {exact}");
        }
    }
}
