//! Coulomb friction: forces in their cones by projected Gauss-Seidel, from the frictionless minimum on.
//!
//! Each contact has its normal row, and two rows along the surface that hold the contact at its anchor, with |f_t| <=
//! mu f_n. Projected Gauss-Seidel: Jourdan, Alart, Jean, "A Gauss-Seidel like algorithm to solve frictional contact
//! problems", 1998. Difference here: the system is the proxy's stiffness and not a mass, so that no time step enters.

use super::quadratic_programme::{COORDINATES_MAX, ConstraintRow, Displacement, Optimum, ROWS_MAX};
use crate::geometry::tolerance::FRICTION_CONVERGED_N;

/// Maximum sweeps over the contacts that bear. Ten suffice for one contact. In P15 half of the samples have not
/// converged by then, nor have they after a hundred: the force is 18 mN off the converged one at the 99th percentile,
/// and 14 mN after a hundred.
// Tried for P15: extrapolation (Anderson acceleration) and relaxation by 1.3 to 1.8 gain nothing. Newton steps (Alart
// and Curnier) fail in half of the samples and cost as much as five sweeps each; if forces are not unique, as in a pit,
// they find wedged ones that are half as large again.
const SWEEPS_MAX: usize = 48;
/// Sweeps from one search for more contacts that bear to the next.
const SWEEPS_A_SEARCH: usize = 8;

/// The rows of one contact along the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrictionRows {
    /// Tangents at right angles to the normal's row and to each other, in the surface: metres of slip for each unit of
    /// a coordinate; the gap is the distance of the contact from its anchor.
    pub tangents: [ConstraintRow; 2],
    /// Coefficient mu of the contact.
    pub coefficient: f64,
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

/// Computes the forces in their cones. `friction` returns the rows of a contact along the surface; it is called once
/// for each contact that bears, if only in one of the sweeps.
pub fn with_friction(
    (n, stiffness, desired): (usize, &Displacement, &Displacement),
    normals: &[ConstraintRow],
    friction: impl Fn(usize) -> FrictionRows,
    start: &Optimum,
) -> FrictionForces {
    let mut compliance = [0.0; COORDINATES_MAX];
    for (c, k) in compliance.iter_mut().zip(&stiffness[..n]) {
        *c = k.recip();
    }
    let coupling = Coupling { n, compliance };
    // Most contacts of a model never bear: they have no place here, and no part in a sweep.
    let mut bearing = [const { None::<BearingContact> }; ROWS_MAX];
    let (mut n_bearing, mut is_bearing) = (0, [false; ROWS_MAX]);
    let (mut x, mut change) = (start.displacement, f64::INFINITY);
    for sweep in 0..SWEEPS_MAX {
        let has_converged = change < FRICTION_CONVERGED_N;
        if has_converged || sweep % SWEEPS_A_SEARCH == 0 {
            let before = n_bearing;
            for (i, normal) in normals.iter().enumerate() {
                let force = if sweep == 0 { start.multipliers[i] } else { 0.0 };
                if !is_bearing[i] && (force > 0.0 || coupling.off(normal, &x) < 0.0) {
                    let own = friction(i);
                    bearing[n_bearing] =
                        Some(BearingContact::new(i, (normal, &own), force, &coupling));
                    is_bearing[i] = true;
                    n_bearing += 1;
                }
            }
            if has_converged && n_bearing == before {
                break;
            }
        }
        let contacts = bearing[..n_bearing].iter_mut().flatten();
        change = contacts.map(|c| c.visit(&coupling, &mut x)).fold(0.0, f64::max);
    }
    let mut forces = FrictionForces {
        displacement: *desired,
        normal: [0.0; ROWS_MAX],
        tangent: [[0.0; 2]; ROWS_MAX],
    };
    // Computed from the forces alone, so that they balance the spring to the last bit, whatever the sweeps have summed
    // up.
    for contact in bearing[..n_bearing].iter().flatten() {
        coupling.push(&contact.rows, contact.force, &mut forces.displacement);
        let [normal, first, second] = contact.force;
        (forces.normal[contact.index], forces.tangent[contact.index]) = (normal, [first, second]);
    }
    forces.displacement[n..].fill(0.0);
    forces
}

/// A contact that bears, or did in an earlier sweep.
struct BearingContact {
    /// Index among the contacts.
    index: usize,
    /// Coefficient of its friction.
    coefficient: f64,
    /// The normal's row, and the two along the surface.
    rows: [ConstraintRow; 3],
    /// Force along each row, newtons.
    force: [f64; 3],
    /// Force per motion along the normal, and along the tangents, N/m; 0 if no coordinate moves the contact.
    stiffness: [f64; 2],
    /// Motion along each tangent per newton along the normal, metres.
    cross: [f64; 2],
}

