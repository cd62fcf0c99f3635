//! Coulomb friction: forces in their cones by projected Gauss-Seidel, from the frictionless minimum on.
//!
//! Each contact has its normal row, and two rows along the surface that hold the contact at its anchor, with |f_t| <=
//! mu f_n. Projected Gauss-Seidel: Jourdan, Alart, Jean, "A Gauss-Seidel like algorithm to solve frictional contact
//! problems", 1998. Difference here: the system is the proxy's stiffness and not a mass, so that no time step enters.

use super::quadratic_programme::{COORDINATES_MAX, ConstraintRow, Displacement, Optimum, ROWS_MAX};
use crate::geometry::tolerance::FRICTION_CONVERGED_N;

/// Maximum sweeps over all contacts. Ten suffice for one contact, some fifty for a patch.
// Extrapolating the sweeps (Anderson acceleration) takes a fifth of them for random patches, but pressing samples of
// P15, half of which converge neither way, took 34 us instead of 22. Newton steps between sweeps (Alart and Curnier)
// took 26 us, and if forces are not unique, as in a pit, they found wedged ones that are half as large again. Starting
// with the last sample's forces along the surface saves nothing. A hundred times the tolerance saves 8 %.
const SWEEPS_MAX: usize = 100;

/// The rows of one contact along the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrictionRows {
    /// Tangents at right angles to the normal's row and to each other, in the surface: metres of slip for each unit of
    /// a coordinate; the gap is the distance of the contact from its anchor.
    pub tangents: [ConstraintRow; 2],
}

/// Displacement and forces of a minimum with friction.
#[derive(Clone, Copy, Debug)]
pub struct FrictionForces {
    /// Displacement that the forces hold.
    pub displacement: Displacement,
    /// Normal forces, newtons, >= 0.
    pub normal: [f64; ROWS_MAX],
    /// Forces along the two tangents, newtons.
    pub tangent: [[f64; 2]; ROWS_MAX],
}

/// Computes the forces in their cones. `normals` and `friction` have the same length.
pub fn with_friction(
    (n, stiffness, desired): (usize, &Displacement, &Displacement),
    normals: &[ConstraintRow],
    friction: &[FrictionRows],
    coefficient: f64,
    start: &Optimum,
) -> FrictionForces {
    debug_assert_eq!(normals.len(), friction.len(), "two tangents a contact");
    let mut forces = FrictionForces {
        displacement: start.displacement,
        normal: start.multipliers,
        tangent: [[0.0; 2]; ROWS_MAX],
    };
    let mut compliance = [0.0; COORDINATES_MAX];
    for (c, k) in compliance.iter_mut().zip(&stiffness[..n]) {
        *c = k.recip();
    }
    let coupling = Coupling { n, compliance };
    let mut gives = [(0.0, 0.0); ROWS_MAX];
    for ((give_n, give_t), (normal, rows)) in gives.iter_mut().zip(normals.iter().zip(friction)) {
        *give_n = coupling.give(normal);
        // Both tangents have the larger give: a block whose two rows are projected one by one would turn the force away
        // from the slip.
        *give_t = coupling.give(&rows.tangents[0]).max(coupling.give(&rows.tangents[1]));
    }
    for _ in 0..SWEEPS_MAX {
        if sweep(&mut forces, &coupling, (normals, friction, &gives), coefficient)
            < FRICTION_CONVERGED_N
        {
            break;
        }
    }
    // Computed from the forces alone, so that they balance the spring to the last bit, whatever the sweeps have summed
    // up.
    let mut x = *desired;
    for (i, (normal, rows)) in normals.iter().zip(friction).enumerate() {
        coupling.push(normal, forces.normal[i], &mut x);
        for k in 0..2 {
            coupling.push(&rows.tangents[k], forces.tangent[i][k], &mut x);
        }
    }
    x[n..COORDINATES_MAX].fill(0.0);
    forces.displacement = x;
    forces
}

