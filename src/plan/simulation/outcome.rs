//! What happened to all scenes.

use serde::Serialize;

use super::gaps::GapSummary;

/// Counts over one simulation.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Outcome {
    /// Machines that were there.
    pub machines: u32,
    /// Scenes that each carried at most.
    pub scenes_per_machine: u32,
    /// How long it was, hours.
    pub hours: f64,
    /// Scenes that somebody asked for.
    pub asked_for: u64,
    /// Of those, turned away: no machine had room.
    pub unplaced: u64,
    /// Of those, opened and closed.
    pub closed: u64,
    /// Of those, open at the end.
    pub open: u64,
    /// Closed without a server.
    pub closed_in_a_gap: u64,
    /// Machines that failed.
    pub failures: u64,
    /// Rolling upgrades that came to their end.
    pub upgrades: u64,
    /// Scenes that another machine took over after a failure.
    pub taken_over: u64,
    /// Scenes that were moved for an upgrade.
    pub moved: u64,
    /// Times that a scene could not be moved, as no other machine had room: it was served where it was.
    pub moves_put_off: u64,
    /// Edits that were acknowledged and are gone.
    pub edits_lost: u64,
    /// Edits that owners acknowledged after they were cut off, before their leases ended. They are in the store.
    pub edits_by_cut_off_owners: u64,
    /// Deformations that were answered in the last second before a failure and had not been kept. No promise covers
    /// them: a simulator sends them anew sixty times a second.
    pub deformations_since_the_last_second: u64,
    /// From the last acknowledgement or answer to the first from the new server.
    pub after_failures: GapSummary,
    /// The same of scenes that were moved.
    pub after_moves: GapSummary,
    /// All scenes' time, hours.
    pub scene_hours: f64,
    /// Of that, not served.
    pub gap_hours: f64,
}
