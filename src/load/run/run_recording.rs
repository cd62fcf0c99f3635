//! The recording of a run: the server's own recording, moved to the requested file.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// First and last bytes of a complete MCAP file.
const MCAP_END: [u8; 8] = *b"\x89MCAP0\r\n";

/// File and folder of a recording.
pub struct RunRecording {
    file: PathBuf,
    /// Folder of the server's recording, until the server has ended.
    folder: PathBuf,
}

impl RunRecording {
    /// Prepares to record into `file`; creates a folder next to it.
    ///
    /// # Errors
    /// Returns the system's error: a folder that exists belongs to a run that goes on, or was killed.
    pub fn new(file: &Path) -> io::Result<RunRecording> {
        let mut folder = file.as_os_str().to_owned();
        folder.push(".parts");
        let folder = PathBuf::from(folder);
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("--record {}: {error}", folder.display()))
        };
        fs::create_dir(&folder).map_err(named)?;
        Ok(RunRecording { file: file.to_owned(), folder })
    }

    /// Returns the folder that the server records into.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Moves the recording to the requested file once the server has ended.
    ///
    /// # Errors
    /// Returns the system's error, or an error if the server has recorded nothing.
    pub fn finish(self) -> io::Result<()> {
        let recorded = fs::read_dir(&self.folder)?.collect::<Result<Vec<_>, _>>()?;
        let recorded = recorded.iter().map(|entry| entry.path());
        let recorded = recorded.filter(|path| path.extension() == Some(OsStr::new("mcap"))).min();
        let nothing = || io::Error::other("the server has recorded nothing");
        fs::rename(recorded.ok_or_else(nothing)?, &self.file)?;
        fs::remove_dir_all(&self.folder)?;
        self.check_whole()
    }

    /// Checks the end of the file: a server that could not write part of a recording omits it, and goes on.
    fn check_whole(&self) -> io::Result<()> {
        let mut end = [0; MCAP_END.len()];
        let mut file = fs::File::open(&self.file)?;
        let is_long = file.metadata()?.len() >= 2 * MCAP_END.len() as u64;
        if is_long {
            file.seek(SeekFrom::End(-(MCAP_END.len() as i64)))?;
            file.read_exact(&mut end)?;
        }
        if end == MCAP_END {
            return Ok(());
        }
        let what = format!("the recording {} has no end: not all was written", self.file.display());
        Err(io::Error::other(what))
    }
}
