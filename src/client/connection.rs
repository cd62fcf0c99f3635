//! A client's connections, and the calls that are made over it.

use std::{path::Path, pin::pin, sync::Arc, time::Duration};

use tokio::{sync::mpsc, time::sleep};
use tokio_stream::{StreamExt, iter, once, wrappers::ReceiverStream};
use tonic::Streaming;

use super::tissue_binding::TissueBinding;
use super::{
    address::ServerAddress,
    duplex::Duplex,
    error::ClientError,
    feel,
    mesh_source::MeshSource,
    routes::Routes,
    server_connection::ServerConnection,
    streamed::{ExportedTissue, FoundCollisions, collisions, exported},
};
use crate::proto::{
    AddInstrumentRequest, AddTissueHeader, AddTissueRequest, AddTissueResponse, AddToolHeader,
    AddToolRequest, AddToolResponse, CreateSceneRequest, DeformRequest, DeformResponse,
    DeleteSceneRequest, DetectSelfCollisionsRequest, EditTopologyRequest, EditTopologyResponse,
    ExportTissueRequest, FieldBuild, GetSceneRequest, HoldTissueRequest, HoldTissueResponse,
    Incision, LinkHeader, ListScenesRequest, MeshHeader, MoveSceneRequest, MoveSceneResponse, Pose,
    Probe, QueryContactsRequest, QueryContactsResponse, QueryDistancesRequest,
    QueryDistancesResponse, RemoveTissueRequest, RemoveToolRequest, Scene, SetFeelRequest,
    SetFeelResponse, TissueOptions, TrackRequest, TrackResponse, TrackStart, WatchRequest,
    WatchResponse, add_tissue_request, add_tool_request, track_request,
};
use crate::scene::tissue::feel::Feel;

/// A client of a server, and of the servers that it names as owners of scenes, with one connection to each, opened when
/// needed. Clones share the connections. If a server is gone, the next call goes to another of the given addresses. The
/// call that found no server fails, because it may have been executed, unless it changes nothing.
#[derive(Clone)]
pub struct Client {
    server: ServerAddress,
    routes: Arc<Routes>,
}

/// Owners that one call asks in turn, each named by the previous one.
const HOPS_MAX: u32 = 4;
/// Servers that one read-only call asks in turn, if each is gone.
const LOSSES_MAX: u32 = 4;
/// Interval between two queries for the progress of a field.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);
/// Calls that change nothing.
const LOOKS: [&str; 5] =
    ["DetectSelfCollisions", "ExportTissue", "GetScene", "QueryContacts", "QueryDistances"];

/// Makes a call for a scene, and repeats it at the owner that a server names.
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
    /// Name, unique in its tool.
    pub name: String,
    /// Mesh in the link's frame.
    pub mesh: MeshSource,
    /// Tool frame from link frame at rest.
    pub rest_pose: Option<Pose>,
    /// Fills each hole in a box with a diagonal of no more than this, metres; 0: none.
    pub fill_holes_m: f64,
    /// Joins open edges whose ends are no farther apart than this, metres; 0: only those at equal positions.
    pub weld_m: f64,
}

impl LinkUpload {
    /// Creates a link that rests at the tool's frame, its mesh as it is.
    pub fn new(name: impl Into<String>, mesh: MeshSource) -> LinkUpload {
        let (rest_pose, fill_holes_m, weld_m) = (None, 0.0, 0.0);
        LinkUpload { name: name.into(), mesh, rest_pose, fill_holes_m, weld_m }
    }
}

/// A tissue to be uploaded.
#[derive(Clone, Debug)]
pub struct TissueUpload {
    /// Name, unique in its scene.
    pub name: String,
    /// Mesh in the scene's frame; `None`: the boundary of the binding's cells.
    pub mesh: Option<MeshSource>,
    /// Options, such as a forbidden region or the wall of a lumen.
    pub options: TissueOptions,
    /// Fills holes as for a link.
    pub fill_holes_m: f64,
    /// Joins open edges as for a link.
    pub weld_m: f64,
    /// Controls that carry the vertices, if any do.
    pub binding: Option<TissueBinding>,
}

