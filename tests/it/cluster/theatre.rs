//! Servers that share a folder or a bucket, as one test has them.

use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};

use palpate::proto::scene_service_client::SceneServiceClient;
use parking_lot::Mutex;
use tonic::{Status, transport::Channel};
use tonic_types::StatusExt;

use crate::support::{keeping::Keeping, process::Process, server::TestServer};

/// Short, so that a test has not to wait for long, and longer than a busy machine keeps a process from its sign of life.
pub const LEASE: Duration = Duration::from_secs(3);
const SHARED: [(&str, &str); 3] = [
    ("PALPATE_CLUSTER_SHARED", "true"),
    ("PALPATE_CLUSTER_LEASE", "3s"),
    // Snapshots among the rest.
    ("PALPATE_STORE_SNAPSHOT_INTERVAL", "1s"),
];

/// A folder or a bucket, and its servers.
pub struct Theatre {
    pub keeping: Keeping,
    pub servers: Vec<SharedServer>,
    /// Of all servers now, for those who look for an owner.
    pub addresses: Addresses,
}

/// One of them.
pub struct SharedServer {
    pub process: Process,
    pub address: SocketAddr,
}

/// Where servers are, shared with clients.
#[derive(Clone, Default)]
pub struct Addresses(Arc<Mutex<Vec<SocketAddr>>>);

impl Addresses {
    pub fn all(&self) -> Vec<SocketAddr> {
        self.0.lock().clone()
    }

    /// As a client is given them.
    pub fn text(&self) -> String {
        let all: Vec<String> = self.all().iter().map(SocketAddr::to_string).collect();
        all.join(",")
    }
}

impl Theatre {
    pub fn open(name: &str, n: usize) -> Theatre {
        Theatre::of(Keeping::in_folder(&format!("cluster-{name}")), n)
    }

    pub fn of(keeping: Keeping, n: usize) -> Theatre {
        let servers = (0..n).map(|_| SharedServer::start(&keeping)).collect();
        let theatre = Theatre { keeping, servers, addresses: Addresses::default() };
        theatre.tell();
        theatre
    }

    /// Another process in the place of one that has ended.
    pub fn replace(&mut self, n: usize) {
        self.servers[n] = SharedServer::start(&self.keeping);
        self.tell();
    }

    /// Ends a server in good order, with another beside it that takes its place.
    pub async fn restart(&mut self, n: usize) {
        let next = SharedServer::start(&self.keeping);
        let SharedServer { process, .. } = std::mem::replace(&mut self.servers[n], next);
        self.tell();
        process.signal("TERM");
        let ended = tokio::task::spawn_blocking(move || process.end()).await.expect("no panic");
        assert!(ended.success(), "{ended:?}");
    }

    fn tell(&self) {
        *self.addresses.0.lock() = self.servers.iter().map(|s| s.address).collect();
    }

    pub async fn connect(&self, n: usize) -> TestServer {
        TestServer::connect(self.servers[n].address).await
    }
}

impl SharedServer {
    fn start(keeping: &Keeping) -> SharedServer {
        let mut process = keeping.serve(&SHARED);
        let address = process.address();
        SharedServer { process, address }
    }
}

/// Connections to servers, none of which is tried before it is used.
#[derive(Default)]
pub struct Connections(HashMap<SocketAddr, Channel>);

impl Connections {
    fn channel(&mut self, to: SocketAddr) -> Channel {
        let new = || {
            let endpoint = Channel::from_shared(format!("http://{to}")).expect("an address");
            endpoint.connect_timeout(LEASE).connect_lazy()
        };
        self.0.entry(to).or_insert_with(new).clone()
    }

    pub fn scenes(&mut self, to: SocketAddr) -> SceneServiceClient<Channel> {
        SceneServiceClient::new(self.channel(to))
    }
}

/// The owner that a refusal names, and its epoch.
pub fn owner(status: &Status) -> Option<(SocketAddr, u64)> {
    let info = status.get_details_error_info()?;
    assert_eq!(info.reason, "SCENE_OWNED_ELSEWHERE");
    assert_eq!(status.code(), tonic::Code::FailedPrecondition);
    let read = |key: &str| info.metadata.get(key).unwrap_or_else(|| panic!("{info:?}")).as_str();
    Some((read("address").parse().expect("an address"), read("epoch").parse().expect("a number")))
}
