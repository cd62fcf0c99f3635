//! Why a call did not do what it should.

use std::{error::Error as _, sync::Arc, time::Duration};

use tonic::{Code, Status};

use super::{address::ServerAddress, mesh_source::MeshFileError};
use crate::{proto::TrackResponse, servo::ServoOptionsError};

/// Why a call did not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is none, or nobody answers there.
    #[error("cannot connect to {server}: {reason}")]
    Connect {
        /// As given.
        server: String,
        /// The innermost cause.
        reason: String,
    },
    /// The connection broke: the server ended or the network failed.
    #[error("the server at {server} is gone ({call}): {reason}")]
    Gone {
        /// Its address.
        server: String,
        /// What was asked of it.
        call: &'static str,
        /// The innermost cause.
        reason: String,
    },
    /// A mesh file that no scene takes.
    #[error("{0}")]
    Mesh(#[from] MeshFileError),
    /// The server refused.
    #[error("{call} was refused ({code:?}): {message}")]
    Refused {
        /// What was asked.
        call: &'static str,
        /// The status code.
        code: Code,
        /// The server's words.
        message: String,
    },
    /// A servo that cannot be.
    #[error("{0}")]
    Servo(#[from] ServoOptionsError),
    /// What ended a loop or stream, told again to each who uses it.
    #[error("the loop is over: {0}")]
    Over(Arc<ClientError>),
    /// The loop or stream was closed on this side.
    #[error("the loop is closed")]
    Closed,
}

impl ClientError {
    /// Tells a refusal from a broken connection. tonic reports the latter as UNKNOWN or INTERNAL with a
    /// source, and behind a proxy as UNAVAILABLE.
    pub fn of(server: &ServerAddress, call: &'static str, status: &Status) -> ClientError {
        // A status from the server has no source; one that the transport made up has.
        let broken = status.source().map(innermost);
        match (status.code(), broken) {
            // Whether the server, a proxy or the transport says so: nobody is there to serve.
            (Code::Unavailable, reason) => ClientError::gone(
                server,
                call,
                reason.unwrap_or_else(|| status.message().to_owned()),
            ),
            (_, Some(reason)) => ClientError::gone(server, call, reason),
            (code, None) => {
                ClientError::Refused { call, code, message: status.message().to_owned() }
            }
        }
    }

    /// The error for a stream that the server ended without a reason.
    pub fn ended(server: &ServerAddress, call: &'static str) -> ClientError {
        ClientError::gone(server, call, "it ended the stream".to_owned())
    }

    /// The error for a server that takes bytes and gives none.
    pub(super) fn silent(
        server: &ServerAddress,
        call: &'static str,
        since: Duration,
    ) -> ClientError {
        ClientError::gone(server, call, format!("it has said nothing for {since:?}"))
    }

    /// The error in an answer that refuses its tick.
    pub(super) fn of_refusal(answer: &TrackResponse) -> Option<ClientError> {
        let refusal = answer.refusal.as_ref()?;
        let message = format!("tick {}: {}", answer.sequence, refusal.message);
        Some(ClientError::Refused {
            call: "Track",
            code: Code::from_i32(refusal.code as i32),
            message,
        })
    }

    fn gone(server: &ServerAddress, call: &'static str, reason: String) -> ClientError {
        ClientError::Gone { server: server.to_string(), call, reason }
    }
}

/// The last of an error's causes: "connection refused" rather than "transport error".
pub(super) fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
