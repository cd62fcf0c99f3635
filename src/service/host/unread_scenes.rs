//! Scenes that are in the store but not here: their files are damaged, there was no room or no time for them, or the
//! store did not return them.

use std::collections::BTreeMap;

use parking_lot::RwLock;

use super::scene_error::{NotLoaded, SceneRegistryError};
use crate::store::lease::claim::{ClaimHolder, ClaimState, SceneClaim};

/// Unread scenes by id.
#[derive(Default)]
pub struct UnreadScenes(RwLock<BTreeMap<String, UnreadScene>>);

struct UnreadScene {
    why: NotLoaded,
    /// When the scene is read again.
    again: ReadAgain,
}

/// When a scene is read again after a failed attempt.
#[derive(Clone, Copy, Debug)]
pub enum ReadAgain {
    /// Never, while its files are unchanged.
    Never,
    /// From this time on, nanoseconds of the process's clock.
    From(u64),
    /// Once there is a claim of a later epoch, or of another server.
    AfterClaim(u64),
}

impl UnreadScene {
    fn is_due(&self, now_ns: u64) -> bool {
        matches!(self.again, ReadAgain::From(ns) if ns <= now_ns)
    }
}

impl UnreadScenes {
    /// Refuses a scene from now on.
    pub fn insert(&self, id: &str, why: NotLoaded, again: ReadAgain) {
        self.0.write().insert(id.to_owned(), UnreadScene { why, again });
    }

    /// Removes a scene that is here now, or deleted.
    pub fn remove(&self, id: &str) {
        self.0.write().remove(id);
    }

    /// Returns an error if the scene is unread.
    ///
    /// # Errors
    /// Returns the reason why the scene is not here.
    pub fn check(&self, id: &str) -> Result<(), SceneRegistryError> {
        let unread = self.0.read();
        unread.get(id).map_or(Ok(()), |scene| Err(scene.why.clone().of(id)))
    }

    /// Returns true if another attempt may find room and time for the scene.
    pub fn may_be_read(&self, id: &str) -> bool {
        self.is_due(id, u64::MAX)
    }

    /// Returns true if another attempt is due.
    pub fn is_due(&self, id: &str, now_ns: u64) -> bool {
        self.0.read().get(id).is_some_and(|scene| scene.is_due(now_ns))
    }

    /// Returns true if the failure that `own` recorded for a scene still holds at `now_ns`, given the scene's newest
    /// claim; for servers that share scenes. Returns false if the scene is due to be read again. The failure is
    /// forgotten if another server has taken the scene since: it may have read the scene, as a server of a later
    /// version can.
    pub fn holds(
        &self,
        id: &str,
        newest: Option<&SceneClaim>,
        own: &ClaimHolder,
        now_ns: u64,
    ) -> bool {
        let mut unread = self.0.write();
        let Some(scene) = unread.get(id) else { return false };
        if scene.is_due(now_ns) {
            return false;
        }
        let is_newer = |claim: &SceneClaim| match scene.again {
            ReadAgain::AfterClaim(epoch) => claim.epoch > epoch,
            ReadAgain::Never | ReadAgain::From(_) => false,
        };
        let is_own = |claim: &SceneClaim| match &claim.state {
            ClaimState::Owned(holder) => holder == own,
            ClaimState::Free => true,
            ClaimState::Deleted => false,
        };
        let holds = newest.is_some_and(|claim| !is_newer(claim) && is_own(claim));
        if !holds {
            unread.remove(id);
        }
        holds
    }

    /// Number of scenes whose files are damaged.
    pub fn n_unreadable(&self) -> usize {
        self.n_of(|why| matches!(why, NotLoaded::Unreadable(_)))
    }

    /// Number of scenes that there was no room or no time for.
    pub fn n_not_loaded(&self) -> usize {
        self.n_of(|why| matches!(why, NotLoaded::Refused(_)))
    }

    fn n_of(&self, is_one: impl Fn(&NotLoaded) -> bool) -> usize {
        self.0.read().values().filter(|scene| is_one(&scene.why)).count()
    }
}
