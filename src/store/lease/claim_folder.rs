//! Claims on disk or in an object store, a file each.

use std::{fs, io, path::Path};

use super::claim::{ClaimState, SceneClaim};
use crate::{
    os::lasting::sync_folder,
    store::place::{
        FileForm, PlaceEntry, StorePlace, folder_place::FolderPlace, key_below, uncertain,
    },
};

/// The claims of all scenes of a store: `ID/EPOCH` is one.
#[derive(Debug)]
pub struct ClaimFolder {
    place: Box<dyn StorePlace>,
}

/// Where they are, below the leases.
pub const CLAIMS: &str = "scenes";

/// Beside a scene's claims: the epoch of the claim with which it was made.
const MADE: &str = "made";

/// Claims that are kept of a scene. A server that was stopped between its look and its claim must not find the place of a
/// claim empty that there was in between.
const CLAIMS_KEPT: u64 = 8;

impl ClaimFolder {
    /// `own`: of this process alone.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn open(leases: &Path, own: &str) -> io::Result<ClaimFolder> {
        let scenes = leases.join(CLAIMS);
        fs::create_dir_all(&scenes)?;
        sync_folder(leases)?;
        if let Some(data_dir) = leases.parent() {
            sync_folder(data_dir)?;
        }
        Ok(ClaimFolder::of(Box::new(FolderPlace::new(scenes, own))))
    }

    /// Those that are there, whether or not there is a folder for them.
    pub fn to_read(leases: &Path) -> ClaimFolder {
        ClaimFolder::of(Box::new(FolderPlace::new(leases.join(CLAIMS), "")))
    }

    /// Those of a place that has nothing else.
    pub fn of(place: Box<dyn StorePlace>) -> ClaimFolder {
        ClaimFolder { place }
    }

    /// The ids of all scenes that were ever claimed.
    ///
    /// # Errors
    /// The system's.
    pub fn ids(&self) -> io::Result<Vec<String>> {
        let all = self.place.list("")?.unwrap_or_default();
        Ok(all.into_iter().map(|entry| entry.name).collect())
    }

    /// Notes that the files of a scene are there, which was claimed with this epoch to be made. It lasts then: should they be
    /// away later, it is known that there is such a scene.
    ///
    /// # Errors
    /// The system's.
    pub fn note_made(&self, scene: &str, epoch: u64) -> io::Result<()> {
        self.place.put(&key_below(scene, MADE), &[epoch.to_string().as_bytes()])
    }

    /// Whether files of a scene were ever there, since it was deleted the last time: that was noted, or one of its owners has
    /// given it up in good order.
    ///
    /// # Errors
    /// The system's, or when a file is no claim.
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

    /// The claim of a scene that counts. O(claims kept).
    ///
    /// # Errors
    /// The system's, or when the file is no claim.
    pub fn newest(&self, scene: &str) -> io::Result<Option<SceneClaim>> {
        loop {
            let Some(epoch) = self.epochs(scene)?.into_iter().max() else { return Ok(None) };
            // None: a later one has come, and this one gone, since the list was made.
            if let Some(claim) = self.claim(scene, epoch)? {
                return Ok(Some(claim));
            }
        }
    }

    /// That of an epoch; `None` when it is not there.
    fn claim(&self, scene: &str, epoch: u64) -> io::Result<Option<SceneClaim>> {
        let key = key(scene, epoch);
        let Some(text) = self.text(&key)? else { return Ok(None) };
        let no_claim = |error: toml::de::Error| {
            io::Error::other(format!("{} is no claim: {}", self.place.shown(&key), error.message()))
        };
        let state = toml::from_str::<ClaimText>(&text).map_err(no_claim)?.state;
        Ok(Some(SceneClaim { epoch, state }))
    }

    /// What a file says; `None` when it is not there.
    fn text(&self, key: &str) -> io::Result<Option<String>> {
        let mut text = String::new();
        match self.place.open(key, FileForm::Whole) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?.from.read_to_string(&mut text)?,
        };
        Ok(Some(text))
    }

    /// The epochs of the claims of scenes that count. A claim is never changed: of an epoch whose claim is known, nothing
    /// more needs to be read.
    ///
    /// # Errors
    /// The system's.
    pub fn newest_epochs(&self, scenes: &[String]) -> io::Result<Vec<Option<u64>>> {
        let lists = self.place.lists(scenes)?;
        Ok(lists.into_iter().map(|list| epochs(list).max()).collect())
    }

    /// Puts a claim, which lasts then, where there is none of its epoch or a later one. Whether it counts: if not, another
    /// server was first.
    ///
    /// # Errors
    /// The system's; the claim is not there then, unless the error is `TimedOut`.
    pub fn put(&self, scene: &str, claim: &SceneClaim) -> io::Result<bool> {
        let text = toml::to_string(&ClaimText { state: claim.state.clone() }).expect("text only");
        if !self.place.put_new(&key(scene, claim.epoch), text.as_bytes())? {
            return Ok(false);
        }
        // It is there: what is not known after an error is whether it counts.
        if self.newest(scene).map_err(uncertain)?.as_ref() != Some(claim) {
            return Ok(false);
        }
        let epochs = self.epochs(scene).unwrap_or_default();
        for old in epochs.into_iter().filter(|e| e + CLAIMS_KEPT < claim.epoch) {
            // An error, here or of the list: it goes with the next claim.
            let _ = self.place.remove(&key(scene, old), FileForm::Whole);
        }
        Ok(true)
    }

    /// Removes all claims of a scene. Only where nobody is there who has seen one of them, or has seen that there is none:
    /// the next epoch is the first one again.
    ///
    /// # Errors
    /// The system's; the newest claim is there then, or all are gone.
    pub fn forget(&self, scene: &str) -> io::Result<()> {
        let mut epochs = self.epochs(scene)?;
        epochs.sort_unstable();
        // First, so that it says nothing of a later scene of the id.
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

/// Other names are of claims on their way to their place.
fn epochs(list: Option<Vec<PlaceEntry>>) -> impl Iterator<Item = u64> {
    list.unwrap_or_default().into_iter().filter_map(|entry| entry.name.parse().ok())
}

fn key(scene: &str, epoch: u64) -> String {
    key_below(scene, &epoch.to_string())
}

/// As it is on disk; the epoch is the file's name.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimText {
    state: ClaimState,
}
