//! A local model and the servo's own proxy in it.

use glam::DVec3;

use super::passivity::Stored;
use crate::coupling::{
    contact_law::{Friction, Speed},
    friction::{FrictionRows, with_friction},
    local_model::{LocalModel, LocalRow},
    posture::{FIRST_LINK, Posture, RENDERED_LINKS_MAX},
    quadratic_programme::{
        COORDINATES_MAX, ConstraintRow, Displacement, Optimum, Programme, ROWS_MAX,
    },
    wrench::Wrench,
};
use crate::geometry::tolerance::{CONE_SHARE_SLACK, STAND_OFF_M};

/// Time in which the difference of two models' gaps is blended out, but for a twentieth, seconds.
const BLEND_S: f64 = 0.02;
/// e^-3 is a twentieth.
const BLEND_RATE_PER_S: f64 = 3.0 / BLEND_S;

/// A model, and the state of the servo that belongs to it.
#[derive(Clone, Debug)]
pub(super) struct HeldModel {
    pub(super) model: LocalModel,
    jacobians: [Displacement; ROWS_MAX],
    /// Rest of the jump from the model before, added to each gap, metres.
    offsets: [f64; ROWS_MAX],
    /// Points at which friction holds each row's point of the link, scene frame.
    anchors: [Option<DVec3>; ROWS_MAX],
    pub(super) age_s: f64,
    /// True if the age is already that of the next sample.
    pub(super) is_aged: bool,
    /// Displacement of the servo's own proxy from the model's reference.
    pub(super) x: Displacement,
    /// Rest of the displacement from there to the proxy of the model before, for the same device.
    left: Displacement,
    /// Normal force of each row at the last sample, newtons, as if it were rigid.
    forces: [f64; ROWS_MAX],
    /// Force of each row as if it were rigid, with friction, newtons, scene frame; unused if all rows are rigid.
    pushes: [DVec3; ROWS_MAX],
    /// Share of that force that each row bears by its law.
    shares: [f64; ROWS_MAX],
    is_rigid: bool,
    has_friction: bool,
    /// Speed of the proxy over the last samples.
    speed: Speed,
}

impl HeldModel {
    /// Continues a model from the one before.
    pub(super) fn after(
        before: Option<&HeldModel>,
        model: &LocalModel,
        age_s: f64,
        stiffness: &Displacement,
    ) -> HeldModel {
        let mut held = HeldModel {
            model: model.clone(),
            jacobians: [[0.0; COORDINATES_MAX]; ROWS_MAX],
            offsets: [0.0; ROWS_MAX],
            anchors: [None; ROWS_MAX],
            age_s,
            is_aged: true,
            x: [0.0; COORDINATES_MAX],
            left: [0.0; COORDINATES_MAX],
            forces: [0.0; ROWS_MAX],
            pushes: [DVec3::ZERO; ROWS_MAX],
            shares: [1.0; ROWS_MAX],
            is_rigid: model.is_rigid(),
            has_friction: model.has_friction(),
            speed: Speed::default(),
        };
        for (i, row) in model.rows().iter().enumerate() {
            held.jacobians[i] = model.jacobian(row, row.normal);
            held.shares[i] = model.law(row).share(stiffness, &held.jacobians[i]);
        }
        let Some(before) = before else { return held };
        held.speed = before.speed;
        let LocalModel { reference, screws, hold_m, .. } = &before.model;
        let proxy = reference.moved(&before.x, 1.0, *hold_m, screws);
        held.x = model.reference.displacement_along(&proxy, model.hold_m, &model.screws);
        // If the proxy has slipped far away, the planes say nothing of its former position.
        let is_far = held.is_beyond_radius();
        for (i, row) in model.rows().iter().enumerate() {
            let gap = held.gap(i, &held.x);
            let is_it = |other: &LocalRow| other.contact_id == row.contact_id;
            let is_contact = row.contact_id != LocalRow::OF_NO_CONTACT;
            let known = before.model.rows().iter().position(|other| is_contact && is_it(other));
            // A new contact lets a proxy that would be in it stay, and takes it out just as gently.
            held.offsets[i] = match known {
                Some(k) => before.gap(k, &before.x) - gap,
                None if is_far => 0.0,
                None => (-gap).max(0.0),
            };
            if let Some(k) = known {
                held.forces[i] = before.forces[k];
                // Friction holds the tool wherever on it the contact is found: if the contact hops to another feature,
                // the anchor moves along.
                let [from, to] = [(before, &before.model.rows()[k]), (&held, row)]
                    .map(|(held, row)| held.model.point_after(row, &held.x));
                held.anchors[i] = before.anchors[k].map(|anchor| anchor + (to - from));
            }
        }
        held
    }

