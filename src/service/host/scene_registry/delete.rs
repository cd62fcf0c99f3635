//! Takes scenes away for good.

use std::sync::Arc;

use tracing::{error, info};

use super::{SceneHost, SceneRegistry, is_host_of};
use crate::service::{
    access::caller::Caller,
    host::{
        cluster::delete_unread::delete_unread,
        durable::{not_kept::NotKept, scene_journal::SceneJournal},
        scene_error::SceneRegistryError,
    },
};

impl SceneRegistry {
    /// Takes a scene away, its files too; streams that use it see that at their next message. Waits for the disk.
    pub fn delete(&self, id: &str, caller: &Caller) -> Result<(), SceneRegistryError> {
        loop {
            let host = match self.find(id) {
                // Nobody knows any more whose it is.
                Err(SceneRegistryError::Unreadable { .. }) if caller.may_change(None) => {
                    return self.delete_unreadable(id);
                }
                found => found?,
            };
            host.check_owner(caller)?;
            // What is under way comes to its end, and nothing comes after.
            let _turn = SceneJournal::turn_blocking(host.journal.as_ref());
            // In its turn: another may have been put in its place before, and has the files now.
            if self.is_registered(&host) {
                return self.delete_in_turn(&host);
            }
        }
    }

    fn delete_in_turn(&self, host: &Arc<SceneHost>) -> Result<(), SceneRegistryError> {
        let id = host.scene.id();
        let removed = host.journal.as_ref().map_or(Ok(()), |journal| journal.remove());
        // Of a shared one its lease says it: that is ended again, by whoever renews leases.
        if let (Err(NotKept::Unknown(reason)), None) = (&removed, host.lease())
            && host.life.set_deleting()
        {
            error!(
                scene = id,
                "is refused until it is known to be gone, which is tried again: {reason}"
            );
        }
        removed?;
        let mut hosts = self.hosts.write();
        // Else it was found deleted in the store, by a look that came in between.
        if is_host_of(&hosts, host) {
            hosts.remove(id);
        }
        host.life.set_deleted();
        info!(scene = id, "scene deleted");
        Ok(())
    }

    /// Goes on to delete a scene of which the disk has not said whether it is gone; nothing of any other.
    pub fn delete_again(&self, host: &Arc<SceneHost>) {
        if host.life.check_deleting(&host.scene).is_ok() {
            return;
        }
        let _turn = SceneJournal::turn_blocking(host.journal.as_ref());
        if self.is_registered(host) {
            // An error: it is refused as before, and this is called again.
            let _ = self.delete_in_turn(host);
        }
    }

    fn delete_unreadable(&self, id: &str) -> Result<(), SceneRegistryError> {
        let (store, _) = self.keeping().ok_or(SceneRegistryError::KeepsNone)?;
        let folder = store.folder(id);
        match self.membership() {
            None => folder.remove().map_err(NotKept::of_write)?,
            Some(membership) => delete_unread(membership, &self.unread, &folder, id)?,
        }
        self.unread.remove(id);
        info!(scene = id, "unreadable scene deleted");
        Ok(())
    }
}
