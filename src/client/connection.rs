//! One connection, and the calls that are made over it.

use std::path::Path;

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
    EditTopologyRequest, EditTopologyResponse, GetSceneRequest, LinkHeader, Pose, Probe,
    QueryDistancesRequest, QueryDistancesResponse, RemoveTissueRequest, RemoveToolRequest, Scene,
    TrackRequest, TrackResponse, TrackStart, WatchRequest, WatchResponse, add_tissue_request,
    add_tool_request, haptic_service_client::HapticServiceClient,
    scene_service_client::SceneServiceClient, track_request,
    watch_service_client::WatchServiceClient,
};

/// One connection.
#[derive(Clone)]
pub struct Client {
    server: ServerAddress,
    scenes: SceneServiceClient<WithKey>,
    haptics: HapticServiceClient<WithKey>,
    watches: WatchServiceClient<WithKey>,
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
}

impl Client {
    /// Where it is connected to.
    pub fn server(&self) -> &ServerAddress {
        &self.server
    }

    /// Connects.
    ///
    /// # Errors
    /// When nobody answers there.
    pub async fn connect(server: &ServerAddress) -> Result<Client, ClientError> {
        let failed = |e: tonic::transport::Error| ClientError::Connect {
            server: server.to_string(),
            reason: innermost(&e),
        };
        // Not lazily: an address where nobody answers is told here and not by the first call.
        let channel = server.endpoint().map_err(failed)?.connect().await.map_err(failed)?;
        let server = server.of_one_client();
        Ok(Client {
            // All services over one connection: a clone of a channel is a handle to it.
            scenes: SceneServiceClient::with_interceptor(channel.clone(), server.key()),
            haptics: HapticServiceClient::with_interceptor(channel.clone(), server.key()),
            watches: WatchServiceClient::with_interceptor(channel, server.key()),
            server,
        })
    }

    /// Makes an empty scene.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn create_scene(&mut self, scene_id: &str) -> Result<(), ClientError> {
        let answer = self
            .scenes
            .create_scene(CreateSceneRequest { scene_id: scene_id.to_owned(), durable: None })
            .await;
        self.take("CreateScene", answer).map(|_| ())
    }

    /// Removes a scene.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn delete_scene(&mut self, scene_id: &str) -> Result<(), ClientError> {
        let answer =
            self.scenes.delete_scene(DeleteSceneRequest { scene_id: scene_id.to_owned() }).await;
        self.take("DeleteScene", answer).map(|_| ())
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
        let answer = self.scenes.remove_tissue(request).await;
        self.take("RemoveTissue", answer).map(|_| ())
    }

    /// Takes a tool out of a scene.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn remove_tool(&mut self, scene_id: &str, tool_id: u32) -> Result<(), ClientError> {
        let request = RemoveToolRequest { scene_id: scene_id.to_owned(), tool_id };
        let answer = self.scenes.remove_tool(request).await;
        self.take("RemoveTool", answer).map(|_| ())
    }

    /// What is in a scene.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn scene(&mut self, scene_id: &str) -> Result<Scene, ClientError> {
        let answer = self.scenes.get_scene(GetSceneRequest { scene_id: scene_id.to_owned() }).await;
        Ok(self.take("GetScene", answer)?.scene.unwrap_or_default())
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
        let messages = once(Message::Header(header))
            .chain(iter(mesh.chunks(0)).map(Message::Chunk))
            .map(|message| AddTissueRequest { message: Some(message) });
        let answer = self.scenes.add_tissue(messages).await;
        self.take("AddTissue", answer)
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
        let link = LinkUpload { name: name.to_owned(), mesh, rest_pose: None };
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
                    mesh: Some(link.mesh.header()),
                    rest_pose: link.rest_pose,
                    field: None,
                })
                .collect(),
            probes: probes.to_vec(),
        };
        // Made before the call: the stream of a request owns all that it sends.
        let chunks: Vec<_> =
            (0..).zip(links).flat_map(|(number, link)| link.mesh.chunks(number)).collect();
        let messages = once(Message::Header(header))
            .chain(iter(chunks).map(Message::Chunk))
            .map(|message| AddToolRequest { message: Some(message) });
        let answer = self.scenes.add_tool(messages).await;
        self.take("AddTool", answer)
    }

    /// Cuts a tissue.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn edit_topology(
        &mut self,
        request: EditTopologyRequest,
    ) -> Result<EditTopologyResponse, ClientError> {
        let answer = self.scenes.edit_topology(request).await;
        self.take("EditTopology", answer)
    }

    /// Signed distances of points.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn query_distances(
        &mut self,
        request: QueryDistancesRequest,
    ) -> Result<QueryDistancesResponse, ClientError> {
        let answer = self.haptics.query_distances(request).await;
        self.take("QueryDistances", answer)
    }

    /// Opens a haptic loop; at most `waiting_max` ticks wait for the transport.
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
        let answer = self.haptics.track(once(start).chain(ReceiverStream::new(taken))).await;
        Ok(Duplex { requests, answers: self.take("Track", answer)? })
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
        let answer = self.scenes.deform(ReceiverStream::new(taken)).await;
        Ok(Duplex { requests, answers: self.take("Deform", answer)? })
    }

    /// Opens a live view.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn watch(
        &mut self,
        request: WatchRequest,
    ) -> Result<Streaming<WatchResponse>, ClientError> {
        let answer = self.watches.watch(request).await;
        self.take("Watch", answer)
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
