//! Claims on disk, a file each.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use super::claim::{ClaimState, SceneClaim};
use crate::os::lasting::sync_folder;

/// The claims of all scenes of a data folder.
#[derive(Debug)]
pub struct ClaimFolder {
    scenes: PathBuf,
    /// Sets its passing files apart from those of other servers.
    own: String,
}

/// Claims that are kept of a scene. A server that was stopped between its look and its claim must not find the place of a
/// claim empty that there was in between.
const CLAIMS_KEPT: u64 = 8;
/// Of a file on its way to its name; epochs have no dot.
const PASSING: &str = ".";

impl ClaimFolder {
    /// `own`: of this process alone.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn open(leases: &Path, own: &str) -> io::Result<ClaimFolder> {
        let scenes = leases.join("scenes");
        fs::create_dir_all(&scenes)?;
        sync_folder(leases)?;
        if let Some(data_dir) = leases.parent() {
            sync_folder(data_dir)?;
        }
        Ok(ClaimFolder { scenes, own: own.to_owned() })
    }

    /// The ids of all scenes that were ever claimed.
    ///
    /// # Errors
    /// The system's.
    pub fn ids(&self) -> io::Result<Vec<String>> {
        let mut ids = Vec::new();
        for entry in fs::read_dir(&self.scenes)? {
            ids.extend(entry?.file_name().into_string().ok());
        }
        Ok(ids)
    }

    /// The claim of a scene that counts. O(claims kept).
    ///
    /// # Errors
    /// The system's, or when the file is no claim.
    pub fn newest(&self, scene: &str) -> io::Result<Option<SceneClaim>> {
        loop {
            let Some(epoch) = self.epochs(scene)?.into_iter().max() else { return Ok(None) };
            let text = match fs::read_to_string(self.path(scene, epoch)) {
                // A later one has come, and this one gone, since the list was made.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                read => read?,
            };
            let state = toml::from_str::<ClaimText>(&text).map_err(io::Error::other)?.state;
            return Ok(Some(SceneClaim { epoch, state }));
        }
    }

    /// Puts a claim, which lasts then, where there is none of its epoch or a later one. Whether it counts: if not, another
    /// server was first.
    ///
    /// # Errors
    /// The system's; whether the claim is there is not known then.
    pub fn put(&self, scene: &str, claim: &SceneClaim) -> io::Result<bool> {
        let folder = self.scenes.join(scene);
        fs::create_dir_all(&folder)?;
        let passing = folder.join(format!("{PASSING}{}-{}", claim.epoch, self.own));
        let text = toml::to_string(&ClaimText { state: claim.state.clone() });
        let mut file = File::create(&passing)?;
        file.write_all(text.expect("text only").as_bytes())?;
        file.sync_all()?;
        // A hard link is made whole or not at all, and never over another file.
        let put = fs::hard_link(&passing, self.path(scene, claim.epoch));
        fs::remove_file(&passing)?;
        match put {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            put => put?,
        }
        sync_folder(&folder)?;
        sync_folder(&self.scenes)?;
        if self.newest(scene)?.as_ref() != Some(claim) {
            return Ok(false);
        }
        for old in self.epochs(scene)?.into_iter().filter(|e| e + CLAIMS_KEPT < claim.epoch) {
            // An error: another server has removed it.
            let _ = fs::remove_file(self.path(scene, old));
        }
        Ok(true)
    }

    fn epochs(&self, scene: &str) -> io::Result<Vec<u64>> {
        let entries = match fs::read_dir(self.scenes.join(scene)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut epochs = Vec::new();
        for entry in entries {
            epochs.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u64>().ok()));
        }
        Ok(epochs)
    }

    fn path(&self, scene: &str, epoch: u64) -> PathBuf {
        self.scenes.join(scene).join(epoch.to_string())
    }
}

/// As it is on disk; the epoch is the file's name.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimText {
    state: ClaimState,
}