    /// Rows come, go and turn from model to model, as when the proxy goes over a ridge between two facets: the new rows
    /// move it at once, for the same device. The difference is blended out as gaps are.
    pub(super) fn go_on_from(
        &mut self,
        before: &HeldModel,
        device: &Posture,
        stiffness: &Displacement,
    ) {
        let LocalModel { reference, screws, hold_m, .. } = &before.model;
        let shown = std::array::from_fn(|i| before.x[i] + before.left[i]);
        let proxy = reference.moved(&shown, 1.0, *hold_m, screws);
        let LocalModel { reference, screws, hold_m, .. } = &self.model;
        let shown = reference.displacement_along(&proxy, *hold_m, screws);
        self.solve(device, stiffness);
        self.left = std::array::from_fn(|i| shown[i] - self.x[i]);
    }

    /// Returns the wrench of the springs, with the rest of models before: K (proxy - device) if all rows are rigid, else
    /// the sum of the forces that the rows bear by their laws.
    pub(super) fn sprung(&self, x_d: &Displacement, stiffness: &Displacement) -> Wrench {
        let pull = |i: usize| stiffness[i] * (self.x[i] - x_d[i]);
        let own = if self.is_rigid {
            let of = |places: [usize; 3]| places.map(pull).into();
            Wrench { force: of([0, 1, 2]), torque: of([3, 4, 5]) }
        } else {
            self.sum(|i| self.pushes[i] * self.shares[i])
        };
        let share = self.mean_share();
        let left = |i: usize| share * stiffness[i] * self.left[i];
        let blended =
            |own: DVec3, places: [usize; 3]| with_what_is_left(own, places.map(left).into());
        Wrench { force: blended(own.force, [0, 1, 2]), torque: blended(own.torque, [3, 4, 5]) }
    }

    /// Returns the wrench by which tissue damps a device of a speed.
    pub(super) fn damping(&self, device: &Speed) -> Option<Wrench> {
        let rows = self.model.rows();
        let patch_n = |row: &LocalRow| -> f64 {
            let is_its = |other: &LocalRow| (other.tissue, other.link) == (row.tissue, row.link);
            let both = rows.iter().zip(&self.forces);
            both.filter(|(other, _)| is_its(other)).map(|(_, force)| force).sum()
        };
        let damped = |i: usize| {
            let (row, force) = (&rows[i], self.forces[i]);
            if force == 0.0 {
                return DVec3::ZERO;
            }
            let damped_n = self.model.law(row).damped_n(device.along(&self.jacobians[i]));
            row.normal * (damped_n * force / patch_n(row))
        };
        (!self.is_rigid).then(|| self.sum(damped))
    }

    /// Sums up a force of each row, about the hold point.
    fn sum(&self, of: impl Fn(usize) -> DVec3) -> Wrench {
        let LocalModel { reference, hold_m, .. } = &self.model;
        let held = reference.scene_from_tool.point(*hold_m);
        let mut sum = Wrench::default();
        for (i, row) in self.model.rows().iter().enumerate() {
            let force = of(i);
            sum.force += force;
            sum.torque += (row.on_tool - held).cross(force);
        }
        sum
    }

    /// Returns the mean share of the rows, weighed by their forces.
    fn mean_share(&self) -> f64 {
        if self.is_rigid {
            return 1.0;
        }
        let n = self.model.rows().len();
        let forces = &self.forces[..n];
        let borne: f64 = forces.iter().zip(&self.shares).map(|(force, share)| force * share).sum();
        let rigid: f64 = forces.iter().sum();
        if rigid > 0.0 { borne / rigid } else { 1.0 }
    }

