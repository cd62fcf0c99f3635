//! Rational numbers of any length, read as the nearest `f64`.

/// The `f64` nearest to a quotient of two decimal integers, ties to even, and true if it is that number exactly. `None`
/// if one is no integer, or the denominator is not positive. Beyond the normal range it is not exact.
pub fn nearest_f64(numerator: &str, denominator: &str) -> Option<(f64, bool)> {
    let (negative, digits) = match numerator.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, numerator),
    };
    let (mut n, mut d) = (Natural::parse(digits)?, Natural::parse(denominator)?);
    if d.is_zero() {
        return None;
    }
    if n.is_zero() {
        return Some((0.0, true));
    }
    // A quotient in [2^54, 2^56): at least two bits more than a significand has. Long division in whole numbers, so
    // that nothing is rounded before the end.
    let shift = 55 + d.bits() as i64 - n.bits() as i64;
    if shift >= 0 {
        n.shift_left(shift as usize)
    } else {
        d.shift_left(-shift as usize)
    };
    let (quotient, exact) = n.divide(d);
    // A remainder makes the last bit odd, so that a tie is none.
    let sticky = quotient | u64::from(!exact);
    let rounded = sticky as f64;
    // Clamped, as 2^-2000 is 0 and 2^2000 is infinite in any case.
    let value = rounded * 2f64.powi(-(shift as i32).clamp(-2000, 2000));
    let exact = exact && rounded as u64 == quotient && value.is_normal();
    Some((if negative { -value } else { value }, exact))
}

/// Little-endian, without zeros at the end.
#[derive(Clone, PartialEq, Eq)]
struct Natural(Vec<u32>);

impl Natural {
    fn parse(digits: &str) -> Option<Natural> {
        if digits.is_empty() {
            return None;
        }
        let mut n = Natural(Vec::new());
        for c in digits.chars() {
            let mut carry = u64::from(c.to_digit(10)?);
            for limb in &mut n.0 {
                carry += u64::from(*limb) * 10;
                *limb = carry as u32;
                carry >>= 32;
            }
            if carry > 0 {
                n.0.push(carry as u32);
            }
        }
        Some(n)
    }

    fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    fn bits(&self) -> usize {
        self.0.last().map_or(0, |top| 32 * self.0.len() - top.leading_zeros() as usize)
    }

    fn shift_left(&mut self, bits: usize) {
        let mut carry = 0;
        for limb in &mut self.0 {
            let wide = u64::from(*limb) << (bits % 32) | carry;
            *limb = wide as u32;
            carry = wide >> 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
        self.0.splice(0..0, std::iter::repeat_n(0, bits / 32));
    }

    /// Returns the quotient, less than 2^56, and true if the remainder is zero.
    fn divide(mut self, divisor: Natural) -> (u64, bool) {
        let mut quotient = 0;
        // The shift has put the quotient below 2^56, so no higher bit is left to try.
        for bit in (0..56).rev() {
            let mut part = divisor.clone();
            part.shift_left(bit);
            if !self.is_less(&part) {
                self.subtract(&part);
                quotient |= 1 << bit;
            }
        }
        (quotient, self.is_zero())
    }

    fn is_less(&self, other: &Natural) -> bool {
        let by_length = self.0.len().cmp(&other.0.len());
        by_length.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev())).is_lt()
    }

    fn subtract(&mut self, other: &Natural) {
        let mut borrow = 0;
        for (i, limb) in self.0.iter_mut().enumerate() {
            let less = i64::from(*limb) - i64::from(other.0.get(i).copied().unwrap_or(0)) - borrow;
            *limb = less as u32;
            borrow = i64::from(less < 0);
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Random;

    #[test]
    fn quotients_of_long_numbers() {
        let read = |n: &str, d: &str| nearest_f64(n, d).expect("a number");
        assert_eq!(read("3656043714753847", "2251799813685248"), (1.6236095644623236, true));
        assert_eq!(read("-1", "3"), (-1.0 / 3.0, false));
        assert_eq!(read("0", "7"), (0.0, true));
        assert_eq!(read("9007199254740993", "1"), (9007199254740992.0, false));
        let thousand_digits = format!("1{}", "0".repeat(1000));
        assert_eq!(read(&thousand_digits, &thousand_digits), (1.0, true));
        assert!(nearest_f64("1", "0").is_none() && nearest_f64("", "1").is_none());
        assert!(nearest_f64("1", "-2").is_none() && nearest_f64("1e3", "1").is_none());
    }

    #[test]
    fn every_f64_comes_back() {
        let mut random = Random::new(64);
        for _ in 0..2000 {
            let x = random.range(-1.0, 1.0);
            let (significand, shift) = ((x * 2f64.powi(100)) as i128, 1u128 << 100);
            assert_eq!(nearest_f64(&significand.to_string(), &shift.to_string()), Some((x, true)));
        }
    }
}
