//! Errors of a load or demo run.

use std::{io, path::PathBuf};

use super::{clients::haptic::WorkerError, run::server_process::ServerProcessError};
use crate::client::{ClientError, credentials::CredentialsError, mesh_source::MeshFileError};
use crate::config::LiveViewError;

/// A run failed.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A mesh file cannot be used.
    #[error("{0}")]
    Mesh(#[from] MeshFileError),
    /// The run's own server did not start.
    #[error("{0}")]
    Server(#[from] ServerProcessError),
    /// `--watch` was given, but there is nothing to show.
    #[error(transparent)]
    LiveView(#[from] LiveViewError),
    /// A call failed.
    #[error("{0}")]
    Client(#[from] ClientError),
    /// A client's thread failed.
    #[error("{0}")]
    Worker(#[from] WorkerError),
    /// The system returned an error.
    #[error("cannot run: {0}")]
    Run(#[from] io::Error),
    /// The report was not written; the table was printed.
    #[error("cannot write {}: {error}", file.display())]
    Report {
        /// File as given by the user.
        file: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The CA certificates, the client certificate or the key cannot be used.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// Credentials were given for the run's own server, which asks for none.
    #[error("certificates and keys are for a server, expected --server")]
    NoServer,
    /// Cuts and deformations of all vertices were both requested; positions of all vertices belong to one topology.
    #[error("--deform-share is 1 and --cut-hz is not 0, expected one of the two")]
    CutsOfAll,
    /// The objective was not met.
    #[error("the objective {asked} is not met")]
    Objective {
        /// Objective as given by the user.
        asked: String,
    },
    /// The user interrupted the run.
    #[error("interrupted")]
    Interrupted,
    /// Answers of the demo were wrong or missing.
    #[error("answers were wrong or missing: {what}")]
    Wrong {
        /// Number of wrong ticks of each kind, in words.
        what: String,
    },
    /// Too few ticks were answered in a `load` run, whose user judges lateness.
    #[error(
        "only {answered} of {sent} ticks were answered, expected at least 99 %: {}",
        refusal.as_deref().unwrap_or("neither the server nor this machine kept up")
    )]
    Unanswered {
        /// Ticks sent.
        sent: u64,
        /// Ticks answered.
        answered: u64,
        /// The server's message for the first refused tick.
        refusal: Option<String>,
    },
}

impl LoadError {
    /// Returns true if the run was carried out, and its measurements or answers are not the expected ones.
    pub fn is_failed_check(&self) -> bool {
        use LoadError::{Objective, Unanswered, Wrong};
        matches!(self, Objective { .. } | Unanswered { .. } | Wrong { .. })
    }
}
