//! The Unix domain socket beside the TCP address.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::{
        fs::{FileTypeExt, PermissionsExt},
        net::UnixStream,
    },
    path::{Path, PathBuf},
};

use tokio::net::UnixListener;

/// The socket's file; removed when dropped.
pub struct UnixSocket(PathBuf);

impl UnixSocket {
    /// Listens at `path`, for its user and group. A socket there that nobody listens on any more is replaced.
    ///
    /// # Errors
    /// When something else is there, or the system refuses.
    pub fn bind(path: &Path) -> io::Result<(UnixSocket, UnixListener)> {
        let is_socket = fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket());
        // Left behind by a server that was killed. One that answers stays, and binding fails.
        if is_socket && UnixStream::connect(path).is_err() {
            fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        let socket = UnixSocket(path.to_owned());
        fs::set_permissions(path, Permissions::from_mode(MODE))?;
        Ok((socket, listener))
    }
}

/// Whatever the process lets others do with its files: to connect is to write.
const MODE: u32 = 0o660;

impl Drop for UnixSocket {
    fn drop(&mut self) {
        // An error: somebody has removed it.
        let _ = fs::remove_file(&self.0);
    }
}
