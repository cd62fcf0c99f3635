//! The feasible displacement of least spring energy: a strictly convex quadratic programme in a few coordinates.
//!
//! ```text
//! min 1/2 (x - x_d)' K (x - x_d)   subject to   J x + g >= 0,   K diagonal
//! ```
//! Goldfarb and Idnani, "A numerically stable dual method for solving strictly convex quadratic programs", Mathematical
//! Programming 27, 1983: starting at the unconstrained minimum, violated rows enter one after the other, and rows whose
//! multiplier would turn negative leave. The method is exact and ends after finitely many rows. Differences here: with
//! y = sqrt(K) x the Hessian is one, so that their matrix J is orthogonal and is kept as such; rows are scaled to
//! length one; and if the rows contradict each other, one more coordinate that loosens them all at a stiff price gives
//! the least violation.

use crate::geometry::tolerance::{DEPENDENT_SINE_SQUARED, ROW_SATISFIED_M};

/// Maximum coordinates: three of the hold point, three of the turn, and one for each moving link.
pub const COORDINATES_MAX: usize = 14;
/// Maximum rows of one programme.
pub const ROWS_MAX: usize = 64;
/// The coordinates, and the one that loosens the rows.
const N: usize = COORDINATES_MAX + 1;
/// Maximum rows that enter or leave before the rows count as contradictory. Each row enters twice at most in practice;
/// the limit only ends a cycle that rounding made.
const CHANGES_MAX: usize = 8 * ROWS_MAX;
/// Stiffness of the loosening as a multiple of the stiffest coordinate's: contradictory rows are violated by a
/// hundredth more than necessary, and forces stay those of a stiff spring.
const LOOSENING_STIFFNESS: f64 = 100.0;

/// A displacement: metres of the hold point, radians of the turn, metres of each link.
pub type Displacement = [f64; COORDINATES_MAX];

/// Half space in which the displacement has to stay: `jacobian . x + gap >= 0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstraintRow {
    /// Metres of gap for each unit of a coordinate.
    pub jacobian: Displacement,
    /// Gap at zero displacement, metres; negative if violated.
    pub gap: f64,
}

/// A programme to be minimised.
#[derive(Clone, Copy, Debug)]
pub struct Programme<'a> {
    /// Number of coordinates, 1 to [`COORDINATES_MAX`].
    pub n: usize,
    /// Diagonal of K: N/m or N m/rad, above 0.
    pub stiffness: Displacement,
    /// Desired displacement x_d.
    pub desired: Displacement,
    /// Constraints, at most [`ROWS_MAX`].
    pub rows: &'a [ConstraintRow],
}

/// Minimum of a programme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Optimum {
    /// Displacement x.
    pub displacement: Displacement,
    /// Multiplier of each row, newtons, >= 0: K (x - x_d) is the sum of multiplier times jacobian.
    pub multipliers: [f64; ROWS_MAX],
    /// Residual: 0 if all rows hold; else no displacement violates the rows by less than about this, metres.
    pub residual_m: f64,
}

