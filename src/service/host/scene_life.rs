//! Whether a scene, and the server, are still served.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use super::{
    cluster::scene_lease::{NewOwner, SceneLease},
    notifier::{Notifier, Subscription},
};
use crate::scene::Scene;

/// Panics of its writer in a row that quarantine a scene.
pub const PANICS_MAX: u32 = 3;

/// Whether the server goes on; held by streams that have no scene.
#[derive(Clone, Default)]
pub struct ServerLife(Arc<ServerState>);

/// What all streams of a server have in common.
#[derive(Default)]
struct ServerState {
    shutting_down: AtomicBool,
    /// Scenes are still read from the disk.
    recovering: AtomicBool,
    streams: Notifier,
}

/// Whether a scene is still served; held by streams, so that they do not hold the writer.
#[derive(Clone)]
pub struct SceneLife {
    deleted: Arc<AtomicBool>,
    /// The disk has not said whether its files are gone.
    deleting: Arc<AtomicBool>,
    quarantined: Arc<AtomicBool>,
    /// It cannot be rebuilt from what is in memory, and is worth reading from the disk from then on: nanoseconds of the
    /// process's clock; 0: it is not.
    lost_from_ns: Arc<AtomicU64>,
    /// It was read from the disk again, and goes on as another.
    replaced: Arc<AtomicBool>,
    /// Where servers share scenes: that it is this server's.
    lease: Option<Arc<SceneLease>>,
    /// It is not sure yet, or not any more for long, that it is.
    passing: Arc<AtomicBool>,
    /// It is another's.
    elsewhere: Arc<OnceLock<NewOwner>>,
    server: ServerLife,
}

/// Why a scene is not served any more.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Ended {
    /// Somebody deleted it.
    #[error("scene {id:?} was deleted")]
    Deleted {
        /// The scene.
        id: String,
    },
    /// Somebody deleted it, and the disk failed.
    #[error(
        "scene {id:?} is being deleted: the disk has not said yet whether its files are gone, and is asked again"
    )]
    Deleting {
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
    /// Its writer failed, and it goes on as it is on the disk.
    #[error(
        "scene {id:?} was read from the disk again after its writer had failed; begin anew with it"
    )]
    Replaced {
        /// The scene.
        id: String,
    },
    /// Another server has it.
    #[error("scene {id:?} {owner}")]
    Elsewhere {
        /// The scene.
        id: String,
        /// Which.
        owner: NewOwner,
    },
    /// It may be another server's by now.
    #[error(
        "scene {id:?}: this server's lease is over until it is renewed, or passes to another server"
    )]
    Unsure {
        /// The scene.
        id: String,
    },
    /// It is not here yet.
    #[error(
        "scene {id:?}: this server is still finding out whose it is, or taking it in; come back for it"
    )]
    Opening {
        /// The scene.
        id: String,
    },
    /// The whole server ends.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// The whole server is not there yet.
    #[error("the server is still reading its scenes from the disk")]
    Recovering,
}

impl ServerLife {
    /// Of a new scene. `lease`: where servers share scenes.
    pub fn of_scene(&self, lease: Option<Arc<SceneLease>>) -> SceneLife {
        let (deleted, quarantined, lost_from_ns, replaced) = Default::default();
        let (passing, elsewhere, deleting, server) = Default::default();
        let life = SceneLife {
            deleted,
            deleting,
            quarantined,
            lost_from_ns,
            replaced,
            lease,
            passing,
            elsewhere,
            server,
        };
        SceneLife { server: self.clone(), ..life }
    }

    /// Ends every stream, those that wait for their client too.
    pub fn shut_down(&self) {
        self.0.shutting_down.store(true, Relaxed);
        self.0.streams.wake_all();
    }

    /// Wakes a stream when the server ends.
    pub fn subscribe(&self) -> Arc<Subscription> {
        self.0.streams.subscribe()
    }

    /// Whether the server goes on.
    pub fn check_served(&self) -> Result<(), Ended> {
        self.check_ending()?;
        if self.0.recovering.load(Relaxed) { Err(Ended::Recovering) } else { Ok(()) }
    }

    /// Refuses or serves all scenes from now on.
    pub fn set_recovering(&self, recovering: bool) {
        self.0.recovering.store(recovering, Relaxed);
    }

