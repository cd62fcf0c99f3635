//! A scene of an object store, claimed for as long as a command changes it: servers may use the store too.

use std::io;

use crate::store::{
    lease::{
        claim::{ClaimHolder, ClaimState, SceneClaim},
        claim_folder::ClaimFolder,
    },
    scenes::{generations::first_generation, scene_store::SceneStore, snapshot::SceneSnapshot},
};

/// The claims of all scenes of an object store.
pub(super) struct SharedScenes<'a> {
    store: &'a SceneStore,
    claims: ClaimFolder,
    own: ClaimHolder,
}

/// Address to which clients are sent meanwhile: nowhere.
const ADDRESS: &str = "palpate-scenes";

impl SharedScenes<'_> {
    /// Returns `None` if the store is locked as a whole.
    ///
    /// # Errors
    /// Returns an error if the system has no random numbers.
    pub(super) fn of(store: &SceneStore) -> io::Result<Option<SharedScenes<'_>>> {
        let Some(claims) = store.shared_claims() else { return Ok(None) };
        let mut id = [0; 8];
        getrandom::fill(&mut id)?;
        let server = format!("{:016x}", u64::from_le_bytes(id));
        let own = ClaimHolder { server, address: ADDRESS.to_owned() };
        Ok(Some(SharedScenes { store, claims, own }))
    }

    /// Adds a scene.
    ///
    /// # Errors
    /// Returns `AlreadyExists` if there is one, or the store's error.
    pub(super) fn add(&self, kept: &SceneSnapshot) -> io::Result<()> {
        let (id, folder) = (&kept.scene.id, self.store.folder(&kept.scene.id));
        let newest = self.claims.newest(id)?;
        let is_free = match &newest {
            Some(claim) => claim.state == ClaimState::Deleted,
            None => !folder.is_there()?,
        };
        if !is_free {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let epoch = self.claim(id, newest.map_or(1, |claim| claim.epoch + 1))?;
        folder.remove_before(epoch)?;
        folder.create(kept, first_generation(epoch))?;
        self.free(id, epoch)
    }

    /// Changes a scene that no server owns, in an epoch of its own. `change` receives a check to call after the scene
    /// was read and before anything is written. Returns `None` if a server owns the scene.
    ///
    /// # Errors
    /// Returns the store's error, or an error if a server has claimed the scene meanwhile.
    pub(super) fn change<T>(
        &self,
        id: &str,
        change: impl FnOnce(u64, &dyn Fn() -> io::Result<()>) -> io::Result<T>,
    ) -> io::Result<Option<T>> {
        let newest = self.claims.newest(id)?;
        let epoch = match newest {
            Some(SceneClaim { epoch, state: ClaimState::Free }) => epoch + 1,
            None => self.store.folder(id).newest_epoch()? + 1,
            Some(_) => return Ok(None),
        };
        let epoch = self.claim(id, epoch)?;
        let changed = change(epoch, &|| self.check_newest(id, epoch));
        self.free(id, epoch)?;
        changed.map(Some)
    }

    fn check_newest(&self, id: &str, epoch: u64) -> io::Result<()> {
        match self.claims.newest(id)? {
            Some(claim) if claim.epoch == epoch => Ok(()),
            _ => Err(io::Error::other("a server has claimed it since")),
        }
    }

    fn claim(&self, id: &str, epoch: u64) -> io::Result<u64> {
        let claim = SceneClaim { epoch, state: ClaimState::Owned(self.own.clone()) };
        if self.claims.put(id, &claim)? {
            return Ok(epoch);
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "a server was first"))
    }

    fn free(&self, id: &str, epoch: u64) -> io::Result<()> {
        // False means that a server has waited for as long as a lease lasts, and now owns the scene.
        self.claims.put(id, &SceneClaim { epoch: epoch + 1, state: ClaimState::Free }).map(drop)
    }
}