impl BearingContact {
    fn new(
        index: usize,
        (normal, friction): (&ConstraintRow, &FrictionRows),
        normal_n: f64,
        coupling: &Coupling,
    ) -> Self {
        let ([first, second], coefficient) = (friction.tangents, friction.coefficient);
        let rows = [*normal, first, second];
        let give = |a: usize, b: usize| coupling.give(&rows[a], &rows[b]);
        // Both tangents have the larger give: a block whose two rows are projected one by one would turn the force away
        // from the slip.
        let stiffness = [give(0, 0), give(1, 1).max(give(2, 2))]
            .map(|give| if give > 0.0 { give.recip() } else { 0.0 });
        let cross = [give(0, 1), give(0, 2)];
        let force = [normal_n, 0.0, 0.0];
        BearingContact { index, coefficient, rows, force, stiffness, cross }
    }

    /// Moves the normal force to where the normal's row holds, and then the force along the surface to where that row
    /// does, or to the cone. Returns the greatest change of a force, newtons.
    fn visit(&mut self, coupling: &Coupling, x: &mut Displacement) -> f64 {
        let offs = coupling.offs(&self.rows, x);
        let [old, stiffness] = [self.force[0], self.stiffness[0]];
        let normal = (old - offs[0] * stiffness).max(0.0);
        if normal == 0.0 && self.force == [0.0; 3] {
            return 0.0;
        }
        let slipped = |k: usize| offs[1 + k] + self.cross[k] * (normal - old);
        let tangent = [0, 1].map(|k| self.force[1 + k] - slipped(k) * self.stiffness[1]);
        // Squares of forces are far from overflow: no `hypot`, which would be a tenth of a sweep.
        let squared = tangent[0] * tangent[0] + tangent[1] * tangent[1];
        let most = self.coefficient * normal;
        let share = if squared > most * most { most / squared.sqrt() } else { 1.0 };
        let force = [normal, tangent[0] * share, tangent[1] * share];
        let change = [0, 1, 2].map(|k| force[k] - self.force[k]);
        coupling.push(&self.rows, change, x);
        self.force = force;
        change.iter().fold(0.0, |most, by| most.max(by.abs()))
    }
}

/// The spring against which forces along rows push.
struct Coupling {
    n: usize,
    /// 1 / K: a division for each coordinate of each push would be half of a sweep.
    compliance: Displacement,
}

impl Coupling {
    /// Returns the motion along one row per newton along another, metres.
    fn give(&self, along: &ConstraintRow, by: &ConstraintRow) -> f64 {
        (0..self.n).map(|i| along.jacobian[i] * by.jacobian[i] * self.compliance[i]).sum()
    }

    /// Returns the gap of a row at a displacement, metres.
    fn off(&self, row: &ConstraintRow, x: &Displacement) -> f64 {
        let (j, x) = (&row.jacobian[..self.n], &x[..self.n]);
        row.gap + j.iter().zip(x).map(|(j, x)| j * x).sum::<f64>()
    }

    /// Returns the gaps of a contact's rows. The three sums run side by side, in the time of one.
    fn offs(&self, rows: &[ConstraintRow; 3], x: &Displacement) -> [f64; 3] {
        let [mut a, mut b, mut c] = rows.each_ref().map(|row| row.gap);
        let [i, j, k] = rows.each_ref().map(|row| &row.jacobian[..self.n]);
        for (((x, i), j), k) in x.iter().zip(i).zip(j).zip(k) {
            a += i * x;
            b += j * x;
            c += k * x;
        }
        [a, b, c]
    }

