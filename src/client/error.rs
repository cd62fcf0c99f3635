//! Why a call did not do what it should.

use std::{error::Error as _, sync::Arc, time::Duration};

use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::{address::ServerAddress, mesh_source::MeshFileError};
use crate::{proto::TrackResponse, servo::ServoOptionsError};

/// The reason of `google.rpc.ErrorInfo` when another server has the scene.
const OWNED_ELSEWHERE: &str = "SCENE_OWNED_ELSEWHERE";

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
        /// In the server's own words: it is there, and may serve again, as when its lease is over or it is starting.
        is_told: bool,
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
    /// Another server has the scene. Calls and loops go there by themselves; this is what is left when that one says the
    /// same of others, and of a stream of deformations: open it anew.
    #[error("{call} was refused: the scene is served at {address}")]
    Elsewhere {
        /// What was asked.
        call: &'static str,
        /// As that server tells it: host:port.
        address: String,
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
    /// source, and behind a proxy as UNAVAILABLE. Behind a proxy a scene that a server does not know is not known to be
    /// nowhere, where another's answer was asked for.
    pub fn of(server: &ServerAddress, call: &'static str, status: &Status) -> ClientError {
        // A status from the server has no source; one that the transport made up has.
        let broken = status.source().map(|source| with_hint(server, innermost(source)));
        if broken.is_none() {
            server.hear_host(status.metadata());
        }
        if is_no_scene(status) && server.go_back() {
            let reason = format!("away; another that was asked says: {}", status.message());
            return ClientError::gone(server, call, reason);
        }
        // Servers describe what they refuse; neither the transport nor a proxy does.
        let is_told = !status.details().is_empty();
        match (status.code(), broken) {
            // Whether the server, a proxy or the transport says so: nobody is there to serve.
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

    /// The error for a stream on which a server says tick after tick that it does not serve now.
    pub(super) fn unserved(
        server: &ServerAddress,
        call: &'static str,
        message: &str,
    ) -> ClientError {
        let (server, reason) = (server.to_string(), message.to_owned());
        ClientError::Gone { server, call, reason, is_told: true }
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

    fn refused(call: &'static str, status: &Status) -> ClientError {
        ClientError::Refused { call, code: status.code(), message: status.message().to_owned() }
    }

    fn gone(server: &ServerAddress, call: &'static str, reason: String) -> ClientError {
        ClientError::Gone { server: server.to_string(), call, reason, is_told: false }
    }
}

/// Why a connection broke, and what may be done where the server speaks TLS to a client that does not: whether that is told
/// by bytes that are no frame or by a pipe that broke before they were read is chance.
fn with_hint(server: &ServerAddress, reason: String) -> String {
    match server.with_tls() {
        Some(address) => format!("{reason} (if it has TLS: {address})"),
        None => reason,
    }
}

/// Whether the server does not know the scene.
fn is_no_scene(status: &Status) -> bool {
    let of_scene =
        || status.get_details_resource_info().is_some_and(|r| r.resource_type == "scene");
    status.code() == Code::NotFound && of_scene()
}

/// Where the scene is served, when that is what a status says.
fn owner(status: &Status) -> Option<String> {
    let info = status.get_details_error_info()?;
    let address = info.metadata.get("address").filter(|address| !address.is_empty());
    address.filter(|_| info.reason == OWNED_ELSEWHERE).cloned()
}

/// The last of an error's causes: "connection refused" rather than "transport error".
pub(super) fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
