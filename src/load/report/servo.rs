//! The servo at the device, as a simulated hand felt it.

use glam::DVec3;
use serde::Serialize;

use super::{
    fidelity::HeldSample,
    latencies::{Latencies, Percentiles},
    thinned::Thinned,
};
use crate::servo::{ServoSample, WorkOfOthers};

/// Servo samples of a run.
#[derive(Clone, Debug, Default)]
pub struct ServoTally {
    /// Number of samples.
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
    /// Work of tissue and links on the springs.
    pub others: WorkOfOthers,
    /// Samples to be compared with the true force afterwards.
    pub held: Vec<HeldSample>,
}

/// A force at the device.
#[derive(Clone, Copy, Debug)]
pub struct ServoForce {
    /// Time of the device since its first sample, seconds.
    pub seconds: f64,
    /// Magnitude of the force, newtons.
    pub force_n: f64,
}

/// [`ServoTally`] for the report.
#[derive(Clone, Debug, Serialize)]
pub struct ServoReport {
    /// Number of samples.
    pub samples: u64,
    /// RMS of the force about its mean, in steady contact. Null when the hand did not hold still.
    pub force_rms_n: Option<f64>,
    /// Magnitude of the mean force, in steady contact.
    pub force_mean_n: Option<f64>,
    /// RMS of the device's position about its mean, in steady contact.
    pub position_rms_m: Option<f64>,
    /// Energy that the hand put in.
    pub energy_in_j: f64,
    /// Energy that the hand received.
    pub energy_out_j: f64,
    /// Energy that moving tissue put into the spring.
    pub energy_by_tissue_j: f64,
    /// Energy that the tool's links, such as closing jaws, put into their springs.
    pub energy_by_links_j: f64,
    /// Greatest force.
    pub force_n_max: f64,
    /// Greatest change of the force between two samples.
    pub force_step_n_max: f64,
    /// Age of the model since its tick was sent; null when no model came.
    pub model_age_us: Option<Percentiles>,
    /// Samples without a valid model.
    pub fading: u64,
    /// Samples farther from the model's reference than the radius within which the model is complete.
    pub beyond_radius: u64,
}

/// Mean and squared deviations of vectors.
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
    /// Adds one sample: its time, the felt force, the device's displacement under it, and the position if held still.
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

    /// Returns the forces for the picture, in order of time.
    pub fn forces(&self) -> &[ServoForce] {
        self.forces.samples()
    }

    /// Returns `None` without a servo.
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
    /// Returns the rows for people.
    pub fn rows(&self) -> [(&'static str, String); 2] {
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
        let servo = format!(
            "{steady}{:.3} N from sample to sample at most; {age}; {:.1} % of the samples fading, {:.1} % beyond the \
             model's radius",
            self.force_step_n_max,
            share(self.fading),
            share(self.beyond_radius)
        );
        [("servo", servo), ("energy", self.energy_said())]
    }

    /// Energy in words. Tissue that moves and links that close do work too, so a hand may get back more than it put in.
    fn energy_said(&self) -> String {
        let mj = |joules: f64| format!("{:.2} mJ", 1e3 * joules);
        let mut text = format!(
            "the hand put in {} and got {} back",
            mj(self.energy_in_j),
            mj(self.energy_out_j)
        );
        let others =
            [("moving tissue", self.energy_by_tissue_j), ("closing links", self.energy_by_links_j)];
        for (name, joules) in others.into_iter().filter(|(_, joules)| joules.abs() >= 5e-6) {
            text += &format!("; {name} put in {}", mj(joules));
        }
        text
    }
}
