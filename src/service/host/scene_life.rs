//! State of a scene and of the server: whether they are still served, and if not, why.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use super::cluster::scene_lease::{NewOwner, SceneLease};
use crate::scene::Scene;
use crate::service::notifier::{Notifier, Subscription};

/// Consecutive panics of its writer that quarantine a scene.
pub const PANICS_MAX: u32 = 3;

/// State of the server; held by streams without a scene.
#[derive(Clone, Default)]
pub struct ServerLife(Arc<ServerState>);

/// State that all streams of a server share.
#[derive(Default)]
struct ServerState {
    shutting_down: AtomicBool,
    /// Scenes are still being read from the disk.
    recovering: AtomicBool,
    streams: Notifier,
}

/// State of a scene; streams hold it, so that they do not hold the writer.
#[derive(Clone)]
pub struct SceneLife {
    deleted: Arc<AtomicBool>,
    /// The disk has not reported whether the scene's files are gone.
    deleting: Arc<AtomicBool>,
    quarantined: Arc<AtomicBool>,
    /// Time from which the scene, which cannot be rebuilt from memory, is due to be read from the disk: nanoseconds of
    /// the process's clock; 0 if the scene is not lost.
    lost_from_ns: Arc<AtomicU64>,
    /// The scene was read from the disk again, and continues as another instance.
    replaced: Arc<AtomicBool>,
    /// Lease of the scene, if servers share scenes.
    lease: Option<Arc<SceneLease>>,
    /// This server's ownership is not certain yet, or about to end.
    passing: Arc<AtomicBool>,
    /// New owner, once the scene is another server's.
    elsewhere: Arc<OnceLock<NewOwner>>,
    server: ServerLife,
}

/// Reason why a scene is no longer served.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Ended {
    /// The scene was deleted.
    #[error("scene {id:?} was deleted")]
    Deleted {
        /// Scene id.
        id: String,
    },
    /// The scene was deleted, and the disk failed.
    #[error(
        "scene {id:?} is being deleted: the disk has not said yet whether its files are gone, and is asked again"
    )]
    Deleting {
        /// Scene id.
        id: String,
    },
    /// The scene's writer failed too often in a row. The scene is served again once its index has been rebuilt.
    #[error(
        "scene {id:?} is quarantined: its writer failed {PANICS_MAX} times in a row; it comes back \
         when its index has been rebuilt, else delete it"
    )]
    Quarantined {
        /// Scene id.
        id: String,
    },
    /// The scene's writer failed, and the scene continues from its state on the disk.
    #[error(
        "scene {id:?} was read from the disk again after its writer had failed; begin anew with it"
    )]
    Replaced {
        /// Scene id.
        id: String,
    },
    /// Another server owns the scene.
    #[error("scene {id:?} {owner}")]
    Elsewhere {
        /// Scene id.
        id: String,
        /// Owner of the scene.
        owner: NewOwner,
    },
    /// Another server may own the scene by now.
    #[error(
        "scene {id:?}: this server's lease is over until it is renewed, or passes to another server"
    )]
    Unsure {
        /// Scene id.
        id: String,
    },
    /// The scene is not here yet.
    #[error(
        "scene {id:?}: this server is still finding out whose it is, or taking it in; come back for it"
    )]
    Opening {
        /// Scene id.
        id: String,
    },
    /// The server is shutting down.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// The server is not ready yet.
    #[error("the server is still reading its scenes from the disk")]
    Recovering,
}

impl ServerLife {
    /// Creates the state of a new scene. `lease` is set if servers share scenes.
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

    /// Ends every stream, including those that wait for their client.
    pub fn shut_down(&self) {
        self.0.shutting_down.store(true, Relaxed);
        self.0.streams.wake_all();
    }

    /// Returns a subscription that wakes a stream when the server ends.
    pub fn subscribe(&self) -> Arc<Subscription> {
        self.0.streams.subscribe()
    }

    /// Checks that the server is neither shutting down nor still reading its scenes.
    pub fn check_served(&self) -> Result<(), Ended> {
        self.check_ending()?;
        if self.0.recovering.load(Relaxed) { Err(Ended::Recovering) } else { Ok(()) }
    }

