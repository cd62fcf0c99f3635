//! The scenes of a server, by id.

use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use parking_lot::RwLock;
use tracing::{Span, info};

use super::{
    notifier::{Bell, Bells},
    quota::{self, Ledger, OverQuota, Reservation, Share},
    sessions::Sessions,
    writer::{PANICS_MAX, Writer},
};
use crate::service::{
    access::Caller,
    convert::{FieldError, scene_id},
    metrics::Metrics,
};
use crate::{
    config::Config,
    scene::{Limits, Scene},
};

/// All scenes of a server.
pub struct SceneTable {
    limits: Limits,
    hosts: RwLock<BTreeMap<String, Arc<SceneHost>>>,
    server: Arc<ServerLife>,
    metrics: Arc<Metrics>,
    ledger: Arc<Ledger>,
    sessions: Arc<Sessions>,
}

/// What all streams of a server have in common.
#[derive(Default)]
struct ServerLife {
    shutting_down: AtomicBool,
    bells: Bells,
}

/// A scene and its writer.
pub struct SceneHost {
    /// What ticks read.
    pub scene: Arc<Scene>,
    /// Where deformations and cuts go.
    pub writer: Writer,
    /// The key that made it.
    owner: Option<String>,
    life: SceneLife,
}

/// Whether a scene is still served; held by streams, so that they do not hold the writer.
#[derive(Clone)]
pub struct SceneLife {
    deleted: Arc<AtomicBool>,
    quarantined: Arc<AtomicBool>,
    server: Arc<ServerLife>,
}

/// Whether the server goes on; held by streams that have no scene.
#[derive(Clone)]
pub struct Life(Arc<ServerLife>);

