//! The scenes of a server, by id.

use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::RwLock;
use tracing::info;

use super::{
    convert::{FieldError, scene_id},
    writer::Writer,
};
use crate::scene::{Limits, Scene};

/// All scenes of a server.
pub struct SceneTable {
    limits: Limits,
    hosts: RwLock<BTreeMap<String, Arc<SceneHost>>>,
    shutting_down: Arc<AtomicBool>,
}

/// A scene and its writer.
pub struct SceneHost {
    /// What ticks read.
    pub scene: Arc<Scene>,
    /// Where deformations and cuts go.
    pub writer: Writer,
    life: SceneLife,
}

/// Whether a scene is still served; held by streams, so that they do not hold the writer.
#[derive(Clone)]
pub struct SceneLife {
    deleted: Arc<AtomicBool>,
    shutting_down: Arc<AtomicBool>,
}

/// Why a scene is not served any more.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// Somebody deleted it.
    #[error("scene {id:?} was deleted")]
    Deleted {
        /// The scene.
        id: String,
    },
    /// The whole server ends.
    #[error("the server is shutting down")]
    ShuttingDown,
}

/// Why a scene could not be made or found.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
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

impl TableError {
    /// The same, seen from the message that holds the scene id in `parent`.
    pub fn within(self, parent: &str) -> TableError {
        match self {
            TableError::Id(error) => TableError::Id(error.within(parent)),
            other => other,
        }
    }
}

impl SceneTable {
    /// No scenes yet.
    pub fn new(limits: Limits) -> SceneTable {
        SceneTable { limits, hosts: RwLock::default(), shutting_down: Arc::default() }
    }

    /// What clients may ask for.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Makes an empty scene.
    pub fn create(&self, id: &str) -> Result<Arc<SceneHost>, TableError> {
        scene_id(id)?;
        let mut hosts = self.hosts.write();
        if hosts.contains_key(id) {
            return Err(TableError::Taken { id: id.to_owned() });
        }
        if hosts.len() >= self.limits.scenes {
            return Err(TableError::Full { limit: self.limits.scenes });
        }
        let host = Arc::new(SceneHost {
            scene: Arc::new(Scene::new(id.to_owned(), self.limits.clone())),
            writer: Writer::spawn(id).map_err(TableError::NoThread)?,
            life: SceneLife {
                deleted: Arc::default(),
                shutting_down: Arc::clone(&self.shutting_down),
            },
        });
        hosts.insert(id.to_owned(), Arc::clone(&host));
        info!(scene = id, "scene created");
        Ok(host)
    }

    /// Finds a scene.
    pub fn get(&self, id: &str) -> Result<Arc<SceneHost>, TableError> {
        scene_id(id)?;
        let unknown = || TableError::Unknown { id: id.to_owned() };
        self.hosts.read().get(id).cloned().ok_or_else(unknown)
    }

    /// All scenes, ordered by id.
    pub fn all(&self) -> Vec<Arc<SceneHost>> {
        self.hosts.read().values().cloned().collect()
    }

    /// Takes a scene away; streams that use it see that at their next message.
    pub fn delete(&self, id: &str) -> Result<(), TableError> {
        scene_id(id)?;
        let host = self.hosts.write().remove(id);
        let host = host.ok_or_else(|| TableError::Unknown { id: id.to_owned() })?;
        host.life.deleted.store(true, Ordering::Relaxed);
        info!(scene = id, "scene deleted");
        Ok(())
    }

    /// Ends every stream at its next message.
    pub fn shut_down(&self) {
        self.shutting_down.store(true, Ordering::Relaxed);
    }
}

impl SceneHost {
    /// For streams that outlive one lookup.
    pub fn life(&self) -> SceneLife {
        self.life.clone()
    }

    /// Whether the scene is still served.
    pub fn check_served(&self) -> Result<(), Ended> {
        self.life.check_served(&self.scene)
    }
}

impl SceneLife {
    /// Whether `scene` is still served.
    pub fn check_served(&self, scene: &Scene) -> Result<(), Ended> {
        if self.deleted.load(Ordering::Relaxed) {
            return Err(Ended::Deleted { id: scene.id().to_owned() });
        }
        if self.shutting_down.load(Ordering::Relaxed) {
            return Err(Ended::ShuttingDown);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deleted_scenes_are_gone_and_say_so() {
        let table = SceneTable::new(Limits { scenes: 1, ..Limits::default() });
        let host = table.create("liver").expect("room");
        assert!(matches!(table.create("liver"), Err(TableError::Taken { .. })));
        assert!(matches!(table.create("spleen"), Err(TableError::Full { limit: 1 })));
        host.check_served().expect("served");
        table.delete("liver").expect("there");
        assert!(matches!(host.check_served(), Err(Ended::Deleted { .. })));
        assert!(matches!(table.get("liver"), Err(TableError::Unknown { .. })));
        table.create("liver").expect("the id is free again").check_served().expect("a new scene");
    }
}
