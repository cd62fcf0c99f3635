//! One connection, and the calls that are made over it.

use std::{path::Path, pin::pin, sync::Arc, time::Duration};

use tokio::{sync::mpsc, time::sleep};
use tokio_stream::{StreamExt, iter, once, wrappers::ReceiverStream};
use tonic::Streaming;

use super::{
    address::ServerAddress, duplex::Duplex, error::ClientError, mesh_source::MeshSource,
    routes::Routes, server_connection::ServerConnection,
};
use crate::proto::{
    AddTissueHeader, AddTissueRequest, AddTissueResponse, AddToolHeader, AddToolRequest,
    AddToolResponse, CreateSceneRequest, DeformRequest, DeformResponse, DeleteSceneRequest,
    EditTopologyRequest, EditTopologyResponse, FieldBuild, GetSceneRequest, LinkHeader, MeshHeader,
    MoveSceneRequest, MoveSceneResponse, Pose, Probe, QueryDistancesRequest,
    QueryDistancesResponse, RemoveTissueRequest, RemoveToolRequest, Scene, TissueOptions,
    TrackRequest, TrackResponse, TrackStart, WatchRequest, WatchResponse, add_tissue_request,
    add_tool_request, track_request,
};

/// A server, and those that it names as the owners of scenes: a connection to each, made when it is needed. Clones share
/// them. When a server is gone the next call goes to another of those that were given; the call that found nobody fails, as
/// it may have been done, unless it changes nothing.
#[derive(Clone)]
pub struct Client {
    server: ServerAddress,
    routes: Arc<Routes>,
}

/// Owners that a call asks one after the other, as each names the next.
const HOPS_MAX: u32 = 4;
/// Servers that a call asks which changes nothing, one after the other, as each is gone.
const LOSSES_MAX: u32 = 4;
/// From one look at how far a field is to the next.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);
/// What changes nothing.
const LOOKS: [&str; 2] = ["GetScene", "QueryDistances"];

/// Makes a call for a scene, again where its owner is named.
macro_rules! of_scene {
    ($client:ident, $scene:expr, $call:literal, $connection:ident => $asked:expr) => {{
        let (mut hops, mut losses) = (0, 0);
        loop {
            let asked = $client.routes.of($scene);
            let mut $connection = ServerConnection::clone(&asked);
            let answer = $asked.await;
            match asked.take($call, answer) {
                Err(ClientError::Elsewhere { address, .. }) if hops < HOPS_MAX => {
                    hops += 1;
                    $client.routes.go($scene, &asked, &address).await?;
                }
                Err(gone @ ClientError::Gone { .. }) => {
                    losses += 1;
                    let is_another = $client.routes.leave($scene, &asked).await;
                    if !is_another || losses == LOSSES_MAX || !LOOKS.contains(&$call) {
                        break Err(gone);
                    }
                }
                done => break done,
            }
        }
    }};
}

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
        let server = server.of_one_client();
        let routes = Arc::new(Routes::open(&server).await?);
        Ok(Client { server, routes })
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
        let home = self.routes.home();
        let answer = home.scenes.clone().move_scene(request).await;
        home.take("MoveScene", answer)
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

    /// Uploads a tissue. The report says what was turned, and if the mesh may be in another unit.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn add_tissue(
        &mut self,
        scene_id: &str,
        name: &str,
        mesh: &MeshSource,
    ) -> Result<AddTissueResponse, ClientError> {
        self.add_tissue_with(scene_id, name, mesh, TissueOptions::default()).await
    }

    /// Uploads a tissue that is no organ like most: a forbidden region, or the wall of a lumen.
    ///
    /// # Errors
    /// As [`Client::add_tissue`].
    pub async fn add_tissue_with(
        &mut self,
        scene_id: &str,
        name: &str,
        mesh: &MeshSource,
        options: TissueOptions,
    ) -> Result<AddTissueResponse, ClientError> {
        use add_tissue_request::Message;
        let header = AddTissueHeader {
            scene_id: scene_id.to_owned(),
            name: name.to_owned(),
            mesh: Some(mesh.header()),
            options: Some(options),
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

    /// Uploads a tool, as [`Client::add_tool`]. While its fields are built, `told` is told every half second how far they
    /// are.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn add_tool_told(
        &mut self,
        scene_id: &str,
        name: &str,
        links: &[LinkUpload],
        probes: &[Probe],
        mut told: impl FnMut(&FieldBuild),
    ) -> Result<AddToolResponse, ClientError> {
        let mut looking = self.clone();
        let mut adding = pin!(self.add_tool(scene_id, name, links, probes));
        loop {
            let look = async {
                sleep(BETWEEN_LOOKS).await;
                looking.scene(scene_id).await
            };
            tokio::select! {
                added = &mut adding => return added,
                // An error: the upload has one of its own, or goes on.
                Ok(scene) = look => {
                    scene.field_builds.iter().filter(|build| build.tool == name).for_each(&mut told);
                }
            }
        }
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
        let home = self.routes.home();
        let sent = once(start).chain(ReceiverStream::new(taken));
        let answer = home.haptics.clone().track(sent).await;
        Ok(Duplex { requests, answers: home.opened("Track", answer)? })
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
        let home = self.routes.home();
        let answer = home.scenes.clone().deform(ReceiverStream::new(taken)).await;
        Ok(Duplex { requests, answers: home.opened("Deform", answer)? })
    }

    /// The same at the server that has a scene; which that is.
    pub(super) async fn deform_scene(
        &mut self,
        scene_id: &str,
    ) -> Result<(ServerAddress, Duplex<DeformRequest, DeformResponse>), ClientError> {
        // The stream's own refusal would come with its first request: who has the scene is asked before.
        self.scene(scene_id).await?;
        let (requests, taken) = mpsc::channel(1);
        let owner = self.routes.of(scene_id);
        let answer = owner.scenes.clone().deform(ReceiverStream::new(taken)).await;
        let answers = owner.opened("Deform", answer)?;
        Ok((owner.server.clone(), Duplex { requests, answers }))
    }

    /// Opens a live view.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn watch(
        &mut self,
        request: WatchRequest,
    ) -> Result<Streaming<WatchResponse>, ClientError> {
        let home = self.routes.home();
        let answer = home.watches.clone().watch(request).await;
        home.opened("Watch", answer)
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
