//! Signs of life of servers on disk or in an object store, a file each.

use std::{fs, io, path::Path};

use serde::{Deserialize, Serialize};

use super::claim::ClaimHolder;
use crate::store::place::{
    FileForm, StorePlace,
    folder_place::{FolderPlace, PASSING},
};

/// A server's sign of life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerBeat {
    /// Rises with each.
    pub count: u64,
    /// Of its leases, milliseconds: who waits for its end waits for so long at least.
    pub term_ms: u64,
    /// Whose.
    pub server: ClaimHolder,
}

/// The signs of life of all servers of a store.
#[derive(Debug)]
pub struct BeatFolder(Box<dyn StorePlace>);

/// Where they are, below the leases.
pub const BEATS: &str = "servers";

impl BeatFolder {
    /// Those below the folder of all leases.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn open(leases: &Path) -> io::Result<BeatFolder> {
        let folder = leases.join(BEATS);
        fs::create_dir_all(&folder)?;
        Ok(BeatFolder::of(Box::new(FolderPlace::new(folder, ""))))
    }

    /// Those of a place that has nothing else.
    pub fn of(place: Box<dyn StorePlace>) -> BeatFolder {
        BeatFolder(place)
    }

    /// In the place of the one before. Need not last: after a crash of the machine its writer is gone too.
    ///
    /// # Errors
    /// The system's; the one before is there then.
    pub fn put(&self, beat: &ServerBeat) -> io::Result<()> {
        let text = toml::to_string(beat).expect("text and numbers");
        self.0.put_fleeting(&beat.server.server, text.as_bytes())
    }

    /// The newest one of a server; `None` when there is none that is whole. As none is made to last, a crash of the machine
    /// may leave a part of one: its writer is gone then, or puts another.
    ///
    /// # Errors
    /// The system's.
    pub fn newest(&self, server: &str) -> io::Result<Option<ServerBeat>> {
        let mut bytes = Vec::new();
        match self.0.open(server, FileForm::Whole) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?.from.read_to_end(&mut bytes)?,
        };
        Ok(toml::from_slice(&bytes).ok())
    }

    /// Those of all servers, by server.
    ///
    /// # Errors
    /// As [`BeatFolder::newest`].
    pub fn all(&self) -> io::Result<Vec<(String, Option<ServerBeat>)>> {
        let names = self.0.list("")?.unwrap_or_default().into_iter().map(|entry| entry.name);
        let servers = names.filter(|name| !name.contains(PASSING));
        servers.map(|server| Ok((server.clone(), self.newest(&server)?))).collect()
    }

    /// Of a server that owns nothing any more.
    ///
    /// # Errors
    /// The system's.
    pub fn remove(&self, server: &str) -> io::Result<()> {
        self.0.remove(server, FileForm::Whole)
    }
}
