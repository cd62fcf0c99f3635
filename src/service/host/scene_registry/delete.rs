//! Deletes scenes for good.

use std::sync::Arc;

use tracing::{error, info};

use super::SceneRegistry;
use crate::service::{
    access::caller::Caller,
    host::{
        cluster::delete_unread::delete_unread,
        durable::{not_kept::NotKept, scene_journal::SceneJournal},
        scene_error::SceneRegistryError,
        scene_host::SceneHost,
        scene_state::{End, SceneEvent},
    },
};

impl SceneRegistry {
    /// Deletes a scene and its files; streams of the scene see the deletion at their next message. Waits for the disk.
    pub fn delete(&self, id: &str, caller: &Caller) -> Result<(), SceneRegistryError> {
        loop {
            let host = match self.find(id) {
                // The owner of an unreadable scene is unknown.
                Err(SceneRegistryError::Unreadable { .. }) if caller.may_change(None) => {
                    return self.delete_unreadable(id);
                }
                found => found?,
            };
            host.check_owner(caller)?;
            // Changes under way complete, and none follows.
            let _turn = SceneJournal::turn_blocking(host.journal.as_ref());
            // Checked within the turn: another scene may have replaced this one before, and has the files now.
            if self.scenes.read().is_here(&host) {
                return self.delete_in_turn(&host);
            }
        }
    }

    fn delete_in_turn(&self, host: &Arc<SceneHost>) -> Result<(), SceneRegistryError> {
        let id = host.scene.id();
        let removed = host.journal.as_ref().map_or(Ok(()), |journal| journal.remove());
        // A shared scene's lease records this outcome: the lease renewal ends the lease again.
        if let (Err(NotKept::Unknown(reason)), None) = (&removed, host.lease())
            && host.note(&SceneEvent::DeletionUnknown)
        {
            error!(
                scene = id,
                "is refused until it is known to be gone, which is tried again: {reason}"
            );
        }
        removed?;
        // The entry may be gone: a look in between found the scene deleted in the store.
        self.end(host, End::Deleted);
        info!(scene = id, "scene deleted");
        Ok(())
    }

    /// Continues to delete a scene if the disk has not reported whether it is gone; does nothing to any other scene.
    pub fn delete_again(&self, host: &Arc<SceneHost>) {
        if host.life.check_deleting(&host.scene).is_ok() {
            return;
        }
        let _turn = SceneJournal::turn_blocking(host.journal.as_ref());
        if self.scenes.read().is_here(host) {
            // On an error the scene stays refused, and this is called again.
            let _ = self.delete_in_turn(host);
        }
    }

    fn delete_unreadable(&self, id: &str) -> Result<(), SceneRegistryError> {
        let (store, _) = self.keeping().ok_or(SceneRegistryError::KeepsNone)?;
        let folder = store.folder(id);
        match self.membership() {
            None => folder.remove().map_err(NotKept::of_write)?,
            Some(membership) => delete_unread(membership, self, &folder, id)?,
        }
        self.scenes.write().forget_unread(id);
        info!(scene = id, "unreadable scene deleted");
        Ok(())
    }
}
