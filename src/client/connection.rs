//! One connection, and the calls that are made over it.

use std::{collections::HashMap, path::Path};

use tokio::sync::mpsc;
use tokio_stream::{StreamExt, iter, once, wrappers::ReceiverStream};
use tonic::{
    Response, Status, Streaming, service::interceptor::InterceptedService, transport::Channel,
};

use super::{
    address::{BringKey, ServerAddress},
    duplex::Duplex,
    error::{ClientError, innermost},
    mesh_source::MeshSource,
};
use crate::proto::{
    AddTissueHeader, AddTissueRequest, AddTissueResponse, AddToolHeader, AddToolRequest,
    AddToolResponse, CreateSceneRequest, DeformRequest, DeformResponse, DeleteSceneRequest,
    EditTopologyRequest, EditTopologyResponse, GetSceneRequest, LinkHeader, MeshHeader,
    MoveSceneRequest, MoveSceneResponse, Pose, Probe, QueryDistancesRequest,
    QueryDistancesResponse, RemoveTissueRequest, RemoveToolRequest, Scene, TrackRequest,
    TrackResponse, TrackStart, WatchRequest, WatchResponse, add_tissue_request, add_tool_request,
    haptic_service_client::HapticServiceClient, scene_service_client::SceneServiceClient,
    track_request, watch_service_client::WatchServiceClient,
};

/// A server, and those that it names as the owners of scenes: a connection to each, made when it is needed.
#[derive(Clone)]
pub struct Client {
    server: ServerAddress,
    home: ServerConnection,
    /// By scene: that to its owner, where that was named.
    elsewhere: HashMap<String, ServerConnection>,
}

/// One connection.
#[derive(Clone)]
struct ServerConnection {
    server: ServerAddress,
    scenes: SceneServiceClient<WithKey>,
    haptics: HapticServiceClient<WithKey>,
    watches: WatchServiceClient<WithKey>,
}

/// Owners that a call asks one after the other, as each names the next.
const HOPS_MAX: u32 = 4;

/// Makes a call for a scene, again where its owner is named.
macro_rules! of_scene {
    ($client:ident, $scene:expr, $call:literal, $connection:ident => $asked:expr) => {{
        let mut hops = 0;
        loop {
            let $connection = $client.of($scene);
            let answer = $asked.await;
            match $connection.take($call, answer) {
                Err(ClientError::Elsewhere { address, .. }) if hops < HOPS_MAX => {
                    hops += 1;
                    $client.go($scene, &address).await?;
                }
                Err(gone @ ClientError::Gone { .. }) => {
                    // The next call asks at home who has it by then.
                    $client.elsewhere.remove($scene);
                    break Err(gone);
                }
                done => break done,
            }
        }
    }};
}

type WithKey = InterceptedService<Channel, BringKey>;

/// A rigid part of a tool, to be uploaded.
#[derive(Clone, Debug)]
pub struct LinkUpload {
    /// Unique in its tool.
    pub name: String,
    /// The shape, in the link's frame.
    pub mesh: MeshSource,
    /// Tool frame from link frame at rest.
    pub rest_pose: Option<Pose>,
    /// Each hole in a box with a diagonal of no more than this is filled, metres; 0: none.
    pub fill_holes_m: f64,
}

impl ServerConnection {
    async fn open(server: &ServerAddress) -> Result<ServerConnection, ClientError> {
        let failed = |e: tonic::transport::Error| ClientError::Connect {
            server: server.to_string(),
            reason: innermost(&e),
        };
        // Not lazily: an address where nobody answers is told here and not by the first call.
        let channel = server.endpoint().map_err(failed)?.connect().await.map_err(failed)?;
        let server = server.of_one_client();
        Ok(ServerConnection {
            // All services over one connection: a clone of a channel is a handle to it.
            scenes: SceneServiceClient::with_interceptor(channel.clone(), server.key()),
            haptics: HapticServiceClient::with_interceptor(channel.clone(), server.key()),
            watches: WatchServiceClient::with_interceptor(channel, server.key()),
            server,
        })
    }

    fn take<A>(
        &self,
        call: &'static str,
        answer: Result<Response<A>, Status>,
    ) -> Result<A, ClientError> {
        let answer = answer.map_err(|status| ClientError::of(&self.server, call, &status))?;
        self.server.note_host(answer.metadata());
        Ok(answer.into_inner())
    }
}

impl Client {
    /// As it was given.
    pub fn server(&self) -> &ServerAddress {
        &self.server
    }

    /// Connects, to the first that answers where several addresses were given.
    ///
    /// # Errors
    /// When nobody answers there.
    pub async fn connect(server: &ServerAddress) -> Result<Client, ClientError> {
        let (server, mut tried) = (server.of_one_client(), Err(ClientError::Closed));
        for one in server.each() {
            tried = ServerConnection::open(&one).await;
            if tried.is_ok() {
                break;
            }
        }
        Ok(Client { server, home: tried?, elsewhere: HashMap::new() })
    }