impl Programme<'_> {
    /// Returns the minimum. `likely`: indices of rows that are likely active; they change the work, not the result.
    pub fn solve(&self, likely: &[usize]) -> Optimum {
        debug_assert!((1..=COORDINATES_MAX).contains(&self.n) && self.rows.len() <= ROWS_MAX);
        debug_assert!(self.stiffness[..self.n].iter().all(|k| *k > 0.0), "{:?}", self.stiffness);
        debug_assert!(self.desired[..self.n].iter().all(|x| x.is_finite()), "{:?}", self.desired);
        self.attempt(None, likely).unwrap_or_else(|| self.solve_loosened(likely))
    }

    /// Returns the minimum with the least violation of rows that contradict each other, or nearly do.
    pub fn solve_loosened(&self, likely: &[usize]) -> Optimum {
        let stiffest = self.stiffness[..self.n].iter().fold(0.0, |m: f64, k| m.max(*k));
        let loosened = self.attempt(Some(LOOSENING_STIFFNESS * stiffest), likely);
        loosened.unwrap_or_else(|| self.standing_still())
    }

    /// Returns the minimum over the coordinates and, with a price, the loosening; `None` if the rows contradict each
    /// other.
    fn attempt(&self, loosening: Option<f64>, likely: &[usize]) -> Option<Optimum> {
        let n = self.n + usize::from(loosening.is_some());
        let mut root = [0.0; N];
        for (r, k) in root.iter_mut().zip(&self.stiffness[..self.n]) {
            *r = k.sqrt();
        }
        root[self.n] = loosening.unwrap_or(1.0).sqrt();
        let mut rows = [ScaledRow::EMPTY; ROWS_MAX];
        for (scaled, row) in rows.iter_mut().zip(self.rows) {
            *scaled = ScaledRow::of(row, self.n, &root, loosening.is_some());
        }
        let mut y = [0.0; N];
        for i in 0..self.n {
            y[i] = self.desired[i] * root[i];
        }
        let mut search = DualActiveSet::at(n, y);
        search.run(&rows[..self.rows.len()], likely).then(|| {
            let mut optimum = Optimum {
                displacement: [0.0; COORDINATES_MAX],
                multipliers: [0.0; ROWS_MAX],
                residual_m: loosening.map_or(0.0, |_| search.y[self.n] / root[self.n]),
            };
            let unscaled = search.y.iter().zip(&root).map(|(y, root)| y / root);
            for (x, unscaled) in optimum.displacement[..self.n].iter_mut().zip(unscaled) {
                *x = unscaled;
            }
            for (row, u) in search.active[..search.q].iter().zip(&search.u) {
                optimum.multipliers[*row] = u / rows[*row].length;
            }
            optimum
        })
    }

    /// Returns no motion, with its violation, if even loosened rows end in a cycle.
    fn standing_still(&self) -> Optimum {
        let residual_m = self.rows.iter().fold(0.0, |most: f64, r| most.max(-r.gap));
        Optimum { displacement: [0.0; COORDINATES_MAX], multipliers: [0.0; ROWS_MAX], residual_m }
    }
}

/// A row over y, of length one: `normal . y >= bound`.
#[derive(Clone, Copy)]
struct ScaledRow {
    normal: [f64; N],
    bound: f64,
    /// Length before scaling, metres of gap for each unit of y.
    length: f64,
}

impl ScaledRow {
    const EMPTY: ScaledRow = ScaledRow { normal: [0.0; N], bound: 0.0, length: 0.0 };

    fn of(row: &ConstraintRow, n: usize, root: &[f64; N], is_loosened: bool) -> ScaledRow {
        let mut normal = [0.0; N];
        for i in 0..n {
            normal[i] = row.jacobian[i] / root[i];
        }
        if is_loosened {
            normal[n] = 1.0 / root[n];
        }
        let length = dot(&normal, &normal, N).sqrt();
        // A row that no coordinate moves has no direction; the search leaves it out.
        let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
        ScaledRow { normal: normal.map(|x| x * scale), bound: -row.gap * scale, length }
    }

    /// Violation, metres; negative if the row holds.
    fn violation(&self, y: &[f64; N], n: usize) -> f64 {
        (self.bound - dot(&self.normal, y, n)) * self.length
    }
}

/// State of the search: a point that is the minimum over its active rows, with their multipliers.
struct DualActiveSet {
    n: usize,
    y: [f64; N],
    /// Rows that hold with equality, and their number.
    active: [usize; N],
    q: usize,
    /// Multipliers of the active rows, and of the row that enters.
    u: [f64; N],
    /// Orthogonal, by columns: the first q span the active normals.
    basis: [[f64; N]; N],
    /// Upper triangular, by columns: active normals in the basis.
    r: [[f64; N]; N],
}

impl DualActiveSet {
    fn at(n: usize, y: [f64; N]) -> DualActiveSet {
        let mut basis = [[0.0; N]; N];
        for (i, column) in basis.iter_mut().enumerate() {
            column[i] = 1.0;
        }
        DualActiveSet { n, y, active: [0; N], q: 0, u: [0.0; N], basis, r: [[0.0; N]; N] }
    }

