//! The Unix domain socket beside the TCP address.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

#[cfg(unix)]
pub use tokio::net::{UnixListener, UnixStream};

/// The socket's file; removed when dropped.
pub struct UnixSocket(PathBuf);

impl UnixSocket {
    /// Listens at `path`, for its user and group. A socket there that nobody listens on any more is replaced.
    ///
    /// # Errors
    /// When something else is there, or the system refuses.
    #[cfg(unix)]
    pub fn bind(path: &Path) -> io::Result<(UnixSocket, UnixListener)> {
        use std::os::unix::{
            fs::{FileTypeExt, PermissionsExt},
            net::UnixStream,
        };

        let is_socket = fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket());
        // Left behind by a server that was killed. One that answers stays, and binding fails.
        if is_socket && UnixStream::connect(path).is_err() {
            fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        let socket = UnixSocket(path.to_owned());
        fs::set_permissions(path, fs::Permissions::from_mode(MODE))?;
        Ok((socket, listener))
    }

    /// Refused: the settings' check says so before.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(unix))]
    pub fn bind(_path: &Path) -> io::Result<(UnixSocket, UnixListener)> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Whatever the process lets others do with its files: to connect is to write.
#[cfg(unix)]
const MODE: u32 = 0o660;

impl Drop for UnixSocket {
    fn drop(&mut self) {
        // An error: somebody has removed it.
        let _ = fs::remove_file(&self.0);
    }
}

/// There is none: tokio has no Unix sockets elsewhere.
#[cfg(not(unix))]
pub enum UnixListener {}

/// What it would give.
#[cfg(not(unix))]
pub type UnixStream = tokio::net::TcpStream;

#[cfg(not(unix))]
impl UnixListener {
    /// Of no listener.
    ///
    /// # Errors
    /// None.
    pub async fn accept(&self) -> io::Result<(UnixStream, std::net::SocketAddr)> {
        match *self {}
    }
}