    fn of(&mut self, scene_id: &str) -> &mut ServerConnection {
        self.elsewhere.get_mut(scene_id).unwrap_or(&mut self.home)
    }

    async fn go(&mut self, scene_id: &str, address: &str) -> Result<(), ClientError> {
        let owner = ServerConnection::open(&self.server.at(address)).await?;
        self.elsewhere.insert(scene_id.to_owned(), owner);
        Ok(())
    }

    /// Makes an empty scene.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn create_scene(&mut self, scene_id: &str) -> Result<(), ClientError> {
        let request = CreateSceneRequest { scene_id: scene_id.to_owned(), durable: None };
        of_scene!(self, scene_id, "CreateScene", at => at.scenes.create_scene(request.clone()))
            .map(drop)
    }

    /// Removes a scene.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn delete_scene(&mut self, scene_id: &str) -> Result<(), ClientError> {
        let request = DeleteSceneRequest { scene_id: scene_id.to_owned() };
        of_scene!(self, scene_id, "DeleteScene", at => at.scenes.delete_scene(request.clone()))
            .map(drop)
    }

    /// Hands a scene over to the server at an address, as that server tells it.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn move_scene(
        &mut self,
        scene_id: &str,
        to_address: &str,
    ) -> Result<MoveSceneResponse, ClientError> {
        let (scene, to) = (scene_id.to_owned(), to_address.to_owned());
        let request = MoveSceneRequest { scene_id: scene, to_address: to, take_over: false };
        of_scene!(self, scene_id, "MoveScene", at => at.scenes.move_scene(request.clone()))
    }

    /// Has the server that this is connected to take a scene from an owner that hangs. `own_address`: as that server tells
    /// it. Takes up to a lease.
    ///
    /// # Errors
    /// When it is refused, not with an admin's key, or the server is gone.
    pub async fn take_over_scene(
        &mut self,
        scene_id: &str,
        own_address: &str,
    ) -> Result<MoveSceneResponse, ClientError> {
        let (scene_id, to_address) = (scene_id.to_owned(), own_address.to_owned());
        let request = MoveSceneRequest { scene_id, to_address, take_over: true };
        // The owner is not asked: it may not answer.
        let answer = self.home.scenes.move_scene(request).await;
        self.home.take("MoveScene", answer)
    }

    /// Takes a tissue out of a scene.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn remove_tissue(
        &mut self,
        scene_id: &str,
        tissue_id: u32,
    ) -> Result<(), ClientError> {
        let request = RemoveTissueRequest { scene_id: scene_id.to_owned(), tissue_id };
        of_scene!(self, scene_id, "RemoveTissue", at => at.scenes.remove_tissue(request.clone()))
            .map(drop)
    }

    /// Takes a tool out of a scene.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn remove_tool(&mut self, scene_id: &str, tool_id: u32) -> Result<(), ClientError> {
        let request = RemoveToolRequest { scene_id: scene_id.to_owned(), tool_id };
        of_scene!(self, scene_id, "RemoveTool", at => at.scenes.remove_tool(request.clone()))
            .map(drop)
    }

    /// What is in a scene.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn scene(&mut self, scene_id: &str) -> Result<Scene, ClientError> {
        let request = GetSceneRequest { scene_id: scene_id.to_owned() };
        let answer =
            of_scene!(self, scene_id, "GetScene", at => at.scenes.get_scene(request.clone()));
        Ok(answer?.scene.unwrap_or_default())
    }

    /// Uploads a tissue.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn add_tissue(
        &mut self,
        scene_id: &str,
        name: &str,
        mesh: &MeshSource,
    ) -> Result<AddTissueResponse, ClientError> {
        use add_tissue_request::Message;
        let header = AddTissueHeader {
            scene_id: scene_id.to_owned(),
            name: name.to_owned(),
            mesh: Some(mesh.header()),
            options: None,
        };
        // The header first: it says how much follows, so the server can refuse before it takes any of the mesh.
        let messages = || {
            once(Message::Header(header.clone()))
                .chain(iter(mesh.chunks(0)).map(Message::Chunk))
                .map(|message| AddTissueRequest { message: Some(message) })
        };
        of_scene!(self, scene_id, "AddTissue", at => at.scenes.add_tissue(messages()))
    }

    /// Uploads a mesh file, its format told by its extension, as a tissue. `scale_to_m`: metres for each of its units.
    /// Returns the tissue's id.
    ///
    /// # Errors
    /// When the file holds no mesh, it is refused or the server is gone.
    pub async fn add_tissue_file(
        &mut self,
        scene_id: &str,
        name: &str,
        file: impl AsRef<Path>,
        scale_to_m: f64,
    ) -> Result<u32, ClientError> {
        // Checked on this side too: a damaged file costs no upload, and the error names the file.
        let (mesh, _) = MeshSource::open(file.as_ref(), scale_to_m)?;
        Ok(self.add_tissue(scene_id, name, &mesh).await?.tissue_id)
    }

    /// The same as a tool of one link of the same name. Returns the tool's id.
    ///
    /// # Errors
    /// As [`Client::add_tissue_file`].
    pub async fn add_tool_file(
        &mut self,
        scene_id: &str,
        name: &str,
        file: impl AsRef<Path>,
        scale_to_m: f64,
    ) -> Result<u32, ClientError> {
        let (mesh, _) = MeshSource::open(file.as_ref(), scale_to_m)?;
        let link = LinkUpload { name: name.to_owned(), mesh, rest_pose: None, fill_holes_m: 0.0 };
        Ok(self.add_tool(scene_id, name, &[link], &[]).await?.tool_id)
    }

    /// Uploads a tool.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn add_tool(
        &mut self,
        scene_id: &str,
        name: &str,
        links: &[LinkUpload],
        probes: &[Probe],
    ) -> Result<AddToolResponse, ClientError> {
        use add_tool_request::Message;
        let header = AddToolHeader {
            scene_id: scene_id.to_owned(),
            name: name.to_owned(),
            links: links
                .iter()
                .map(|link| LinkHeader {
                    name: link.name.clone(),
                    mesh: Some(MeshHeader {
                        fill_holes_m: link.fill_holes_m,
                        ..link.mesh.header()
                    }),
                    rest_pose: link.rest_pose,
                    field: None,
                })
                .collect(),
            probes: probes.to_vec(),
        };
        // Made before the call: the stream of a request owns all that it sends.
        let chunks: Vec<_> =
            (0..).zip(links).flat_map(|(number, link)| link.mesh.chunks(number)).collect();
        let messages = || {
            once(Message::Header(header.clone()))
                .chain(iter(chunks.clone()).map(Message::Chunk))
                .map(|message| AddToolRequest { message: Some(message) })
        };
        of_scene!(self, scene_id, "AddTool", at => at.scenes.add_tool(messages()))
    }

    /// Cuts a tissue.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn edit_topology(
        &mut self,
        request: EditTopologyRequest,
    ) -> Result<EditTopologyResponse, ClientError> {
        let scene = request.scene_id.as_str();
        of_scene!(self, scene, "EditTopology", at => at.scenes.edit_topology(request.clone()))
    }

    /// Signed distances of points.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn query_distances(
        &mut self,
        request: QueryDistancesRequest,
    ) -> Result<QueryDistancesResponse, ClientError> {
        let scene = request.scene_id.as_str();
        of_scene!(self, scene, "QueryDistances", at => at.haptics.query_distances(request.clone()))
    }

    /// Opens a haptic loop at this server alone; at most `waiting_max` ticks wait for the transport.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn track(
        &mut self,
        start: TrackStart,
        waiting_max: usize,
    ) -> Result<Duplex<TrackRequest, TrackResponse>, ClientError> {
        let (requests, taken) = mpsc::channel(waiting_max);
        // In front of the channel and not through it: it is first whatever the caller sends, and takes none of the
        // ticks' room.
        let start = TrackRequest { message: Some(track_request::Message::Start(start)) };
        let home = &mut self.home;
        let answer = home.haptics.track(once(start).chain(ReceiverStream::new(taken))).await;
        Ok(Duplex { requests, answers: home.take("Track", answer)? })
    }

    /// Opens a stream of deformations; at most `waiting_max` wait for the transport.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn deform(
        &mut self,
        waiting_max: usize,
    ) -> Result<Duplex<DeformRequest, DeformResponse>, ClientError> {
        let (requests, taken) = mpsc::channel(waiting_max);
        let answer = self.home.scenes.deform(ReceiverStream::new(taken)).await;
        Ok(Duplex { requests, answers: self.home.take("Deform", answer)? })
    }

    /// The same at the server that has a scene.
    pub(super) async fn deform_scene(
        &mut self,
        scene_id: &str,
    ) -> Result<Duplex<DeformRequest, DeformResponse>, ClientError> {
        // The stream's own refusal would come with its first request: who has the scene is asked before.
        self.scene(scene_id).await?;
        let (requests, taken) = mpsc::channel(1);
        let owner = self.of(scene_id);
        let answer = owner.scenes.deform(ReceiverStream::new(taken)).await;
        Ok(Duplex { requests, answers: owner.take("Deform", answer)? })
    }

    /// Opens a live view.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn watch(
        &mut self,
        request: WatchRequest,
    ) -> Result<Streaming<WatchResponse>, ClientError> {
        let answer = self.home.watches.watch(request).await;
        self.home.take("Watch", answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn says_that_nobody_answers() {
        // Bound and dropped: a port that was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
        let server = free.expect("a port").to_string();
        let error =
            Client::connect(&ServerAddress::new(&server)).await.err().expect("nobody there");
        assert!(error.to_string().starts_with(&format!("cannot connect to {server}: ")), "{error}");
    }
}
