//! Where a sequence that converges slowly leads, from its last few members.
//!
//! Anderson, "Iterative procedures for nonlinear integral equations", J. ACM 12(4), 1965; in the form of Walker and Ni,
//! "Anderson acceleration for fixed-point iterations", SIAM J. Numer. Anal. 49(4), 2011, problem 2.2. Where we differ: a
//! member from which the sequence changes much more than it did before is not gone on from.

use crate::geometry::tolerance::{EXTRAPOLATION_DAMPING, EXTRAPOLATION_TRACE_DAMPING};

/// Numbers of one member of the sequence, at most.
pub const MEMBERS_MAX: usize = 36;
/// Differences that are kept. Of three and seven the first takes more sweeps, the second more time in each.
const DEPTH: usize = 4;
/// How many times the square of the last change a change may be. A sequence that turns a corner of a cone grows for a
/// step or two and goes on well; with 1 one in ten patches of contacts ends unconverged that need not.
const WORSE_MAX: f64 = 16.0;

type Member = [f64; MEMBERS_MAX];

/// The last members of a sequence x -> g(x).
#[derive(Clone, Debug)]
pub struct Extrapolation {
    n: usize,
    n_kept: usize,
    place: usize,
    /// The last g(x), g(x) - x, and the square of the latter's length.
    last: Option<(Member, Member, f64)>,
    /// Differences of successive g(x), and of successive g(x) - x.
    result_steps: [Member; DEPTH],
    change_steps: [Member; DEPTH],
}

impl Extrapolation {
    /// Of a sequence with `n` numbers a member, at most [`MEMBERS_MAX`].
    pub fn new(n: usize) -> Extrapolation {
        let zero = [0.0; MEMBERS_MAX];
        Extrapolation {
            n,
            n_kept: 0,
            place: 0,
            last: None,
            result_steps: [zero; DEPTH],
            change_steps: [zero; DEPTH],
        }
    }

    /// Forgets all, and goes on with another sequence.
    pub fn restart(&mut self, n: usize) {
        debug_assert!(n <= MEMBERS_MAX, "{n} numbers");
        (self.n, self.n_kept, self.place, self.last) = (n, 0, 0, None);
    }

    /// From where to go on, after `before` has led to `result`.
    pub fn next(&mut self, before: &Member, result: &Member) -> Member {
        let n = self.n;
        let mut change = [0.0; MEMBERS_MAX];
        for (c, (g, x)) in change[..n].iter_mut().zip(result.iter().zip(before)) {
            *c = g - x;
        }
        let size = dot(&change[..n], &change[..n]);
        if let Some((last_result, last_change, last_size)) = &self.last {
            if self.n_kept > 0 && size > WORSE_MAX * last_size {
                let back = *last_result;
                self.restart(n);
                return back;
            }
            let place = self.place;
            for i in 0..n {
                self.result_steps[place][i] = result[i] - last_result[i];
                self.change_steps[place][i] = change[i] - last_change[i];
            }
            self.place = (place + 1) % DEPTH;
            self.n_kept = (self.n_kept + 1).min(DEPTH);
        }
        self.last = Some((*result, change, size));
        let mut next = *result;
        if let Some(weights) = self.weights(&change) {
            for (weight, step) in weights.iter().zip(&self.result_steps[..self.n_kept]) {
                for (x, s) in next[..n].iter_mut().zip(step) {
                    *x -= weight * s;
                }
            }
        }
        next
    }

    /// Of the steps whose sum comes nearest to the change: least squares by the normal equations, whose matrix needs no
    /// pivots. `None` without steps, and where they are all zero.
    fn weights(&self, change: &Member) -> Option<[f64; DEPTH]> {
        let (n, kept) = (self.n, self.n_kept);
        let steps = &self.change_steps[..kept];
        let mut matrix = [[0.0; DEPTH]; DEPTH];
        let mut weights = [0.0; DEPTH];
        for (p, step) in steps.iter().enumerate() {
            for (q, other) in steps.iter().enumerate() {
                matrix[p][q] = dot(&step[..n], &other[..n]);
            }
            weights[p] = dot(&step[..n], &change[..n]);
        }
        let trace: f64 = (0..kept).map(|p| matrix[p][p]).sum();
        for (p, row) in matrix[..kept].iter_mut().enumerate() {
            row[p] += EXTRAPOLATION_TRACE_DAMPING * trace + EXTRAPOLATION_DAMPING * row[p];
        }
        for p in 0..kept {
            let above = matrix[p];
            if above[p] <= 0.0 {
                return None;
            }
            for q in p + 1..kept {
                let factor = matrix[q][p] / above[p];
                for k in p..kept {
                    matrix[q][k] -= factor * above[k];
                }
                weights[q] -= factor * weights[p];
            }
        }
        for p in (0..kept).rev() {
            let known: f64 = (p + 1..kept).map(|q| matrix[p][q] * weights[q]).sum();
            weights[p] = (weights[p] - known) / matrix[p][p];
        }
        Some(weights)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A linear map whose slowest part keeps 0.99 of its error a step: plain steps would take some 2,000.
    #[test]
    fn a_slow_linear_sequence_ends_after_a_few_members() {
        let keeps = [0.99, 0.9, -0.5, 0.2];
        let fixed = [3.0, -1.0, 0.5, 2.0];
        let mut sequence = Extrapolation::new(4);
        let mut x = [0.0; MEMBERS_MAX];
        for _ in 0..12 {
            let mut result = x;
            for i in 0..4 {
                result[i] = fixed[i] + keeps[i] * (x[i] - fixed[i]);
            }
            x = sequence.next(&x, &result);
        }
        for i in 0..4 {
            assert!((x[i] - fixed[i]).abs() < 1e-9, "{:?}", &x[..4]);
        }
    }

    /// What grows is not gone on from, and numbers stay numbers.
    #[test]
    fn a_sequence_that_runs_away_goes_back_to_its_last_member() {
        let mut sequence = Extrapolation::new(1);
        let member = |x: f64| {
            let mut all = [0.0; MEMBERS_MAX];
            all[0] = x;
            all
        };
        assert_eq!(sequence.next(&member(0.0), &member(1.0))[0], 1.0);
        let ahead = sequence.next(&member(1.0), &member(1.5))[0];
        assert!((ahead - 2.0).abs() < 1e-6, "{ahead}");
        assert_eq!(sequence.next(&member(ahead), &member(100.0))[0], 1.5);
        assert_eq!(sequence.next(&member(1.5), &member(1.5))[0], 1.5);
    }
}
