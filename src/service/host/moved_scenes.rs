//! Redirects: scenes that were here and are another server's, until a look into the store finds them here or nowhere.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::{cluster::scene_lease::NewOwner, scene_error::SceneRegistryError, scene_life::Ended};

/// Maximum redirects. A call that finds a scene without one gone between two looks is redirected a moment later.
const MOVED_MAX: usize = 1_024;

/// New owners, by scene id.
#[derive(Default)]
pub struct MovedScenes(Mutex<BTreeMap<String, NewOwner>>);

impl MovedScenes {
    /// Records the new owner of a scene that was here.
    pub fn insert(&self, id: &str, owner: NewOwner) {
        let mut moved = self.0.lock();
        if moved.len() == MOVED_MAX {
            moved.pop_first();
        }
        moved.insert(id.to_owned(), owner);
    }

    /// Removes a scene that is here, or that is not in the store.
    pub fn remove(&self, id: &str) {
        self.0.lock().remove(id);
    }

    /// Names the server that owns the scene now: a call that looked in the store before must not get "unknown".
    pub fn not_here(&self, id: &str) -> SceneRegistryError {
        let moved = self.0.lock().get(id).cloned();
        let id = id.to_owned();
        match moved {
            Some(owner) => Ended::Elsewhere { id, owner }.into(),
            None => SceneRegistryError::Unknown { id },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_here_is_told_of_until_it_is_looked_for() {
        let moved = MovedScenes::default();
        let is_unknown =
            |id: &str| matches!(moved.not_here(id), SceneRegistryError::Unknown { .. });
        assert!(is_unknown("a"));
        for epoch in 0..2 * MOVED_MAX as u64 {
            moved.insert(&format!("{epoch:05}"), NewOwner { address: None, epoch });
        }
        assert_eq!(moved.0.lock().len(), MOVED_MAX);
        let newest = format!("{:05}", 2 * MOVED_MAX - 1);
        assert!(!is_unknown(&newest));
        moved.remove(&newest);
        assert!(is_unknown(&newest));
    }
}