    /// Refuses all scenes from now on if `recovering`, else serves them.
    pub fn set_recovering(&self, recovering: bool) {
        self.0.recovering.store(recovering, Relaxed);
    }

    /// Returns an error if the server is shutting down, so that reading scenes is pointless.
    pub fn check_ending(&self) -> Result<(), Ended> {
        if self.0.shutting_down.load(Relaxed) { Err(Ended::ShuttingDown) } else { Ok(()) }
    }
}

impl SceneLife {
    /// Checks that `scene` is served now.
    pub fn check_served(&self, scene: &Scene) -> Result<(), Ended> {
        self.check_lasting(scene)?;
        self.check_deleting(scene)?;
        if self.is_quarantined() {
            return Err(Ended::Quarantined { id: scene.id().to_owned() });
        }
        self.check_lease(scene)
    }

    /// Returns an error if it is unknown whether `scene` is deleted.
    pub fn check_deleting(&self, scene: &Scene) -> Result<(), Ended> {
        let is_known = !self.deleting.load(Relaxed);
        is_known.then_some(()).ok_or_else(|| Ended::Deleting { id: scene.id().to_owned() })
    }

    /// Checks that this server certainly owns `scene`.
    pub fn check_lease(&self, scene: &Scene) -> Result<(), Ended> {
        let is_sure = self.lease.as_ref().is_none_or(|lease| lease.answers());
        if is_sure && !self.passing.load(Relaxed) {
            return Ok(());
        }
        Err(Ended::Unsure { id: scene.id().to_owned() })
    }

    /// Returns an error if waiting for `scene` to be served is pointless.
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
        // Wakes the streams of all scenes: a deletion is rare, and a stream that wakes for nothing only checks and
        // waits again.
        self.server.0.streams.wake_all();
    }

    /// Refuses the scene from now on: it is unknown whether its files are gone. Returns false if this was set before.
    pub fn set_deleting(&self) -> bool {
        !self.deleting.swap(true, Relaxed)
    }

    /// Ends the scene's streams: the scene continues as another instance.
    pub fn set_replaced(&self) {
        self.replaced.store(true, Relaxed);
        self.server.0.streams.wake_all();
    }

    /// Refuses the scene while it comes from another server, or goes to one; its streams wait.
    pub fn set_passing(&self, passing: bool) {
        self.passing.store(passing, Relaxed);
    }

    /// Ends the scene's streams: another server owns the scene.
    pub fn set_elsewhere(&self, owner: NewOwner) {
        // The first owner that is set stays.
        let _ = self.elsewhere.set(owner);
        self.server.0.streams.wake_all();
    }

    /// Lease of the scene, if servers share scenes.
    pub fn lease(&self) -> Option<&Arc<SceneLease>> {
        self.lease.as_ref()
    }

    /// Returns true, once, if the scene is due at `now_ns` to be read from the disk again.
    pub fn take_lost(&self, now_ns: u64) -> bool {
        let taken = |from_ns| (from_ns != 0 && from_ns <= now_ns).then_some(0);
        self.lost_from_ns.fetch_update(Relaxed, Relaxed, taken).is_ok()
    }

    /// Marks the scene as impossible to rebuild from memory; it is due to be read from the disk from `from_ns` on.
    pub fn set_lost(&self, from_ns: u64) {
        // 0 means that the scene is not lost.
        self.lost_from_ns.store(from_ns.max(1), Relaxed);
    }

    /// Returns true if the scene's writer failed too often.
    pub fn is_quarantined(&self) -> bool {
        self.quarantined.load(Relaxed)
    }

    /// Refuses the scene from now on if `quarantined`, else serves it.
    pub fn set_quarantined(&self, quarantined: bool) {
        self.quarantined.store(quarantined, Relaxed);
    }

    /// Returns a subscription that wakes a stream when its state may have changed.
    pub fn subscribe(&self) -> Arc<Subscription> {
        self.server.subscribe()
    }
}
