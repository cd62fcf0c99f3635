//! Results of a simulation.

use serde::Serialize;

use super::gaps::GapSummary;

/// Counts over one simulation.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Outcome {
    /// Number of machines.
    pub machines: u32,
    /// Maximum scenes of each machine.
    pub scenes_per_machine: u32,
    /// Simulated time, hours.
    pub hours: f64,
    /// Scenes that clients asked for.
    pub asked_for: u64,
    /// Requests turned away because no machine had a free place.
    pub unplaced: u64,
    /// Scenes that were opened and closed.
    pub closed: u64,
    /// Scenes open at the end.
    pub open: u64,
    /// Scenes closed while they had no server.
    pub closed_in_a_gap: u64,
    /// Machines that failed.
    pub failures: u64,
    /// Completed rolling upgrades.
    pub upgrades: u64,
    /// Scenes that another machine took over after a failure.
    pub taken_over: u64,
    /// Scenes that were moved for an upgrade.
    pub moved: u64,
    /// Postponed moves: no other machine had a free place, and its present server kept serving it.
    pub moves_put_off: u64,
    /// Acknowledged edits that were lost.
    pub edits_lost: u64,
    /// Edits that owners acknowledged after they were cut off, before their leases ended. These edits are in the store.
    pub edits_by_cut_off_owners: u64,
    /// Deformations that were answered in the last second before a failure and had not been saved. No guarantee covers
    /// them: a simulator sends new ones sixty times a second.
    pub deformations_since_the_last_second: u64,
    /// Gaps after failures, from the last acknowledgement or answer to the first from the new server.
    pub after_failures: GapSummary,
    /// Gaps of scenes that were moved, from the last acknowledgement or answer to the first from the new server.
    pub after_moves: GapSummary,
    /// Total time of all scenes, hours.
    pub scene_hours: f64,
    /// Part of `scene_hours` that was not served.
    pub gap_hours: f64,
}
