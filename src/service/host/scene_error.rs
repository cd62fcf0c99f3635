//! Errors of creating or finding a scene.

use std::io;

use tonic::Code;

use super::{durable::not_kept::NotKept, quota::OverQuota, scene_life::Ended};
use crate::{
    scene::saved::NotAScene,
    service::{refused::Refused, request_field::FieldError},
    store::scenes::folder::Unreadable,
};

/// Reason why a scene could not be created or found.
#[derive(Debug, thiserror::Error)]
pub enum SceneRegistryError {
    /// The id is not valid for a scene.
    #[error(transparent)]
    Id(#[from] FieldError),
    /// The id is in use.
    #[error("there is a scene {id:?} already")]
    Taken {
        /// Scene id.
        id: String,
    },
    /// There is no such scene.
    #[error("there is no scene {id:?}")]
    Unknown {
        /// Scene id.
        id: String,
    },
    /// The scene exists, but is not served now.
    #[error(transparent)]
    Ended(#[from] Ended),
    /// The scene is another key's.
    #[error("scene {id:?} is another key's, expected its own or an admin's")]
    NotOwner {
        /// Scene id.
        id: String,
    },
    /// The scene is to be durable, but the server persists none.
    #[error(
        "durable is true, but this server keeps no scenes; expected false or none, or a server with store.scenes and a \
         data_dir"
    )]
    KeepsNone,
    /// The scene is not durable, as there is no room for it on the disk.
    #[error(transparent)]
    NotKept(#[from] NotKept),
    /// The scene's owner is unknown.
    #[error("the claims of scene {id:?} cannot be read or written: {source}")]
    Claims {
        /// Scene id.
        id: String,
        /// Cause.
        source: io::Error,
    },
    /// The scene's files are damaged.
    #[error(
        "scene {id:?} is on the server's disk but cannot be read: {reason}; repair its files or delete it"
    )]
    Unreadable {
        /// Scene id.
        id: String,
        /// Defect of the files.
        reason: String,
    },
    /// There was no room or no time for the scene, or the store did not return it.
    #[error(
        "scene {id:?} is on the server's disk and not loaded: {}; it is tried again when it is asked for",
        .why.message()
    )]
    NotLoaded {
        /// Scene id.
        id: String,
        /// Reason why it was not loaded.
        why: Box<Refused>,
    },
    /// The key's quota is exceeded.
    #[error(transparent)]
    Quota(#[from] OverQuota),
    /// There is no room for another scene.
    #[error("there are {limit} scenes already, the limit")]
    Full {
        /// The configured limit.
        limit: usize,
    },
    /// The system gave no thread for the scene's writer.
    #[error("no thread for the scene's writer: {0}")]
    NoThread(#[source] io::Error),
}

/// Reason why a scene that is in the store is not here.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotLoaded {
    /// The scene's files are damaged, as another reader of them finds too.
    #[error("{0}")]
    Unreadable(String),
    /// The files have no known defect: there was no room or no time for the scene, or the store did not return them.
    #[error("{}", .0.message())]
    Refused(Box<Refused>),
}

impl NotLoaded {
    /// Converts the reason for a caller that asks for the scene `id`.
    pub fn of(self, id: &str) -> SceneRegistryError {
        let id = id.to_owned();
        match self {
            NotLoaded::Unreadable(reason) => SceneRegistryError::Unreadable { id, reason },
            NotLoaded::Refused(why) => SceneRegistryError::NotLoaded { id, why },
        }
    }
}

impl From<Refused> for NotLoaded {
    fn from(refused: Refused) -> NotLoaded {
        NotLoaded::Refused(Box::new(refused))
    }
}

impl From<NotAScene> for NotLoaded {
    fn from(error: NotAScene) -> NotLoaded {
        NotLoaded::Unreadable(error.to_string())
    }
}

impl From<Unreadable> for NotLoaded {
    fn from(error: Unreadable) -> NotLoaded {
        match error {
            // An unreachable store says nothing about its content.
            Unreadable::Io(error) => Refused::server(Code::Unavailable, error.to_string()).into(),
            Unreadable::Newer(_) | Unreadable::NoSnapshot(_) => {
                NotLoaded::Unreadable(error.to_string())
            }
        }
    }
}

impl SceneRegistryError {
    /// Returns the error as seen from the message that holds the scene id in `parent`.
    pub fn within(self, parent: &str) -> SceneRegistryError {
        match self {
            SceneRegistryError::Id(error) => SceneRegistryError::Id(error.within(parent)),
            other => other,
        }
    }
}
