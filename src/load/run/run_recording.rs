//! The recording of a run: the server's own, in the file that was asked for.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// How a whole MCAP file begins and ends.
const MCAP_END: [u8; 8] = *b"\x89MCAP0\r\n";

/// Where a run is recorded.
pub struct RunRecording {
    file: PathBuf,
    /// The server's, until it has ended.
    folder: PathBuf,
}

impl RunRecording {
    /// Into this file. The folder beside it is made new.
    ///
    /// # Errors
    /// The system's: one that is there is of a run that goes on, or was killed.
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

    /// What the server is told.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Once the server has ended: the file is where it was asked for.
    ///
    /// # Errors
    /// The system's, and when the server has recorded nothing.
    pub fn finish(self) -> io::Result<()> {
        let recorded = fs::read_dir(&self.folder)?.collect::<Result<Vec<_>, _>>()?;
        let recorded = recorded.iter().map(|entry| entry.path());
        let recorded = recorded.filter(|path| path.extension() == Some(OsStr::new("mcap"))).min();
        let nothing = || io::Error::other("the server has recorded nothing");
        fs::rename(recorded.ok_or_else(nothing)?, &self.file)?;
        fs::remove_dir_all(&self.folder)?;
        self.check_whole()
    }

    /// What the server could not write it leaves out, and goes on.
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
