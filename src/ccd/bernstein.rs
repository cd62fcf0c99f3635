//! Polynomials on [0, 1] by their Bernstein coefficients: a polynomial stays in the convex hull of its
//! control points (i / N, c_i).

/// Lerps of one restriction are off by at most 3 U of the largest coefficient each, 2 N of them in a row, and
/// the right end by 3 U, which moves the value by 6 N U: 12 N U in all, taken as 16 N.
pub(super) const RESTRICTION_ROUNDINGS: f64 = 16.0;

/// The same polynomial over `t0..t1`, again on [0, 1] (de Casteljau).
pub(super) fn restrict<const N: usize>(c: &[f64; N], t0: f64, t1: f64) -> [f64; N] {
    let mut c = *c;
    if t0 > 0.0 {
        for level in 1..N {
            for i in 0..N - level {
                c[i] = (1.0 - t0) * c[i] + t0 * c[i + 1];
            }
        }
    }
    if t1 < 1.0 {
        let s = (t1 - t0) / (1.0 - t0);
        for level in 1..N {
            for i in (level..N).rev() {
                c[i] = (1.0 - s) * c[i - 1] + s * c[i];
            }
        }
    }
    c
}

/// The part of [0, 1] outside which the control polygon's hull is above `level`; `None` when all is above.
pub(super) fn not_above<const N: usize>(c: &[f64; N], level: f64) -> Option<(f64, f64)> {
    if !c.iter().any(|x| *x <= level) {
        return None;
    }
    let (mut first, mut last) = (0.0, 1.0);
    if c[0] > level {
        first = crossing(c.iter().copied(), level);
    }
    if c[N - 1] > level {
        last = 1.0 - crossing(c.iter().rev().copied(), level);
    }
    Some((first, last))
}

/// Where the lower hull of points that begin above `level` first comes down to it.
fn crossing(c: impl ExactSizeIterator<Item = f64> + Clone, level: f64) -> f64 {
    let step = 1.0 / (c.len() - 1) as f64;
    let mut first = 1.0_f64;
    for (i, high) in c.clone().enumerate() {
        if high <= level {
            continue;
        }
        for (j, low) in c.clone().enumerate().skip(i + 1) {
            if low <= level {
                let at = i as f64 + (j - i) as f64 * ((high - level) / (high - low));
                first = first.min(at * step);
            }
        }
    }
    first
}

/// The largest |coefficient|.
pub(super) fn largest<const N: usize>(c: &[f64; N]) -> f64 {
    c.iter().fold(0.0, |most, x| most.max(x.abs()))
}