    /// Whether there is a point in going on to read scenes.
    pub fn check_ending(&self) -> Result<(), Ended> {
        if self.0.shutting_down.load(Relaxed) { Err(Ended::ShuttingDown) } else { Ok(()) }
    }
}

impl SceneLife {
    /// Whether `scene` is served now.
    pub fn check_served(&self, scene: &Scene) -> Result<(), Ended> {
        self.check_lasting(scene)?;
        self.check_deleting(scene)?;
        if self.is_quarantined() {
            return Err(Ended::Quarantined { id: scene.id().to_owned() });
        }
        self.check_lease(scene)
    }

    /// Whether it is known that `scene` is there.
    pub fn check_deleting(&self, scene: &Scene) -> Result<(), Ended> {
        let is_known = !self.deleting.load(Relaxed);
        is_known.then_some(()).ok_or_else(|| Ended::Deleting { id: scene.id().to_owned() })
    }

    /// Whether `scene` is this server's for sure.
    pub fn check_lease(&self, scene: &Scene) -> Result<(), Ended> {
        let is_sure = self.lease.as_ref().is_none_or(|lease| lease.answers());
        if is_sure && !self.passing.load(Relaxed) {
            return Ok(());
        }
        Err(Ended::Unsure { id: scene.id().to_owned() })
    }

    /// Whether there is a point in waiting for `scene` to be served.
    pub fn check_lasting(&self, scene: &Scene) -> Result<(), Ended> {
        if self.deleted.load(Relaxed) {
            return Err(Ended::Deleted { id: scene.id().to_owned() });
        }
        if self.replaced.load(Relaxed) {
            return Err(Ended::Replaced { id: scene.id().to_owned() });
        }
        if let Some(owner) = self.elsewhere.get() {
            let (id, owner) = (scene.id().to_owned(), owner.clone());
            return Err(Ended::Elsewhere { id, owner });
        }
        self.server.check_served()
    }

    /// Ends the scene's streams.
    pub fn set_deleted(&self) {
        self.deleted.store(true, Relaxed);
        // Of all scenes: a deletion is rare, and a stream that is woken for nothing only looks and waits again.
        self.server.0.streams.wake_all();
    }

    /// Refuses the scene from now on: whether its files are gone is not known. Whether it was served until then.
    pub fn set_deleting(&self) -> bool {
        !self.deleting.swap(true, Relaxed)
    }

    /// Ends the scene's streams: it goes on as another.
    pub fn set_replaced(&self) {
        self.replaced.store(true, Relaxed);
        self.server.0.streams.wake_all();
    }

    /// Refuses the scene while it comes from another server, or goes to one; its streams wait.
    pub fn set_passing(&self, passing: bool) {
        self.passing.store(passing, Relaxed);
    }

    /// Ends the scene's streams: it is another server's.
    pub fn set_elsewhere(&self, owner: NewOwner) {
        // The first that is told stays.
        let _ = self.elsewhere.set(owner);
        self.server.0.streams.wake_all();
    }

    /// That the scene is this server's, where servers share scenes.
    pub fn lease(&self) -> Option<&Arc<SceneLease>> {
        self.lease.as_ref()
    }

    /// Whether it is worth reading from the disk again at `now_ns`; asked once.
    pub fn take_lost(&self, now_ns: u64) -> bool {
        let taken = |from_ns| (from_ns != 0 && from_ns <= now_ns).then_some(0);
        self.lost_from_ns.fetch_update(Relaxed, Relaxed, taken).is_ok()
    }

    /// It cannot be rebuilt from what is in memory; whoever reads it from the disk does so from `from_ns` on.
    pub fn set_lost(&self, from_ns: u64) {
        // 0 stands for a scene that is not lost.
        self.lost_from_ns.store(from_ns.max(1), Relaxed);
    }

    /// Whether its writer failed too often.
    pub fn is_quarantined(&self) -> bool {
        self.quarantined.load(Relaxed)
    }

    /// Refuses or serves the scene from now on.
    pub fn set_quarantined(&self, quarantined: bool) {
        self.quarantined.store(quarantined, Relaxed);
    }

    /// Wakes a stream when there may be something to tell.
    pub fn subscribe(&self) -> Arc<Subscription> {
        self.server.subscribe()
    }
}
