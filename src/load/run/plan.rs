//! What is run: clients, rates, tissue and tool.

use std::{sync::Arc, time::Duration};

use crate::load::{
    clients::device::DevicePlan,
    stage::phantom::{Instrument, Organ},
};

/// What is run.
#[derive(Clone)]
pub struct Plan {
    /// Haptic clients, each with a thread of its own.
    pub n_clients: u32,
    /// They share one connection instead of having one each.
    pub is_connection_shared: bool,
    /// Ticks a second of each.
    pub rate_hz: f64,
    /// How long.
    pub seconds: f64,
    /// Deformations a second; 0 for none.
    pub deform_hz: f64,
    /// Of the tissue's vertices, how many a deformation moves, in (0, 1]; `None`: a dent about the tip.
    pub deform_share: Option<f64>,
    /// Cuts a second; 0 for none.
    pub cut_hz: f64,
    /// The tool is rendered: a hand presses it deeper.
    pub is_rendered: bool,
    /// The tool is held by a simulated device and hand, with a servo of its own; one client then.
    pub device: Option<DevicePlan>,
    /// Viewers of the live view may move the device.
    pub is_guided: bool,
    /// Later than this is missed.
    pub deadline: Duration,
    /// The tissue.
    pub organ: Organ,
    /// The tool that all clients share; each has its own pose of it.
    pub instrument: Arc<Instrument>,
}

impl Plan {
    /// In a line.
    pub fn line(&self, server: &str) -> String {
        let clients = if self.n_clients == 1 { "client" } else { "clients" };
        let share = self.deform_share.map_or(String::new(), |s| format!(" of {} %", 100.0 * s));
        let cuts = if self.cut_hz > 0.0 {
            format!(", {} cuts a second", self.cut_hz)
        } else {
            String::new()
        };
        format!(
            "{} haptic {clients} at {} Hz, deformation{share} at {} Hz{cuts}, {} s, {server}",
            self.n_clients, self.rate_hz, self.deform_hz, self.seconds
        )
    }
}
