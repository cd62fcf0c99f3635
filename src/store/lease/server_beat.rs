//! Signs of life of servers on disk, a file each.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::claim::ClaimHolder;

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

/// The signs of life of all servers of a data folder.
#[derive(Debug)]
pub struct BeatFolder(PathBuf);

const PASSING: &str = ".";

impl BeatFolder {
    /// Those below the folder of all leases.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn open(leases: &Path) -> io::Result<BeatFolder> {
        let folder = leases.join("servers");
        fs::create_dir_all(&folder)?;
        Ok(BeatFolder(folder))
    }

    /// In the place of the one before. Need not last: after a crash of the machine its writer is gone too.
    ///
    /// # Errors
    /// The system's; the one before is there then.
    pub fn put(&self, beat: &ServerBeat) -> io::Result<()> {
        let passing = self.0.join(format!("{PASSING}{}", beat.server.server));
        fs::write(&passing, toml::to_string(beat).expect("text and numbers"))?;
        fs::rename(&passing, self.0.join(&beat.server.server))
    }

    /// The newest one of a server; `None` when there is none.
    ///
    /// # Errors
    /// The system's, or when the file is none.
    pub fn newest(&self, server: &str) -> io::Result<Option<ServerBeat>> {
        match fs::read_to_string(self.0.join(server)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => toml::from_str(&read?).map(Some).map_err(io::Error::other),
        }
    }

    /// Those of all servers.
    ///
    /// # Errors
    /// As [`BeatFolder::newest`].
    pub fn all(&self) -> io::Result<Vec<ServerBeat>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let name = entry?.file_name();
            let name = name.to_str().filter(|name| !name.starts_with(PASSING));
            all.extend(name.map(|name| self.newest(name)).transpose()?.flatten());
        }
        Ok(all)
    }

    /// Of a server that owns nothing any more.
    ///
    /// # Errors
    /// The system's.
    pub fn remove(&self, server: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(server))
    }
}