    /// Returns the energy of the springs that give a wrench, those of the tissue's compliance included.
    pub(super) fn stored(
        &self,
        x_d: &Displacement,
        sprung: &Wrench,
        stiffness: &Displacement,
    ) -> Stored {
        // Springs in series that bear a share s of a rigid contact's force store s of its energy: f^2 / (2 K s).
        let share = self.mean_share();
        let lag_m = |i: usize| self.x[FIRST_LINK + i] - x_d[FIRST_LINK + i];
        let links_n: [f64; RENDERED_LINKS_MAX] =
            std::array::from_fn(|i| stiffness[FIRST_LINK + i] * lag_m(i) * share);
        let in_links = (0..RENDERED_LINKS_MAX).map(|i| links_n[i] * lag_m(i)).sum::<f64>();
        let in_body = (sprung.force.length_squared() / stiffness[0]
            + sprung.torque.length_squared() / stiffness[3])
            / share;
        // Tissue does not count as moving once the model has expired.
        let is_moving = self.age_s <= self.model.expires_s;
        let rows = self.model.rows().iter().zip(&self.forces).zip(&self.shares);
        let rows = rows.filter(|_| is_moving);
        let by_tissue_w = rows.map(|((row, f), share)| row.normal_velocity_m_s * f * share).sum();
        Stored { energy_j: 0.5 * (in_body + in_links), links_n, by_tissue_w }
    }

    /// Notes the speed of the proxy, which was at a displacement one sample before.
    pub(super) fn note_speed(&mut self, before: &Displacement, dt_s: f64) {
        self.speed.note(&std::array::from_fn(|i| self.x[i] - before[i]), dt_s);
    }

    /// Returns the rest of a row's gap, less the stand-off that the proxy keeps: g + J x - v t.
    fn gap(&self, i: usize, x: &Displacement) -> f64 {
        let row = &self.model.rows()[i];
        let moved: f64 = self.jacobians[i].iter().zip(x).map(|(j, x)| j * x).sum();
        self.resting_gap(i, row.gap_m, row.normal_velocity_m_s) + moved
    }

    fn resting_gap(&self, i: usize, gap_m: f64, velocity_m_s: f64) -> f64 {
        // Tissue does not count as moving once the model has expired.
        let moved_s = self.age_s.min(self.model.expires_s);
        gap_m - STAND_OFF_M - velocity_m_s * moved_s + self.offsets[i]
    }

    pub(super) fn blend(&mut self, dt_s: f64) {
        let share = (-BLEND_RATE_PER_S * dt_s).exp();
        let n = self.model.rows().len();
        self.offsets[..n].iter_mut().for_each(|offset| *offset *= share);
        self.left.iter_mut().for_each(|left| *left *= share);
    }

    pub(super) fn is_beyond_radius(&self) -> bool {
        let extent = self.model.extent(&self.x);
        extent.length_m + extent.curved_m > self.model.radius_after(self.age_s)
    }

