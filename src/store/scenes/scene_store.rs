//! All scenes of a data folder, and the lock on it; or all scenes of a part of an object store.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::folder::SceneFolder;
#[cfg(feature = "objects")]
use crate::store::{
    lease::{claim_folder::CLAIMS, server_beat::BEATS},
    place::{object_address::ObjectAddress, object_place::ObjectPlace},
};
use crate::{
    os::{
        lasting::{NamedFile, sync_folder},
        regular_file,
    },
    store::{
        lease::{claim::ClaimState, claim_folder::ClaimFolder, server_beat::BeatFolder},
        place::{
            StorePlace,
            folder_place::{FolderPlace, PASSING},
        },
    },
};

/// The folder of claims and signs of life, below the data folder.
pub const LEASES: &str = "leases";
const SCENES: &str = "scenes";

/// The scenes of a data folder, or of a part of an object store.
#[derive(Debug)]
pub struct SceneStore {
    scenes: Arc<dyn StorePlace>,
    kind: StoreKind,
}

#[derive(Debug)]
enum StoreKind {
    Folder {
        data_dir: PathBuf,
        /// Locked for as long as they are open, also when the process is killed.
        _locks: Vec<File>,
    },
    #[cfg(feature = "objects")]
    Objects(ObjectPlace),
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
    /// The environment or the object store.
    #[error(
        "scenes cannot be kept at {url}: {source}; expected a bucket that the variables AWS_*, GOOGLE_* or \
         AZURE_* lead to, which can be listed, read and written to"
    )]
    Objects {
        /// Where.
        url: String,
        /// Why.
        source: io::Error,
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
        let root = data_dir.join(SCENES);
        let failed = |source| StoreError::Io { path: root.clone(), source };
        store.end_sharing(data_dir).map_err(failed)?;
        for entry in fs::read_dir(&root).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().to_string_lossy().starts_with(PASSING) {
                fs::remove_dir_all(entry.path()).map_err(failed)?;
            }
        }
        Ok(store)
    }

    /// Takes part in the scenes of a data folder: which of them are this process's is for claims to say. The first process
    /// that comes when all others have ended in good order removes the claims of deleted scenes.
    ///
    /// # Errors
    /// When a process has them for itself, or the folder cannot be written to.
    pub fn open_shared(data_dir: &Path) -> Result<SceneStore, StoreError> {
        let mut store = SceneStore::locked(data_dir, File::try_lock_shared)?;
        let path = data_dir.join("sharing.lock");
        let failed = |source| StoreError::Io { path: path.clone(), source };
        let file = lock_file(&path).map_err(failed)?;
        if file.try_lock().is_ok() {
            // Not by the lock alone: on a file system whose locks are each machine's own, servers of others may be there.
            if is_without_servers(data_dir).map_err(failed)? {
                store.forget_deleted(data_dir).map_err(failed)?;
            }
        }
        // Its lock goes with it: under Wine one that was unlocked is still in the way of the next.
        drop(file);
        let file = lock_file(&path).map_err(failed)?;
        // Nobody has it alone for longer than that takes.
        file.lock_shared().map_err(failed)?;
        match &mut store.kind {
            StoreKind::Folder { _locks, .. } => _locks.push(file),
            #[cfg(feature = "objects")]
            StoreKind::Objects(_) => {}
        }
        Ok(store)
    }

    /// Looks at the scenes of a data folder, whoever has them: takes no lock, makes nothing and removes nothing. Of what it
    /// gives only what reads may be used.
    pub fn to_read(data_dir: &Path) -> SceneStore {
        let scenes = Arc::new(FolderPlace::new(data_dir.join(SCENES), ""));
        let kind = StoreKind::Folder { data_dir: data_dir.to_owned(), _locks: Vec::new() };
        SceneStore { scenes, kind }
    }

    /// Whether a scene was deleted whose files were not removed to the end, where servers share the scenes.
    ///
    /// # Errors
    /// When its claims cannot be read.
    pub fn is_deleted(&self, id: &str) -> io::Result<bool> {
        let claims = match &self.kind {
            StoreKind::Folder { data_dir, .. } => ClaimFolder::to_read(&data_dir.join(LEASES)),
            #[cfg(feature = "objects")]
            StoreKind::Objects(_) => self.shared_claims().expect("an object store"),
        };
        Ok(claims.newest(id)?.is_some_and(|claim| claim.state == ClaimState::Deleted))
    }

    /// The claims of an object store's scenes; `None` of a folder, which can be locked.
    pub fn shared_claims(&self) -> Option<ClaimFolder> {
        match &self.kind {
            StoreKind::Folder { .. } => None,
            #[cfg(feature = "objects")]
            StoreKind::Objects(all) => {
                Some(ClaimFolder::of(Box::new(all.below(LEASES).below(CLAIMS))))
            }
        }
    }

    /// Takes part in the scenes of an object store, as of a shared folder: a bucket cannot be locked.
    ///
    /// # Errors
    /// When it cannot be used.
    #[cfg(feature = "objects")]
    pub fn of_objects(address: &ObjectAddress) -> Result<SceneStore, StoreError> {
        let failed = |source| StoreError::Objects { url: address.url.clone(), source };
        let all = ObjectPlace::new(address).map_err(failed)?;
        Ok(SceneStore { scenes: Arc::new(all.below(SCENES)), kind: StoreKind::Objects(all) })
    }

    /// Where claims and signs of life are, of servers that share the scenes. `own`: of this process alone.
    ///
    /// # Errors
    /// When they cannot be put there, or an object store puts one over another.
    pub fn leases(&self, own: &str) -> io::Result<(ClaimFolder, BeatFolder)> {
        match &self.kind {
            StoreKind::Folder { data_dir, .. } => {
                let leases = data_dir.join(LEASES);
                Ok((ClaimFolder::open(&leases, own)?, BeatFolder::open(&leases)?))
            }
            #[cfg(feature = "objects")]
            StoreKind::Objects(all) => {
                let leases = all.below(LEASES);
                leases.check(own)?;
                let claims = self.shared_claims().expect("an object store");
                Ok((claims, BeatFolder::of(Box::new(leases.below(BEATS)))))
            }
        }
    }

    fn locked(
        data_dir: &Path,
        lock: fn(&File) -> Result<(), TryLockError>,
    ) -> Result<SceneStore, StoreError> {
        let root = data_dir.join(SCENES);
        let failed = |source| StoreError::Io { path: root.clone(), source };
        fs::create_dir_all(&root).map_err(failed)?;
        // A scene lasts only if the names of the folders around it do.
        sync_folder(data_dir).map_err(failed)?;
        if let Some(around) = data_dir.parent().filter(|p| !p.as_os_str().is_empty()) {
            // An error: it is not this user's to open, and was there before.
            let _ = sync_folder(around);
        }
        // Beside the folder, so that all in it are scenes.
        let path = data_dir.join("scenes.lock");
        let file = lock_file(&path).map_err(failed)?;
        match lock(&file) {
            Ok(()) => {
                let named = NamedFile::new(&path, &file.metadata().map_err(failed)?);
                let scenes = Arc::new(FolderPlace::new(root, "").locked_by(named));
                let kind = StoreKind::Folder { data_dir: data_dir.to_owned(), _locks: vec![file] };
                Ok(SceneStore { scenes, kind })
            }
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse { path: root }),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Claims are of servers that are gone.
    fn end_sharing(&self, data_dir: &Path) -> io::Result<()> {
        self.forget_deleted(data_dir)?;
        match fs::remove_dir_all(data_dir.join(LEASES)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Removes what is left of scenes that were deleted, while no other process has the folder. Their epochs begin anew: of
    /// those that knew the old ones, or were about to claim the next, none is there any more.
    fn forget_deleted(&self, data_dir: &Path) -> io::Result<()> {
        let leases = data_dir.join(LEASES);
        if !fs::exists(&leases)? {
            return Ok(());
        }
        let claims = ClaimFolder::open(&leases, "")?;
        for id in claims.ids()? {
            let newest = claims.newest(&id)?;
            if let Some(claim) = newest.filter(|claim| claim.state == ClaimState::Deleted) {
                // One of the servers may have ended while it deleted the scene.
                self.folder(&id).remove_before(claim.epoch)?;
                claims.forget(&id)?;
            }
        }
        Ok(())
    }

    /// The ids of all scenes, ascending.
    ///
    /// # Errors
    /// The system's.
    pub fn ids(&self) -> io::Result<Vec<String>> {
        let entries = self.scenes.list("")?.unwrap_or_default();
        let folders = entries.into_iter().filter(|entry| entry.has_more).map(|entry| entry.name);
        // What is not a scene's yet, or not any more, and what is nobody's: ids have no dot.
        let mut ids: Vec<String> = folders.filter(|name| !name.contains(PASSING)).collect();
        ids.sort();
        Ok(ids)
    }

    /// Where a scene is or would be, for people.
    pub fn shown(&self, id: &str) -> String {
        self.scenes.shown(id)
    }

    /// The files of a scene that is or would be there. `id`: without dots and slashes.
    pub fn folder(&self, id: &str) -> SceneFolder {
        debug_assert!(!id.contains(['.', '/']), "{id:?}");
        SceneFolder::new(&self.scenes, id)
    }

    /// How many scenes' changes may be written at once.
    pub fn writes_at_once(&self) -> usize {
        self.scenes.writes_at_once()
    }
}

/// Whether no server has left a sign of life that is still there.
fn is_without_servers(data_dir: &Path) -> io::Result<bool> {
    let leases = data_dir.join(LEASES);
    Ok(!fs::exists(&leases)? || BeatFolder::open(&leases)?.all()?.is_empty())
}

/// A file to lock, which is never written.
fn lock_file(path: &Path) -> io::Result<File> {
    let (file, _) =
        regular_file::open(path, File::options().create(true).truncate(false).write(true))?;
    Ok(file)
}
