//! The Unix domain socket, in addition to the TCP address.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

#[cfg(unix)]
pub use tokio::net::{UnixListener, UnixStream};

/// File of the socket; removed when dropped.
pub struct UnixSocket(PathBuf);

impl UnixSocket {
    /// Listens at `path`, for its user and group. A socket there that nobody listens on any more is replaced.
    ///
    /// # Errors
    /// Returns an error if something else is there, or the system refuses.
    #[cfg(unix)]
    pub fn bind(path: &Path) -> io::Result<(UnixSocket, UnixListener)> {
        use std::os::unix::{
            fs::{FileTypeExt, PermissionsExt},
            net::UnixStream,
        };

        let is_socket = fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket());
        // Left by a server that was killed. A socket that answers stays, and binding fails.
        if is_socket && UnixStream::connect(path).is_err() {
            fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        let socket = UnixSocket(path.to_owned());
        fs::set_permissions(path, fs::Permissions::from_mode(MODE))?;
        Ok((socket, listener))
    }

    /// Fails: the check of the settings has reported that before.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(unix))]
    pub fn bind(_path: &Path) -> io::Result<(UnixSocket, UnixListener)> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Mode of the socket's file, independent of the process's umask: connecting requires write permission.
#[cfg(unix)]
const MODE: u32 = 0o660;

impl Drop for UnixSocket {
    fn drop(&mut self) {
        // Error ignored: the file was removed already.
        let _ = fs::remove_file(&self.0);
    }
}

/// Listener that does not exist: tokio has no Unix sockets on other systems.
#[cfg(not(unix))]
pub enum UnixListener {}

/// Stream that such a listener would accept.
#[cfg(not(unix))]
pub type UnixStream = tokio::net::TcpStream;

#[cfg(not(unix))]
impl UnixListener {
    /// Never called: no listener exists.
    ///
    /// # Errors
    /// None.
    pub async fn accept(&self) -> io::Result<(UnixStream, std::net::SocketAddr)> {
        match *self {}
    }
}
