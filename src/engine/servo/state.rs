//! Servo of one tool from sample to sample.

use glam::DVec3;

use super::{
    fade::Fade,
    options::{ServoOptions, ServoOptionsError},
    passivity::{EnergyBooks, Motion, Stored, WorkOfOthers},
    refused::ModelRefused,
};
use crate::coupling::{
    force_ramp::ForceRamp,
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
pub const BLEND_S: f64 = 0.02;
/// e^-3 is a twentieth.
const BLEND_RATE_PER_S: f64 = 3.0 / BLEND_S;
/// Longest time that counts for a sample, seconds: over a longer sample, rates are kept to as over this time.
const DT_S_MAX: f64 = 0.02;

/// Servo of one tool.
#[derive(Clone, Debug)]
pub struct ServoState {
    options: ServoOptions,
    stiffness: Displacement,
    held: Option<HeldModel>,
    device: Option<Posture>,
    sent: Wrench,
    fade: Option<Fade>,
    /// Limits the force after a fade in which the hand has let go.
    ramp: Option<ForceRamp>,
    books: EnergyBooks,
    last_sequence: Option<u64>,
}

/// Result of one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ServoSample {
    /// Force for the hand, at the hold point, newtons, scene frame.
    pub force_n: DVec3,
    /// Torque about the hold point, newton metres.
    pub torque_nm: DVec3,
    /// Distance of each link from its command, metres at its farthest point.
    pub link_follow_m: [f64; RENDERED_LINKS_MAX],
    /// Time since the tick that the model answers was sent, seconds; 0 without a model.
    pub model_age_s: f64,
    /// True if a cap, a rate, a fade or the energy balance changed the wrench that is sent.
    pub limited: bool,
    /// True if the model is too old, or the device's pose is invalid: the force fades.
    pub is_fading: bool,
    /// True if the proxy was farther from its reference than the model is complete: tissue may be missing from its
    /// rows.
    pub is_beyond_radius: bool,
}

/// A model, and the state of the servo that belongs to it.
#[derive(Clone, Debug)]
struct HeldModel {
    model: LocalModel,
    jacobians: [Displacement; ROWS_MAX],
    /// Rest of the jump from the model before, added to each gap, metres.
    offsets: [f64; ROWS_MAX],
    /// Points at which friction holds each row's point of the link, scene frame.
    anchors: [Option<DVec3>; ROWS_MAX],
    age_s: f64,
    /// True if the age is already that of the next sample.
    is_aged: bool,
    /// Displacement of the servo's own proxy from the model's reference.
    x: Displacement,
    /// Rest of the displacement from there to the proxy of the model before, for the same device.
    left: Displacement,
    /// Force of each row at the last sample, newtons.
    forces: [f64; ROWS_MAX],
}

impl ServoState {
    /// Creates a servo that sends nothing until it has a model.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ServoOptions::check`].
    pub fn new(options: ServoOptions) -> Result<ServoState, ServoOptionsError> {
        options.check()?;
        Ok(ServoState {
            stiffness: options.spring.diagonal(),
            books: EnergyBooks::of(&options.spring),
            options,
            held: None,
            device: None,
            sent: Wrench::default(),
            fade: None,
            ramp: None,
            last_sequence: None,
        })
    }

    /// Takes a newer model. `age_s`: time from sending the tick that it answers to the next sample, by the client's own
    /// clock.
    ///
    /// # Errors
    ///
    /// Returns an error if the model is another tool's, older than the one before, or invalid. The one before then
    /// stays.
    pub fn take(&mut self, model: &LocalModel, age_s: f64) -> Result<(), ModelRefused> {
        if model.tool != self.options.tool {
            return Err(ModelRefused::Foreign { got: model.tool, expected: self.options.tool });
        }
        if let Some(last) = self.last_sequence.filter(|last| model.sequence <= *last) {
            return Err(ModelRefused::Old { got: model.sequence, last });
        }
        if !(age_s.is_finite() && age_s >= 0.0) {
            return Err(ModelRefused::Age { got: age_s });
        }
        model.check()?;
        self.last_sequence = Some(model.sequence);
        // After a fade there is nothing to go on from.
        let is_over = self.fade.is_some_and(|fade| fade.is_over());
        let before = self.held.as_ref().filter(|_| !is_over);
        let mut held = HeldModel::after(before, model, age_s);
        if let (Some(before), Some(device)) = (before, &self.device) {
            held.go_on_from(before, device, &self.stiffness);
        }
        self.held = Some(held);
        Ok(())
    }

    /// Sets the model's age at the next sample, as in [`ServoState::take`], if a clock measures it; else the age is the
    /// sum of the samples since.
    pub fn set_age(&mut self, age_s: f64) {
        if let Some(held) = self.held.as_mut().filter(|_| age_s.is_finite() && age_s >= 0.0) {
            (held.age_s, held.is_aged) = (age_s, true);
        }
    }

    /// Returns the work of tissue and links: see [`super::DeviceServo::work_of_others`].
    pub fn work_of_others(&self) -> WorkOfOthers {
        self.books.others
    }

