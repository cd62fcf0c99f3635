//! Why a scene could not be made or found.

use std::io;

use tonic::Code;

use super::{durable::not_kept::NotKept, quota::OverQuota, scene_life::Ended};
use crate::{
    scene::saved::NotAScene,
    service::{convert::FieldError, refused::Refused},
    store::scenes::folder::Unreadable,
};

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
    /// There was no room or no time for it, or the store did not give it.
    #[error(
        "scene {id:?} is on the server's disk and not loaded: {}; it is tried again when it is asked for",
        .why.message()
    )]
    NotLoaded {
        /// The scene.
        id: String,
        /// What it lacked.
        why: Box<Refused>,
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

/// Why a scene that is in the store is not here.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotLoaded {
    /// Its files are damaged, as whoever reads them again finds too.
    #[error("{0}")]
    Unreadable(String),
    /// Nothing is known to be wrong with its files: there was no room or no time for it, or the store did not give them.
    #[error("{}", .0.message())]
    Refused(Box<Refused>),
}

impl NotLoaded {
    /// For who asks for the scene `id`.
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
            // A store that cannot be reached says nothing of what is in it.
            Unreadable::Io(error) => Refused::server(Code::Unavailable, error.to_string()).into(),
            Unreadable::Newer(_) | Unreadable::NoSnapshot(_) => {
                NotLoaded::Unreadable(error.to_string())
            }
        }
    }
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
