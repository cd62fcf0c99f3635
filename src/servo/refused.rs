//! Models that a servo does not take.

use crate::coupling::local_model::ModelError;

/// Why a model was not taken; the one before it stays.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ModelRefused {
    /// Of another tool.
    #[error("the model is of tool {got}, expected {expected}")]
    Foreign {
        /// As given.
        got: u32,
        /// The servo's.
        expected: u32,
    },
    /// Not newer than the one before.
    #[error("the model has sequence {got}, expected more than {last}")]
    Old {
        /// As given.
        got: u64,
        /// Of the model before.
        last: u64,
    },
    /// Its age is no time.
    #[error("the model is {got} s old, expected a finite time of 0 or more")]
    Age {
        /// As given.
        got: f64,
    },
    /// Its numbers cannot be.
    #[error(transparent)]
    Malformed(#[from] ModelError),
}
