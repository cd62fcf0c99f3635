//! Measurements of a run.

use std::time::Duration;

use super::{fidelity::FidelityReport, latencies::Latencies, stalls::Stalls, tally::Tally};
use crate::load::clients::{cutter::Cuts, deformer::Deformations};

/// Measurements of a run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Ticks of all clients.
    pub tally: Tally,
    /// Deformations of the deforming client.
    pub deformations: Deformations,
    /// Cuts of the cutting client.
    pub cuts: Cuts,
    /// Lateness of the wakes of an idle thread of this machine.
    pub hiccups: Latencies,
    /// Stalls: wakes that were much too late.
    pub stalls: Stalls,
    /// Triangles of the tissue.
    pub tissue_triangles: u64,
    /// Difference of the felt force from the true force.
    pub fidelity: Option<FidelityReport>,
}

impl Measured {
    /// Returns an empty measurement.
    pub fn new(deadline: Duration) -> Measured {
        Measured {
            tally: Tally::new(deadline),
            deformations: Deformations::default(),
            cuts: Cuts::default(),
            hiccups: Latencies::new(),
            stalls: Stalls::default(),
            tissue_triangles: 0,
            fidelity: None,
        }
    }
}
