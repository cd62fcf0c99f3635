//! A separate server for each test, and its clients.

use std::{
    future::pending,
    net::SocketAddr,
    time::{Duration, Instant},
};

use palpate::{
    config::{Config, StoreSettings, TickSettings},
    proto::{
        AddTissueRequest, AddTissueResponse, AddToolRequest, AddToolResponse, CreateSceneRequest,
        DeformRequest, DeformResponse, ExportTissueRequest, ExportTissueResponse, GetSceneRequest,
        Scene, TrackRequest, TrackResponse, export_tissue_response,
        haptic_service_client::HapticServiceClient, scene_service_client::SceneServiceClient,
    },
    scene::Limits,
    service::{Listeners, serve},
};
use tokio::sync::mpsc;
use tokio_stream::{StreamExt, wrappers::ReceiverStream};
use tonic::{Status, Streaming, transport::Channel};

use super::{
    meshes::{Mesh, octahedron},
    messages::{SCENE, tissue_upload, tool_head, tool_header, tool_piece},
};

/// A served port and its clients; the server ends with the test's runtime.
#[derive(Clone)]
pub struct TestServer {
    pub address: SocketAddr,
    pub channel: Channel,
    pub scenes: SceneServiceClient<Channel>,
    pub haptics: HapticServiceClient<Channel>,
}

/// Everything that a client can see of a scene.
#[derive(Debug, PartialEq)]
pub struct Seen {
    pub scene: Scene,
    pub surfaces: Vec<Vec<ExportTissueResponse>>,
}

/// A haptic loop whose messages a test sends one by one.
pub struct HandFed {
    pub requests: mpsc::Sender<TrackRequest>,
    pub answers: Streaming<TrackResponse>,
}

/// Returns the positions of an exported surface.
pub fn positions(surface: &[ExportTissueResponse]) -> Vec<f32> {
    let chunk = |m: &ExportTissueResponse| match &m.message {
        Some(export_tissue_response::Message::Chunk(chunk)) => chunk.positions_m.clone(),
        _ => Vec::new(),
    };
    surface.iter().flat_map(chunk).collect()
}

/// Longer than any lease.
const TAKEN_MAX: Duration = Duration::from_secs(60);

/// The tissue of most tests: vertices 0.1 m from the origin.
pub fn tissue() -> Mesh {
    octahedron(0.1)
}

/// The link of most tests: vertices 0.01 m from its origin.
pub fn link() -> Mesh {
    octahedron(0.01)
}

/// The default settings, with a folder for built fields that all tests share: each tool is built once.
pub fn with_kept_fields() -> Config {
    let store = StoreSettings { scenes: false, ..StoreSettings::default() };
    let data_dir = Some(env!("CARGO_TARGET_TMPDIR").into());
    Config { data_dir, store, ..Config::default() }
}

/// Returns a loopback port on which nothing listens now.
pub fn free_address() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("bound")
}

impl TestServer {
    /// Starts a server without scenes.
    pub async fn empty(limits: Limits) -> TestServer {
        TestServer::configured(Config { limits, ..Config::default() }).await
    }

    /// Starts a server without scenes, with other settings than the defaults.
    pub async fn configured(config: Config) -> TestServer {
        TestServer::connect(TestServer::lazily(config).await.address).await
    }

    /// As [`TestServer::configured`], with clients that have not tried to connect.
    pub async fn lazily(config: Config) -> TestServer {
        // A machine that stops a tick for 5 ms must not change its answer, unless a test is about that.
        let is_default = config.ticks == TickSettings::default();
        let unhurried = TickSettings { time_max: Duration::from_secs(60), ..config.ticks.clone() };
        let ticks = if is_default { unhurried } else { config.ticks.clone() };
        let config = Config { listen: "127.0.0.1:0".parse().expect("good"), ticks, ..config };
        let listeners = Listeners::bind(&config).await.expect("free");
        let address = listeners.address().expect("bound");
        tokio::spawn(async move { serve(listeners, &config, pending()).await });
        let endpoint = Channel::from_shared(format!("http://{address}")).expect("an address");
        TestServer::over(address, endpoint.connect_lazy())
    }

    /// Connects clients to a running server.
    pub async fn connect(address: SocketAddr) -> TestServer {
        let endpoint = Channel::from_shared(format!("http://{address}")).expect("an address");
        TestServer::over(address, endpoint.connect().await.expect("it listens"))
    }

