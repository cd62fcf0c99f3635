//! Coulomb friction: forces in their cones by projected Gauss-Seidel, from the frictionless minimum on.
//!
//! Each contact has its normal row, and two rows along the surface that want the contact to stay at its anchor, with
//! |f_t| <= mu f_n. Projected Gauss-Seidel: Jourdan, Alart, Jean, "A Gauss-Seidel like algorithm to solve frictional
//! contact problems", 1998. Where we differ: the system is the proxy's stiffness and not a mass, so that no time step
//! enters.

use super::{
    extrapolation::{Extrapolation, MEMBERS_MAX},
    quadratic_programme::{COORDINATES_MAX, ConstraintRow, Displacement, Optimum, ROWS_MAX},
};
use crate::geometry::tolerance::FRICTION_CONVERGED_N;

/// Sweeps over all contacts, each from where the ones before it lead. Of patches of eight contacts and pits of sixteen
/// nine in ten converge in 25, and few of the rest later.
const EXTRAPOLATED_MAX: usize = 32;
/// Sweeps one after the other, where those have not converged: what they come to cannot run away.
const SWEEPS_MAX: usize = 100;
/// Contacts that bear, of those sweeps.
const BEARING_MAX: usize = MEMBERS_MAX / 3;

/// The rows of one contact along the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrictionRows {
    /// At right angles to the normal's row and to each other, in the surface: metres of slip for each unit of a
    /// coordinate; the gap is how far the contact is from its anchor.
    pub tangents: [ConstraintRow; 2],
}

/// What friction makes of a minimum.
#[derive(Clone, Copy, Debug)]
pub struct FrictionForces {
    /// That the forces hold.
    pub displacement: Displacement,
    /// Newtons, >= 0.
    pub normal: [f64; ROWS_MAX],
    /// Newtons along the two tangents.
    pub tangent: [[f64; 2]; ROWS_MAX],
}

/// Forces in their cones. `normals` and `friction` are of one length.
pub fn with_friction(
    (n, stiffness, desired): (usize, &Displacement, &Displacement),
    normals: &[ConstraintRow],
    friction: &[FrictionRows],
    coefficient: f64,
    start: &Optimum,
) -> FrictionForces {
    debug_assert_eq!(normals.len(), friction.len(), "two tangents a contact");
    let mut compliance = [0.0; COORDINATES_MAX];
    for (c, k) in compliance.iter_mut().zip(&stiffness[..n]) {
        *c = k.recip();
    }
    let coupling = Coupling { n, compliance };
    let mut gives = [(0.0, 0.0); ROWS_MAX];
    for ((give_n, give_t), (normal, rows)) in gives.iter_mut().zip(normals.iter().zip(friction)) {
        *give_n = coupling.give(normal);
        // Both tangents at once, by the larger give: a block whose two rows are projected one by one would turn
        // the force away from the slip.
        *give_t = coupling.give(&rows.tangents[0]).max(coupling.give(&rows.tangents[1]));
    }
    let start = FrictionForces {
        displacement: start.displacement,
        normal: start.multipliers,
        tangent: [[0.0; 2]; ROWS_MAX],
    };
    let sweeps = Sweeps { coupling, normals, friction, coefficient, gives };
    let mut forces = sweeps.extrapolated(start).unwrap_or_else(|| sweeps.plain(start));
    // From the forces alone, so that they balance the spring to the last bit, whatever the sweeps have summed up.
    let mut x = *desired;
    for (i, (normal, rows)) in normals.iter().zip(friction).enumerate() {
        sweeps.coupling.push(normal, forces.normal[i], &mut x);
        for k in 0..2 {
            sweeps.coupling.push(&rows.tangents[k], forces.tangent[i][k], &mut x);
        }
    }
    x[n..COORDINATES_MAX].fill(0.0);
    forces.displacement = x;
    forces
}

struct Sweeps<'a> {
    coupling: Coupling,
    normals: &'a [ConstraintRow],
    friction: &'a [FrictionRows],
    coefficient: f64,
    /// What a newton moves along each normal, and along its tangents, metres.
    gives: [(f64, f64); ROWS_MAX],
}

/// Contacts that a sweep has moved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bearing {
    rows: [usize; BEARING_MAX],
    /// May be more than there is room for.
    n: usize,
}

