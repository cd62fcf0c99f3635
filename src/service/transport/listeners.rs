//! Listening sockets of a server.

use std::{io, net::SocketAddr, path::PathBuf};

use tokio::net::{TcpListener, TcpSocket};

use super::unix_socket::{UnixListener, UnixSocket};
use crate::config::Config;

/// All listening sockets of a server, bound before it prints its address.
pub struct Listeners {
    /// Socket of the services.
    pub tcp: TcpListener,
    /// Unix domain socket of the services, if configured. Its file exists as long as this value.
    pub unix: Option<(UnixSocket, UnixListener)>,
    /// Socket of metrics and the health page.
    pub metrics: Option<TcpListener>,
}

/// Error of an address or path that is not available.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Address of the services, or of metrics.
    #[error("cannot listen on {address}: {source}")]
    Address {
        /// Configured address.
        address: SocketAddr,
        /// Error of the system.
        source: io::Error,
    },
    /// Path of the Unix domain socket.
    #[error("cannot listen on {}: {source}", path.display())]
    UnixSocket {
        /// Configured path.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

impl Listeners {
    /// Binds all configured sockets.
    ///
    /// # Errors
    /// The first socket that cannot be bound; none is kept then.
    pub async fn bind(config: &Config) -> Result<Listeners, ListenError> {
        // All are bound before the address is printed: its reader may connect to each.
        let tcp = bind(config.listen).await?;
        let socket = |path: &PathBuf| {
            let of = |source| ListenError::UnixSocket { path: path.clone(), source };
            UnixSocket::bind(path).map_err(of)
        };
        let unix = config.unix_socket.as_ref().map(socket).transpose()?;
        let metrics = match config.metrics.listen {
            Some(address) => Some(bind_web(address).map_err(not_had(address))?),
            None => None,
        };
        Ok(Listeners { tcp, unix, metrics })
    }

    /// Returns the address of the services.
    ///
    /// # Errors
    /// Returns an error if the system does not report it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}

/// Send buffer of a connection of the web port: frames of a live view that a slow viewer would show late. 10 ms of a
/// large frame at 60 Hz; by default it grows to megabytes.
const WEB_SEND_BYTES: u32 = 256 << 10;
/// Maximum connections that wait to be accepted.
const BACKLOG: u32 = 1024;

async fn bind(address: SocketAddr) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address).await.map_err(not_had(address))
}

fn bind_web(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // tokio's own bind does so too; on Windows it would let others take the address.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    // Accepted sockets inherit this size.
    socket.set_send_buffer_size(WEB_SEND_BYTES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn not_had(address: SocketAddr) -> impl FnOnce(io::Error) -> ListenError {
    move |source| ListenError::Address { address, source }
}
