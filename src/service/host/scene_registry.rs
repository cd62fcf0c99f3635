//! The scenes of a server, by id.

use std::{collections::BTreeMap, io, sync::Arc, time::Duration};

use parking_lot::RwLock;
use tracing::{Span, info};

use super::{
    device_wishes::DeviceWishes,
    memory_limit::MemoryLimit,
    quota::{self, Ledger, OverQuota, Reservation, RoomRefused, Share},
    scene_life::{Ended, SceneLife, ServerLife},
    tick_budget::TickBudgets,
    writer::SceneWriter,
};
use crate::service::{
    access::caller::Caller,
    convert::{FieldError, scene_id},
    metrics::Metrics,
};
use crate::{
    config::Config,
    scene::{Limits, Scene},
};

/// All scenes of a server.
pub struct SceneRegistry {
    limits: Limits,
    tick_time_max: Duration,
    tick_budgets: TickBudgets,
    hosts: RwLock<BTreeMap<String, Arc<SceneHost>>>,
    server: ServerLife,
    metrics: Arc<Metrics>,
    ledger: Arc<Ledger>,
}

/// A scene and its writer.
pub struct SceneHost {
    /// What ticks read.
    pub scene: Arc<Scene>,
    /// Where deformations and cuts go.
    pub writer: SceneWriter,
    /// Where viewers would have its devices.
    pub wishes: DeviceWishes,
    /// The key that made it.
    owner: Option<String>,
    life: SceneLife,
}

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

impl SceneRegistry {
    /// No scenes yet.
    pub fn new(config: &Config) -> SceneRegistry {
        SceneRegistry {
            limits: config.limits.clone(),
            tick_time_max: config.ticks.time_max,
            tick_budgets: TickBudgets::new(config),
            hosts: RwLock::default(),
            server: ServerLife::default(),
            metrics: Arc::new(Metrics::new(config.sessions.objective)),
            ledger: Arc::new(Ledger::new(MemoryLimit::new(config.limits.memory_bytes))),
        }
    }

    /// What a tick may take in the engine.
    pub fn tick_time_max(&self) -> Duration {
        self.tick_time_max
    }

    /// What the ticks of one key may take.
    pub fn tick_budgets(&self) -> &TickBudgets {
        &self.tick_budgets
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
    pub fn create(&self, id: &str, caller: &Caller) -> Result<Arc<SceneHost>, SceneRegistryError> {
        check_id(id)?;
        // Held until the scene is there: two calls with one id, or for the last place, must not both find it free.
        let mut hosts = self.hosts.write();
        if hosts.contains_key(id) {
            return Err(SceneRegistryError::Taken { id: id.to_owned() });
        }
        if hosts.len() >= self.limits.scenes {
            return Err(SceneRegistryError::Full { limit: self.limits.scenes });
        }
        if let Some(key) = caller.name() {
            let used = hosts.values().filter(|host| host.owner.as_deref() == Some(key)).count();
            quota::check(key, "scenes", used as u64, 1, caller.quotas().scenes)?;
        }
        let scene = Arc::new(Scene::new(id.to_owned(), self.limits.clone()));
        let life = self.server.of_scene();
        let writer = SceneWriter::spawn(&scene, &life, &self.metrics)
            .map_err(SceneRegistryError::NoThread)?;
        let (wishes, owner) = (DeviceWishes::default(), caller.name().map(str::to_owned));
        let host = Arc::new(SceneHost { scene, writer, wishes, life, owner });
        hosts.insert(id.to_owned(), Arc::clone(&host));
        info!(scene = id, "scene created");
        Ok(host)
    }

    /// Finds a scene to work with.
    pub fn served(&self, id: &str) -> Result<Arc<SceneHost>, SceneRegistryError> {
        let host = self.get(id)?;
        host.check_served()?;
        Ok(host)
    }

    /// Finds a scene to change.
    pub fn owned(&self, id: &str, caller: &Caller) -> Result<Arc<SceneHost>, SceneRegistryError> {
        let host = self.served(id)?;
        host.check_owner(caller)?;
        Ok(host)
    }

    /// Reserves room in what the caller's key may have, and in the server's memory.
    pub fn reserve(&self, caller: &Caller, more: Share) -> Result<Reservation, RoomRefused> {
        // Added up anew each time, over a few scenes: a sum that is kept would have to follow every cut.
        let mut used = Share::default();
        let all = self.all();
        let own = all.iter().filter(|h| h.owner.is_some() && h.owner.as_deref() == caller.name());
        own.for_each(|host| used.add(Share::of_scene(&host.scene)));
        self.ledger.reserve(caller, used, more)
    }

    /// Finds a scene, even when it is not served now.
    pub fn get(&self, id: &str) -> Result<Arc<SceneHost>, SceneRegistryError> {
        check_id(id)?;
        let unknown = || SceneRegistryError::Unknown { id: id.to_owned() };
        self.hosts.read().get(id).cloned().ok_or_else(unknown)
    }

    /// All scenes, ordered by id.
    pub fn all(&self) -> Vec<Arc<SceneHost>> {
        self.hosts.read().values().cloned().collect()
    }

    /// Takes a scene away; streams that use it see that at their next message.
    pub fn delete(&self, id: &str, caller: &Caller) -> Result<(), SceneRegistryError> {
        self.get(id)?.check_owner(caller)?;
        let host = self.hosts.write().remove(id);
        let host = host.ok_or_else(|| SceneRegistryError::Unknown { id: id.to_owned() })?;
        host.life.set_deleted();
        info!(scene = id, "scene deleted");
        Ok(())
    }

    /// Ends every stream, those that wait for their client too.
    pub fn shut_down(&self) {
        self.server.shut_down();
    }

    /// For streams that have no scene.
    pub fn life(&self) -> ServerLife {
        self.server.clone()
    }
}

/// Whether it is an id; the call's span has it from now on.
fn check_id(id: &str) -> Result<(), FieldError> {
    scene_id(id)?;
    Span::current().record("scene", id);
    Ok(())
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

    fn check_owner(&self, caller: &Caller) -> Result<(), SceneRegistryError> {
        let own = caller.may_change(self.owner.as_deref());
        own.then_some(())
            .ok_or_else(|| SceneRegistryError::NotOwner { id: self.scene.id().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deleted_scenes_are_gone_and_say_so() {
        let registry = SceneRegistry::new(&Config {
            limits: Limits { scenes: 1, ..Limits::default() },
            ..Config::default()
        });
        let host = registry.create("liver", &Caller::ANYBODY).expect("room");
        assert!(matches!(
            registry.create("liver", &Caller::ANYBODY),
            Err(SceneRegistryError::Taken { .. })
        ));
        assert!(matches!(
            registry.create("spleen", &Caller::ANYBODY),
            Err(SceneRegistryError::Full { limit: 1 })
        ));
        host.check_served().expect("served");
        registry.delete("liver", &Caller::ANYBODY).expect("there");
        assert!(matches!(host.check_served(), Err(Ended::Deleted { .. })));
        assert!(matches!(registry.get("liver"), Err(SceneRegistryError::Unknown { .. })));
        registry
            .create("liver", &Caller::ANYBODY)
            .expect("the id is free again")
            .check_served()
            .expect("a new scene");
    }
}
