//! Why a change of a durable scene is not kept.

use std::{io, sync::Arc};

use crate::service::host::scene_life::Ended;

/// Why a change cannot be kept.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotKept {
    /// No room, or another failure of the disk.
    #[error("the scene cannot be kept on the server's disk or store: {0}; nothing was changed")]
    Disk(#[source] Arc<io::Error>),
    /// It was deleted meanwhile, or the server ends.
    #[error("the scene is not kept any more")]
    Gone,
    /// It is another server's; nothing was changed.
    #[error(transparent)]
    Ended(#[from] Ended),
    /// It is on the disk, and whether it counts is for the scene's next owner to say.
    #[error("{0}; whether the change was made is to be asked of the scene's owner")]
    Unknown(String),
}

impl NotKept {
    /// Of a write, which may be made all the same.
    pub fn of_write(error: io::Error) -> NotKept {
        match error.kind() {
            io::ErrorKind::TimedOut => NotKept::Unknown(error.to_string()),
            _ => NotKept::Disk(Arc::new(error)),
        }
    }
}
