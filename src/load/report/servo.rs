//! What a hand felt of a servo at its device.

use glam::DVec3;
use serde::Serialize;

use super::{
    fidelity::HeldSample,
    latencies::{Latencies, Percentiles},
    thinned::Thinned,
};
use crate::servo::{ServoSample, WorkOfOthers};

/// The samples of a run.
#[derive(Clone, Debug, Default)]
pub struct ServoTally {
    /// In all.
    pub samples: u64,
    fading: u64,
    beyond_radius: u64,
    steady: AboutMean,
    place: AboutMean,
    energy_in_j: f64,
    energy_out_j: f64,
    force_n_max: f64,
    force_step_n_max: f64,
    last_force: DVec3,
    model_age: Latencies,
    forces: Thinned<ServoForce>,
    /// What tissue and links have done to the springs.
    pub others: WorkOfOthers,
    /// To be compared with the true force afterwards.
    pub held: Vec<HeldSample>,
}

/// A force at the device.
#[derive(Clone, Copy, Debug)]
pub struct ServoForce {
    /// Of the device, since its first sample.
    pub seconds: f64,
    /// Newtons.
    pub force_n: f64,
}

/// [`ServoTally`] for the report.
#[derive(Clone, Debug, Serialize)]
pub struct ServoReport {
    /// In all.
    pub samples: u64,
    /// In steady contact: of the force about its mean. Null when the hand did not hold still.
    pub force_rms_n: Option<f64>,
    /// The mean of the force there.
    pub force_mean_n: Option<f64>,
    /// In steady contact: of the device about its mean.
    pub position_rms_m: Option<f64>,
    /// That the hand put in.
    pub energy_in_j: f64,
    /// That it was given back.
    pub energy_out_j: f64,
    /// That moving tissue put into the spring.
    pub energy_by_tissue_j: f64,
    /// That the tool's links, as jaws that close, put into their springs.
    pub energy_by_links_j: f64,
    /// The greatest.
    pub force_n_max: f64,
    /// From sample to sample.
    pub force_step_n_max: f64,
    /// Of the model, since its tick was sent; null when none came.
    pub model_age_us: Option<Percentiles>,
    /// Samples without a model that holds.
    pub fading: u64,
    /// Samples farther from the model's reference than it is complete.
    pub beyond_radius: u64,
}

/// Of vectors about their mean.
#[derive(Clone, Copy, Debug, Default)]
struct AboutMean {
    n: f64,
    mean: DVec3,
    squares: f64,
}

impl AboutMean {
    /// Welford 1962: sums of squares far from the origin would lose their digits.
    fn note(&mut self, v: DVec3) {
        self.n += 1.0;
        let off = v - self.mean;
        self.mean += off / self.n;
        self.squares += off.dot(v - self.mean);
    }

    fn rms(&self) -> Option<f64> {
        (self.n > 0.0).then(|| (self.squares / self.n).sqrt())
    }
}

impl ServoTally {
    /// One sample: when it was, what was felt, what the device moved by under it, and where it is when it is held still.
    pub fn note(&mut self, seconds: f64, felt: &ServoSample, moved: DVec3, held_at: Option<DVec3>) {
        self.samples += 1;
        let force = felt.force_n;
        self.forces.note(ServoForce { seconds, force_n: force.length() });
        let work = force.dot(moved);
        if work < 0.0 {
            self.energy_in_j -= work
        } else {
            self.energy_out_j += work
        }
        self.force_n_max = self.force_n_max.max(force.length());
        self.force_step_n_max = self.force_step_n_max.max(force.distance(self.last_force));
        self.last_force = force;
        self.fading += u64::from(felt.is_fading);
        self.beyond_radius += u64::from(felt.is_beyond_radius);
        if felt.model_age_s > 0.0 {
            self.model_age.record(std::time::Duration::from_secs_f64(felt.model_age_s));
        }
        if let Some(place) = held_at {
            self.steady.note(force);
            self.place.note(place);
        }
    }

    /// For the picture, in the order of time.
    pub fn forces(&self) -> &[ServoForce] {
        self.forces.samples()
    }

    /// `None` without a servo.
    pub fn report(&self) -> Option<ServoReport> {
        (self.samples > 0).then(|| ServoReport {
            samples: self.samples,
            force_rms_n: self.steady.rms(),
            force_mean_n: self.steady.rms().map(|_| self.steady.mean.length()),
            position_rms_m: self.place.rms(),
            energy_in_j: self.energy_in_j,
            energy_out_j: self.energy_out_j,
            energy_by_tissue_j: self.others.tissue_j,
            energy_by_links_j: self.others.links_j,
            force_n_max: self.force_n_max,
            force_step_n_max: self.force_step_n_max,
            model_age_us: self.model_age.percentiles(),
            fading: self.fading,
            beyond_radius: self.beyond_radius,
        })
    }
}

impl ServoReport {
    /// For a person to read, in a line.
    pub fn said(&self) -> String {
        let steady = match (self.force_mean_n, self.force_rms_n, self.position_rms_m) {
            (Some(mean), Some(force), Some(place)) => format!(
                "held at {mean:.2} N: {force:.4} N and {:.1} um RMS about it; ",
                1e6 * place
            ),
            _ => String::new(),
        };
        let age = self.model_age_us.map_or_else(
            || "no model came".to_owned(),
            |age| format!("models {:.1} ms old, {:.1} at p99", age.p50 / 1e3, age.p99 / 1e3),
        );
        let share = |n: u64| 100.0 * n as f64 / self.samples as f64;
        format!(
            "{steady}{:.3} N from sample to sample at most; {:.2} mJ put in by the hand, {:.2} by \
             tissue, {:.2} by links, {:.2} given to the hand; {age}; {:.1} % fading, \
             {:.1} % beyond the radius",
            self.force_step_n_max,
            1e3 * self.energy_in_j,
            1e3 * self.energy_by_tissue_j,
            1e3 * self.energy_by_links_j,
            1e3 * self.energy_out_j,
            share(self.fading),
            share(self.beyond_radius)
        )
    }
}