impl TissueUpload {
    /// Creates a tissue with default options, its mesh as it is.
    pub fn new(name: impl Into<String>, mesh: MeshSource) -> TissueUpload {
        let (name, options) = (name.into(), TissueOptions::default());
        let mesh = Some(mesh);
        TissueUpload { name, mesh, options, fill_holes_m: 0.0, weld_m: 0.0, binding: None }
    }
}

impl Client {
    /// Returns the address as given.
    pub fn server(&self) -> &ServerAddress {
        &self.server
    }

    /// Connects to the server; of several addresses, to the first that answers.
    ///
    /// # Errors
    /// Returns an error if no server answers.
    pub async fn connect(server: &ServerAddress) -> Result<Client, ClientError> {
        let server = server.of_one_client();
        let routes = Arc::new(Routes::open(&server).await?);
        Ok(Client { server, routes })
    }

    /// Creates an empty scene.
    ///
    /// # Errors
    /// Returns an error if the server refuses the call or is gone.
    pub async fn create_scene(&mut self, scene_id: &str) -> Result<(), ClientError> {
        let request = CreateSceneRequest { scene_id: scene_id.to_owned(), durable: None };
        of_scene!(self, scene_id, "CreateScene", at => at.scenes.create_scene(request.clone()))
            .map(drop)
    }

    /// Removes a scene.
    ///
    /// # Errors
    /// Returns an error if the server refuses the call or is gone.
    pub async fn delete_scene(&mut self, scene_id: &str) -> Result<(), ClientError> {
        let request = DeleteSceneRequest { scene_id: scene_id.to_owned() };
        of_scene!(self, scene_id, "DeleteScene", at => at.scenes.delete_scene(request.clone()))
            .map(drop)
    }

    /// Hands a scene over to another server. The address is the one that the other server advertises.
    ///
    /// # Errors
    /// Returns an error if the server refuses the call or is gone.
    pub async fn move_scene(
        &mut self,
        scene_id: &str,
        to_address: &str,
    ) -> Result<MoveSceneResponse, ClientError> {
        let (scene, to) = (scene_id.to_owned(), to_address.to_owned());
        let request = MoveSceneRequest { scene_id: scene, to_address: to, take_over: false };
        of_scene!(self, scene_id, "MoveScene", at => at.scenes.move_scene(request.clone()))
    }

    /// Lets the connected server take a scene from an owner that hangs. `own_address`: the address that the connected
    /// server advertises. Takes up to a lease.
    ///
    /// # Errors
    /// Returns an error if the server refuses the call, if the key is not an admin's, or if the server is gone.
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

    /// Removes a tissue from a scene.
    ///
    /// # Errors
    /// Returns an error if the server refuses the call or is gone.
    pub async fn remove_tissue(
        &mut self,
        scene_id: &str,
        tissue_id: u32,
    ) -> Result<(), ClientError> {
        let request = RemoveTissueRequest { scene_id: scene_id.to_owned(), tissue_id };
        of_scene!(self, scene_id, "RemoveTissue", at => at.scenes.remove_tissue(request.clone()))
            .map(drop)
    }

    /// Removes a tool from a scene.
    ///
    /// # Errors
    /// Returns an error if the server refuses the call or is gone.
    pub async fn remove_tool(&mut self, scene_id: &str, tool_id: u32) -> Result<(), ClientError> {
        let request = RemoveToolRequest { scene_id: scene_id.to_owned(), tool_id };
        of_scene!(self, scene_id, "RemoveTool", at => at.scenes.remove_tool(request.clone()))
            .map(drop)
    }

    /// Returns the contents of a scene.
    ///
    /// # Errors
    /// Returns an error if the server refuses the call or is gone.
    pub async fn scene(&mut self, scene_id: &str) -> Result<Scene, ClientError> {
        let request = GetSceneRequest { scene_id: scene_id.to_owned() };
        let answer =
            of_scene!(self, scene_id, "GetScene", at => at.scenes.get_scene(request.clone()));
        Ok(answer?.scene.unwrap_or_default())
    }

