//! Scenes that are in the store and not here: their files are damaged, or there was no room or no time for them.

use std::collections::BTreeMap;

use parking_lot::RwLock;

use super::scene_error::{NotLoaded, SceneRegistryError};

/// By id.
#[derive(Default)]
pub struct UnreadScenes(RwLock<BTreeMap<String, UnreadScene>>);

struct UnreadScene {
    why: NotLoaded,
    /// It is not read again before: nanoseconds of the process's clock.
    again_ns: u64,
}

impl UnreadScenes {
    /// Refuses a scene from now on. It is not read again before `again_ns`, nor ever if its files are damaged.
    pub fn insert(&self, id: &str, why: NotLoaded, again_ns: u64) {
        self.0.write().insert(id.to_owned(), UnreadScene { why, again_ns });
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
        self.0.read().get(id).is_some_and(|scene| matches!(scene.why, NotLoaded::Refused(_)))
    }

    /// Whether it is time for that.
    pub fn is_due(&self, id: &str, now_ns: u64) -> bool {
        let is_due = self.0.read().get(id).is_some_and(|scene| scene.again_ns <= now_ns);
        is_due && self.may_be_read(id)
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
