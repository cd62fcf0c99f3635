//! Formats numbers in messages for people.

use std::fmt;

/// Displayed with six significant digits: `0.1` instead of 0.10000000149011612 for an `f32` that became an `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShortNumber(pub f64);

/// Outside this range of powers of ten a number is written with an exponent.
const EXPONENTS_PLAIN: std::ops::RangeInclusive<i32> = -5..=7;
/// Digits after the first.
const DIGITS: usize = 5;

impl fmt::Display for ShortNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded once, by the formatter, and read back: the shortest form of the result is displayed.
        let rounded: f64 = format!("{:.DIGITS$e}", self.0).parse().unwrap_or(self.0);
        let is_plain = rounded == 0.0
            || !rounded.is_finite()
            || EXPONENTS_PLAIN.contains(&(rounded.abs().log10().floor() as i32));
        if is_plain { write!(f, "{rounded}") } else { write!(f, "{rounded:e}") }
    }
}

/// Groups digits: 12345 as 12,345.
pub fn grouped(n: impl Into<u64>) -> String {
    let digits = n.into().to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(|g| std::str::from_utf8(g).expect("digits")).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three() {
        let expected = ["0", "999", "1,000", "1,234,567"].map(str::to_owned);
        assert_eq!([0_u64, 999, 1000, 1_234_567].map(grouped), expected);
    }

    #[test]
    fn six_digits_are_enough() {
        let cases = [
            (0.1, "0.1"),
            (f64::from(0.1_f32), "0.1"),
            (0.1 + 0.2, "0.3"),
            (-1.0 / 3.0, "-0.333333"),
            (1e4, "10000"),
            (123_456.789, "123457"),
            (0.0, "0"),
            (1e-9, "1e-9"),
            (f64::from(f32::MAX), "3.40282e38"),
            (f64::MIN_POSITIVE, "2.22507e-308"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ];
        for (number, expected) in cases {
            assert_eq!(ShortNumber(number).to_string(), expected);
        }
    }
}