impl Sweeps<'_> {
    fn plain(&self, mut forces: FrictionForces) -> FrictionForces {
        for _ in 0..SWEEPS_MAX {
            if self.sweep(&mut forces).0 < FRICTION_CONVERGED_N {
                break;
            }
        }
        forces
    }

    /// The same forces in a fifth of the sweeps; `None` where they do not converge.
    fn extrapolated(&self, mut forces: FrictionForces) -> Option<FrictionForces> {
        let mut bearing = Bearing::default();
        let mut sequence = Extrapolation::new(0);
        for _ in 0..EXTRAPOLATED_MAX {
            let before = bearing.forces(&forces);
            let (change, swept) = self.sweep(&mut forces);
            if change < FRICTION_CONVERGED_N {
                return Some(forces);
            }
            if swept.n > BEARING_MAX {
                return None;
            }
            if swept == bearing {
                let next = sequence.next(&before, &bearing.forces(&forces));
                for (i, force) in bearing.rows[..bearing.n].iter().zip(next.chunks_exact(3)) {
                    let tangent =
                        within_cone([force[1], force[2]], self.coefficient * force[0].max(0.0));
                    self.set(*i, force[0].max(0.0), tangent, &mut forces);
                }
            } else {
                bearing = swept;
                sequence.restart(3 * swept.n);
            }
        }
        None
    }

    /// Each contact once: its normal force, then its force along the surface. Returns by how much forces have changed at
    /// most, newtons.
    fn sweep(&self, forces: &mut FrictionForces) -> (f64, Bearing) {
        let (mut change, mut bearing) = (0.0f64, Bearing::default());
        for (i, (normal, rows)) in self.normals.iter().zip(self.friction).enumerate() {
            let (give_n, give_t) = self.gives[i];
            if give_n == 0.0 {
                continue;
            }
            let (old_n, old_t) = (forces.normal[i], forces.tangent[i]);
            let off = self.coupling.off(normal, &forces.displacement);
            // Most contacts of a model bear nothing and stay so: a sweep costs what those that bear cost.
            if old_n == 0.0 && off >= 0.0 && old_t == [0.0; 2] {
                continue;
            }
            bearing.push(i);
            let normal_n = (old_n - off / give_n).max(0.0);
            self.set(i, normal_n, old_t, forces);
            change = change.max((normal_n - old_n).abs());
            // What has no normal force has no friction.
            if give_t == 0.0 || normal_n == 0.0 && old_t == [0.0; 2] {
                continue;
            }
            let x = &forces.displacement;
            let slips: [f64; 2] = std::array::from_fn(|k| {
                old_t[k] - self.coupling.off(&rows.tangents[k], x) / give_t
            });
            let tangent = within_cone(slips, self.coefficient * normal_n);
            self.set(i, normal_n, tangent, forces);
            for (new, old) in tangent.iter().zip(old_t) {
                change = change.max((new - old).abs());
            }
        }
        (change, bearing)
    }

    /// Gives a contact other forces, and the displacement what they move.
    fn set(&self, i: usize, normal: f64, tangent: [f64; 2], forces: &mut FrictionForces) {
        let x = &mut forces.displacement;
        self.coupling.push(&self.normals[i], normal - forces.normal[i], x);
        let tangents = self.friction[i].tangents.iter().zip(tangent.iter().zip(forces.tangent[i]));
        for (row, (new, old)) in tangents {
            self.coupling.push(row, new - old, x);
        }
        (forces.normal[i], forces.tangent[i]) = (normal, tangent);
    }
}

impl Bearing {
    fn push(&mut self, row: usize) {
        if let Some(place) = self.rows.get_mut(self.n) {
            *place = row;
        }
        self.n += 1;
    }

    fn forces(&self, of: &FrictionForces) -> [f64; MEMBERS_MAX] {
        let mut member = [0.0; MEMBERS_MAX];
        for (force, i) in member.chunks_exact_mut(3).zip(&self.rows[..self.n]) {
            force.copy_from_slice(&[of.normal[*i], of.tangent[*i][0], of.tangent[*i][1]]);
        }
        member
    }
}

/// The nearest force that is no larger than `most`.
fn within_cone(force: [f64; 2], most: f64) -> [f64; 2] {
    // Forces are far from where squares overflow: no `hypot`, which would be a tenth of a sweep.
    let size = (force[0] * force[0] + force[1] * force[1]).sqrt();
    if size > most { force.map(|f| f * (most / size)) } else { force }
}

/// The spring that forces along rows push against.
struct Coupling {
    n: usize,
    /// 1 / K: a division for each coordinate of each push would be half of a sweep.
    compliance: Displacement,
}

impl Coupling {
    /// What a newton along a row moves along it, metres.
    fn give(&self, row: &ConstraintRow) -> f64 {
        (0..self.n).map(|i| row.jacobian[i] * row.jacobian[i] * self.compliance[i]).sum()
    }

    /// The gap of a row at a displacement, metres.
    fn off(&self, row: &ConstraintRow, x: &Displacement) -> f64 {
        let (j, x) = (&row.jacobian[..self.n], &x[..self.n]);
        row.gap + j.iter().zip(x).map(|(j, x)| j * x).sum::<f64>()
    }

    /// Newtons along a row.
    fn push(&self, row: &ConstraintRow, by: f64, x: &mut Displacement) {
        if by == 0.0 {
            return;
        }
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
