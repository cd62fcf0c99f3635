//! Scenes that a server knows of, by id: those that it has, those in the store that it could not read, and those that
//! went to another server.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    cluster::scene_lease::NewOwner,
    scene_error::{NotLoaded, SceneRegistryError},
    scene_host::SceneHost,
    scene_life::Ended,
};
use crate::store::lease::claim::{ClaimHolder, ClaimState, SceneClaim};

/// Maximum redirects. A call that finds a scene without one gone between two looks is redirected a moment later.
const MOVED_MAX: usize = 1_024;

/// Entries by id; a scene has one.
#[derive(Default)]
pub struct SceneEntries(BTreeMap<String, SceneEntry>);

enum SceneEntry {
    /// This server has the scene.
    Here(Arc<SceneHost>),
    /// The scene is in the store: its files are damaged, there was no room or no time for it, or the store did not
    /// return it.
    Unread { why: NotLoaded, again: ReadAgain },
    /// The scene was here and is another server's, until a look into the store finds it here or nowhere.
    Moved(NewOwner),
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

impl ReadAgain {
    fn is_due(self, now_ns: u64) -> bool {
        matches!(self, ReadAgain::From(ns) if ns <= now_ns)
    }
}

impl SceneEntries {
    /// Returns the scenes that are here, ordered by id.
    pub fn here(&self) -> impl Iterator<Item = &Arc<SceneHost>> {
        self.0.values().filter_map(|entry| match entry {
            SceneEntry::Here(host) => Some(host),
            SceneEntry::Unread { .. } | SceneEntry::Moved(_) => None,
        })
    }

    /// Returns true if a scene is here, in any state.
    pub fn has(&self, id: &str) -> bool {
        matches!(self.0.get(id), Some(SceneEntry::Here(_)))
    }

    /// Returns true if `host` is the scene of its id.
    pub fn is_here(&self, host: &Arc<SceneHost>) -> bool {
        let now = self.0.get(host.scene.id());
        matches!(now, Some(SceneEntry::Here(now)) if Arc::ptr_eq(now, host))
    }

    /// Returns a scene that is here, in any state.
    ///
    /// # Errors
    /// Returns the reason why the scene is not here, or names the server that owns it now: a call that looked in the
    /// store before must not get "unknown".
    pub fn get(&self, id: &str) -> Result<Arc<SceneHost>, SceneRegistryError> {
        match self.0.get(id) {
            Some(SceneEntry::Here(host)) => Ok(Arc::clone(host)),
            Some(SceneEntry::Unread { why, .. }) => Err(why.clone().of(id)),
            Some(SceneEntry::Moved(owner)) => {
                Err(Ended::Elsewhere { id: id.to_owned(), owner: owner.clone() }.into())
            }
            None => Err(SceneRegistryError::Unknown { id: id.to_owned() }),
        }
    }

    /// Returns an error if a scene could not be read.
    ///
    /// # Errors
    /// Returns the reason why the scene is not here.
    pub fn check_unread(&self, id: &str) -> Result<(), SceneRegistryError> {
        match self.0.get(id) {
            Some(SceneEntry::Unread { why, .. }) => Err(why.clone().of(id)),
            _ => Ok(()),
        }
    }

    /// Puts a scene in, in place of any other of its id.
    pub fn insert(&mut self, host: Arc<SceneHost>) {
        self.0.insert(host.scene.id().to_owned(), SceneEntry::Here(host));
    }

    /// Removes `host` if it is here.
    pub fn remove(&mut self, host: &Arc<SceneHost>) {
        if self.is_here(host) {
            self.0.remove(host.scene.id());
        }
    }

    /// Redirects callers of `host` to its new owner, if `host` is here.
    pub fn redirect(&mut self, host: &Arc<SceneHost>, owner: NewOwner) {
        if !self.is_here(host) {
            return;
        }
        let is_moved = |entry: &SceneEntry| matches!(entry, SceneEntry::Moved(_));
        if self.0.values().filter(|entry| is_moved(entry)).count() >= MOVED_MAX {
            let first = self.0.iter().find_map(|(id, entry)| is_moved(entry).then(|| id.clone()));
            first.map(|id| self.0.remove(&id));
        }
        self.0.insert(host.scene.id().to_owned(), SceneEntry::Moved(owner));
    }

    /// Ends the redirect of a scene, if it has one: a look into the store has not found it.
    pub fn end_redirect(&mut self, id: &str) {
        if matches!(self.0.get(id), Some(SceneEntry::Moved(_))) {
            self.0.remove(id);
        }
    }

    /// Refuses a scene from now on that could not be read. A scene that is here stays.
    pub fn refuse(&mut self, id: &str, why: NotLoaded, again: ReadAgain) {
        if !self.has(id) {
            self.0.insert(id.to_owned(), SceneEntry::Unread { why, again });
        }
    }

