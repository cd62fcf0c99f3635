//! All that a plan says.

use serde::Serialize;

use super::{figure::Figure, simulation::outcome::Outcome, sizing::Sizing};

/// What is printed; its fields are the JSON's.
#[derive(Debug, Serialize)]
pub struct PlanReport {
    /// Machines, and what they carry.
    pub sizing: Sizing,
    /// What happened on them; null without `--simulate`.
    pub simulation: Option<Outcome>,
    /// What was measured, and where that is written.
    pub figures: Vec<Figure>,
    /// What was taken for granted.
    pub assumptions: Vec<String>,
}