    /// Computes one sample: the force for a device at `device`, `dt_s` seconds after the last sample.
    ///
    /// The force is finite and within its limits for any arguments: an invalid pose or time lets it fade or stay.
    pub fn step(&mut self, device: &Posture, dt_s: f64) -> ServoSample {
        let dt_s = if dt_s.is_finite() { dt_s.max(0.0) } else { 0.0 };
        let device = Some(device).filter(|d| d.is_rigid());
        let motion = self.motion(device);
        let mut sample = ServoSample::default();
        let mut wanted = None;
        if let Some(held) = &mut self.held {
            held.age_s += if std::mem::take(&mut held.is_aged) { 0.0 } else { dt_s };
            sample.model_age_s = held.age_s;
            sample.is_fading = held.age_s > held.model.expires_s;
            held.blend(dt_s);
            if let Some(device) = device {
                let x_d = held.solve(device, &self.stiffness);
                sample.is_beyond_radius = held.is_beyond_radius();
                for (i, follow) in sample.link_follow_m.iter_mut().enumerate() {
                    *follow = (held.x[FIRST_LINK + i] - x_d[FIRST_LINK + i]).abs();
                }
                wanted = Some(self.coupled(&x_d, &motion, dt_s, &mut sample));
            }
        }
        self.device = device.copied();
        sample.is_fading |= self.held.is_some() && device.is_none();
        self.send(wanted, dt_s, &mut sample);
        sample
    }

    /// Returns the motion of the hold point since the last sample.
    fn motion(&self, device: Option<&Posture>) -> Motion {
        let (Some(held), Some(before), Some(now)) = (&self.held, &self.device, device) else {
            return Motion::default();
        };
        let LocalModel { hold_m, screws, .. } = &held.model;
        Motion::of(&before.displacement_along(now, *hold_m, screws))
    }

    /// Computes K (proxy - device) - B v, with B = K T: K times the motion of one sample. Formula 2 of
    /// [`crate::servo`], with its sources there.
    fn coupled(
        &mut self,
        x_d: &Displacement,
        motion: &Motion,
        dt_s: f64,
        sample: &mut ServoSample,
    ) -> Wrench {
        let Some(held) = &self.held else { return Wrench::default() };
        let mut sprung = held.sprung(x_d, &self.stiffness);
        if self.options.observes_passivity {
            let stored = held.stored(x_d, &sprung, &self.stiffness);
            self.books.enter(stored, &self.sent, motion, dt_s);
            let passive = self.books.passive(&sprung, motion, dt_s);
            sample.limited |= passive != sprung;
            sprung = passive;
        }
        let samples = self.options.damping_samples;
        // Along the force alone: without friction tissue holds nothing back along its surface, and in the air there is
        // nothing to damp. The damping never pulls: a hand that leaves is let go.
        let damped = |force: DVec3, stiffness: f64, motion: DVec3| {
            let size = force.length();
            if size == 0.0 {
                return DVec3::ZERO;
            }
            let along = force / size;
            along * (size - samples * stiffness * motion.dot(along)).max(0.0)
        };
        Wrench {
            force: damped(sprung.force, self.stiffness[0], motion.shift),
            torque: damped(sprung.torque, self.stiffness[3], motion.turn),
        }
    }

    /// Sends the wanted wrench within cap, rate and age.
    fn send(&mut self, wanted: Option<Wrench>, dt_s: f64, sample: &mut ServoSample) {
        // Numbers that overflowed are no force.
        let wanted = wanted.filter(|w| w.force.is_finite() && w.torque.is_finite());
        let limits = self.options.limits;
        let rated_s = dt_s.min(DT_S_MAX);
        let is_fading = sample.is_fading || wanted.is_none() && self.held.is_some();
        // If models are late again and again, the hand does not let go, and a ramp would never end.
        if !is_fading && self.fade.take().is_some_and(|fade| fade.is_over()) {
            self.ramp = Some(ForceRamp::from(&self.sent));
        }
        let sent = match wanted {
            _ if is_fading => {
                let fade = self.fade.get_or_insert_with(|| Fade::from(&self.sent));
                sample.limited = true;
                fade.step(&self.sent, &wanted.unwrap_or(self.sent), &limits, dt_s)
            }
            Some(wanted) => {
                let limits = ForceRamp::limits(&mut self.ramp, &limits, rated_s);
                let (sent, limited) = self.sent.towards(&wanted, &limits, rated_s);
                sample.limited |= limited;
                sent
            }
            None => self.sent,
        };
        sample.is_fading = is_fading;
        self.sent = sent;
        (sample.force_n, sample.torque_nm) = (sent.force, sent.torque);
    }
}

/// Returns a spring's force plus the rest of another, which never makes the spring pull.
fn with_what_is_left(own: DVec3, left: DVec3) -> DVec3 {
    let along = own.normalize_or_zero();
    let against = left.dot(along) + own.length();
    own + left - along * against.min(0.0)
}

