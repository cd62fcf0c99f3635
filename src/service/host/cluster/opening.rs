//! Opens scenes by name: a server takes a scene that it is asked for and does not have if no other server has it, or if
//! an admin states that its owner hangs.

use std::{
    io,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use tracing::info;

use super::{
    membership::Membership,
    scene_lease::{NewOwner, SceneLease},
};
use crate::service::{
    clock::now_ns,
    host::{
        durable::recovery::take_in, fields::Fields, scene_error::SceneRegistryError,
        scene_life::Ended, scene_registry::SceneRegistry,
    },
};
use crate::store::lease::claim::{ClaimFrom, ClaimState, Opening, SceneClaim};

/// Takes in scenes that clients ask for.
pub struct SceneOpener {
    fields: Fields,
    membership: Arc<Membership>,
}

/// Attempts at a claim, while other servers are first, before the caller has to ask again.
const TRIES: usize = 3;

impl SceneOpener {
    /// Creates an opener; links get their fields from `fields`.
    pub fn new(fields: &Fields, membership: &Arc<Membership>) -> SceneOpener {
        SceneOpener { fields: fields.clone(), membership: Arc::clone(membership) }
    }

    /// Takes a scene into the registry if it exists and may be claimed; does nothing if it does not exist. Waits for
    /// the disk, and for the end of the lease of an owner that is not silent. One caller at a time may open a scene.
    ///
    /// # Errors
    /// Names the owner, or the reason why the scene cannot be taken.
    pub fn open(
        &self,
        registry: &SceneRegistry,
        id: &str,
        from: ClaimFrom,
    ) -> Result<(), SceneRegistryError> {
        let unread = |source: io::Error| SceneRegistryError::Claims { id: id.to_owned(), source };
        for _ in 0..TRIES {
            let newest = self.membership.newest(id).map_err(unread)?;
            let own = self.membership.own();
            if registry.entries_mut().is_still_unread(id, newest.as_ref(), own, now_ns()) {
                // The look-up reports the reason.
                return Ok(());
            }
            let claimed = match newest {
                None => self.claim_unshared(registry, id).map_err(unread)?,
                Some(claim) => match self.opening(&claim, from) {
                    Opening::Unknown => return Ok(()),
                    // The owner ran at this address before; until its lease is over, there is no other server to ask.
                    Opening::Elsewhere { holder, .. }
                        if holder.address == self.membership.own().address =>
                    {
                        return Err(Ended::Opening { id: id.to_owned() }.into());
                    }
                    Opening::Elsewhere { holder, epoch } => {
                        let owner = NewOwner { address: Some(holder.address), epoch };
                        return Err(Ended::Elsewhere { id: id.to_owned(), owner }.into());
                    }
                    // The scene is being created, or its creation failed: the claim ends with this server. A scene that
                    // is being created is in the registry before it has files.
                    Opening::Own { .. }
                        if self.was_never_made(registry, id)? || registry.has(id) =>
                    {
                        return Ok(());
                    }
                    // The end of this claim was put without an answer, and has the epoch of the claim that is put now:
                    // if that end still arrives, it has no effect.
                    Opening::Own { epoch } if self.membership.open_end(id, epoch).is_some() => {
                        Some(self.claim(id, epoch + 1).map_err(unread)?.then_some(epoch + 1))
                    }
                    Opening::Own { epoch } => Some(Some(epoch)),
                    Opening::Claim { epoch, before } => {
                        registry.check_room()?;
                        let is_ours = self.claim(id, epoch).map_err(unread)?;
                        if let Some(before) = before.filter(|_| is_ours) {
                            self.membership.wait_out(&before).map_err(unread)?;
                        }
                        Some(is_ours.then_some(epoch))
                    }
                },
            };
            match claimed {
                None => return Ok(()),
                Some(Some(epoch)) => return self.recover(registry, id, epoch),
                Some(None) => {}
            }
        }
        Err(unread(io::Error::other("several servers claim it at once")))
    }

    fn opening(&self, claim: &SceneClaim, from: ClaimFrom) -> Opening {
        claim.opening(self.membership.own(), from, |server| self.membership.is_silent(server))
    }

    /// Claims a scene that was created before the folder was shared. Returns `None` if there is none, and `Some(None)`
    /// if another server was first.
    fn claim_unshared(
        &self,
        registry: &SceneRegistry,
        id: &str,
    ) -> io::Result<Option<Option<u64>>> {
        let folder = registry.keeping().expect("a shared folder").0.folder(id);
        if !folder.is_there()? {
            return Ok(None);
        }
        let epoch = folder.newest_epoch()? + 1;
        if !self.claim(id, epoch)? {
            return Ok(Some(None));
        }
        self.membership.note_made(id, epoch)?;
        Ok(Some(Some(epoch)))
    }

    /// Returns true if the server that claimed the id ended before the scene existed; false if the scene's files are
    /// away.
    fn was_never_made(
        &self,
        registry: &SceneRegistry,
        id: &str,
    ) -> Result<bool, SceneRegistryError> {
        let folder = registry.keeping().expect("scenes are shared").0.folder(id);
        let unread = |source| SceneRegistryError::Claims { id: id.to_owned(), source };
        let has_nothing = folder.has_nothing().map_err(unread)?;
        Ok(has_nothing && !self.membership.was_made(id).map_err(unread)?)
    }

    fn claim(&self, id: &str, epoch: u64) -> io::Result<bool> {
        let state = ClaimState::Owned(self.membership.own().clone());
        self.membership.put(id, &SceneClaim { epoch, state })
    }

    fn recover(
        &self,
        registry: &SceneRegistry,
        id: &str,
        epoch: u64,
    ) -> Result<(), SceneRegistryError> {
        let began_ns = now_ns();
        let lease = Arc::new(SceneLease::new(&self.membership, id, epoch));
        if self.was_never_made(registry, id)? {
            // Its creator never got the answer that the scene exists.
            let unread = |source| SceneRegistryError::Claims { id: id.to_owned(), source };
            return lease.delete().map(drop).map_err(unread);
        }
        if let Err(error) = take_in(registry, &self.fields, id, &lease) {
            // Another server may have the room that is lacking here. On an error the claim expires with this server.
            let _ = lease.give_up(None);
            return Err(error);
        }
        registry.metrics().cluster.taken.fetch_add(1, Relaxed);
        info!(scene = id, epoch, ms = (now_ns() - began_ns) / 1_000_000, "scene taken");
        Ok(())
    }
}

#[cfg(test)]
mod tests;
