//! The plan of a run: clients, rates, tissue and tool.

use std::{sync::Arc, time::Duration};

use crate::load::{
    clients::device::DevicePlan,
    report::force_path::ForcePath,
    stage::{
        dent::Dent,
        phantom::{Instrument, PhantomTissue},
    },
};

/// Plan of a run.
#[derive(Clone)]
pub struct Plan {
    /// Haptic clients, each with a thread of its own.
    pub n_clients: u32,
    /// True if they share one connection instead of having one each.
    pub is_connection_shared: bool,
    /// Ticks a second of each client.
    pub rate_hz: f64,
    /// Duration of the run, seconds.
    pub seconds: f64,
    /// Deformations a second; 0 for none.
    pub deform_hz: f64,
    /// Share of the tissue's vertices that a deformation moves, in (0, 1]; `None`: a dent about the tip.
    pub deform_share: Option<f64>,
    /// Cuts a second; 0 for none.
    pub cut_hz: f64,
    /// True if the tool is rendered: a hand presses it deeper.
    pub is_rendered: bool,
    /// True if the tissue is soft, with a hard nodule under the path.
    pub has_nodule: bool,
    /// Simulated device and hand that hold the tool, with a servo of its own; one client then.
    pub device: Option<DevicePlan>,
    /// True if viewers of the live view may move the device.
    pub is_guided: bool,
    /// Threads that keep cores busy meanwhile.
    pub busy_threads: u32,
    /// Ticks answered later than this are missed.
    pub deadline: Duration,
    /// The tissue.
    pub organ: PhantomTissue,
    /// The tool that all clients share; each has its own pose of it.
    pub instrument: Arc<Instrument>,
}

impl Plan {
    /// Returns the path of this run's forces. A hand led along its path is no real hand: the usual hand's damping
    /// counts then.
    pub fn force_path(&self) -> ForcePath {
        let usual = ForcePath { tick_s: 1.0 / self.rate_hz, ..ForcePath::USUAL };
        let Some(plan) = &self.device else { return usual };
        let delay_s = (plan.delay + plan.jitter).as_secs_f64();
        let path = ForcePath { sample_s: 1.0 / plan.servo_hz, delay_s, ..usual };
        if plan.holds {
            ForcePath { damping_n_s_per_m: plan.device.damping(), ..path }
        } else {
            path
        }
    }

    /// Returns the tissue's dent, at rest.
    pub fn dent(&self) -> Dent {
        let (rest, length_m) = (self.organ.rest.clone(), self.organ.length_m());
        match self.deform_share {
            Some(share) => Dent::of_share(rest, length_m, share),
            None => Dent::new(rest, length_m),
        }
    }

    /// Returns a one-line description.
    pub fn line(&self) -> String {
        let clients = if self.n_clients == 1 { "client" } else { "clients" };
        let share = self.deform_share.map_or(String::new(), |s| format!(" of {} %", 100.0 * s));
        let cuts = if self.cut_hz > 0.0 {
            format!(", {} cuts a second", self.cut_hz)
        } else {
            String::new()
        };
        format!(
            "{} haptic {clients} at {} Hz, deformation{share} at {} Hz{cuts}, {} s",
            self.n_clients, self.rate_hz, self.deform_hz, self.seconds
        )
    }
}
