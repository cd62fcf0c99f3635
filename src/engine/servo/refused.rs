//! Models that a servo refuses.

use crate::coupling::local_model::ModelError;

/// Reasons for refusing a model; the one before it stays.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ModelRefused {
    /// The model belongs to another tool.
    #[error("the model is of tool {got}, expected {expected}")]
    Foreign {
        /// Tool of the model.
        got: u32,
        /// Tool of the servo.
        expected: u32,
    },
    /// The model is not newer than the one before.
    #[error("the model has sequence {got}, expected more than {last}")]
    Old {
        /// Sequence of the model.
        got: u64,
        /// Sequence of the model before.
        last: u64,
    },
    /// The model's age is not a valid time.
    #[error("the model is {got} s old, expected a finite time of 0 or more")]
    Age {
        /// Given age, seconds.
        got: f64,
    },
    /// A number of the model is invalid.
    #[error(transparent)]
    Malformed(#[from] ModelError),
}
