//! Repeatable random tests: the seed is printed when one fails.

use std::env;

use palpate::oracle::Random;

/// Scale from which a run is a full one.
const FULL: f64 = 20.0;

/// Seed of a running test; printed if the test fails.
pub struct Seed(u64);

impl Seed {
    /// Returns `PALPATE_SEED`, or the test's own seed.
    pub fn or(own: u64) -> Seed {
        Seed(read("PALPATE_SEED").map_or(own, |s| s as u64))
    }

    /// The seed as a number.
    pub fn number(&self) -> u64 {
        self.0
    }

    /// Returns a separate generator for each part of a test.
    pub fn random(&self, part: u64) -> Random {
        Random::new(self.0 ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("run again with PALPATE_SEED={}", self.0);
        }
    }
}

/// Returns `n` times `PALPATE_TEST_SCALE`; at least one.
pub fn scaled(n: usize) -> usize {
    ((n as f64 * read("PALPATE_TEST_SCALE").unwrap_or(1.0)) as usize).max(1)
}

/// Returns true if tests run at full length, on a machine of their own: only then do times count.
pub fn is_full() -> bool {
    read("PALPATE_TEST_SCALE").is_some_and(|scale| scale >= FULL)
}

/// Prints a figure of a test, and checks it against its limit in a full run.
pub fn figure(name: &str, got: f64, limit: f64, unit: &str) {
    println!("{name}: {got:.1} {unit} (limit {limit} {unit})");
    assert!(!is_full() || got <= limit, "{name} is {got} {unit}, expected at most {limit}");
}

/// Prints a figure that depends on the machine as much as on the server, with its target.
pub fn against(name: &str, got: f64, target: f64, unit: &str) {
    println!("{name}: {got:.1} {unit} (target {target} {unit})");
}

fn read(variable: &str) -> Option<f64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is {text:?}, expected a number")))
}
