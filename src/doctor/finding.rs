//! A property of the machine, and its fitness for a 1 kHz loop.

use serde::Serialize;

/// Fitness for a 1 kHz loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Nothing to do.
    Good,
    /// It costs some ticks.
    Fair,
    /// It costs many ticks.
    Poor,
}

/// A property of the machine.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// Name of the property.
    pub name: &'static str,
    /// Value found.
    pub found: String,
    /// Effect on ticks.
    pub grade: Grade,
    /// Advice for an improvement; empty when the grade is good.
    pub advice: &'static str,
}
