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

/// Folder of claims and heartbeats, below the data folder.
pub const LEASES: &str = "leases";
const SCENES: &str = "scenes";

/// Scenes of a data folder, or of a part of an object store.
#[derive(Debug)]
pub struct SceneStore {
    scenes: Arc<dyn StorePlace>,
    kind: StoreKind,
}

#[derive(Debug)]
enum StoreKind {
    Folder {
        data_dir: PathBuf,
        /// Locked while the files are open; a killed process releases the locks.
        _locks: Vec<File>,
    },
    #[cfg(feature = "objects")]
    Objects(ObjectPlace),
}

/// Reasons why a store of scenes cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Error of the system.
    #[error("scenes cannot be kept under {}: {source}; expected a folder that can be written to, or store.scenes = false", path.display())]
    Io {
        /// Folder of the scenes.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The folder is in use: two processes would write into one journal.
    #[error("{} is in use by another server; expected a data_dir of its own, cluster.shared = true for both, or store.scenes = false", path.display())]
    InUse {
        /// Folder of the scenes.
        path: PathBuf,
    },
    /// The environment or the object store is unusable.
    #[error(
        "scenes cannot be kept at {url}: {source}; expected a bucket that the variables AWS_*, GOOGLE_* or \
         AZURE_* lead to, which can be listed, read and written to"
    )]
    Objects {
        /// Address of the store.
        url: String,
        /// Cause.
        source: io::Error,
    },
}

impl SceneStore {
    /// Opens the scenes of a data folder for this process alone, and removes incomplete scenes and the remains of a
    /// time when servers shared the folder.
    ///
    /// # Errors
    /// Returns an error if another process has the folder, or the folder cannot be written.
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

    /// Opens the scenes of a data folder that servers share: claims decide which of them belong to this process. The
    /// first process that opens the folder after all others have ended cleanly removes the claims of deleted scenes.
    ///
    /// # Errors
    /// Returns an error if a process has the folder for itself, or the folder cannot be written.
    pub fn open_shared(data_dir: &Path) -> Result<SceneStore, StoreError> {
        let mut store = SceneStore::locked(data_dir, File::try_lock_shared)?;
        let path = data_dir.join("sharing.lock");
        let failed = |source| StoreError::Io { path: path.clone(), source };
        let file = lock_file(&path).map_err(failed)?;
        if file.try_lock().is_ok() {
            // The lock alone is not enough: on a file system whose locks are local to each machine, servers of other
            // machines may be running.
            if is_without_servers(data_dir).map_err(failed)? {
                store.forget_deleted(data_dir).map_err(failed)?;
            }
        }
        // Closing the file releases its lock: under Wine a file that was unlocked still blocks the next lock.
        drop(file);
        let file = lock_file(&path).map_err(failed)?;
        // No process holds it exclusively for longer than that removal takes.
        file.lock_shared().map_err(failed)?;
        match &mut store.kind {
            StoreKind::Folder { _locks, .. } => _locks.push(file),
            #[cfg(feature = "objects")]
            StoreKind::Objects(_) => {}
        }
        Ok(store)
    }

    /// Opens the scenes of a data folder to read, whoever owns them: takes no lock, makes nothing and removes nothing.
    /// Only reading methods of the result may be used.
    pub fn to_read(data_dir: &Path) -> SceneStore {
        let scenes = Arc::new(FolderPlace::new(data_dir.join(SCENES), ""));
        let kind = StoreKind::Folder { data_dir: data_dir.to_owned(), _locks: Vec::new() };
        SceneStore { scenes, kind }
    }

    /// Returns true if a scene was deleted but its files were not completely removed, in a store that servers share.
    ///
    /// # Errors
    /// Returns an error if the claims cannot be read.
    pub fn is_deleted(&self, id: &str) -> io::Result<bool> {
        let claims = match &self.kind {
            StoreKind::Folder { data_dir, .. } => ClaimFolder::to_read(&data_dir.join(LEASES)),
            #[cfg(feature = "objects")]
            StoreKind::Objects(_) => self.shared_claims().expect("an object store"),
        };
        Ok(claims.newest(id)?.is_some_and(|claim| claim.state == ClaimState::Deleted))
    }

