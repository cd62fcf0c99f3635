//! Reasons why a change of a durable scene is not persisted.

use std::{io, sync::Arc};

use crate::service::host::scene_life::Ended;

/// Reason why a change cannot be persisted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotKept {
    /// The disk is full, or failed in another way.
    #[error("the scene cannot be kept on the server's disk or store: {0}; nothing was changed")]
    Disk(#[source] Arc<io::Error>),
    /// The scene was deleted meanwhile, or the server ends.
    #[error("the scene is not kept any more")]
    Gone,
    /// The scene is another server's; nothing was changed.
    #[error(transparent)]
    Ended(#[from] Ended),
    /// The change is on the disk; the scene's next owner decides whether it counts.
    #[error("{0}; whether the change was made is to be asked of the scene's owner")]
    Unknown(String),
}

impl NotKept {
    /// Converts the error of a write; a write that timed out may have been made.
    pub fn of_write(error: io::Error) -> NotKept {
        match error.kind() {
            io::ErrorKind::TimedOut => NotKept::Unknown(error.to_string()),
            _ => NotKept::Disk(Arc::new(error)),
        }
    }
}