    /// Returns the contents of all scenes of the connected server, ordered by id.
    ///
    /// # Errors
    /// Returns an error if the server refuses the call or is gone.
    pub async fn scenes(&mut self) -> Result<Vec<Scene>, ClientError> {
        let home = self.routes.home();
        let answer = home.scenes.clone().list_scenes(ListScenesRequest {}).await;
        Ok(home.take("ListScenes", answer)?.scenes)
    }

    /// Uploads a tissue. The report counts reversed triangles, and warns if the mesh may be in another unit.
    ///
    /// # Errors
    /// Returns an error if the server refuses the upload or is gone.
    pub async fn add_tissue(
        &mut self,
        scene_id: &str,
        name: &str,
        mesh: &MeshSource,
    ) -> Result<AddTissueResponse, ClientError> {
        self.add_tissue_with(scene_id, &TissueUpload::new(name, mesh.clone())).await
    }

    /// Uploads a tissue with options.
    ///
    /// # Errors
    /// See [`Client::add_tissue`].
    pub async fn add_tissue_with(
        &mut self,
        scene_id: &str,
        tissue: &TissueUpload,
    ) -> Result<AddTissueResponse, ClientError> {
        use add_tissue_request::Message;
        let TissueUpload { name, mesh, options, fill_holes_m, weld_m, binding } = tissue;
        let (fill_holes_m, weld_m) = (*fill_holes_m, *weld_m);
        let header = AddTissueHeader {
            scene_id: scene_id.to_owned(),
            name: name.clone(),
            mesh: mesh.as_ref().map(|m| MeshHeader { fill_holes_m, weld_m, ..m.header() }),
            options: Some(*options),
            binding: binding.as_ref().map(TissueBinding::header),
        };
        // The header comes first: it states the size of the mesh, so the server can refuse before it takes any of it.
        let mesh_chunks = || mesh.as_ref().map_or(Vec::new(), |mesh| mesh.chunks(0));
        let binding_chunks = || binding.as_ref().map_or(Vec::new(), TissueBinding::chunks);
        let messages = || {
            once(Message::Header(header.clone()))
                .chain(iter(mesh_chunks()).map(Message::Chunk))
                .chain(iter(binding_chunks()).map(Message::Binding))
                .map(|message| AddTissueRequest { message: Some(message) })
        };
        of_scene!(self, scene_id, "AddTissue", at => at.scenes.add_tissue(messages()))
    }

    /// Adds a link of a tool as a body that other tools meet. `pose`: scene frame from link frame. Returns the tissue's
    /// id, whose one frame the poses of the link move.
    ///
    /// # Errors
    /// Returns an error if the server refuses it or is gone.
    pub async fn add_instrument(
        &mut self,
        scene_id: &str,
        name: &str,
        (tool_id, link): (u32, u32),
        pose: Pose,
    ) -> Result<u32, ClientError> {
        let (scene_id, name) = (scene_id.to_owned(), name.to_owned());
        let request = AddInstrumentRequest { scene_id, name, tool_id, link, pose: Some(pose) };
        let added = of_scene!(self, &request.scene_id, "AddInstrument", at => at.scenes.add_instrument(request.clone()));
        Ok(added?.tissue_id)
    }

    /// Uploads a mesh file as a tissue; the extension determines the format. `scale_to_m`: metres per unit of the file.
    /// Returns the tissue's id.
    ///
    /// # Errors
    /// Returns an error if the file holds no mesh, or if the server refuses it or is gone.
    pub async fn add_tissue_file(
        &mut self,
        scene_id: &str,
        name: &str,
        file: impl AsRef<Path>,
        scale_to_m: f64,
    ) -> Result<u32, ClientError> {
        // This side checks the file too: a damaged file costs no upload, and the error names the file.
        let (mesh, _) = MeshSource::open(file.as_ref(), scale_to_m)?;
        Ok(self.add_tissue(scene_id, name, &mesh).await?.tissue_id)
    }

