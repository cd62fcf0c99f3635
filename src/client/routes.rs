//! Known owners of scenes, and the connections to them.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::timeout;

use super::{address::ServerAddress, error::ClientError, server_connection::ServerConnection};

/// Time limit for each further address after one has failed.
const OPEN_MAX: Duration = Duration::from_secs(2);

/// Routes of one client, shared by all its clones.
pub(super) struct Routes {
    /// Addresses as given.
    homes: Vec<ServerAddress>,
    known: Mutex<KnownRoutes>,
}

struct KnownRoutes {
    /// Index of the current address.
    n_home: usize,
    home: Arc<ServerConnection>,
    /// Connections to named owners, by scene.
    elsewhere: HashMap<String, Arc<ServerConnection>>,
}

impl Routes {
    /// Connects to the first address that answers.
    pub(super) async fn open(server: &ServerAddress) -> Result<Routes, ClientError> {
        let homes = server.each();
        let mut tried = Err(ClientError::Closed);
        for (n_home, home) in homes.iter().enumerate() {
            tried = ServerConnection::open(home).await.map(|open| (n_home, Arc::new(open)));
            if tried.is_ok() {
                break;
            }
        }
        let (n_home, home) = tried?;
        let known = Mutex::new(KnownRoutes { n_home, home, elsewhere: HashMap::new() });
        Ok(Routes { homes, known })
    }

    pub(super) fn home(&self) -> Arc<ServerConnection> {
        Arc::clone(&self.known.lock().home)
    }

    /// Returns the connection to the owner of a scene, as far as it is known.
    pub(super) fn of(&self, scene_id: &str) -> Arc<ServerConnection> {
        let known = self.known.lock();
        Arc::clone(known.elsewhere.get(scene_id).unwrap_or(&known.home))
    }

    /// Connects to the owner of a scene that a server has named.
    ///
    /// # Errors
    /// Returns an error if no server answers there.
    pub(super) async fn go(
        &self,
        scene_id: &str,
        asked: &ServerConnection,
        address: &str,
    ) -> Result<(), ClientError> {
        let owner = ServerConnection::open(&asked.server.at(address)).await?;
        self.known.lock().elsewhere.insert(scene_id.to_owned(), Arc::new(owner));
        Ok(())
    }

    /// Leaves a server that did not serve the scene: the next call asks another. Returns false if there is no other.
    pub(super) async fn leave(&self, scene_id: &str, left: &Arc<ServerConnection>) -> bool {
        let n_home = {
            let mut known = self.known.lock();
            if known.elsewhere.get(scene_id).is_some_and(|owner| Arc::ptr_eq(owner, left)) {
                // The home server knows the owner by then.
                known.elsewhere.remove(scene_id);
                return true;
            }
            // Another call has left this server already, or there are others behind the same address.
            if !Arc::ptr_eq(&known.home, left) || left.server.leave_host() {
                return true;
            }
            known.n_home
        };
        for n in (1..self.homes.len()).map(|n| (n_home + n) % self.homes.len()) {
            let open = timeout(OPEN_MAX, ServerConnection::open(&self.homes[n])).await;
            if let Ok(Ok(open)) = open {
                let mut known = self.known.lock();
                (known.n_home, known.home) = (n, Arc::new(open));
                return true;
            }
        }
        false
    }
}
