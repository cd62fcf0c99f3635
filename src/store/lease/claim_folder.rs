//! Claims on disk or in an object store, one file each.

use std::{fs, io, path::Path};

use super::claim::{ClaimState, SceneClaim};
use crate::{
    os::lasting::sync_folder,
    store::place::{
        FileForm, PlaceEntry, StorePlace, folder_place::FolderPlace, key_below, uncertain,
    },
};

/// Claims of all scenes of a store; a claim is the file `ID/EPOCH`.
#[derive(Debug)]
pub struct ClaimFolder {
    place: Box<dyn StorePlace>,
}

/// Folder of the claims below the leases.
pub const CLAIMS: &str = "scenes";

/// File in a scene's folder with the epoch of the claim under which the scene was made.
const MADE: &str = "made";

/// Number of claims that are kept of a scene. A server that was stopped between its look and its claim must not find
/// the name of a claim free that existed in between.
const CLAIMS_KEPT: u64 = 8;

impl ClaimFolder {
    /// Opens the claims below the folder of leases. `own`: a name unique to this process.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be made.
    pub fn open(leases: &Path, own: &str) -> io::Result<ClaimFolder> {
        let scenes = leases.join(CLAIMS);
        fs::create_dir_all(&scenes)?;
        sync_folder(leases)?;
        if let Some(data_dir) = leases.parent() {
            sync_folder(data_dir)?;
        }
        Ok(ClaimFolder::of(Box::new(FolderPlace::new(scenes, own))))
    }

    /// Opens existing claims for reading, without making their folder.
    pub fn to_read(leases: &Path) -> ClaimFolder {
        ClaimFolder::of(Box::new(FolderPlace::new(leases.join(CLAIMS), "")))
    }

    /// Uses the claims in a store location that holds nothing else.
    pub fn of(place: Box<dyn StorePlace>) -> ClaimFolder {
        ClaimFolder { place }
    }

    /// Returns the ids of all scenes that were ever claimed.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn ids(&self) -> io::Result<Vec<String>> {
        let all = self.place.list("")?.unwrap_or_default();
        Ok(all.into_iter().map(|entry| entry.name).collect())
    }

    /// Durably records that the files of a scene exist, which was claimed with this epoch to be made. If the files are
    /// missing later, the record shows that there is such a scene.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn note_made(&self, scene: &str, epoch: u64) -> io::Result<()> {
        self.place.put(&key_below(scene, MADE), &[epoch.to_string().as_bytes()])
    }

    /// Returns true if the scene ever had files since its last deletion: its creation was recorded, or an owner has
    /// released it cleanly.
    ///
    /// # Errors
    /// Errors of the system, or a file that is not a claim.
    pub fn was_made(&self, scene: &str) -> io::Result<bool> {
        let noted = self.text(&key_below(scene, MADE))?.and_then(|epoch| epoch.parse().ok());
        let mut epochs = self.epochs(scene)?;
        epochs.sort_unstable();
        for epoch in epochs.into_iter().rev() {
            match self.claim(scene, epoch)?.map(|claim| claim.state) {
                Some(ClaimState::Free) => return Ok(true),
                Some(ClaimState::Deleted) => return Ok(noted.is_some_and(|made: u64| made > epoch)),
                Some(ClaimState::Owned(_)) | None => {}
            }
        }
        Ok(noted.is_some())
    }

    /// Returns the valid claim of a scene. O(claims kept).
    ///
    /// # Errors
    /// Errors of the system, or a file that is not a claim.
    pub fn newest(&self, scene: &str) -> io::Result<Option<SceneClaim>> {
        loop {
            let Some(epoch) = self.epochs(scene)?.into_iter().max() else { return Ok(None) };
            // None: a later claim has arrived, and this one was removed, since the listing.
            if let Some(claim) = self.claim(scene, epoch)? {
                return Ok(Some(claim));
            }
        }
    }

    /// Reads the claim of an epoch; `None` if it does not exist.
    fn claim(&self, scene: &str, epoch: u64) -> io::Result<Option<SceneClaim>> {
        let key = key(scene, epoch);
        let Some(text) = self.text(&key)? else { return Ok(None) };
        let no_claim = |error: toml::de::Error| {
            io::Error::other(format!("{} is no claim: {}", self.place.shown(&key), error.message()))
        };
        let state = toml::from_str::<ClaimText>(&text).map_err(no_claim)?.state;
        Ok(Some(SceneClaim { epoch, state }))
    }

    /// Reads the text of a file; `None` if it does not exist.
    fn text(&self, key: &str) -> io::Result<Option<String>> {
        let mut text = String::new();
        match self.place.open(key, FileForm::Whole) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?.from.read_to_string(&mut text)?,
        };
        Ok(Some(text))
    }

    /// Returns the epochs of the scenes' valid claims. A claim never changes: if the claim of an epoch is known,
    /// nothing more needs to be read.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn newest_epochs(&self, scenes: &[String]) -> io::Result<Vec<Option<u64>>> {
        let lists = self.place.lists(scenes)?;
        Ok(lists.into_iter().map(|list| epochs(list).max()).collect())
    }

    /// Writes a claim durably, unless there is one of its epoch or a later one. Returns true if the claim is valid,
    /// false if another server was first.
    ///
    /// # Errors
    /// Errors of the system; the claim was then not written, unless the error is `TimedOut`.
    pub fn put(&self, scene: &str, claim: &SceneClaim) -> io::Result<bool> {
        let text = toml::to_string(&ClaimText { state: claim.state.clone() }).expect("text only");
        if !self.place.put_new(&key(scene, claim.epoch), text.as_bytes())? {
            return Ok(false);
        }
        // The claim is written: after an error only its validity is unknown.
        if self.newest(scene).map_err(uncertain)?.as_ref() != Some(claim) {
            return Ok(false);
        }
        let epochs = self.epochs(scene).unwrap_or_default();
        for old in epochs.into_iter().filter(|e| e + CLAIMS_KEPT < claim.epoch) {
            // Errors, also of the listing, are ignored: the next claim removes the file.
            let _ = self.place.remove(&key(scene, old), FileForm::Whole);
        }
        Ok(true)
    }

    /// Removes all claims of a scene. Allowed only if no server has seen one of them, or has seen that there is none:
    /// the next epoch is the first one again.
    ///
    /// # Errors
    /// Errors of the system; then either the newest claim still exists, or all are gone.
    pub fn forget(&self, scene: &str) -> io::Result<()> {
        let mut epochs = self.epochs(scene)?;
        epochs.sort_unstable();
        // Removed first, so that the record says nothing about a later scene with this id.
        self.place.remove(&key_below(scene, MADE), FileForm::Whole)?;
        for epoch in epochs {
            self.place.remove(&key(scene, epoch), FileForm::Whole)?;
        }
        self.place.remove_empty(scene)
    }

    fn epochs(&self, scene: &str) -> io::Result<Vec<u64>> {
        Ok(epochs(self.place.list(scene)?).collect())
    }
}

/// Returns the epochs in a list of files; other names belong to claims that are being written.
fn epochs(list: Option<Vec<PlaceEntry>>) -> impl Iterator<Item = u64> {
    list.unwrap_or_default().into_iter().filter_map(|entry| entry.name.parse().ok())
}

fn key(scene: &str, epoch: u64) -> String {
    key_below(scene, &epoch.to_string())
}

/// Text of a claim on disk; the epoch is the file's name.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimText {
    state: ClaimState,
}
