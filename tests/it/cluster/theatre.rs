//! Servers of one test that share a folder or a bucket, with or without Envoy in front.

use std::{collections::HashMap, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use palpate::{client::ServerAddress, proto::scene_service_client::SceneServiceClient};
use parking_lot::Mutex;
use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::{Certificate, Channel, ClientTlsConfig},
};
use tonic_types::StatusExt;

use crate::support::{
    certificates::Authority,
    envoy::{Envoy, HOST, certified, host},
    folder::Folder,
    keeping::Keeping,
    process::Process,
    server::{TestServer, free_address},
};

/// Lease duration: short, so that tests do not wait for long, but longer than a busy machine delays a lease heartbeat.
pub const LEASE: Duration = Duration::from_secs(3);
const SHARED: [(&str, &str); 3] = [
    ("PALPATE_CLUSTER_SHARED", "true"),
    ("PALPATE_CLUSTER_LEASE", "3s"),
    // Snapshots are taken during the test as well.
    ("PALPATE_STORE_SNAPSHOT_INTERVAL", "1s"),
];

/// A shared folder or bucket, and its servers.
pub struct Theatre {
    pub keeping: Keeping,
    pub servers: Vec<SharedServer>,
    /// Addresses of all current servers, for clients that look for an owner.
    pub addresses: Addresses,
    /// Environment variables of all servers.
    variables: Vec<(&'static str, String)>,
    /// Addresses of servers still to be started, the next one last; used behind Envoy, which must know them in advance.
    places: Vec<SocketAddr>,
    envoy: Option<(Envoy, Folder)>,
}

/// A server process and its address.
pub struct SharedServer {
    pub process: Process,
    pub address: SocketAddr,
}

/// Addresses of the servers, shared with clients.
#[derive(Clone, Default)]
pub struct Addresses {
    all: Arc<Mutex<Vec<SocketAddr>>>,
    /// Envoy, if clients reach the servers only through it.
    front: Option<Front>,
}

/// Address and certificate authority of Envoy, as clients need them.
#[derive(Clone)]
struct Front {
    address: SocketAddr,
    authority: String,
}

impl Addresses {
    pub fn all(&self) -> Vec<SocketAddr> {
        self.all.lock().clone()
    }

    pub fn connections(&self) -> Connections {
        Connections { front: self.front.clone(), open: HashMap::new() }
    }

    /// Returns the addresses in the format that clients take.
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
        let servers = Vec::new();
        let (addresses, variables, places) = Default::default();
        let theatre = Theatre { keeping, servers, addresses, variables, places, envoy: None };
        theatre.with_servers(n)
    }

    /// Starts the first `n` servers behind Envoy, which also knows the addresses of `later` servers to come.
    pub fn behind_envoy(program: &Path, keeping: Keeping, n: usize, later: usize) -> Theatre {
        let (folder, authority) = (Folder::new("cluster-envoy"), Authority::new());
        let variables = certified(&folder, &authority);
        let places: Vec<SocketAddr> = (0..n + later).map(|_| free_address()).collect();
        let envoy = Envoy::start(program, &folder, &places);
        let front = Front { address: envoy.front, authority: authority.pem() };
        let addresses = Addresses { front: Some(front), ..Addresses::default() };
        let (servers, envoy) = (Vec::new(), Some((envoy, folder)));
        Theatre { keeping, servers, addresses, variables, places, envoy }.with_servers(n)
    }

    fn with_servers(mut self, n: usize) -> Theatre {
        self.servers = (0..n).map(|_| self.start()).collect();
        self.tell();
        self
    }

    /// Starts one more server, which has these variables too.
    pub fn join(&mut self, variables: &[(&'static str, String)]) {
        let of_all = self.variables.len();
        self.variables.extend_from_slice(variables);
        let server = self.start();
        self.variables.truncate(of_all);
        self.servers.push(server);
        self.tell();
    }

    fn start(&mut self) -> SharedServer {
        let mut variables = self.variables.clone();
        if let Some(place) = self.places.pop() {
            variables.push(("PALPATE_LISTEN", place.to_string()));
        }
        let own = variables.iter().map(|(name, value)| (*name, value.as_str()));
        let mut process = self.keeping.serve(&SHARED.into_iter().chain(own).collect::<Vec<_>>());
        let address = process.address();
        SharedServer { process, address }
    }

    /// Starts another process in place of a server that has ended.
    pub fn replace(&mut self, n: usize) {
        self.servers[n] = self.start();
        self.tell();
    }

    /// Shuts a server down cleanly after it has started another in its place.
    pub async fn restart(&mut self, n: usize) {
        let next = self.start();
        let SharedServer { process, .. } = std::mem::replace(&mut self.servers[n], next);
        self.tell();
        process.signal("TERM");
        let ended = tokio::task::spawn_blocking(move || process.end()).await.expect("no panic");
        assert!(ended.success(), "{ended:?}");
    }

    /// Returns the address of Envoy, as a client is given it.
    pub fn front(&self) -> ServerAddress {
        let (envoy, folder) = self.envoy.as_ref().expect("behind Envoy");
        let address = ServerAddress::new(&format!("https://localhost:{}", envoy.front.port()));
        address.trusting(&folder.0.join("ca.pem")).expect("it was written")
    }

    fn tell(&self) {
        *self.addresses.all.lock() = self.servers.iter().map(|s| s.address).collect();
    }

    pub async fn connect(&self, n: usize) -> TestServer {
        TestServer::connect(self.servers[n].address).await
    }
}

/// Connections to servers, none of which is opened before its first use.
pub struct Connections {
    front: Option<Front>,
    open: HashMap<SocketAddr, Channel>,
}

/// Client whose calls go to one server.
pub type Scenes = SceneServiceClient<InterceptedService<Channel, ToHost>>;

/// Adds the server that a call goes to, if Envoy has to know it.
#[derive(Clone)]
pub struct ToHost(Option<MetadataValue<Ascii>>);

impl Interceptor for ToHost {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        self.0.clone().map(|host| request.metadata_mut().insert(HOST, host));
        Ok(request)
    }
}

impl Connections {
    pub fn scenes(&mut self, to: SocketAddr) -> Scenes {
        let front = &self.front;
        let channel = self.open.entry(to).or_insert_with(|| connect(front.as_ref(), to)).clone();
        SceneServiceClient::with_interceptor(channel, ToHost(front.as_ref().map(|_| host(to))))
    }
}

fn connect(front: Option<&Front>, to: SocketAddr) -> Channel {
    let endpoint = match front {
        None => Channel::from_shared(format!("http://{to}")).expect("an address"),
        Some(front) => {
            let trusted = Certificate::from_pem(&front.authority);
            let tls = ClientTlsConfig::new().ca_certificate(trusted).domain_name("localhost");
            let address = format!("https://{}", front.address);
            Channel::from_shared(address).expect("an address").tls_config(tls).expect("good")
        }
    };
    endpoint.connect_timeout(LEASE).connect_lazy()
}

/// Returns the owner that a refusal names, and its epoch.
pub fn owner(status: &Status) -> Option<(SocketAddr, u64)> {
    let info = status.get_details_error_info()?;
    assert_eq!(info.reason, "SCENE_OWNED_ELSEWHERE");
    assert_eq!(status.code(), tonic::Code::FailedPrecondition);
    let read = |key: &str| info.metadata.get(key).unwrap_or_else(|| panic!("{info:?}")).as_str();
    Some((read("address").parse().expect("an address"), read("epoch").parse().expect("a number")))
}
