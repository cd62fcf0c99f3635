//! Two contestants by turns on the same work.

use std::{fmt, time::Instant};

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Numbers to rely on.
    Full,
    /// Only to see that it runs.
    Smoke,
}

impl Effort {
    /// The first, or much less.
    pub fn of(self, full: usize, smoke: usize) -> usize {
        match self {
            Effort::Full => full,
            Effort::Smoke => smoke,
        }
    }
}

/// Median and range over rounds, microseconds for one item.
pub struct Times {
    pub p50: f64,
    pub min: f64,
    pub max: f64,
}

impl Times {
    fn of(mut rounds: Vec<f64>) -> Times {
        rounds.sort_by(f64::total_cmp);
        Times { p50: rounds[rounds.len() / 2], min: rounds[0], max: rounds[rounds.len() - 1] }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4} [{:.4}..{:.4}]", self.p50, self.min, self.max)
    }
}

/// Times A and B alternately after one round of each that does not count; each goes through `items` items.
pub fn by_turns(
    effort: Effort,
    items: usize,
    mut a: impl FnMut(),
    mut b: impl FnMut(),
) -> (Times, Times) {
    let (mut a_us, mut b_us) = (Vec::new(), Vec::new());
    a();
    b();
    for _ in 0..effort.of(15, 3) {
        a_us.push(us_for_each(items, &mut a));
        b_us.push(us_for_each(items, &mut b));
    }
    (Times::of(a_us), Times::of(b_us))
}

fn us_for_each(items: usize, work: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e6 / items as f64
}
