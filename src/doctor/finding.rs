//! One thing that was looked at, and how good it is for a 1 kHz loop.

use serde::Serialize;

/// How good something is for a 1 kHz loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Nothing to do.
    Good,
    /// It costs some ticks.
    Fair,
    /// It costs many.
    Poor,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// What.
    pub name: &'static str,
    /// How it is.
    pub found: String,
    /// What that means for ticks.
    pub grade: Grade,
    /// What would make it better; empty when it is good.
    pub advice: &'static str,
}
