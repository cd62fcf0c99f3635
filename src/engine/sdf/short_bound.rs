//! Bounds in two bytes.

use serde::{Deserialize, Serialize};

/// A number that is not negative: the upper half of an `f32`, so that it is off by 1/128 at most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ShortBound(u16);

impl ShortBound {
    /// Number of bits in use.
    pub(super) const BITS: u32 = 15;

    /// Least representable number that is `x` or more.
    pub(super) fn above(x: f64) -> ShortBound {
        debug_assert!(x >= 0.0 && x < f64::from(f32::MAX), "{x}");
        let single = x as f32;
        let above = if f64::from(single) < x { single.next_up() } else { single };
        ShortBound(above.to_bits().div_ceil(1 << 16) as u16)
    }

    /// Greatest representable number that is `x` or less.
    pub(super) fn below(x: f64) -> ShortBound {
        debug_assert!(x >= 0.0 && x.is_finite(), "{x}");
        let single = x as f32;
        let below = if f64::from(single) > x { single.next_down() } else { single };
        ShortBound((below.to_bits() >> 16) as u16)
    }

    pub(super) fn value(self) -> f64 {
        f64::from(f32::from_bits(u32::from(self.0) << 16))
    }

    pub(super) fn to_bits(self) -> u32 {
        u32::from(self.0)
    }

    /// Decodes the lowest [`Self::BITS`].
    pub(super) fn from_bits(bits: u32) -> ShortBound {
        ShortBound(bits as u16 & ((1 << ShortBound::BITS) - 1))
    }

    pub(super) fn is_well_formed(self) -> bool {
        ShortBound::from_bits(self.to_bits()) == self && self.value().is_finite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Random;

    #[test]
    fn bounds_hold_and_are_near() {
        let mut random = Random::new(3);
        for _ in 0..100_000 {
            let x = 10f64.powf(random.range(-30.0, 20.0));
            let [below, above] = [ShortBound::below(x), ShortBound::above(x)];
            assert!(below.value() <= x && x <= above.value(), "{x}");
            assert!(above.value() - below.value() <= x / 127.0, "{x}");
            for bound in [below, above] {
                assert_eq!(ShortBound::from_bits(bound.to_bits()), bound, "{x}");
                assert_eq!(ShortBound::above(bound.value()), bound, "{x}");
                assert_eq!(ShortBound::below(bound.value()), bound, "{x}");
                assert!(bound.is_well_formed());
            }
        }
        assert_eq!(
            [ShortBound::below(0.0), ShortBound::above(0.0)].map(ShortBound::value),
            [0.0; 2]
        );
    }
}
