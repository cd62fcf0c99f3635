//! A refused tick.

use super::proto;
use crate::service::refused::Refused;

/// To the wire, inside the answer to a tick.
pub fn refusal(refused: &Refused) -> proto::Refusal {
    proto::Refusal {
        code: refused.code() as u32,
        field: refused.field_name().to_owned(),
        message: refused.message().to_owned(),
    }
}
