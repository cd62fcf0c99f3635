//! Errors of a call.

use std::{error::Error as _, sync::Arc, time::Duration};

use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::{address::ServerAddress, mesh_source::MeshFileError};
use crate::{proto::TrackResponse, servo::ServoOptionsError};

/// Reason in `google.rpc.ErrorInfo` when another server has the scene.
const OWNED_ELSEWHERE: &str = "SCENE_OWNED_ELSEWHERE";

/// A call failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is invalid, or no server answers there.
    #[error("cannot connect to {server}: {reason}")]
    Connect {
        /// Address as given.
        server: String,
        /// The innermost cause.
        reason: String,
    },
    /// The connection broke: the server ended or the network failed.
    #[error("the server at {server} is gone ({call}): {reason}")]
    Gone {
        /// Address of the server.
        server: String,
        /// Name of the call.
        call: &'static str,
        /// The innermost cause.
        reason: String,
        /// True if the server itself reported it: it is there, and may serve again, as when its lease is over or it is
        /// starting.
        is_told: bool,
    },
    /// No scene takes the mesh file.
    #[error("{0}")]
    Mesh(#[from] MeshFileError),
    /// The server refused.
    #[error("{call} was refused ({code:?}): {message}")]
    Refused {
        /// Name of the call.
        call: &'static str,
        /// The status code.
        code: Code,
        /// The server's message.
        message: String,
    },
    /// Another server has the scene. Calls and loops follow to that server by themselves; this error remains if it
    /// names another in turn, and for a stream of deformations, which must be opened again.
    #[error("{call} was refused: the scene is served at {address}")]
    Elsewhere {
        /// Name of the call.
        call: &'static str,
        /// Address as that server advertises it: host:port.
        address: String,
    },
    /// The servo's options are invalid.
    #[error("{0}")]
    Servo(#[from] ServoOptionsError),
    /// The error that ended a loop or stream, reported again to each user.
    #[error("the loop is over: {0}")]
    Over(Arc<ClientError>),
    /// The loop or stream was closed on this side.
    #[error("the loop is closed")]
    Closed,
}

impl ClientError {
    /// Distinguishes a refusal from a broken connection. tonic reports the latter as UNKNOWN or INTERNAL with a source,
    /// and behind a proxy as UNAVAILABLE. Behind a proxy, a scene that a server does not know may still exist if a
    /// substitute server was asked.
    pub fn of(server: &ServerAddress, call: &'static str, status: &Status) -> ClientError {
        // A status from the server has no source; a status that the transport made up has one.
        let broken = status.source().map(|source| with_hint(server, innermost(source)));
        if broken.is_none() {
            server.hear_host(status.metadata());
        }
        if is_no_scene(status) && server.go_back() {
            let reason = format!("away; another that was asked says: {}", status.message());
            return ClientError::gone(server, call, reason);
        }
        // Servers describe their refusals; neither the transport nor a proxy does.
        let is_told = !status.details().is_empty();
        match (status.code(), broken) {
            // UNAVAILABLE from the server, a proxy or the transport means that nothing serves there now.
            (Code::Unavailable, reason) => ClientError::Gone {
                server: server.to_string(),
                call,
                reason: reason.unwrap_or_else(|| status.message().to_owned()),
                is_told,
            },
            (_, Some(reason)) => ClientError::gone(server, call, reason),
            (Code::FailedPrecondition, None) => match owner(status) {
                Some(address) => ClientError::Elsewhere { call, address },
                None => ClientError::refused(call, status),
            },
            (_, None) => ClientError::refused(call, status),
        }
    }

    /// Returns the error for a stream that the server ended without a reason.
    pub fn ended(server: &ServerAddress, call: &'static str) -> ClientError {
        ClientError::gone(server, call, "it ended the stream".to_owned())
    }

    /// Returns the error for a server that takes bytes and sends none.
    pub(super) fn silent(
        server: &ServerAddress,
        call: &'static str,
        since: Duration,
    ) -> ClientError {
        ClientError::gone(server, call, format!("it has said nothing for {since:?}"))
    }

    /// Returns the error for a stream on which a server says tick after tick that it does not serve now.
    pub(super) fn unserved(
        server: &ServerAddress,
        call: &'static str,
        message: &str,
    ) -> ClientError {
        let (server, reason) = (server.to_string(), message.to_owned());
        ClientError::Gone { server, call, reason, is_told: true }
    }

    /// Returns the error in an answer that refuses its tick.
    pub(super) fn of_refusal(answer: &TrackResponse) -> Option<ClientError> {
        let refusal = answer.refusal.as_ref()?;
        let message = format!("tick {}: {}", answer.sequence, refusal.message);
        Some(ClientError::Refused {
            call: "Track",
            code: Code::from_i32(refusal.code as i32),
            message,
        })
    }

    fn refused(call: &'static str, status: &Status) -> ClientError {
        ClientError::Refused { call, code: status.code(), message: status.message().to_owned() }
    }

    fn gone(server: &ServerAddress, call: &'static str, reason: String) -> ClientError {
        ClientError::Gone { server: server.to_string(), call, reason, is_told: false }
    }
}

/// Adds a hint to the reason of a broken connection if the server may speak TLS to a client that does not. Chance
/// decides if that shows as bytes that are no frame or as a pipe that broke before they were read.
fn with_hint(server: &ServerAddress, reason: String) -> String {
    match server.with_tls() {
        Some(address) => format!("{reason} (if it has TLS: {address})"),
        None => reason,
    }
}

/// Returns true if the server does not know the scene.
fn is_no_scene(status: &Status) -> bool {
    let of_scene =
        || status.get_details_resource_info().is_some_and(|r| r.resource_type == "scene");
    status.code() == Code::NotFound && of_scene()
}

/// Returns the address of the server that has the scene, if the status names it.
fn owner(status: &Status) -> Option<String> {
    let info = status.get_details_error_info()?;
    let address = info.metadata.get("address").filter(|address| !address.is_empty());
    address.filter(|_| info.reason == OWNED_ELSEWHERE).cloned()
}

/// Returns the last of an error's causes: "connection refused" rather than "transport error".
pub(super) fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
