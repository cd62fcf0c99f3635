//! Why a scene could not be made or found.

use std::io;

use super::{durable::not_kept::NotKept, quota::OverQuota, scene_life::Ended};
use crate::service::convert::FieldError;

/// Why a scene could not be made or found.
#[derive(Debug, thiserror::Error)]
pub enum SceneRegistryError {
    /// Not an id that a scene can have.
    #[error(transparent)]
    Id(#[from] FieldError),
    /// The id is in use.
    #[error("there is a scene {id:?} already")]
    Taken {
        /// The scene.
        id: String,
    },
    /// No such scene.
    #[error("there is no scene {id:?}")]
    Unknown {
        /// The scene.
        id: String,
    },
    /// It is there, but not served now.
    #[error(transparent)]
    Ended(#[from] Ended),
    /// It is another key's.
    #[error("scene {id:?} is another key's, expected its own or an admin's")]
    NotOwner {
        /// The scene.
        id: String,
    },
    /// It is to be durable, and the server keeps none.
    #[error(
        "durable is true, but this server keeps no scenes; expected false or none, or a server with store.scenes and a \
         data_dir"
    )]
    KeepsNone,
    /// It is not durable, as there is no room for it on the disk.
    #[error(transparent)]
    NotKept(#[from] NotKept),
    /// It is not known whose it is.
    #[error("the claims of scene {id:?} cannot be read or written: {source}")]
    Claims {
        /// The scene.
        id: String,
        /// Why.
        source: io::Error,
    },
    /// Its files are damaged.
    #[error(
        "scene {id:?} is on the server's disk but cannot be read: {reason}; repair its files or delete it"
    )]
    Unreadable {
        /// The scene.
        id: String,
        /// What is wrong with them.
        reason: String,
    },
    /// The key may not have so much.
    #[error(transparent)]
    Quota(#[from] OverQuota),
    /// No room for another.
    #[error("there are {limit} scenes already, the limit")]
    Full {
        /// The configured limit.
        limit: usize,
    },
    /// The system gave no thread to write with.
    #[error("no thread for the scene's writer: {0}")]
    NoThread(#[source] io::Error),
}

impl SceneRegistryError {
    /// The same, seen from the message that holds the scene id in `parent`.
    pub fn within(self, parent: &str) -> SceneRegistryError {
        match self {
            SceneRegistryError::Id(error) => SceneRegistryError::Id(error.within(parent)),
            other => other,
        }
    }
}
