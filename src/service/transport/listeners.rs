//! Where a server listens.

use std::{io, net::SocketAddr, path::PathBuf};

use tokio::net::TcpListener;

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
            Some(address) => Some(bind(address).await?),
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

async fn bind(address: SocketAddr) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address).await.map_err(|source| ListenError::Address { address, source })
}
