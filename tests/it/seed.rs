//! Random tests that can be run again: the seed is printed when one fails.

use std::env;

use palpate::oracle::Random;

/// From this scale on a run is a full one.
const FULL: f64 = 20.0;

/// The seed of a test under way; says so when the test fails.
pub struct Seed(u64);

impl Seed {
    /// `PALPATE_SEED`, or the test's own.
    pub fn or(own: u64) -> Seed {
        Seed(read("PALPATE_SEED").map_or(own, |s| s as u64))
    }

    /// As it is.
    pub fn number(&self) -> u64 {
        self.0
    }

    /// A generator of its own for each part of a test.
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

/// So many, times `PALPATE_TEST_SCALE`; at least one.
pub fn scaled(n: usize) -> usize {
    ((n as f64 * read("PALPATE_TEST_SCALE").unwrap_or(1.0)) as usize).max(1)
}

/// Whether tests run at full length, on a machine that is theirs: then times count.
pub fn is_full() -> bool {
    read("PALPATE_TEST_SCALE").is_some_and(|scale| scale >= FULL)
}

/// A figure of a test: printed, and held to its limit when the run is a full one.
pub fn figure(name: &str, got: f64, limit: f64, unit: &str) {
    println!("{name}: {got:.1} {unit} (limit {limit} {unit})");
    assert!(!is_full() || got <= limit, "{name} is {got} {unit}, expected at most {limit}");
}

/// A figure that says as much of the machine as of the server: printed beside its target.
pub fn against(name: &str, got: f64, target: f64, unit: &str) {
    println!("{name}: {got:.1} {unit} (target {target} {unit})");
}

fn read(variable: &str) -> Option<f64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is {text:?}, expected a number")))
}
