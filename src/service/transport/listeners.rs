//! Where a server listens.

use std::{io, net::SocketAddr, path::PathBuf};

use tokio::net::{TcpListener, TcpSocket};

use super::unix_socket::{UnixListener, UnixSocket};
use crate::config::Config;

/// All that a server takes connections from, bound before it says so.
pub struct Listeners {
    /// Of the services.
    pub tcp: TcpListener,
    /// The same beside it. The file is there as long as this.
    pub unix: Option<(UnixSocket, UnixListener)>,
    /// Of metrics and the health page.
    pub metrics: Option<TcpListener>,
}

/// An address or a path that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Of the services, or of metrics.
    #[error("cannot listen on {address}: {source}")]
    Address {
        /// As asked for.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The Unix domain socket.
    #[error("cannot listen on {}: {source}", path.display())]
    UnixSocket {
        /// As asked for.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Listeners {
    /// Wherever the settings say.
    ///
    /// # Errors
    /// The first that cannot be had; none is kept then.
    pub async fn bind(config: &Config) -> Result<Listeners, ListenError> {
        // All before the address is told: whoever reads it may connect to each.
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

    /// Where the services are.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}

/// What the system keeps for a connection of the web port that is not read: frames of a live view that a slow viewer would
/// be shown late. 10 ms of a large frame at 60 Hz; left alone it grows to megabytes.
const WEB_SEND_BYTES: u32 = 256 << 10;
/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

async fn bind(address: SocketAddr) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address).await.map_err(not_had(address))
}

fn bind_web(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // As tokio's own way to bind does; on Windows it would let others take the address.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    // What it accepts inherits this.
    socket.set_send_buffer_size(WEB_SEND_BYTES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn not_had(address: SocketAddr) -> impl FnOnce(io::Error) -> ListenError {
    move |source| ListenError::Address { address, source }
}
