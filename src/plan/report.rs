//! Report of `palpate plan`.

use serde::Serialize;

use super::{figure::Figure, simulation::outcome::Outcome, sizing::Sizing};

/// Printed report; its fields are those of the JSON.
#[derive(Debug, Serialize)]
pub struct PlanReport {
    /// Number of machines and their load.
    pub sizing: Sizing,
    /// Outcome of the simulation; null without `--simulate`.
    pub simulation: Option<Outcome>,
    /// Measured figures and their sources.
    pub figures: Vec<Figure>,
    /// Assumptions of the plan, in words.
    pub assumptions: Vec<String>,
}
