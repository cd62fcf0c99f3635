//! State of a scene and of the server: checks that they are still served, and the reason if they are not.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use arc_swap::ArcSwap;

use super::{
    cluster::scene_lease::{NewOwner, SceneLease},
    scene_state::{End, Hold, Indices, SceneEvent, SceneState},
};
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
    /// Read by each tick, without a lock.
    state: Arc<ArcSwap<SceneState>>,
    /// Lease of the scene, if servers share scenes.
    lease: Option<Arc<SceneLease>>,
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
    /// Creates the state of a scene. `lease` is set if servers share scenes.
    pub fn of_scene(&self, hold: Hold, lease: Option<Arc<SceneLease>>) -> SceneLife {
        let state = SceneState::Here { hold, indices: Indices::Sound };
        SceneLife { state: Arc::new(ArcSwap::from_pointee(state)), lease, server: self.clone() }
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
    /// Changes the state as `event` requires, and ends the scene's streams if the scene has ended. Returns true if the
    /// state has changed.
    pub fn note(&self, event: &SceneEvent) -> bool {
        let changed = |state: &Arc<SceneState>| state.after(event).map(Arc::new);
        let before = self.state.rcu(|state| changed(state).unwrap_or_else(|| Arc::clone(state)));
        if matches!(event, SceneEvent::Ended(_)) {
            // Wakes the streams of all scenes: an end is rare, and a stream that wakes for nothing only checks and
            // waits again.
            self.server.0.streams.wake_all();
        }
        changed(&before).is_some()
    }

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
        match **self.state.load() {
            SceneState::Here { hold: Hold::Deleting, .. } => {
                Err(Ended::Deleting { id: scene.id().to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Checks that this server certainly owns `scene`.
    pub fn check_lease(&self, scene: &Scene) -> Result<(), Ended> {
        let id = || scene.id().to_owned();
        let is_sure = match &**self.state.load() {
            SceneState::Here { hold: Hold::Opening | Hold::Leaving, .. } => false,
            SceneState::Ended(End::Elsewhere(owner)) => {
                return Err(Ended::Elsewhere { id: id(), owner: owner.clone() });
            }
            SceneState::Here { .. } | SceneState::Ended(_) => {
                self.lease.as_ref().is_none_or(|lease| lease.answers())
            }
        };
        if is_sure { Ok(()) } else { Err(Ended::Unsure { id: id() }) }
    }

    /// Returns an error if waiting for `scene` to be served is pointless.
    pub fn check_lasting(&self, scene: &Scene) -> Result<(), Ended> {
        if let SceneState::Ended(end) = &**self.state.load() {
            let id = scene.id().to_owned();
            return Err(match end {
                End::Deleted => Ended::Deleted { id },
                End::Replaced => Ended::Replaced { id },
                End::Elsewhere(owner) => Ended::Elsewhere { id, owner: owner.clone() },
            });
        }
        self.server.check_served()
    }

    /// Lease of the scene, if servers share scenes.
    pub fn lease(&self) -> Option<&Arc<SceneLease>> {
        self.lease.as_ref()
    }

    /// Returns true if the scene's indices cannot be used.
    pub fn is_quarantined(&self) -> bool {
        match **self.state.load() {
            SceneState::Here { indices, .. } => indices != Indices::Sound,
            SceneState::Ended(_) => false,
        }
    }

    /// Returns a subscription that wakes a stream when its state may have changed.
    pub fn subscribe(&self) -> Arc<Subscription> {
        self.server.subscribe()
    }
}
