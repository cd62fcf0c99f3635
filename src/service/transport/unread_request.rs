//! The code of a request that could not be read.
//!
//! tonic answers bytes that are no message INTERNAL, as if the server had failed, and a message over its limit
//! OUT_OF_RANGE. Both are the caller's. A refusal of ours always has `google.rpc` details and one of tonic's never, which
//! tells them apart without a look at their words.

use http::HeaderMap;
use tonic::{Code, Status};

use crate::service::refused::Refused;

/// Gives `headers`, an answer's head or its trailers, the code that the contract has for what tonic refused.
pub fn mend_code(headers: &mut HeaderMap) {
    let Some(status) = Status::from_header_map(headers) else { return };
    if !status.details().is_empty() {
        return;
    }
    let message = format!("the request cannot be read: {}", status.message());
    let refused = match status.code() {
        Code::Internal => Refused::field("", message),
        Code::OutOfRange => Refused::quota("message_bytes", "", message),
        _ => return,
    };
    // An error: a message that fits no header. What tonic said stands then.
    let _ = Status::from(refused).add_header(headers);
}
