//! All scenes of a data folder, and the lock on it.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use super::folder::{PASSING, SceneFolder};
use crate::{
    os::lasting::sync_folder,
    store::lease::{claim::ClaimState, claim_folder::ClaimFolder},
};

/// The folder of claims and signs of life, below the data folder.
pub const LEASES: &str = "leases";

/// The scenes of a data folder.
#[derive(Debug)]
pub struct SceneStore {
    root: PathBuf,
    /// Locked for as long as it is open, also when the process is killed.
    _lock: File,
}

/// Why a data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system's reason.
    #[error("scenes cannot be kept under {}: {source}; expected a folder that can be written to, or store.scenes = false", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Two processes would write into one journal.
    #[error("{} is in use by another server; expected a data_dir of its own, cluster.shared = true for both, or store.scenes = false", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
}

impl SceneStore {
    /// Takes the scenes of a data folder for this process alone, and removes what never became a scene and what is left of
    /// a time when servers shared the folder.
    ///
    /// # Errors
    /// When another process has them, or the folder cannot be written to.
    pub fn open(data_dir: &Path) -> Result<SceneStore, StoreError> {
        let store = SceneStore::locked(data_dir, File::try_lock)?;
        let failed = |source| StoreError::Io { path: store.root.clone(), source };
        store.end_sharing(data_dir).map_err(failed)?;
        for entry in fs::read_dir(&store.root).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().to_string_lossy().starts_with(PASSING) {
                fs::remove_dir_all(entry.path()).map_err(failed)?;
            }
        }
        Ok(store)
    }

    /// Takes part in the scenes of a data folder: which of them are this process's is for claims to say.
    ///
    /// # Errors
    /// When a process has them for itself, or the folder cannot be written to.
    pub fn open_shared(data_dir: &Path) -> Result<SceneStore, StoreError> {
        SceneStore::locked(data_dir, File::try_lock_shared)
    }

    fn locked(
        data_dir: &Path,
        lock: fn(&File) -> Result<(), TryLockError>,
    ) -> Result<SceneStore, StoreError> {
        let root = data_dir.join("scenes");
        let failed = |source| StoreError::Io { path: root.clone(), source };
        fs::create_dir_all(&root).map_err(failed)?;
        // A scene lasts only if the names of the folders around it do.
        sync_folder(data_dir).map_err(failed)?;
        if let Some(around) = data_dir.parent().filter(|p| !p.as_os_str().is_empty()) {
            // An error: it is not this user's to open, and was there before.
            let _ = sync_folder(around);
        }
        // Beside the folder, so that all in it are scenes.
        let mut file = File::options();
        let file = file.create(true).truncate(false).write(true).open(data_dir.join("scenes.lock"));
        let file = file.map_err(failed)?;
        match lock(&file) {
            Ok(()) => Ok(SceneStore { root, _lock: file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse { path: root }),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Claims are of servers that are gone. A scene that one of them was deleting is deleted.
    fn end_sharing(&self, data_dir: &Path) -> io::Result<()> {
        let leases = data_dir.join(LEASES);
        if !fs::exists(&leases)? {
            return Ok(());
        }
        let claims = ClaimFolder::open(&leases, "")?;
        for id in claims.ids()? {
            let newest = claims.newest(&id)?;
            if let Some(claim) = newest.filter(|claim| claim.state == ClaimState::Deleted) {
                self.folder(&id).remove_before(claim.epoch)?;
            }
        }
        fs::remove_dir_all(&leases)
    }

    /// The ids of all scenes, ascending.
    ///
    /// # Errors
    /// The system's.
    pub fn ids(&self) -> io::Result<Vec<String>> {
        let mut ids = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                ids.extend(entry.file_name().into_string().ok());
            }
        }
        ids.retain(|id| !id.starts_with(PASSING));
        ids.sort();
        Ok(ids)
    }

    /// The folder that a scene has or would have.
    pub fn path(&self, id: &str) -> PathBuf {
        debug_assert!(!id.contains(['.', '/']), "{id:?}");
        self.root.join(id)
    }

    /// The files of a scene that is or would be there. `id`: without dots and slashes.
    pub fn folder(&self, id: &str) -> SceneFolder {
        SceneFolder::new(self.path(id))
    }
}