    /// Forgets that a scene could not be read.
    pub fn forget_unread(&mut self, id: &str) {
        if matches!(self.0.get(id), Some(SceneEntry::Unread { .. })) {
            self.0.remove(id);
        }
    }

    /// Returns true if another attempt may find room and time for a scene.
    pub fn may_be_read(&self, id: &str) -> bool {
        self.is_due(id, u64::MAX)
    }

    /// Returns true if another attempt to read a scene is due.
    pub fn is_due(&self, id: &str, now_ns: u64) -> bool {
        let entry = self.0.get(id);
        matches!(entry, Some(SceneEntry::Unread { again, .. }) if again.is_due(now_ns))
    }

    /// Returns true if the failure that `own` recorded for a scene still holds at `now_ns`, given the scene's newest
    /// claim; for servers that share scenes. Returns false if the scene is due to be read again. The failure is
    /// forgotten if another server has taken the scene since: it may have read the scene, as a server of a later
    /// version can.
    pub fn is_still_unread(
        &mut self,
        id: &str,
        newest: Option<&SceneClaim>,
        own: &ClaimHolder,
        now_ns: u64,
    ) -> bool {
        let Some(SceneEntry::Unread { again, .. }) = self.0.get(id) else { return false };
        if again.is_due(now_ns) {
            return false;
        }
        let is_newer = |claim: &SceneClaim| match again {
            ReadAgain::AfterClaim(epoch) => claim.epoch > *epoch,
            ReadAgain::Never | ReadAgain::From(_) => false,
        };
        let is_own = |claim: &SceneClaim| match &claim.state {
            ClaimState::Owned(holder) => holder == own,
            ClaimState::Free => true,
            ClaimState::Deleted => false,
        };
        let holds = newest.is_some_and(|claim| !is_newer(claim) && is_own(claim));
        if !holds {
            self.0.remove(id);
        }
        holds
    }

    /// Number of scenes whose files are damaged.
    pub fn n_unreadable(&self) -> usize {
        self.n_unread(|why| matches!(why, NotLoaded::Unreadable(_)))
    }

    /// Number of scenes that there was no room or no time for.
    pub fn n_not_loaded(&self) -> usize {
        self.n_unread(|why| matches!(why, NotLoaded::Refused(_)))
    }

    fn n_unread(&self, is_one: impl Fn(&NotLoaded) -> bool) -> usize {
        let is_one =
            |entry: &&SceneEntry| matches!(entry, SceneEntry::Unread { why, .. } if is_one(why));
        self.0.values().filter(is_one).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::Config,
        service::{access::caller::Caller, host::scene_registry::SceneRegistry},
    };

    #[test]
    fn redirects_are_bounded_and_end_when_the_scene_is_looked_for() {
        let registry = SceneRegistry::new(&Config::default());
        let host = registry.create("s", &Caller::ANYBODY).expect("room");
        let mut entries = SceneEntries::default();
        for epoch in 0..MOVED_MAX as u64 {
            let owner = NewOwner { address: None, epoch };
            entries.0.insert(format!("{epoch:05}"), SceneEntry::Moved(owner));
        }
        let owner = NewOwner { address: None, epoch: 1 };
        entries.redirect(&host, owner.clone());
        assert_eq!(entries.0.len(), MOVED_MAX, "it was not here");
        entries.insert(Arc::clone(&host));
        entries.redirect(&host, owner);
        assert_eq!(entries.0.len(), MOVED_MAX);
        let is_unknown = |entries: &SceneEntries, id| {
            matches!(entries.get(id), Err(SceneRegistryError::Unknown { .. }))
        };
        assert!(is_unknown(&entries, "00000") && !is_unknown(&entries, "s"));
        entries.end_redirect("s");
        assert!(is_unknown(&entries, "s"));
    }

    #[test]
    fn a_scene_that_is_here_is_not_refused_because_of_another_read() {
        let registry = SceneRegistry::new(&Config::default());
        let host = registry.create("s", &Caller::ANYBODY).expect("room");
        let mut entries = SceneEntries::default();
        let damaged = || NotLoaded::Unreadable("damaged".to_owned());
        entries.refuse("s", damaged(), ReadAgain::Never);
        assert!(matches!(entries.get("s"), Err(SceneRegistryError::Unreadable { .. })));
        assert_eq!((entries.n_unreadable(), entries.n_not_loaded()), (1, 0));
        entries.insert(Arc::clone(&host));
        entries.refuse("s", damaged(), ReadAgain::Never);
        entries.forget_unread("s");
        entries.end_redirect("s");
        assert!(entries.is_here(&host) && entries.n_unreadable() == 0);
    }
}
