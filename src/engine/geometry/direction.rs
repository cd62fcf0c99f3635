//! Unit vectors along given vectors.

use glam::DVec3;

/// Unit vector along `of`; `None` if `of` is so short, below 1.5e-154, that its square has lost its last bits.
pub fn direction(of: DVec3) -> Option<DVec3> {
    // Compared with the least normal number and not with 0: below it the square is rounded to few bits, and the
    // quotient is no unit vector.
    (of.length_squared() >= f64::MIN_POSITIVE).then(|| of.normalize())
}

/// Least and greatest projection of a triangle on a direction.
#[inline(always)]
pub fn span_along([a, b, c]: &[DVec3; 3], along: DVec3) -> [f64; 2] {
    let (a, b, c) = (a.dot(along), b.dot(along), c.dot(along));
    [a.min(b).min(c), a.max(b).max(c)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_unit_or_nothing() {
        for exponent in -330..=30 {
            let of = DVec3::new(-1.0, 0.3, 2.0) * 10f64.powi(exponent);
            let found = direction(of);
            assert_eq!(found.is_some(), exponent >= -154, "{of}");
            let is_unit = |d: DVec3| (d.length() - 1.0).abs() < 1e-15;
            assert!(found.is_none_or(is_unit), "{found:?} along {of}");
        }
    }
}
