//! A network that a test can cut: forwards a port to a server until the test cuts it.

use std::{net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
};

/// A port that forwards to a server.
pub struct Relay {
    pub address: SocketAddr,
    to: Arc<Mutex<Option<SocketAddr>>>,
    connections: Arc<Mutex<JoinSet<()>>>,
    listens: AbortHandle,
}

impl Relay {
    pub async fn to(server: SocketAddr) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let to = Arc::new(Mutex::new(Some(server)));
        let connections = Arc::new(Mutex::new(JoinSet::new()));
        let (target, all) = (Arc::clone(&to), Arc::clone(&connections));
        let listens = tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                // Without a server, a connection is closed as soon as it is made.
                let Some(server) = *target.lock() else { continue };
                all.lock().spawn(async move {
                    let Ok(mut far) = TcpStream::connect(server).await else { return };
                    let _ = near.set_nodelay(true).and_then(|()| far.set_nodelay(true));
                    let _ = copy_bidirectional(&mut near, &mut far).await;
                });
            }
        });
        Relay { address, to, connections, listens: listens.abort_handle() }
    }

    /// Breaks all connections, and lets none through.
    pub fn cut(&self) {
        *self.to.lock() = None;
        self.connections.lock().abort_all();
    }

    /// Lets connections through again, to this server.
    pub fn mend(&self, server: SocketAddr) {
        *self.to.lock() = Some(server);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.listens.abort();
        self.connections.lock().abort_all();
    }
}