    /// Clients over an existing connection.
    pub fn over(address: SocketAddr, channel: Channel) -> TestServer {
        let scenes = SceneServiceClient::new(channel.clone());
        let haptics = HapticServiceClient::new(channel.clone());
        TestServer { address, channel, scenes, haptics }
    }

    /// Starts a server with an empty [`SCENE`].
    pub async fn with_scene() -> TestServer {
        let mut server = TestServer::empty(Limits::default()).await;
        server.create(SCENE).await.expect("a new scene");
        server
    }

    /// Starts a server with [`SCENE`], tissue 1, [`tissue`], and tool 1, [`link`].
    pub async fn furnished() -> TestServer {
        let mut server = TestServer::with_scene().await;
        server.furnish().await;
        server
    }

    /// Adds tissue 1 and tool 1 to the existing [`SCENE`].
    pub async fn furnish(&mut self) {
        self.add_tissue(tissue_upload("liver", &tissue())).await.expect("tissue 1");
        let tool = vec![tool_head(tool_header("probe", &link())), tool_piece(link().chunk())];
        self.add_tool(tool).await.expect("tool 1");
    }

    pub async fn create(&mut self, id: &str) -> Result<Scene, Status> {
        let request = CreateSceneRequest { scene_id: id.to_owned(), durable: None };
        let answer = self.scenes.create_scene(request).await?.into_inner();
        Ok(answer.scene.expect("described"))
    }

    pub async fn add_tissue(
        &mut self,
        requests: Vec<AddTissueRequest>,
    ) -> Result<AddTissueResponse, Status> {
        Ok(self.scenes.add_tissue(tokio_stream::iter(requests)).await?.into_inner())
    }

    pub async fn add_tool(
        &mut self,
        requests: Vec<AddToolRequest>,
    ) -> Result<AddToolResponse, Status> {
        Ok(self.scenes.add_tool(tokio_stream::iter(requests)).await?.into_inner())
    }

    /// Sends all requests and returns all answers, including the refusal that ended the stream.
    pub async fn deform(
        &mut self,
        requests: Vec<DeformRequest>,
    ) -> Vec<Result<DeformResponse, Status>> {
        match self.scenes.deform(tokio_stream::iter(requests)).await {
            Ok(answers) => answers.into_inner().collect().await,
            Err(status) => vec![Err(status)],
        }
    }

    /// Sends all requests and returns all answers, including the refusal that ended the stream.
    pub async fn track(
        &mut self,
        requests: Vec<TrackRequest>,
    ) -> Vec<Result<TrackResponse, Status>> {
        match self.haptics.track(tokio_stream::iter(requests)).await {
            Ok(answers) => answers.into_inner().collect().await,
            Err(status) => vec![Err(status)],
        }
    }

    /// Starts a loop and sends its first message.
    pub async fn hand_fed(&mut self, first: TrackRequest) -> HandFed {
        let (requests, sent) = mpsc::channel(64);
        requests.send(first).await.expect("room");
        let answers = self.haptics.track(ReceiverStream::new(sent)).await.expect("a stream");
        HandFed { requests, answers: answers.into_inner() }
    }

    pub async fn export(&mut self, tissue_id: u32) -> Result<Vec<ExportTissueResponse>, Status> {
        let request = ExportTissueRequest { scene_id: SCENE.to_owned(), tissue_id };
        self.scenes.export_tissue(request).await?.into_inner().collect().await
    }

    /// Waits until this server owns [`SCENE`]: until another server's lease is over.
    pub async fn awaited(&mut self) {
        let until = Instant::now() + TAKEN_MAX;
        loop {
            let request = GetSceneRequest { scene_id: SCENE.to_owned() };
            let Err(status) = self.scenes.get_scene(request).await else { return };
            assert!(Instant::now() < until, "{status:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns [`SCENE`] as it is now.
    pub async fn seen(&mut self) -> Seen {
        let request = GetSceneRequest { scene_id: SCENE.to_owned() };
        let answer = self.scenes.get_scene(request).await.expect("the scene is there");
        let scene = answer.into_inner().scene.expect("described");
        let mut surfaces = Vec::new();
        for tissue in &scene.tissues {
            surfaces.push(self.export(tissue.tissue_id).await.expect("it is there"));
        }
        Seen { scene, surfaces }
    }
}

impl HandFed {
    /// Sends one message and waits for its answer.
    pub async fn ask(&mut self, request: TrackRequest) -> Result<TrackResponse, Status> {
        // An error means that the stream has ended; its status gives the reason.
        let _ = self.requests.send(request).await;
        Ok(self.answers.message().await?.expect("each message is answered"))
    }
}
