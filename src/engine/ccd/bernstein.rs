//! Polynomials on [0, 1] by their Bernstein coefficients: a polynomial stays in the convex hull of its
//! control points (i / N, c_i).

/// Restricts a polynomial to `t0..t1`, again parametrised on [0, 1] (de Casteljau).
pub(super) fn restrict<const N: usize>(c: &[f64; N], t0: f64, t1: f64) -> [f64; N] {
    debug_assert!(0.0 <= t0 && t0 <= t1 && t1 <= 1.0, "{t0}..{t1}");
    let mut c = *c;
    if t0 > 0.0 {
        for level in 1..N {
            for i in 0..N - level {
                c[i] += t0 * (c[i + 1] - c[i]);
            }
        }
    }
    if t1 < 1.0 {
        // The right end, relative to the part that the left cut has left.
        let s = (t1 - t0) / (1.0 - t0);
        for level in 1..N {
            for i in (level..N).rev() {
                c[i] = c[i - 1] + s * (c[i] - c[i - 1]);
            }
        }
    }
    c
}

/// Earliest parameter in [0, 1] at which a polynomial that begins above `level` may come down to it: the crossing of
/// the lower hull's first edge. `None` if it stays above.
pub(super) fn earliest<const N: usize>(c: &[f64; N], level: f64) -> Option<f64> {
    debug_assert!(c[0] >= level, "{c:?} begins below {level}");
    let high = c[0] - level;
    // Slope of the hull's first edge and not of the polynomial: the polynomial may turn, the bound of its hull holds.
    let mut slope = 0.0_f64;
    for (i, x) in c.iter().enumerate().skip(1) {
        slope = slope.max((c[0] - x) * ((N - 1) as f64 / i as f64));
    }
    (high <= slope).then(|| high / slope)
}

/// Reverses the parameter of the polynomial.
pub(super) fn reversed<const N: usize>(c: &[f64; N]) -> [f64; N] {
    std::array::from_fn(|i| c[N - 1 - i])
}

/// Largest absolute coefficient.
pub(super) fn largest<const N: usize>(c: &[f64; N]) -> f64 {
    c.iter().fold(0.0, |most, x| most.max(x.abs()))
}