/// Why a scene is not served any more.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// Somebody deleted it.
    #[error("scene {id:?} was deleted")]
    Deleted {
        /// The scene.
        id: String,
    },
    /// Its writer failed too often in a row. It is served again once its index has been rebuilt.
    #[error(
        "scene {id:?} is quarantined: its writer failed {PANICS_MAX} times in a row; it comes back \
         when its index has been rebuilt, else delete it"
    )]
    Quarantined {
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
    /// It is there, but not served now.
    #[error(transparent)]
    Ended(#[from] Ended),
    /// It is another key's.
    #[error("scene {id:?} is another key's, expected its own or an admin's")]
    NotOwner {
        /// The scene.
        id: String,
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
    pub fn new(config: &Config) -> SceneTable {
        SceneTable {
            limits: config.limits.clone(),
            hosts: RwLock::default(),
            server: Arc::default(),
            metrics: Arc::new(Metrics::new(config.sessions.objective)),
            ledger: Arc::default(),
            sessions: Arc::new(Sessions::new(&config.sessions)),
        }
    }

    /// Its haptic loops.
    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// What the server counts.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// What clients may ask for.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Makes an empty scene, which is the caller's.
    pub fn create(&self, id: &str, caller: &Caller) -> Result<Arc<SceneHost>, TableError> {
        check_id(id)?;
        let mut hosts = self.hosts.write();
        if hosts.contains_key(id) {
            return Err(TableError::Taken { id: id.to_owned() });
        }
        if hosts.len() >= self.limits.scenes {
            return Err(TableError::Full { limit: self.limits.scenes });
        }
        if let Some(key) = caller.name() {
            let used = hosts.values().filter(|host| host.owner.as_deref() == Some(key)).count();
            quota::check(key, "scenes", used as u64, 1, caller.quotas().scenes)?;
        }
        let scene = Arc::new(Scene::new(id.to_owned(), self.limits.clone()));
        let life = SceneLife {
            deleted: Arc::default(),
            quarantined: Arc::default(),
            server: Arc::clone(&self.server),
        };
        let writer = Writer::spawn(&scene, &life, &self.metrics).map_err(TableError::NoThread)?;
        let host =
            Arc::new(SceneHost { scene, writer, life, owner: caller.name().map(str::to_owned) });
        hosts.insert(id.to_owned(), Arc::clone(&host));
        info!(scene = id, "scene created");
        Ok(host)
    }

    /// Finds a scene to work with.
    pub fn served(&self, id: &str) -> Result<Arc<SceneHost>, TableError> {
        let host = self.get(id)?;
        host.check_served()?;
        Ok(host)
    }

    /// Finds a scene to change.
    pub fn owned(&self, id: &str, caller: &Caller) -> Result<Arc<SceneHost>, TableError> {
        let host = self.served(id)?;
        host.check_owner(caller)?;
        Ok(host)
    }

    /// Reserves room for meshes in what the caller's key may have.
    pub fn reserve(&self, caller: &Caller, more: Share) -> Result<Reservation, OverQuota> {
        let mut used = Share::default();
        let all = self.all();
        let own = all.iter().filter(|h| h.owner.is_some() && h.owner.as_deref() == caller.name());
        own.for_each(|host| used.add(Share::of_scene(&host.scene)));
        self.ledger.reserve(caller, used, more)
    }

    /// Finds a scene, even when it is not served now.
    pub fn get(&self, id: &str) -> Result<Arc<SceneHost>, TableError> {
        check_id(id)?;
        let unknown = || TableError::Unknown { id: id.to_owned() };
        self.hosts.read().get(id).cloned().ok_or_else(unknown)
    }

    /// All scenes, ordered by id.
    pub fn all(&self) -> Vec<Arc<SceneHost>> {
        self.hosts.read().values().cloned().collect()
    }

    /// Takes a scene away; streams that use it see that at their next message.
    pub fn delete(&self, id: &str, caller: &Caller) -> Result<(), TableError> {
        self.get(id)?.check_owner(caller)?;
        let host = self.hosts.write().remove(id);
        let host = host.ok_or_else(|| TableError::Unknown { id: id.to_owned() })?;
        host.life.deleted.store(true, Relaxed);
        self.server.bells.ring();
        info!(scene = id, "scene deleted");
        Ok(())
    }

    /// Ends every stream, those that wait for their client too.
    pub fn shut_down(&self) {
        self.server.shutting_down.store(true, Relaxed);
        self.server.bells.ring();
    }

    /// For streams that have no scene.
    pub fn life(&self) -> Life {
        Life(Arc::clone(&self.server))
    }
}

/// Whether it is an id; the call's span has it from now on.
fn check_id(id: &str) -> Result<(), FieldError> {
    scene_id(id)?;
    Span::current().record("scene", id);
    Ok(())
}

impl Life {
    /// Rings when the server ends.
    pub fn bell(&self) -> Arc<Bell> {
        self.0.bells.hang()
    }

    /// Whether the server goes on.
    pub fn check_served(&self) -> Result<(), Ended> {
        if self.0.shutting_down.load(Relaxed) { Err(Ended::ShuttingDown) } else { Ok(()) }
    }
}

impl SceneHost {
    /// For streams that outlive one lookup.
    pub fn life(&self) -> SceneLife {
        self.life.clone()
    }

    /// Whether its writer failed too often.
    pub fn is_quarantined(&self) -> bool {
        self.life.is_quarantined()
    }

    /// Whether the scene is still served.
    pub fn check_served(&self) -> Result<(), Ended> {
        self.life.check_served(&self.scene)
    }

    fn check_owner(&self, caller: &Caller) -> Result<(), TableError> {
        let own = caller.may_change(self.owner.as_deref());
        own.then_some(()).ok_or_else(|| TableError::NotOwner { id: self.scene.id().to_owned() })
    }
}

impl SceneLife {
    /// Whether `scene` is served now.
    pub fn check_served(&self, scene: &Scene) -> Result<(), Ended> {
        self.check_lasting(scene)?;
        if self.is_quarantined() {
            return Err(Ended::Quarantined { id: scene.id().to_owned() });
        }
        Ok(())
    }

    /// Whether there is a point in waiting for `scene` to be served.
    pub fn check_lasting(&self, scene: &Scene) -> Result<(), Ended> {
        if self.deleted.load(Relaxed) {
            return Err(Ended::Deleted { id: scene.id().to_owned() });
        }
        if self.server.shutting_down.load(Relaxed) {
            return Err(Ended::ShuttingDown);
        }
        Ok(())
    }

    /// Whether its writer failed too often.
    pub fn is_quarantined(&self) -> bool {
        self.quarantined.load(Relaxed)
    }

    /// Refuses or serves the scene from now on.
    pub fn set_quarantined(&self, quarantined: bool) {
        self.quarantined.store(quarantined, Relaxed);
    }

    /// Rings when there may be something to tell.
    pub fn bell(&self) -> Arc<Bell> {
        self.server.bells.hang()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deleted_scenes_are_gone_and_say_so() {
        let table = SceneTable::new(&Config {
            limits: Limits { scenes: 1, ..Limits::default() },
            ..Config::default()
        });
        let host = table.create("liver", &Caller::ANYBODY).expect("room");
        assert!(matches!(table.create("liver", &Caller::ANYBODY), Err(TableError::Taken { .. })));
        assert!(matches!(
            table.create("spleen", &Caller::ANYBODY),
            Err(TableError::Full { limit: 1 })
        ));
        host.check_served().expect("served");
        table.delete("liver", &Caller::ANYBODY).expect("there");
        assert!(matches!(host.check_served(), Err(Ended::Deleted { .. })));
        assert!(matches!(table.get("liver"), Err(TableError::Unknown { .. })));
        table
            .create("liver", &Caller::ANYBODY)
            .expect("the id is free again")
            .check_served()
            .expect("a new scene");
    }
}
