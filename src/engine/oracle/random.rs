//! A small deterministic generator: equal seeds give equal numbers on every machine.
//!
//! SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

use std::f64::consts::TAU;

use glam::{DQuat, DVec3};

/// A stream of numbers determined by its seed. Not for secrets.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Starts a stream. Streams of different seeds are unrelated.
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// Uniform over all values.
    pub fn u64(&mut self) -> u64 {
        // Not a crate's generator: its stream may change with a version, and recorded seeds would then be useless.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    pub fn f64(&mut self) -> f64 {
        // 53 bits, the most that an f64 in [0, 1) can hold evenly.
        (self.u64() >> 11) as f64 * 2f64.powi(-53)
    }

    /// Uniform in [low, high).
    pub fn range(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.f64()
    }

    /// Uniform in 0..n (biased by less than n / 2^64).
    ///
    /// # Panics
    /// Panics if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "nothing to choose from");
        // Lemire's multiplication without its rejection: the bias is far below what a test can see.
        ((u128::from(self.u64()) * n as u128) >> 64) as usize
    }

    /// Uniform on the unit sphere.
    pub fn unit_vector(&mut self) -> DVec3 {
        // Archimedes: equal heights of a sphere have equal areas.
        let z = self.range(-1.0, 1.0);
        let (sin, cos) = self.range(0.0, TAU).sin_cos();
        let r = (1.0 - z * z).max(0.0).sqrt();
        DVec3::new(r * cos, r * sin, z)
    }

    /// Uniform in the box between two corners.
    pub fn point(&mut self, min: DVec3, max: DVec3) -> DVec3 {
        let t = DVec3::new(self.f64(), self.f64(), self.f64());
        min + (max - min) * t
    }

    /// Uniform over all rotations (Shoemake 1992).
    pub fn rotation(&mut self) -> DQuat {
        let u = self.f64();
        let (s0, c0) = self.range(0.0, TAU).sin_cos();
        let (s1, c1) = self.range(0.0, TAU).sin_cos();
        let (a, b) = ((1.0 - u).sqrt(), u.sqrt());
        DQuat::from_xyzw(a * s0, a * c0, b * s1, b * c1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_stream_and_ranges() {
        // The reference implementation's first value for seed 0.
        assert_eq!(Random::new(0).u64(), 0xe220_a839_7b1d_cdaf);
        let mut random = Random::new(7);
        let mut mean = DVec3::ZERO;
        for _ in 0..4000 {
            assert!((2.0..3.0).contains(&random.range(2.0, 3.0)));
            assert!(random.below(5) < 5);
            let v = random.unit_vector();
            assert!((v.length() - 1.0).abs() < 1e-12);
            assert!((random.rotation().length() - 1.0).abs() < 1e-12);
            mean += v / 4000.0;
        }
        // Three standard deviations of the mean of 4000 unit vectors.
        assert!(mean.length() < 3.0 / 4000f64.sqrt());
    }
}
