//! Conversion between messages of the contract and types of the engine.
//!
//! Parsing refuses values that the engine must not see (numbers that are not finite, quaternions that are no rotation,
//! missing fields, counts over their limit) and names the field, so the engine may assert.

pub mod answer;
pub mod deform;
pub mod export;
pub mod feel;
pub mod pairs;
pub mod query;
pub mod refusal;
pub mod rendering;
pub mod scene;
pub mod self_collision;
pub mod tick;
pub mod upload;
pub mod watch;

pub use super::request_field::{FieldError, Problem};

use crate::proto;
