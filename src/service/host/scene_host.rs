//! A scene with what a server adds to it: its writer, its journal, its recorder and its state.

use std::sync::Arc;

use super::{
    cluster::scene_lease::SceneLease,
    durable::scene_journal::{ChangeTurn, DurableRevisions, SceneJournal},
    field_builds::FieldBuilds,
    live_view::device_wishes::DeviceWishes,
    part_change::PartChange,
    scene_error::SceneRegistryError,
    scene_life::{Ended, SceneLife},
    scene_state::SceneEvent,
    writer::SceneWriter,
};
use crate::{
    scene::{Scene, Tissue},
    service::{
        access::caller::Caller, deadline::CallDeadline, recording::scene_recorder::SceneRecorder,
        refused::Refused,
    },
};

/// A scene and its writer.
pub struct SceneHost {
    /// State that ticks read.
    pub scene: Arc<Scene>,
    /// Applies deformations and cuts.
    pub writer: SceneWriter,
    /// Device positions that viewers request.
    pub wishes: DeviceWishes,
    /// Field builds of tools that are being uploaded.
    pub field_builds: FieldBuilds,
    /// Key that created the scene.
    pub(super) owner: Option<String>,
    pub(super) life: SceneLife,
    /// `None` if the scene ends with the server.
    pub(super) journal: Option<Arc<SceneJournal>>,
    /// `None` if the scene is not recorded.
    pub(super) recorder: Option<SceneRecorder>,
}

impl SceneHost {
    /// Adds or removes a tissue or tool: waits for the scene's turn, checks, persists, makes and records the change. A
    /// change that cannot be persisted is not made. Must not run on the runtime's threads.
    ///
    /// # Errors
    /// Returns an error if the scene is not served, the change is not possible, it is too late for it, or it cannot be
    /// persisted; the scene is as before then.
    pub fn change<C: PartChange>(
        &self,
        change: C,
        deadline: CallDeadline,
    ) -> Result<C::Made, Refused> {
        let turn = self.turn_blocking()?;
        let id = change.check(&self.scene)?;
        deadline.commit()?;
        turn.keep_blocking(|| change.saved(id))?;
        let at_ns = change.at_ns();
        let recorded = self.recorder.as_ref().map(|recorder| (recorder, change.saved(id)));
        let made = change.make(&self.scene)?;
        if let Some((recorder, saved)) = recorded {
            recorder.saved(at_ns, || saved);
        }
        Ok(made)
    }

    /// Returns the scene's state, for streams that outlive one look-up.
    pub fn life(&self) -> SceneLife {
        self.life.clone()
    }

    /// Returns true if the scene outlives the server.
    pub fn is_durable(&self) -> bool {
        self.journal.is_some()
    }

    /// Journal of the scene on the disk.
    pub fn journal(&self) -> Option<&Arc<SceneJournal>> {
        self.journal.as_ref()
    }

    /// Recorder of the scene's changes and loops.
    pub fn recorder(&self) -> Option<&SceneRecorder> {
        self.recorder.as_ref()
    }

    /// Waits for the turn to change the scene, and checks that the scene is still served.
    pub async fn turn(&self) -> Result<ChangeTurn, Ended> {
        let turn = SceneJournal::turn(self.journal.as_ref()).await;
        self.check_served()?;
        Ok(turn)
    }

    /// Blocking form of [`SceneHost::turn`], for threads outside the runtime.
    pub fn turn_blocking(&self) -> Result<ChangeTurn, Ended> {
        let turn = SceneJournal::turn_blocking(self.journal.as_ref());
        self.check_served()?;
        Ok(turn)
    }

    /// Returns the revisions of a tissue that would survive the server now; `None` if nothing would.
    pub fn durable(&self, tissue: &Tissue) -> Option<DurableRevisions> {
        let DurableRevisions { geometry, topology } = self.journal.as_ref()?.durable(tissue.id());
        // A cut is on the disk before it is applied.
        let now = tissue.current();
        let topology = topology.min(now.topology_revision);
        Some(DurableRevisions { geometry: geometry.min(now.geometry_revision), topology })
    }

    /// Changes the scene's state; see [`SceneLife::note`].
    pub fn note(&self, event: &SceneEvent) -> bool {
        self.life.note(event)
    }

    /// Returns true if the scene's indices cannot be used: its writer failed too often.
    pub fn is_quarantined(&self) -> bool {
        self.life.is_quarantined()
    }

    /// Lease of the scene, if servers share scenes.
    pub fn lease(&self) -> Option<&Arc<SceneLease>> {
        self.life.lease()
    }

    /// Checks that this server certainly owns the scene. Succeeds if no other server has scenes of the same folder.
    pub fn check_lease(&self) -> Result<(), Ended> {
        self.life.check_lease(&self.scene)
    }

    /// Checks that the scene is still served.
    pub fn check_served(&self) -> Result<(), Ended> {
        self.life.check_served(&self.scene)
    }

    pub(super) fn check_owner(&self, caller: &Caller) -> Result<(), SceneRegistryError> {
        let own = caller.may_change(self.owner.as_deref());
        own.then_some(())
            .ok_or_else(|| SceneRegistryError::NotOwner { id: self.scene.id().to_owned() })
    }
}
