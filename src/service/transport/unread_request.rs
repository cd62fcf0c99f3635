//! Code of a request that could not be read.
//!
//! tonic answers undecodable bytes with INTERNAL, as if the server had failed, and a message over its limit with
//! OUT_OF_RANGE. Both are errors of the caller. Refusals of this server always have `google.rpc` details and those of
//! tonic never do, which distinguishes them without parsing their texts.

use http::HeaderMap;
use tonic::{Code, Status};

use crate::service::refused::Refused;

/// Replaces the code of tonic's refusal in `headers`, an answer's head or trailers, by the code of the contract.
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
    // An error means that the message fits no header. tonic's own text then stays.
    let _ = Status::from(refused).add_header(headers);
}