/// Visits each contact once. `gives`: the motion of each contact per newton along its normal and along its tangents,
/// metres. Returns the greatest change of a force, newtons.
fn sweep(
    forces: &mut FrictionForces,
    coupling: &Coupling,
    (normals, friction, gives): (&[ConstraintRow], &[FrictionRows], &[(f64, f64); ROWS_MAX]),
    coefficient: f64,
) -> f64 {
    let mut change = 0.0f64;
    for (i, (normal, rows)) in normals.iter().zip(friction).enumerate() {
        let x = &mut forces.displacement;
        let (give_n, give_t) = gives[i];
        if give_n == 0.0 {
            continue;
        }
        let (old, off) = (forces.normal[i], coupling.off(normal, x));
        // Most contacts of a model carry no force and stay so: they add nothing to the cost of a sweep.
        if old == 0.0 && off >= 0.0 && forces.tangent[i] == [0.0; 2] {
            continue;
        }
        let new = (old - off / give_n).max(0.0);
        coupling.push(normal, new - old, x);
        forces.normal[i] = new;
        change = change.max((new - old).abs());
        let old = forces.tangent[i];
        // A contact without normal force has no friction.
        if give_t == 0.0 || forces.normal[i] == 0.0 && old == [0.0; 2] {
            continue;
        }
        let mut new: [f64; 2] =
            std::array::from_fn(|k| old[k] - coupling.off(&rows.tangents[k], x) / give_t);
        // Squares of forces are far from overflow: no `hypot`, which would be a tenth of a sweep.
        let size = (new[0] * new[0] + new[1] * new[1]).sqrt();
        let most = coefficient * forces.normal[i];
        if size > most {
            new = new.map(|f| f * (most / size));
        }
        for k in 0..2 {
            coupling.push(&rows.tangents[k], new[k] - old[k], x);
            change = change.max((new[k] - old[k]).abs());
        }
        forces.tangent[i] = new;
    }
    change
}

/// The spring against which forces along rows push.
struct Coupling {
    n: usize,
    /// 1 / K: a division for each coordinate of each push would be half of a sweep.
    compliance: Displacement,
}

impl Coupling {
    /// Returns the motion along a row per newton along it, metres.
    fn give(&self, row: &ConstraintRow) -> f64 {
        (0..self.n).map(|i| row.jacobian[i] * row.jacobian[i] * self.compliance[i]).sum()
    }

    /// Returns the gap of a row at a displacement, metres.
    fn off(&self, row: &ConstraintRow, x: &Displacement) -> f64 {
        let (j, x) = (&row.jacobian[..self.n], &x[..self.n]);
        row.gap + j.iter().zip(x).map(|(j, x)| j * x).sum::<f64>()
    }

    /// Applies a force of `by` newtons along a row.
    fn push(&self, row: &ConstraintRow, by: f64, x: &mut Displacement) {
        let moved = row.jacobian.iter().zip(&self.compliance);
        for (x, (j, c)) in x[..self.n].iter_mut().zip(moved) {
            *x += j * (by * c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupling::quadratic_programme::Programme;

    fn row(along: usize, gap: f64) -> ConstraintRow {
        let mut jacobian = [0.0; COORDINATES_MAX];
        jacobian[along] = 1.0;
        ConstraintRow { jacobian, gap }
    }

    /// A point pressed 2 mm into a plane and pulled aside: it stays inside the cone, and slips on it outside.
    #[test]
    fn a_point_sticks_inside_the_cone_and_slips_on_it() {
        let stiffness = [500.0; COORDINATES_MAX];
        let rows = [row(2, 0.0)];
        let friction = [FrictionRows { tangents: [row(0, 0.0), row(1, 0.0)] }];
        for (aside, sticks) in [(5e-4, true), (8e-4, false)] {
            let mut desired = [0.0; COORDINATES_MAX];
            (desired[0], desired[2]) = (aside, -2e-3);
            let programme = Programme { n: 6, stiffness, desired, rows: &rows };
            let start = programme.solve(&[]);
            let got = with_friction((6, &stiffness, &desired), &rows, &friction, 0.3, &start);
            assert!((got.normal[0] - 1.0).abs() < 1e-6, "{} N", got.normal[0]);
            let expected = if sticks { 500.0 * aside } else { 0.3 };
            assert!((got.tangent[0][0] + expected).abs() < 1e-6, "{:?}", got.tangent[0]);
            let slip = aside - expected / 500.0;
            assert!((got.displacement[0] - slip).abs() < 1e-9, "{:?}", got.displacement);
        }
    }
}