    /// Returns false if the rows contradict each other.
    fn run(&mut self, rows: &[ScaledRow], likely: &[usize]) -> bool {
        let mut changes_left = CHANGES_MAX;
        while let Some(p) = self.most_violated(rows, likely) {
            if !self.take_in(rows, p, &mut changes_left) {
                return false;
            }
        }
        true
    }

    /// Step 1 of the method: any violated row will do; likely rows first, then the most violated.
    fn most_violated(&self, rows: &[ScaledRow], likely: &[usize]) -> Option<usize> {
        let worst = |of: &mut dyn Iterator<Item = usize>| {
            let each = of.filter(|p| *p < rows.len() && rows[*p].length > 0.0);
            let violations = each.map(|p| (rows[p].violation(&self.y, self.n), p));
            violations.filter(|(v, _)| *v > ROW_SATISFIED_M).max_by(|a, b| a.0.total_cmp(&b.0))
        };
        let first = worst(&mut likely.iter().copied());
        first.or_else(|| worst(&mut (0..rows.len()))).map(|(_, p)| p)
    }

    /// Step 2: makes row `p` hold, and drops rows whose multiplier turns negative on the way.
    fn take_in(&mut self, rows: &[ScaledRow], p: usize, changes_left: &mut usize) -> bool {
        let row = &rows[p];
        let mut multiplier = 0.0;
        loop {
            if *changes_left == 0 {
                return false;
            }
            *changes_left -= 1;
            let d: [f64; N] = std::array::from_fn(|j| {
                if j < self.n { dot(&self.basis[j], &row.normal, self.n) } else { 0.0 }
            });
            let dual = self.dual_direction(&d);
            // (2a) z: the part of the normal that is orthogonal to the active ones; its square is what the row gains.
            let gain = d[self.q..self.n].iter().map(|d| d * d).sum::<f64>();
            // (2b) t1: until the first multiplier is 0. t2: until the row holds.
            let leaving = (0..self.q)
                .filter(|j| dual[*j] > 0.0)
                .map(|j| (self.u[j] / dual[j], j))
                .min_by(|a, b| a.0.total_cmp(&b.0));
            let missing = row.bound - dot(&row.normal, &self.y, self.n);
            let is_dependent = gain <= DEPENDENT_SINE_SQUARED || self.q == self.n;
            let full = if is_dependent { f64::INFINITY } else { missing / gain };
            let partial = leaving.map_or(f64::INFINITY, |(t, _)| t);
            let step = full.min(partial).max(0.0);
            if step == f64::INFINITY {
                return false;
            }
            // (2c) the step in the multipliers, and in y unless the row is a sum of the active ones.
            for (u, r) in self.u[..self.q].iter_mut().zip(&dual) {
                *u = (*u - step * r).max(0.0);
            }
            multiplier += step;
            if !is_dependent {
                let along = d[..self.n].iter().zip(&self.basis).skip(self.q);
                for (d, direction) in along {
                    for (y, b) in self.y[..self.n].iter_mut().zip(direction) {
                        *y += step * d * b;
                    }
                }
            }
            match leaving {
                Some((_, j)) if partial < full => self.drop_row(j),
                _ => {
                    self.add_row(p, multiplier, d);
                    return true;
                }
            }
        }
    }

    /// r of step 2a: R r = d over the active rows.
    fn dual_direction(&self, d: &[f64; N]) -> [f64; N] {
        let mut r = [0.0; N];
        for i in (0..self.q).rev() {
            let rest: f64 = (i + 1..self.q).map(|j| self.r[j][i] * r[j]).sum();
            r[i] = (d[i] - rest) / self.r[i][i];
        }
        r
    }