    /// Applies forces of `by` newtons along a contact's rows.
    fn push(&self, rows: &[ConstraintRow; 3], by: [f64; 3], x: &mut Displacement) {
        let [i, j, k] = rows.each_ref().map(|row| &row.jacobian[..self.n]);
        for ((((x, i), j), k), give) in x.iter_mut().zip(i).zip(j).zip(k).zip(&self.compliance) {
            *x += (i * by[0] + j * by[1] + k * by[2]) * give;
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::{
        coupling::{quadratic_programme::Programme, spring::Spring},
        oracle::Random,
    };

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
        let friction = [FrictionRows { tangents: [row(0, 0.0), row(1, 0.0)], coefficient: 0.3 }];
        for (aside, sticks) in [(5e-4, true), (8e-4, false)] {
            let mut desired = [0.0; COORDINATES_MAX];
            (desired[0], desired[2]) = (aside, -2e-3);
            let programme = Programme { n: 6, stiffness, desired, rows: &rows };
            let start = programme.solve(&[]);
            let got = with_friction((6, &stiffness, &desired), &rows, |i| friction[i], &start);
            assert!((got.normal[0] - 1.0).abs() < 1e-6, "{} N", got.normal[0]);
            let expected = if sticks { 500.0 * aside } else { 0.3 };
            assert!((got.tangent[0][0] + expected).abs() < 1e-6, "{:?}", got.tangent[0]);
            let slip = aside - expected / 500.0;
            assert!((got.displacement[0] - slip).abs() < 1e-9, "{:?}", got.displacement);
        }
    }

    /// Returns the row of a point of the tool along a direction.
    fn along(arm: DVec3, direction: DVec3, gap: f64) -> ConstraintRow {
        let mut jacobian = [0.0; COORDINATES_MAX];
        jacobian[..3].copy_from_slice(&direction.to_array());
        jacobian[3..6].copy_from_slice(&arm.cross(direction).to_array());
        ConstraintRow { jacobian, gap }
    }

    /// Returns the displacement that sweeps over single rows end in: 20,000 of them, or as many as change anything.
    fn converged(
        (stiffness, desired): (&Displacement, &Displacement),
        (normals, friction): (&[ConstraintRow], &[FrictionRows]),
        coefficient: f64,
    ) -> Displacement {
        let mut x = *desired;
        let mut forces = vec![[0.0; 3]; normals.len()];
        let square = |row: &ConstraintRow| -> f64 {
            row.jacobian.iter().zip(stiffness).map(|(j, k)| j * j / k).sum()
        };
        for _ in 0..20_000 {
            let mut change = 0.0f64;
            for (force, (normal, rows)) in forces.iter_mut().zip(normals.iter().zip(friction)) {
                let [t, u] = &rows.tangents;
                let give = square(t).max(square(u));
                let mut move_to = |which: &[(usize, &ConstraintRow, f64)]| {
                    for (k, row, to) in which {
                        let by = to - std::mem::replace(&mut force[*k], *to);
                        change = change.max(by.abs());
                        (0..6).for_each(|i| x[i] += row.jacobian[i] * by / stiffness[i]);
                    }
                    let offs = [normal, t, u].map(|row| {
                        row.gap + row.jacobian.iter().zip(&x).map(|(j, x)| j * x).sum::<f64>()
                    });
                    (*force, offs)
                };
                let (f, off) = move_to(&[]);
                let (f, off) = move_to(&[(0, normal, (f[0] - off[0] / square(normal)).max(0.0))]);
                let aside = [1, 2].map(|k| f[k] - off[k] / give);
                let size = aside[0].hypot(aside[1]).max(f64::MIN_POSITIVE);
                let share = (coefficient * f[0] / size).min(1.0);
                move_to(&[(1, t, aside[0] * share), (2, u, aside[1] * share)]);
            }
            if change < 1e-12 {
                break;
            }
        }
        x
    }

    /// A tool pressed into pits of sixteen contacts, of which up to six bear.
    #[test]
    fn forces_in_random_pits_are_near_the_converged_ones() {
        let seed = 15;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let stiffness = Spring::DESKTOP.diagonal();
        let mut off_n = Vec::new();
        for _ in 0..400 {
            let (mut normals, mut friction) = (Vec::new(), Vec::new());
            let slip = random.unit_vector() * 2e-4;
            for _ in 0..16 {
                let arm = random.unit_vector() * 0.01;
                let aside = [(); 2].map(|()| random.range(-0.7, 0.7));
                let normal = DVec3::new(aside[0], aside[1], 1.0).normalize();
                normals.push(along(arm, normal, random.range(0.0, 3e-4)));
                let (first, second) = normal.any_orthonormal_pair();
                let slip = slip + random.unit_vector() * 2e-5;
                let tangents = [first, second].map(|t| along(arm, t, slip.dot(t)));
                friction.push(FrictionRows { tangents, coefficient: 0.3 });
            }
            let mut desired = [0.0; COORDINATES_MAX];
            desired[..3].copy_from_slice(&[random.range(-1e-3, 1e-3), 0.0, -1.5e-3]);
            let programme = Programme { n: 6, stiffness, desired, rows: &normals };
            let start = programme.solve(&[]);
            let coupling = (6, &stiffness, &desired);
            let got = with_friction(coupling, &normals, |i| friction[i], &start);
            let expected = converged((&stiffness, &desired), (&normals, &friction), 0.3);
            let off_m = (0..3).map(|i| (got.displacement[i] - expected[i]).powi(2)).sum::<f64>();
            off_n.push(stiffness[0] * off_m.sqrt());
            for (normal, [t, u]) in got.normal.iter().zip(got.tangent) {
                assert!(*normal >= 0.0 && t.hypot(u) <= 0.3 * normal * (1.0 + 1e-12));
            }
        }
        off_n.sort_by(f64::total_cmp);
        let [middle, most] = [50, 99].map(|percent| off_n[off_n.len() * percent / 100]);
        println!("off by {middle} N, and at the 99th percentile by {most} N");
        assert!(middle < 2e-3 && most < 0.02, "{middle} N, {most} N");
    }
}
