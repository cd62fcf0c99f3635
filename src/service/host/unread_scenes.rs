//! Scenes that are in the store and not here: their files are damaged, or there was no room or no time for them, or the
//! store did not give them.

use std::collections::BTreeMap;

use parking_lot::RwLock;

use super::scene_error::{NotLoaded, SceneRegistryError};
use crate::store::lease::claim::{ClaimHolder, ClaimState, SceneClaim};

/// By id.
#[derive(Default)]
pub struct UnreadScenes(RwLock<BTreeMap<String, UnreadScene>>);

struct UnreadScene {
    why: NotLoaded,
    /// Whether it is read again.
    again: ReadAgain,
}

/// When a scene is read again that was read in vain.
#[derive(Clone, Copy, Debug)]
pub enum ReadAgain {
    /// Not while its files are what they were.
    Never,
    /// Not before: nanoseconds of the process's clock.
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

    /// It is here, or deleted.
    pub fn remove(&self, id: &str) {
        self.0.write().remove(id);
    }

    /// Refuses one of these.
    ///
    /// # Errors
    /// Why it is not here.
    pub fn check(&self, id: &str) -> Result<(), SceneRegistryError> {
        let unread = self.0.read();
        unread.get(id).map_or(Ok(()), |scene| Err(scene.why.clone().of(id)))
    }

    /// Whether another try may find room and time for one of these.
    pub fn may_be_read(&self, id: &str) -> bool {
        self.is_due(id, u64::MAX)
    }

    /// Whether it is time for that.
    pub fn is_due(&self, id: &str, now_ns: u64) -> bool {
        self.0.read().get(id).is_some_and(|scene| scene.is_due(now_ns))
    }

    /// Where servers share scenes: whether what `own` found of one of these still holds at `now_ns`, with this newest claim of
    /// it. Not when it is time to read it again. It is forgotten when another has taken the scene since, and may have read
    /// it, as one of a later version can.
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

    /// Those whose files are damaged.
    pub fn n_unreadable(&self) -> usize {
        self.n_of(|why| matches!(why, NotLoaded::Unreadable(_)))
    }

    /// Those that there was no room or no time for.
    pub fn n_not_loaded(&self) -> usize {
        self.n_of(|why| matches!(why, NotLoaded::Refused(_)))
    }

    fn n_of(&self, is_one: impl Fn(&NotLoaded) -> bool) -> usize {
        self.0.read().values().filter(|scene| is_one(&scene.why)).count()
    }
}