impl HeldModel {
    /// Continues a model from the one before.
    fn after(before: Option<&HeldModel>, model: &LocalModel, age_s: f64) -> HeldModel {
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
        };
        for (jacobian, row) in held.jacobians.iter_mut().zip(model.rows()) {
            *jacobian = model.jacobian(row, row.normal);
        }
        let Some(before) = before else { return held };
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
    fn go_on_from(&mut self, before: &HeldModel, device: &Posture, stiffness: &Displacement) {
        let LocalModel { reference, screws, hold_m, .. } = &before.model;
        let shown = std::array::from_fn(|i| before.x[i] + before.left[i]);
        let proxy = reference.moved(&shown, 1.0, *hold_m, screws);
        let LocalModel { reference, screws, hold_m, .. } = &self.model;
        let shown = reference.displacement_along(&proxy, *hold_m, screws);
        self.solve(device, stiffness);
        self.left = std::array::from_fn(|i| shown[i] - self.x[i]);
    }

    /// K (proxy - device), with the rest of models before.
    fn sprung(&self, x_d: &Displacement, stiffness: &Displacement) -> Wrench {
        let pull = |i: usize| stiffness[i] * (self.x[i] - x_d[i]);
        let left = |i: usize| stiffness[i] * self.left[i];
        let blended = |places: [usize; 3]| {
            with_what_is_left(places.map(pull).into(), places.map(left).into())
        };
        Wrench { force: blended([0, 1, 2]), torque: blended([3, 4, 5]) }
    }

    /// Returns the energy of the springs that give a wrench.
    fn stored(&self, x_d: &Displacement, sprung: &Wrench, stiffness: &Displacement) -> Stored {
        let lag_m = |i: usize| self.x[FIRST_LINK + i] - x_d[FIRST_LINK + i];
        let links_n: [f64; RENDERED_LINKS_MAX] =
            std::array::from_fn(|i| stiffness[FIRST_LINK + i] * lag_m(i));
        let in_links = (0..RENDERED_LINKS_MAX).map(|i| links_n[i] * lag_m(i)).sum::<f64>();
        let in_body = sprung.force.length_squared() / stiffness[0]
            + sprung.torque.length_squared() / stiffness[3];
        // Tissue does not count as moving once the model has expired.
        let is_moving = self.age_s <= self.model.expires_s;
        let rows = self.model.rows().iter().zip(&self.forces).filter(|_| is_moving);
        let by_tissue_w = rows.map(|(row, force)| row.normal_velocity_m_s * force).sum();
        Stored { energy_j: 0.5 * (in_body + in_links), links_n, by_tissue_w }
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

    fn blend(&mut self, dt_s: f64) {
        let share = (-BLEND_RATE_PER_S * dt_s).exp();
        let n = self.model.rows().len();
        self.offsets[..n].iter_mut().for_each(|offset| *offset *= share);
        self.left.iter_mut().for_each(|left| *left *= share);
    }

    fn is_beyond_radius(&self) -> bool {
        let extent = self.model.extent(&self.x);
        extent.length_m + extent.curved_m > self.model.radius_after(self.age_s)
    }

    /// Moves the proxy to the device; returns the displacement of the device from the reference.
    fn solve(&mut self, device: &Posture, stiffness: &Displacement) -> Displacement {
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
        // Rows without normal force have no friction, and contradictory rows have tangential forces without meaning.
        if self.model.friction > 0.0 && !is_free && optimum.residual_m == 0.0 {
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
        let none = ConstraintRow { jacobian: [0.0; COORDINATES_MAX], gap: 0.0 };
        let tangents = |i: usize| {
            let row = &self.model.rows()[i];
            if row.contact_id == LocalRow::OF_NO_CONTACT {
                return FrictionRows { tangents: [none; 2] };
            }
            let slip = row.on_tool - self.anchor(i);
            let (first, second) = row.normal.any_orthonormal_pair();
            let tangents = [first, second].map(|along| ConstraintRow {
                jacobian: self.model.jacobian(row, along),
                gap: slip.dot(along),
            });
            FrictionRows { tangents }
        };
        let friction = self.model.friction;
        let coupling = (n, stiffness, x_d);
        let found = with_friction(coupling, rows, tangents, friction, optimum);
        for i in 0..rows.len() {
            let [f, g] = found.tangent[i];
            // Squares of forces are far from overflow: no `hypot`, whose last bit depends on the C library.
            let sticks =
                (f * f + g * g).sqrt() < friction * found.normal[i] * (1.0 - CONE_SHARE_SLACK);
            self.anchors[i] = sticks.then(|| self.anchor(i));
        }
        self.forces = found.normal;
        self.x = found.displacement;
    }

    /// Returns the point at which friction holds a row's point. A new contact is anchored at the present proxy.
    fn anchor(&self, i: usize) -> DVec3 {
        let here = || self.model.point_after(&self.model.rows()[i], &self.x);
        self.anchors[i].unwrap_or_else(here)
    }
}
