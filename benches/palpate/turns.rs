//! Contestants by turns on the same work.

use std::time::Instant;

/// Length of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Reliable numbers.
    Full,
    /// Only a check that it runs, on generated meshes, with unchanged answers.
    Smoke,
}

impl Effort {
    /// Returns `full`, or the much smaller `smoke`.
    pub fn of<T>(self, full: T, smoke: T) -> T {
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
    pub fn of(mut rounds: Vec<f64>) -> Times {
        rounds.sort_by(f64::total_cmp);
        Times { p50: rounds[rounds.len() / 2], min: rounds[0], max: rounds[rounds.len() - 1] }
    }
}

/// Times all contestants by turns after one untimed round of each; each processes `items` items.
pub fn by_turns<const N: usize>(
    effort: Effort,
    items: usize,
    mut contestants: [&mut dyn FnMut(); N],
) -> [Times; N] {
    let mut us = [(); N].map(|()| Vec::new());
    for contestant in &mut contestants {
        contestant();
    }
    for _ in 0..effort.of(15, 3) {
        for (contestant, us) in contestants.iter_mut().zip(&mut us) {
            us.push(us_for_each(items, contestant));
        }
    }
    us.map(Times::of)
}

fn us_for_each(items: usize, work: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e6 / items as f64
}