    /// Rotates the free part of the basis until the row's normal is in its first column.
    fn add_row(&mut self, p: usize, multiplier: f64, mut d: [f64; N]) {
        debug_assert!(self.q < self.n, "{} active rows", self.q);
        for j in (self.q + 1..self.n).rev() {
            let (a, b) = (d[j - 1], d[j]);
            (d[j - 1], d[j]) = (length(a, b), 0.0);
            let (low, high) = self.basis.split_at_mut(j);
            rotate(&mut low[j - 1], &mut high[0], a, b);
        }
        self.r[self.q] = d;
        (self.active[self.q], self.u[self.q]) = (p, multiplier);
        self.q += 1;
    }

    /// Closes the gap that a leaving row makes in R, and rotates the basis until R is triangular again.
    fn drop_row(&mut self, leaving: usize) {
        for j in leaving + 1..self.q {
            self.r[j - 1] = self.r[j];
            self.active[j - 1] = self.active[j];
            self.u[j - 1] = self.u[j];
        }
        self.q -= 1;
        for j in leaving..self.q {
            let (a, b) = (self.r[j][j], self.r[j][j + 1]);
            let length = length(a, b);
            let (low, high) = self.basis.split_at_mut(j + 1);
            rotate(&mut low[j], &mut high[0], a, b);
            if length == 0.0 {
                continue;
            }
            for column in &mut self.r[j..self.q] {
                let (x, y) = (column[j], column[j + 1]);
                column[j] = (a * x + b * y) / length;
                column[j + 1] = (a * y - b * x) / length;
            }
        }
    }
}

/// A Givens rotation of two columns that takes (a, b) to (|(a, b)|, 0).
fn rotate(first: &mut [f64; N], second: &mut [f64; N], a: f64, b: f64) {
    let length = length(a, b);
    if length == 0.0 {
        return;
    }
    let (c, s) = (a / length, b / length);
    for (x, y) in first.iter_mut().zip(second) {
        (*x, *y) = (c * *x + s * *y, c * *y - s * *x);
    }
}

/// Length of (a, b), correctly rounded in all but rare cases and equal on every system; `f64::hypot` is that of the C
/// library. Rows have length one and the basis is orthogonal, so squares cannot overflow; a length whose square has lost
/// digits, below 1e-146, is 0. Source: Borges, "An Improved Algorithm for hypot(a, b)", arXiv 1904.09481, 2019.
fn length(a: f64, b: f64) -> f64 {
    let (a, b) = (a.abs(), b.abs());
    let (long, short) = if a > b { (a, b) } else { (b, a) };
    let squared = long * long + short * short;
    if squared < f64::MIN_POSITIVE / f64::EPSILON {
        return 0.0;
    }
    let rounded = squared.sqrt();
    // rounded^2 - long^2 - short^2, without cancellation.
    let excess = if rounded <= 2.0 * short {
        let delta = rounded - short;
        long * (2.0 * delta - long) + (delta - 2.0 * (long - short)) * delta
    } else {
        let delta = rounded - long;
        2.0 * delta * (long - 2.0 * short) + ((4.0 * delta - short) * short + delta * delta)
    };
    rounded - excess / (2.0 * rounded)
}

