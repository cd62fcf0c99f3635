//! Why a run failed.

use std::{io, path::PathBuf};

use super::{clients::haptic::WorkerError, run::server_process::ServerProcessError};
use crate::client::{ClientError, credentials::CredentialsError, mesh_source::MeshFileError};
use crate::config::LiveViewError;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A mesh file.
    #[error("{0}")]
    Mesh(#[from] MeshFileError),
    /// A server of one's own.
    #[error("{0}")]
    Server(#[from] ServerProcessError),
    /// `--watch` where there is nothing to show.
    #[error(transparent)]
    LiveView(#[from] LiveViewError),
    /// A call.
    #[error("{0}")]
    Client(#[from] ClientError),
    /// A client's thread.
    #[error("{0}")]
    Worker(#[from] WorkerError),
    /// The system.
    #[error("cannot run: {0}")]
    Run(#[from] io::Error),
    /// The report was not written; the table was printed.
    #[error("cannot write {}: {error}", file.display())]
    Report {
        /// As given.
        file: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// Those who may vouch for the server, what it is shown, or the key.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// The run's own server asks for nothing.
    #[error("certificates and keys are for a server, expected --server")]
    NoServer,
    /// Positions of all vertices are of one topology.
    #[error("--deform-share is 1 and --cut-hz is not 0, expected one of the two")]
    CutsOfAll,
    /// The objective's verdict.
    #[error("the objective {asked} is not met")]
    Objective {
        /// As given.
        asked: String,
    },
    /// It ended early because somebody wanted it to.
    #[error("interrupted")]
    Interrupted,
    /// The demo's verdict.
    #[error("answers were wrong or missing: {what}")]
    Wrong {
        /// How many were how.
        what: String,
    },
    /// The verdict on a run that was asked for, where lateness is the user's to judge.
    #[error(
        "only {answered} of {sent} ticks were answered, expected at least 99 %: {}",
        refusal.as_deref().unwrap_or("neither the server nor this machine kept up")
    )]
    Unanswered {
        /// Ticks sent.
        sent: u64,
        /// Ticks answered.
        answered: u64,
        /// What the server said to those it refused.
        refusal: Option<String>,
    },
}
