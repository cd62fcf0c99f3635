//! What was measured of a run.

use std::time::Duration;

use super::{fidelity::FidelityReport, latencies::Latencies, stalls::Stalls, tally::Tally};
use crate::load::clients::{cutter::Cuts, deformer::Deformations};

/// What was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// All clients' ticks.
    pub tally: Tally,
    /// The deforming client's.
    pub deformations: Deformations,
    /// The cutting client's.
    pub cuts: Cuts,
    /// How late an idle thread of this machine woke.
    pub hiccups: Latencies,
    /// When it woke much too late.
    pub stalls: Stalls,
    /// Of the tissue.
    pub tissue_triangles: u64,
    /// How near a felt force was to the true one.
    pub fidelity: Option<FidelityReport>,
}

impl Measured {
    /// Nothing yet.
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