    /// Uploads a mesh file as a tool of one link that has the tool's name. Returns the tool's id.
    ///
    /// # Errors
    /// See [`Client::add_tissue_file`].
    pub async fn add_tool_file(
        &mut self,
        scene_id: &str,
        name: &str,
        file: impl AsRef<Path>,
        scale_to_m: f64,
    ) -> Result<u32, ClientError> {
        let (mesh, _) = MeshSource::open(file.as_ref(), scale_to_m)?;
        Ok(self.add_tool(scene_id, name, &[LinkUpload::new(name, mesh)], &[]).await?.tool_id)
    }

    /// Uploads a tool.
    ///
    /// # Errors
    /// Returns an error if the server refuses the upload or is gone.
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
                        weld_m: link.weld_m,
                        ..link.mesh.header()
                    }),
                    rest_pose: link.rest_pose,
                    field: None,
                })
                .collect(),
            probes: probes.to_vec(),
        };
        // The chunks are made before the call: the stream of a request owns all that it sends.
        let chunks: Vec<_> =
            (0..).zip(links).flat_map(|(number, link)| link.mesh.chunks(number)).collect();
        let messages = || {
            once(Message::Header(header.clone()))
                .chain(iter(chunks.clone()).map(Message::Chunk))
                .map(|message| AddToolRequest { message: Some(message) })
        };
        of_scene!(self, scene_id, "AddTool", at => at.scenes.add_tool(messages()))
    }

    /// Uploads a tool, as [`Client::add_tool`]. While the server builds its fields, `told` receives the progress every
    /// half second.
    ///
    /// # Errors
    /// Returns an error if the server refuses the upload or is gone.
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
                // An error of the query is ignored: the upload reports its own, or goes on.
                Ok(scene) = look => {
                    scene.field_builds.iter().filter(|build| build.tool == name).for_each(&mut told);
                }
            }
        }
    }

    /// Cuts a tissue.
    ///
    /// # Errors
    /// Returns an error if the server refuses the call or is gone.
    pub async fn edit_topology(
        &mut self,
        request: EditTopologyRequest,
    ) -> Result<EditTopologyResponse, ClientError> {
        let scene = request.scene_id.as_str();
        of_scene!(self, scene, "EditTopology", at => at.scenes.edit_topology(request.clone()))
    }

    /// Makes an incision along a line on a tissue. `path`: its points, metres, scene frame; `width_m` and `depth_m`: see
    /// [`Incision`].
    ///
    /// # Errors
    /// Returns an error if the server refuses the call or is gone.
    pub async fn cut_along(
        &mut self,
        scene: &str,
        tissue_id: u32,
        path: &[[f32; 3]],
        width_m: f64,
        depth_m: f64,
    ) -> Result<EditTopologyResponse, ClientError> {
        let incision = Some(Incision { path_m: path.as_flattened().to_vec(), width_m, depth_m });
        let scene_id = scene.to_owned();
        self.edit_topology(EditTopologyRequest {
            scene_id,
            tissue_id,
            incision,
            ..Default::default()
        })
        .await
    }

    /// Returns signed distances of points.
    ///
    /// # Errors
    /// Returns an error if the server refuses the call or is gone.
    pub async fn query_distances(
        &mut self,
        request: QueryDistancesRequest,
    ) -> Result<QueryDistancesResponse, ClientError> {
        let scene = request.scene_id.as_str();
        of_scene!(self, scene, "QueryDistances", at => at.haptics.query_distances(request.clone()))
    }

    /// Returns what a tool touches at a pose, and how far each of its links is from tissue, without a session.
    ///
    /// # Errors
    /// Returns an error if the server refuses the call or is gone.
    pub async fn query_contacts(
        &mut self,
        request: QueryContactsRequest,
    ) -> Result<QueryContactsResponse, ClientError> {
        let scene = request.scene_id.as_str();
        of_scene!(self, scene, "QueryContacts", at => at.haptics.query_contacts(request.clone()))
    }

    /// Returns where tissues meet themselves and each other between two revisions.
    ///
    /// # Errors
    /// Returns an error if the server refuses the call or is gone.
    pub async fn self_collisions(
        &mut self,
        request: DetectSelfCollisionsRequest,
    ) -> Result<FoundCollisions, ClientError> {
        let scene = request.scene_id.as_str();
        of_scene!(self, scene, "DetectSelfCollisions", at => collisions(&mut at, request.clone()))
    }

    /// Holds the newest revision of a tissue for [`Client::self_collisions`].
    ///
    /// # Errors
    /// Returns an error if the server refuses the call or is gone.
    pub async fn hold_tissue(
        &mut self,
        scene_id: &str,
        tissue_id: u32,
    ) -> Result<HoldTissueResponse, ClientError> {
        let request = HoldTissueRequest { scene_id: scene_id.to_owned(), tissue_id };
        of_scene!(self, scene_id, "HoldTissue", at => at.scenes.hold_tissue(request.clone()))
    }

    /// Gives a tissue the materials that an instrument feels; `None`: it is rigid again.
    ///
    /// # Errors
    /// Returns an error if the server refuses the call or is gone.
    pub async fn set_feel(
        &mut self,
        scene_id: &str,
        tissue_id: u32,
        feel: Option<&Feel>,
    ) -> Result<SetFeelResponse, ClientError> {
        let feel = Some(feel::on_the_wire(feel));
        let request = SetFeelRequest { scene_id: scene_id.to_owned(), tissue_id, feel };
        of_scene!(self, scene_id, "SetFeel", at => at.scenes.set_feel(request.clone()))
    }

    /// Returns the surface of a tissue. Barycentric weights of answers belong to its triangles.
    ///
    /// # Errors
    /// Returns an error if the server refuses the call or is gone.
    pub async fn export_tissue(
        &mut self,
        scene_id: &str,
        tissue_id: u32,
    ) -> Result<ExportedTissue, ClientError> {
        let request = ExportTissueRequest { scene_id: scene_id.to_owned(), tissue_id };
        of_scene!(self, scene_id, "ExportTissue", at => exported(&mut at, request.clone()))
    }

    /// Opens a haptic loop at this server alone; at most `waiting_max` ticks wait for the transport.
    ///
    /// # Errors
    /// Returns an error if the server refuses the loop or is gone.
    pub async fn track(
        &mut self,
        start: TrackStart,
        waiting_max: usize,
    ) -> Result<Duplex<TrackRequest, TrackResponse>, ClientError> {
        let (requests, taken) = mpsc::channel(waiting_max);
        // The start precedes the channel instead of going through it: it is first whatever the caller sends, and takes
        // no tick's slot.
        let start = TrackRequest { message: Some(track_request::Message::Start(start)) };
        let home = self.routes.home();
        let sent = once(start).chain(ReceiverStream::new(taken));
        let answer = home.haptics.clone().track(sent).await;
        Ok(Duplex { requests, answers: home.opened("Track", answer)? })
    }

    /// Opens a stream of deformations; at most `waiting_max` wait for the transport.
    ///
    /// # Errors
    /// Returns an error if the server refuses the stream or is gone.
    pub async fn deform(
        &mut self,
        waiting_max: usize,
    ) -> Result<Duplex<DeformRequest, DeformResponse>, ClientError> {
        let (requests, taken) = mpsc::channel(waiting_max);
        let home = self.routes.home();
        let answer = home.scenes.clone().deform(ReceiverStream::new(taken)).await;
        Ok(Duplex { requests, answers: home.opened("Deform", answer)? })
    }

    /// Opens a stream of deformations at the server that has a scene; also returns that server's address.
    pub(super) async fn deform_scene(
        &mut self,
        scene_id: &str,
    ) -> Result<(ServerAddress, Duplex<DeformRequest, DeformResponse>), ClientError> {
        // The stream's own refusal would come with its first request, so the owner is determined before.
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
    /// Returns an error if the server refuses the view or is gone.
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
        // The listener is dropped at once: its port was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
        let server = free.expect("a port").to_string();
        let error =
            Client::connect(&ServerAddress::new(&server)).await.err().expect("nobody there");
        assert!(error.to_string().starts_with(&format!("cannot connect to {server}: ")), "{error}");
    }
}
