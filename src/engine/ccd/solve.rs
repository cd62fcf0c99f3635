//! First time of contact by subdivision, never later than the true one (1.6.3).
//!
//! Differences from plain halving: an interval is first cut down to the part in which the hulls of the control points
//! allow a contact, which converges quadratically at a plain crossing; every restriction is computed from the original
//! coefficients, so rounding does not grow with depth; and separating directions, instead of boxes alone, decide the
//! intervals that the polynomials leave open.

use super::{
    bernstein::{earliest, restrict, reversed},
    coplanarity::Coplanarity,
    noncollinear::Outsides,
    separation::Separation,
    step_budget::StepBudget,
};
use crate::geometry::tolerance::{ADVANCE_MIN, SHORT_INTERVAL, THICK_ADVANCE_MIN, TIME_ROUNDING};

/// Only intervals longer than [`SHORT_INTERVAL`] are halved, so that no more than 18 wait.
const WAITING_MAX: usize = 20;
/// A cut that leaves more than this share of an interval is followed by a halving.
const SLOW_CUT: f64 = 0.6;
/// The first time at which features without thickness may touch.
pub(super) struct Solver<'a> {
    plane: &'a Coplanarity,
    plane_error: f64,
    outsides: &'a Outsides,
    outside_errors: [f64; 3],
    separation: &'a Separation<'a>,
}

impl<'a> Solver<'a> {
    pub fn new(
        plane: &'a Coplanarity,
        outsides: &'a Outsides,
        separation: &'a Separation,
    ) -> Solver<'a> {
        Solver {
            plane,
            plane_error: plane.restricted_error(),
            outsides,
            outside_errors: std::array::from_fn(|j| outsides.restricted_error(j)),
            separation,
        }
    }

    /// Returns `None` if the features do not touch.
    pub fn first_touch(&self, budget: &mut StepBudget) -> Option<f64> {
        // The cubic is never solved: it has no root if all points move in one plane.
        let mut waiting = [(0.0, 0.0); WAITING_MAX];
        waiting[0] = (0.0, 1.0);
        let mut n = 1;
        // The earliest interval is on top.
        for n_looked_at in 0.. {
            if n == 0 {
                return None;
            }
            if !budget.take_interval(n_looked_at) {
                break;
            }
            n -= 1;
            let (from, to) = waiting[n];
            debug_assert!(0.0 <= from && from <= to && to <= 1.0, "{from}..{to}");
            let Some((mut t0, mut t1)) = self.near_plane(from, to) else { continue };
            // The polynomials alone cut a plain crossing to a point; a direction is computed only if they made little
            // progress, as it costs a closest point. Their progress is small if the points may be in one plane at
            // `from`, or come together in one point.
            let is_slow = t0 == from || t1 - t0 > SLOW_CUT * (to - from);
            if is_slow || t1 - t0 <= SHORT_INTERVAL {
                let until = self.separation.until(t0);
                if until >= t1 {
                    continue;
                }
                if until - t0 <= ADVANCE_MIN {
                    return Some(t0);
                }
                t0 = until;
            }
            // The quartics cost more, so they are evaluated only if the cubic leaves much of the interval.
            if t1 - t0 > SHORT_INTERVAL && t1 - t0 > SLOW_CUT * (to - from) {
                let Some(part) = self.not_outside(t0, t1) else { continue };
                (t0, t1) = part;
            }
            debug_assert!(n + 2 <= WAITING_MAX, "{n} intervals wait");
            if t1 - t0 <= SHORT_INTERVAL.max(SLOW_CUT * (to - from)) {
                waiting[n] = (t0, t1);
                n += 1;
            } else {
                let middle = 0.5 * (t0 + t1);
                waiting[n] = (middle, t1);
                waiting[n + 1] = (t0, middle);
                n += 2;
            }
        }
        // Out of intervals: the rest counts as contact at its earliest time, which is never too late.
        Some(waiting[n - 1].0)
    }

    /// Cuts an interval down to the part in which the four points may be in one plane.
    fn near_plane(&self, from: f64, to: f64) -> Option<(f64, f64)> {
        // Restricted from the original coefficients each time, so that errors do not grow with depth.
        let d = restrict(&self.plane.d, from, to);
        let toward = |d: [f64; 4]| match d[0] {
            x if x > self.plane_error => earliest(&d, self.plane_error),
            x if x < -self.plane_error => earliest(&d.map(|x| -x), self.plane_error),
            _ => Some(0.0),
        };
        let (first, last) = (toward(d)?, 1.0 - toward(reversed(&d))?);
        cut(from, to, first, last)
    }

    /// Cuts an interval down to the part in which neither feature is outside the other.
    fn not_outside(&self, from: f64, to: f64) -> Option<(f64, f64)> {
        let (mut t0, mut t1) = (from, to);
        for (k, error) in self.outsides.k.iter().zip(self.outside_errors) {
            let k = restrict(k, from, to);
            let first = if k[0] > error { earliest(&k, error)? } else { 0.0 };
            let last = if k[4] > error { 1.0 - earliest(&reversed(&k), error)? } else { 1.0 };
            let (k0, k1) = cut(from, to, first, last)?;
            t0 = t0.max(k0);
            t1 = t1.min(k1);
        }
        (t0 <= t1).then_some((t0, t1))
    }
}

/// The part `first..last` of an interval, rounded outwards; `None` when it is empty.
fn cut(from: f64, to: f64, first: f64, last: f64) -> Option<(f64, f64)> {
    debug_assert!(from <= to, "{from}..{to}");
    let at = |s: f64| from + (to - from) * s;
    let t0 = if first > 0.0 { (at(first) - TIME_ROUNDING).max(from) } else { from };
    let t1 = if last < 1.0 { (at(last) + TIME_ROUNDING).min(to) } else { to };
    (t0 <= t1).then_some((t0, t1))
}

/// First time at which the features may be within the thickness of `separation`, by advancement along separating
/// directions.
pub(super) fn first_within(separation: &Separation, budget: &mut StepBudget) -> Option<f64> {
    let mut t = 0.0;
    let mut n_advances = 0;
    while budget.take_advance(n_advances) {
        n_advances += 1;
        let until = separation.until(t);
        if until >= 1.0 {
            return None;
        }
        debug_assert!(t <= until, "time goes back from {t} to {until}");
        if until - t <= THICK_ADVANCE_MIN {
            return Some(t);
        }
        t = until;
    }
    Some(t)
}
