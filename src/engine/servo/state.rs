//! Servo of one tool from sample to sample.

use glam::DVec3;

use super::{
    fade::Fade,
    held_model::HeldModel,
    options::{ServoOptions, ServoOptionsError},
    passivity::{EnergyBooks, Motion, WorkOfOthers},
    refused::ModelRefused,
};
use crate::coupling::{
    contact_law::Speed,
    force_ramp::ForceRamp,
    local_model::LocalModel,
    posture::{FIRST_LINK, Posture, RENDERED_LINKS_MAX},
    quadratic_programme::{COORDINATES_MAX, Displacement},
    wrench::Wrench,
};

/// Longest time that counts for a sample, seconds: over a longer sample, rates are kept to as over this time.
const DT_S_MAX: f64 = 0.02;

/// Servo of one tool.
#[derive(Clone, Debug)]
pub struct ServoState {
    options: ServoOptions,
    stiffness: Displacement,
    held: Option<HeldModel>,
    device: Option<Posture>,
    /// Speed of the device, against which tissue damps.
    speed: Speed,
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
            speed: Speed::default(),
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
        let mut held = HeldModel::after(before, model, age_s, &self.stiffness);
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
        let moved = self.moved(device);
        let motion = Motion::of(&moved);
        self.speed.note(&moved, dt_s);
        let mut sample = ServoSample::default();
        let mut wanted = None;
        if let Some(held) = &mut self.held {
            held.age_s += if std::mem::take(&mut held.is_aged) { 0.0 } else { dt_s };
            sample.model_age_s = held.age_s;
            sample.is_fading = held.age_s > held.model.expires_s;
            held.blend(dt_s);
            if let Some(device) = device {
                let before = held.x;
                let x_d = held.solve(device, &self.stiffness);
                held.note_speed(&before, dt_s);
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

    /// Returns the motion of the device since the last sample.
    fn moved(&self, device: Option<&Posture>) -> Displacement {
        let (Some(held), Some(before), Some(now)) = (&self.held, &self.device, device) else {
            return [0.0; COORDINATES_MAX];
        };
        before.displacement_along(now, held.model.hold_m, &held.model.screws)
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
        let by_tissue = held.damping(&self.speed);
        let mut wanted = Wrench {
            force: damped(sprung.force, self.stiffness[0], motion.shift),
            torque: damped(sprung.torque, self.stiffness[3], motion.turn),
        };
        if let Some(Wrench { force, torque }) = by_tissue {
            wanted.force += force;
            wanted.torque += torque;
        }
        wanted
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