    /// Moves the proxy to the device; returns the displacement of the device from the reference.
    pub(super) fn solve(&mut self, device: &Posture, stiffness: &Displacement) -> Displacement {
        let LocalModel { reference, screws, hold_m, .. } = &self.model;
        let x_d = reference.displacement_along(device, *hold_m, screws);
        let n_rows = self.model.rows().len();
        let mut rows = [ConstraintRow { jacobian: [0.0; COORDINATES_MAX], gap: 0.0 }; ROWS_MAX];
        let (mut likely, mut n_likely) = ([0; ROWS_MAX], 0);
        for (i, row) in self.model.rows().iter().enumerate() {
            let gap = self.resting_gap(i, row.gap_m, row.normal_velocity_m_s);
            rows[i] = ConstraintRow { jacobian: self.jacobians[i], gap };
            if self.forces[i] > 0.0 {
                likely[n_likely] = i;
                n_likely += 1;
            }
        }
        let links = screws.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let n = FIRST_LINK + links;
        let rows = &rows[..n_rows];
        let programme = Programme { n, stiffness: *stiffness, desired: x_d, rows };
        let optimum = programme.solve(&likely[..n_likely]);
        let is_free = optimum.multipliers[..n_rows].iter().all(|force| *force == 0.0);
        if !self.is_rigid {
            let normals = self.model.rows().iter().map(|row| row.normal);
            let pushes = normals.zip(optimum.multipliers).map(|(normal, force)| normal * force);
            self.pushes.iter_mut().zip(pushes).for_each(|(push, force)| *push = force);
        }
        // Rows without normal force have no friction, and contradictory rows have tangential forces without meaning.
        if self.has_friction && !is_free && optimum.residual_m == 0.0 {
            self.rub((n, stiffness, &x_d), rows, &optimum);
        } else {
            self.forces = optimum.multipliers;
            if is_free {
                self.anchors = [None; ROWS_MAX];
            }
            // Unconstrained, the proxy is where the device is, to the last bit: the air gives no force.
            if is_free {
                self.left = [0.0; COORDINATES_MAX];
            }
            self.x = if is_free { x_d } else { optimum.displacement };
        }
        x_d
    }

    /// Adds friction: contacts keep their anchors as far as their cones allow.
    fn rub(
        &mut self,
        (n, stiffness, x_d): (usize, &Displacement, &Displacement),
        rows: &[ConstraintRow],
        optimum: &Optimum,
    ) {
        let found = with_friction((n, stiffness, x_d), rows, |i| self.friction(i), optimum);
        for i in 0..rows.len() {
            let ([f, g], normal_n) = (found.tangent[i], found.normal[i]);
            if normal_n == 0.0 {
                self.anchors[i] = None;
                continue;
            }
            // Squares of forces are far from overflow: no `hypot`, whose last bit depends on the C library.
            let most = self.friction(i).coefficient * normal_n * (1.0 - CONE_SHARE_SLACK);
            let sticks = (f * f + g * g).sqrt() < most;
            self.anchors[i] = sticks.then(|| self.anchor(i));
        }
        if !self.is_rigid {
            for (i, row) in self.model.rows().iter().enumerate() {
                let ([f, g], (first, second)) =
                    (found.tangent[i], row.normal.any_orthonormal_pair());
                self.pushes[i] = row.normal * found.normal[i] + first * f + second * g;
            }
        }
        self.forces = found.normal;
        self.x = found.displacement;
    }

    /// Returns the rows of a contact along the surface.
    fn friction(&self, i: usize) -> FrictionRows {
        let row = &self.model.rows()[i];
        let friction = self.model.law(row).friction;
        if friction == Friction::NONE {
            let none = ConstraintRow { jacobian: [0.0; COORDINATES_MAX], gap: 0.0 };
            return FrictionRows { tangents: [none; 2], coefficient: 0.0 };
        }
        let slip = row.on_tool - self.anchor(i);
        let (first, second) = row.normal.any_orthonormal_pair();
        let tangents = [first, second].map(|along| ConstraintRow {
            jacobian: self.model.jacobian(row, along),
            gap: slip.dot(along),
        });
        let slip_m_s = || self.speed.along_two(&tangents.map(|row| row.jacobian));
        let sticks = self.anchors[i].is_some();
        let coefficient = if sticks { friction.sticking } else { friction.slipping_at(slip_m_s()) };
        FrictionRows { tangents, coefficient }
    }

    /// Returns the point at which friction holds a row's point. A new contact is anchored at the present proxy.
    fn anchor(&self, i: usize) -> DVec3 {
        let here = || self.model.point_after(&self.model.rows()[i], &self.x);
        self.anchors[i].unwrap_or_else(here)
    }
}

/// Returns a spring's force plus the rest of another, which never makes the spring pull.
fn with_what_is_left(own: DVec3, left: DVec3) -> DVec3 {
    let along = own.normalize_or_zero();
    let against = left.dot(along) + own.length();
    own + left - along * against.min(0.0)
}
