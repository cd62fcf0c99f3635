//! Conversion of a refused tick.

use super::proto;
use crate::service::refused::Refused;

/// Converts a refusal to its message, for the answer to a tick.
pub fn refusal(refused: &Refused) -> proto::Refusal {
    proto::Refusal {
        code: refused.code() as u32,
        field: refused.field_name().to_owned(),
        message: refused.message().to_owned(),
    }
}
