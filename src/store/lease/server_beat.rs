//! Heartbeats of servers on disk or in an object store, one file each.

use std::{fs, io, path::Path};

use serde::{Deserialize, Serialize};

use super::claim::ClaimHolder;
use crate::store::place::{
    FileForm, StorePlace,
    folder_place::{FolderPlace, PASSING},
};

/// Heartbeat of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerBeat {
    /// Count of heartbeats; rises with each.
    pub count: u64,
    /// Term of the server's leases, milliseconds: minimum wait of any server that waits for a lease's end.
    pub term_ms: u64,
    /// Sender of the heartbeat.
    pub server: ClaimHolder,
}

/// Heartbeats of all servers of a store.
#[derive(Debug)]
pub struct BeatFolder(Box<dyn StorePlace>);

/// Folder of the heartbeats below the leases.
pub const BEATS: &str = "servers";

impl BeatFolder {
    /// Opens the heartbeats below the folder of all leases.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be made.
    pub fn open(leases: &Path) -> io::Result<BeatFolder> {
        let folder = leases.join(BEATS);
        fs::create_dir_all(&folder)?;
        Ok(BeatFolder::of(Box::new(FolderPlace::new(folder, ""))))
    }

    /// Uses the heartbeats in a store location that holds nothing else.
    pub fn of(place: Box<dyn StorePlace>) -> BeatFolder {
        BeatFolder(place)
    }

    /// Replaces the server's previous heartbeat. Need not be durable: after a crash of the machine the writer is gone
    /// too.
    ///
    /// # Errors
    /// Errors of the system; the previous heartbeat is then still there.
    pub fn put(&self, beat: &ServerBeat) -> io::Result<()> {
        let text = toml::to_string(beat).expect("text and numbers");
        self.0.put_fleeting(&beat.server.server, text.as_bytes())
    }

    /// Reads the newest heartbeat of a server; `None` if there is none that is complete. Heartbeats are not durable, so
    /// a crash of the machine may leave a part of one: its writer is then gone, or writes another.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn newest(&self, server: &str) -> io::Result<Option<ServerBeat>> {
        let mut bytes = Vec::new();
        match self.0.open(server, FileForm::Whole) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?.from.read_to_end(&mut bytes)?,
        };
        Ok(toml::from_slice(&bytes).ok())
    }

    /// Reads the heartbeats of all servers, by server.
    ///
    /// # Errors
    /// Errors of [`BeatFolder::newest`].
    pub fn all(&self) -> io::Result<Vec<(String, Option<ServerBeat>)>> {
        let names = self.0.list("")?.unwrap_or_default().into_iter().map(|entry| entry.name);
        let servers = names.filter(|name| !name.contains(PASSING));
        servers.map(|server| Ok((server.clone(), self.newest(&server)?))).collect()
    }

    /// Removes the heartbeat of a server that owns nothing any more.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn remove(&self, server: &str) -> io::Result<()> {
        self.0.remove(server, FileForm::Whole)
    }
}