fn dot(a: &[f64; N], b: &[f64; N], n: usize) -> f64 {
    a[..n].iter().zip(&b[..n]).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Random;

    #[test]
    fn length_is_exact_where_squares_are_and_zero_where_squares_vanish() {
        for (a, b, expected) in [(3.0, -4.0, 5.0), (0.0, 0.0, 0.0), (-0.7, 0.0, 0.7)] {
            assert_eq!(length(a, b), expected);
            assert_eq!(length(b, a), expected);
        }
        assert_eq!(length(1e-150, 1e-150), 0.0);
        assert!(length(f64::NAN, 1.0).is_nan() && length(1.0, f64::NAN).is_nan());
        let mut random = Random::new(7);
        for _ in 0..10_000 {
            let (a, b) = (random.range(-1.0, 1.0), random.range(-1e-3, 1.0));
            // The system's own function rounds correctly or is one bit off.
            let (got, expected) = (length(a, b), a.hypot(b));
            assert!((got - expected).abs() <= f64::EPSILON * expected, "{a} {b}: {got} {expected}");
        }
    }

    fn random_programme(
        random: &mut Random,
        n_rows: usize,
    ) -> (usize, Displacement, Displacement, Vec<ConstraintRow>) {
        let n = 1 + random.below(COORDINATES_MAX);
        let mut stiffness = [1.0; COORDINATES_MAX];
        let mut desired = [0.0; COORDINATES_MAX];
        for i in 0..n {
            stiffness[i] = 10f64.powf(random.range(-1.0, 3.5));
            desired[i] = random.range(-0.02, 0.02);
        }
        let rows = (0..n_rows)
            .map(|_| {
                let mut jacobian = [0.0; COORDINATES_MAX];
                for x in &mut jacobian[..n] {
                    *x = random.range(-1.0, 1.0);
                }
                ConstraintRow { jacobian, gap: random.range(-1e-4, 2e-3) }
            })
            .collect();
        (n, stiffness, desired, rows)
    }

    fn slack(row: &ConstraintRow, x: &Displacement) -> f64 {
        row.jacobian.iter().zip(x).map(|(j, x)| j * x).sum::<f64>() + row.gap
    }

    /// Checks the conditions of Karush, Kuhn and Tucker, which a point of a strictly convex programme meets exactly
    /// when it is the minimum; they do not depend on the method.
    fn assert_minimum(p: &Programme, got: &Optimum) {
        for i in 0..p.n {
            let pull = p.stiffness[i] * (got.displacement[i] - p.desired[i]);
            let push: f64 =
                p.rows.iter().zip(&got.multipliers).map(|(r, u)| u * r.jacobian[i]).sum();
            let scale = 1.0 + push.abs() + got.multipliers.iter().sum::<f64>();
            assert!((pull - push).abs() < 1e-9 * scale, "coordinate {i}: {pull} N, {push} N");
        }
        for (row, u) in p.rows.iter().zip(&got.multipliers) {
            let slack = slack(row, &got.displacement);
            assert!(*u >= 0.0 && slack > -1e-9, "{u} N at {slack} m");
            assert!(*u == 0.0 || slack.abs() < 1e-8, "{u} N at {slack} m");
        }
    }

    #[test]
    fn random_programmes_end_in_their_minimum() {
        let seed = 19;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let (mut n_solved, mut n_active) = (0, 0);
        for round in 0..3000 {
            let n_rows = round % 30;
            let (n, stiffness, desired, rows) = random_programme(&mut random, n_rows);
            let p = Programme { n, stiffness, desired, rows: &rows };
            let got = p.solve(&[]);
            if got.residual_m > 0.0 {
                continue;
            }
            n_solved += 1;
            assert_minimum(&p, &got);
            let active: Vec<usize> = (0..n_rows).filter(|i| got.multipliers[*i] > 0.0).collect();
            n_active += active.len();
            // Warm starts from its own active rows, and from wrong ones.
            for likely in [active, vec![0, n_rows / 2, n_rows + 3]] {
                let again = p.solve(&likely);
                assert_minimum(&p, &again);
                for i in 0..n {
                    let off = (again.displacement[i] - got.displacement[i]).abs();
                    assert!(off < 1e-8, "coordinate {i} is off by {off}");
                }
            }
        }
        println!("{n_solved} programmes solved with {n_active} active rows");
        assert!(n_solved > 1500 && n_active > 5000, "{n_solved} solved, {n_active} active");
    }

    /// Every set of active rows is tried in turn: the best feasible one is the minimum.
    #[test]
    fn small_programmes_agree_with_all_active_sets() {
        let mut random = Random::new(20);
        for _ in 0..500 {
            let mut desired = [0.0; COORDINATES_MAX];
            desired[0] = random.range(-1.0, 1.0);
            desired[1] = random.range(-1.0, 1.0);
            let mut stiffness = [1.0; COORDINATES_MAX];
            stiffness[1] = random.range(0.5, 2.0);
            let rows: Vec<ConstraintRow> = (0..4)
                .map(|_| {
                    let mut jacobian = [0.0; COORDINATES_MAX];
                    (jacobian[0], jacobian[1]) = (random.range(-1.0, 1.0), random.range(-1.0, 1.0));
                    ConstraintRow { jacobian, gap: random.range(0.01, 0.2) }
                })
                .collect();
            let p = Programme { n: 2, stiffness, desired, rows: &rows };
            let got = p.solve(&[]);
            let energy = |x: &Displacement| {
                (0..2).map(|i| 0.5 * stiffness[i] * (x[i] - desired[i]).powi(2)).sum::<f64>()
            };
            let is_feasible = |x: &Displacement| rows.iter().all(|r| slack(r, x) > -1e-9);
            let mut best = if is_feasible(&desired) { energy(&desired) } else { f64::INFINITY };
            for i in 0..4 {
                let a = rows[i].jacobian;
                // One row: its foot in the metric of K.
                let weight: f64 = (0..2).map(|k| a[k] * a[k] / stiffness[k]).sum();
                let t = slack(&rows[i], &desired) / weight;
                let mut x = desired;
                (0..2).for_each(|k| x[k] -= t * a[k] / stiffness[k]);
                if is_feasible(&x) {
                    best = best.min(energy(&x));
                }
                for j in 0..i {
                    // Two rows: their intersection.
                    let (b, mut x) = (rows[j].jacobian, [0.0; COORDINATES_MAX]);
                    let det = a[0] * b[1] - a[1] * b[0];
                    x[0] = (-rows[i].gap * b[1] + rows[j].gap * a[1]) / det;
                    x[1] = (-rows[j].gap * a[0] + rows[i].gap * b[0]) / det;
                    if is_feasible(&x) {
                        best = best.min(energy(&x));
                    }
                }
            }
            assert!((energy(&got.displacement) - best).abs() < 1e-9, "{got:?}, energy {best}");
        }
    }

    /// Two walls that overlap by 2 mm: half of it is the least violation of both.
    #[test]
    fn rows_that_contradict_are_violated_as_little_as_can_be() {
        let wall = |sign: f64| {
            let mut jacobian = [0.0; COORDINATES_MAX];
            jacobian[0] = sign;
            ConstraintRow { jacobian, gap: -1e-3 }
        };
        let rows = [wall(1.0), wall(-1.0)];
        let mut desired = [0.0; COORDINATES_MAX];
        desired[0] = 0.005;
        desired[1] = 0.001;
        let p = Programme { n: 6, stiffness: [500.0; COORDINATES_MAX], desired, rows: &rows };
        let got = p.solve(&[]);
        assert!((got.residual_m - 1e-3).abs() < 5e-5, "{} m", got.residual_m);
        assert!(got.displacement[0].abs() < 5e-5, "{:?}", got.displacement);
        assert!((got.displacement[1] - 0.001).abs() < 1e-12, "what no row holds goes on");
        let sum = got.multipliers[0] - got.multipliers[1];
        let pull = 500.0 * (got.displacement[0] - desired[0]);
        assert!((sum - pull).abs() < 1e-9, "{sum} N, {pull} N");
    }

    #[test]
    fn the_same_row_twice_is_one() {
        let mut jacobian = [0.0; COORDINATES_MAX];
        jacobian[2] = 1.0;
        let row = ConstraintRow { jacobian, gap: 1e-3 };
        let mut desired = [0.0; COORDINATES_MAX];
        desired[2] = -0.01;
        let p = Programme { n: 6, stiffness: [500.0; COORDINATES_MAX], desired, rows: &[row; 5] };
        let got = p.solve(&[]);
        assert!((got.displacement[2] + 1e-3).abs() < 1e-12 && got.residual_m == 0.0, "{got:?}");
        let sum: f64 = got.multipliers.iter().sum();
        assert!((sum - 500.0 * 9e-3).abs() < 1e-9, "{sum} N");
    }
}