    /// Returns the claims of an object store's scenes; `None` for a folder, which can be locked.
    pub fn shared_claims(&self) -> Option<ClaimFolder> {
        match &self.kind {
            StoreKind::Folder { .. } => None,
            #[cfg(feature = "objects")]
            StoreKind::Objects(all) => {
                Some(ClaimFolder::of(Box::new(all.below(LEASES).below(CLAIMS))))
            }
        }
    }

    /// Opens the scenes of an object store, shared like those of a shared folder: buckets cannot be locked.
    ///
    /// # Errors
    /// Returns an error if the store cannot be used.
    #[cfg(feature = "objects")]
    pub fn of_objects(address: &ObjectAddress) -> Result<SceneStore, StoreError> {
        let failed = |source| StoreError::Objects { url: address.url.clone(), source };
        let all = ObjectPlace::new(address).map_err(failed)?;
        Ok(SceneStore { scenes: Arc::new(all.below(SCENES)), kind: StoreKind::Objects(all) })
    }

    /// Opens the claims and heartbeats of servers that share the scenes. `own`: a name unique to this process.
    ///
    /// # Errors
    /// Returns an error if they cannot be written, or an object store overwrites an object in spite of the condition.
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
        // A scene is durable only if the names of its parent folders are.
        sync_folder(data_dir).map_err(failed)?;
        if let Some(around) = data_dir.parent().filter(|p| !p.as_os_str().is_empty()) {
            // On an error this user may not open the folder, which existed before.
            let _ = sync_folder(around);
        }
        // Outside the folder, so that it holds only scenes.
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

    /// Removes all claims: their servers are gone.
    fn end_sharing(&self, data_dir: &Path) -> io::Result<()> {
        self.forget_deleted(data_dir)?;
        match fs::remove_dir_all(data_dir.join(LEASES)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Removes the remains of deleted scenes, while no other process has the folder. Their epochs start again: no
    /// server is left that knew the old ones, or was about to claim the next.
    fn forget_deleted(&self, data_dir: &Path) -> io::Result<()> {
        let leases = data_dir.join(LEASES);
        if !fs::exists(&leases)? {
            return Ok(());
        }
        let claims = ClaimFolder::open(&leases, "")?;
        for id in claims.ids()? {
            let newest = claims.newest(&id)?;
            if let Some(claim) = newest.filter(|claim| claim.state == ClaimState::Deleted) {
                // A server may have ended while it deleted the scene.
                self.folder(&id).remove_before(claim.epoch)?;
                claims.forget(&id)?;
            }
        }
        Ok(())
    }

    /// Returns the ids of all scenes, ascending.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn ids(&self) -> io::Result<Vec<String>> {
        let entries = self.scenes.list("")?.unwrap_or_default();
        let folders = entries.into_iter().filter(|entry| entry.has_more).map(|entry| entry.name);
        // Names with a dot are scenes that are being made or removed, and foreign folders: ids have no dot.
        let mut ids: Vec<String> = folders.filter(|name| !name.contains(PASSING)).collect();
        ids.sort();
        Ok(ids)
    }

    /// Returns the path of a scene, present or not, in readable form.
    pub fn shown(&self, id: &str) -> String {
        self.scenes.shown(id)
    }

    /// Returns the files of a scene, present or not. `id`: without dots and slashes.
    pub fn folder(&self, id: &str) -> SceneFolder {
        debug_assert!(!id.contains(['.', '/']), "{id:?}");
        SceneFolder::new(&self.scenes, id)
    }

    /// Returns the maximum number of scenes whose changes may be written concurrently.
    pub fn writes_at_once(&self) -> usize {
        self.scenes.writes_at_once()
    }
}

/// Returns true if no server has left a heartbeat.
fn is_without_servers(data_dir: &Path) -> io::Result<bool> {
    let leases = data_dir.join(LEASES);
    Ok(!fs::exists(&leases)? || BeatFolder::open(&leases)?.all()?.is_empty())
}

/// Opens a file to lock, which is never written.
fn lock_file(path: &Path) -> io::Result<File> {
    let (file, _) =
        regular_file::open(path, File::options().create(true).truncate(false).write(true))?;
    Ok(file)
}
