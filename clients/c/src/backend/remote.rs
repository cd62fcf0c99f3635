//! A server, reached over gRPC.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use glam::DVec3;
use palpate::{
    client::{
        Client, ClientError, DeformStream, ExportedTissue, LinkUpload, LoopOptions, ServerAddress,
        TissueUpload, TrackLoop,
        local_model::{on_the_wire, servo_options},
    },
    geometry::Pose,
    proto::{
        self, ControlKind, EditTopologyRequest, EditTopologyResponse, MeshReport,
        QueryDistancesRequest, RenderOptions, ReportOptions, ToolPose, TrackMode, TrackResponse,
        TrackStart, query_distances_request::Target,
    },
    scene::{
        Limits, Probe,
        self_collision::{Interval, Scope, SelfCollisionOptions},
        tissue::{
            binding::ControlMove, deform::Deformation, edit::TopologyEdit, feel::Feel,
            incision::Incision,
        },
    },
    servo::device_servo,
};
use parking_lot::Mutex;
use tokio::{runtime::Runtime, time::timeout};

use super::{
    Added, CutAlong, Moved, Opened, PosedTool, Running, Server, Theatre, TissueSize, Touched,
    deadline,
    snapshot::{Snapshot, at, self_contacts_of_server, state_of},
};
use crate::{
    code::{Failure, palpate_code::*},
    plain::{
        palpate_cut_made, palpate_render_state, palpate_session_options, palpate_session_status,
        palpate_surface_point,
    },
    report::{Meshed, palpate_mesh_report},
    self_collision::palpate_self_contact,
};

/// A connection, and the thread that drives it.
pub(crate) struct RemoteServer(Arc<Connected>);

struct Connected {
    // An option, so that it can be shut down without waiting for calls that hang.
    runtime: Option<Runtime>,
    client: Client,
    timeout: Duration,
}

struct RemoteTheatre {
    connected: Arc<Connected>,
    scene_id: String,
    /// Opened by the first deformation, and again after one that was refused or whose server is gone.
    deformations: Mutex<Option<DeformStream>>,
    /// Sizes of the tissues when the server was last asked for them.
    sizes: Mutex<BTreeMap<u32, TissueSize>>,
}

/// Maximum that any server can be configured to accept.
const MESH_SIZE_MAX: u32 = u32::MAX / 4;
const LINKS_MAX: usize = 64;

struct RemoteSession {
    connected: Arc<Connected>,
    tool_id: u32,
    haptics: TrackLoop,
    epoch: std::time::Instant,
    /// The answer that was read last, and its conversion, which serves all reads of that answer.
    read: Mutex<(Option<Arc<TrackResponse>>, Snapshot)>,
}

impl RemoteServer {
    pub(crate) fn connect(server: &ServerAddress, most: Duration) -> Result<RemoteServer, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("palpate-client")
            .enable_all()
            .build()
            .map_err(|e| Failure::new(PALPATE_INTERNAL, format!("there is no thread: {e}")))?;
        let client = runtime.block_on(within(most, Client::connect(server)));
        match client {
            Ok(client) => Ok(RemoteServer(Arc::new(Connected {
                runtime: Some(runtime),
                client,
                timeout: most,
            }))),
            Err(failure) => {
                runtime.shutdown_background();
                Err(failure)
            }
        }
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Connected {
    fn call<T>(&self, work: impl Future<Output = Result<T, ClientError>>) -> Result<T, Failure> {
        let runtime = self.runtime.as_ref().expect("it is ended with its connection");
        runtime.block_on(within(self.timeout, work))
    }
}

async fn within<T>(
    most: Duration,
    work: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, Failure> {
    match timeout(most, work).await {
        Ok(done) => Ok(done?),
        Err(_) => {
            let message = format!("the server has not answered within {most:?}");
            Err(Failure::new(PALPATE_UNAVAILABLE, message))
        }
    }
}

fn warnings(reports: impl IntoIterator<Item = MeshReport>) -> Vec<String> {
    reports.into_iter().flat_map(|report| report.warnings).collect()
}

impl RemoteServer {
    fn theatre(&self, id: &str) -> Box<dyn Theatre> {
        Box::new(RemoteTheatre {
            connected: Arc::clone(&self.0),
            scene_id: id.to_owned(),
            deformations: Mutex::default(),
            sizes: Mutex::default(),
        })
    }
}

impl Server for RemoteServer {
    fn create_scene(&self, id: &str) -> Result<Box<dyn Theatre>, Failure> {
        self.0.call(self.0.client.clone().create_scene(id))?;
        Ok(self.theatre(id))
    }

    fn open_scene(&self, id: &str) -> Result<Box<dyn Theatre>, Failure> {
        self.0.call(self.0.client.clone().scene(id))?;
        Ok(self.theatre(id))
    }
}

impl Theatre for RemoteTheatre {
    fn delete(&self) -> Result<(), Failure> {
        self.connected.call(self.client().delete_scene(&self.scene_id))
    }

    fn copy(&self, _: &str) -> Result<Box<dyn Theatre>, Failure> {
        let message = "scenes of a server are not copied, only those of palpate_open_local";
        Err(Failure::new(PALPATE_REFUSED, message))
    }

    fn add_tissue(&self, tissue: &TissueUpload) -> Result<Added, Failure> {
        let mut client = self.client();
        let added = self.connected.call(client.add_tissue_with(&self.scene_id, tissue))?;
        Ok(Added { id: added.tissue_id, warnings: warnings(added.report) })
    }

    fn add_tool(
        &self,
        name: &str,
        links: Vec<LinkUpload>,
        probes: Vec<Probe>,
    ) -> Result<Added, Failure> {
        let sent = |probe: Probe| proto::Probe {
            name: probe.name,
            link: probe.link as u32,
            position_m: Some(proto::Vec3 {
                x: probe.position.x,
                y: probe.position.y,
                z: probe.position.z,
            }),
            radius_m: probe.radius,
        };
        let probes: Vec<_> = probes.into_iter().map(sent).collect();
        let added =
            self.connected.call(self.client().add_tool(&self.scene_id, name, &links, &probes))?;
        Ok(Added { id: added.tool_id, warnings: warnings(added.reports) })
    }

    fn field_progress(&self, tool: &str) -> Result<Option<f64>, Failure> {
        let scene = self.connected.call(self.client().scene(&self.scene_id))?;
        Ok(scene.field_builds.iter().find(|build| build.tool == tool).map(|build| build.share))
    }

    fn remove_tissue(&self, tissue: u32) -> Result<(), Failure> {
        self.connected.call(self.client().remove_tissue(&self.scene_id, tissue))
    }

    fn remove_tool(&self, tool: u32) -> Result<(), Failure> {
        self.connected.call(self.client().remove_tool(&self.scene_id, tool))
    }

    fn limits(&self) -> Limits {
        Limits {
            vertices_per_mesh: MESH_SIZE_MAX,
            triangles_per_mesh: MESH_SIZE_MAX,
            links_per_tool: LINKS_MAX,
            ..Limits::default()
        }
    }

    fn size(
        &self,
        tissue: u32,
        enough: &dyn Fn(TissueSize) -> bool,
    ) -> Result<TissueSize, Failure> {
        let known = self.sizes.lock().get(&tissue).copied();
        if let Some(known) = known.filter(|known| enough(*known)) {
            return Ok(known);
        }
        let scene = self.connected.call(self.client().scene(&self.scene_id))?;
        let now = scene.tissues.iter().map(|tissue| {
            let (vertices, triangles) = (tissue.vertices as usize, tissue.triangles as usize);
            let controls = tissue.controls as usize;
            let are_frames = tissue.control_kind() == ControlKind::Frames;
            (tissue.tissue_id, TissueSize { vertices, triangles, controls, are_frames })
        });
        let mut sizes = self.sizes.lock();
        *sizes = now.collect();
        let unknown = || format!("there is no tissue {tissue} in scene {:?}", self.scene_id);
        sizes.get(&tissue).copied().ok_or_else(|| Failure::new(PALPATE_NOT_FOUND, unknown()))
    }

    fn deform(&self, tissue: u32, asked: Moved) -> Result<u64, Failure> {
        let mut kept = self.deformations.lock();
        let mut client = self.client();
        let stream = kept.take();
        let deformed = self.connected.call(async {
            if let Some(mut stream) = stream {
                match moved(&mut stream, tissue, &asked).await {
                    // The server is gone, or another server owns the scene by now. Positions may be sent twice.
                    Err(ClientError::Gone { .. } | ClientError::Elsewhere { .. }) => {}
                    // A refusal has ended the stream.
                    done => return done.map(|revision| (stream, revision)),
                }
            }
            let mut stream = client.deformations(&self.scene_id).await?;
            let revision = moved(&mut stream, tissue, &asked).await?;
            Ok((stream, revision))
        });
        let (stream, geometry_revision) = deformed?;
        *kept = Some(stream);
        Ok(geometry_revision)
    }

    fn export_tissue(&self, tissue: u32) -> Result<ExportedTissue, Failure> {
        self.connected.call(self.client().export_tissue(&self.scene_id, tissue))
    }

    fn mesh_report(&self, of: Meshed) -> Result<palpate_mesh_report, Failure> {
        let scene = self.connected.call(self.client().scene(&self.scene_id))?;
        let report = match of {
            Meshed::Tissue(id) => {
                scene.tissues.iter().find(|t| t.tissue_id == id).map(|t| &t.report)
            }
            Meshed::Link { tool, link } => {
                let tool = scene.tools.iter().find(|t| t.tool_id == tool);
                tool.and_then(|t| t.links.get(link as usize)).map(|link| &link.report)
            }
        };
        let report = report.and_then(|report| report.as_ref()).map(palpate_mesh_report::from);
        report.ok_or_else(|| of.unknown(&self.scene_id))
    }

    fn cut(&self, tissue: u32, cut: TopologyEdit) -> Result<palpate_cut_made, Failure> {
        let request = EditTopologyRequest {
            scene_id: self.scene_id.clone(),
            tissue_id: tissue,
            base_topology_revision: cut.base_revision,
            removed_triangles: cut.removed.iter().map(|t| t.0).collect(),
            added_positions_m: flat(&cut.added_positions),
            added_triangles: cut.added.concat(),
            added_triangle_parents: cut.parents.iter().map(|t| t.0).collect(),
            ..EditTopologyRequest::default()
        };
        Ok(cut_made(&self.connected.call(self.client().edit_topology(request))?))
    }

    fn cut_along(&self, tissue: u32, line: Incision) -> Result<CutAlong, Failure> {
        let path: Vec<[f32; 3]> = line.path.iter().map(|p| p.as_vec3().to_array()).collect();
        let (width_m, depth_m) = (line.width_m, line.depth_m);
        let mut client = self.client();
        let cutting = client.cut_along(&self.scene_id, tissue, &path, width_m, depth_m);
        let answer = self.connected.call(cutting)?;
        let made = cut_made(&answer);
        let lips = answer.incision.unwrap_or_default();
        Ok(CutAlong { made, left: lips.left_vertices, right: lips.right_vertices })
    }

    fn nearest(
        &self,
        tissue: Option<u32>,
        points: &[DVec3],
    ) -> Result<Vec<palpate_surface_point>, Failure> {
        let request = QueryDistancesRequest {
            scene_id: self.scene_id.clone(),
            target: Some(tissue.map_or(Target::AllTissues(true), Target::TissueId)),
            points_xyz_m: points.iter().flat_map(|p| p.to_array()).collect(),
            max_distance_m: 0.0,
        };
        let found = self.connected.call(self.client().query_distances(request))?;
        let point = |(i, metres): (usize, &f64)| palpate_surface_point {
            tissue_id: found.tissue_ids.get(i).copied().unwrap_or_default(),
            triangle: found.triangle_ids.get(i).copied().unwrap_or_default(),
            barycentric: at(&found.barycentric_xyz, i),
            position_m: at(&found.closest_xyz_m, i),
            normal: at(&found.normal_xyz, i),
            signed_distance_m: *metres,
            sign_certainty: found.sign_certainty.get(i).copied().unwrap_or_default().into(),
        };
        Ok(found.signed_distance_m.iter().enumerate().map(point).collect())
    }

    fn set_feel(&self, tissue: u32, feel: Option<Feel>) -> Result<u64, Failure> {
        let mut client = self.client();
        let set = client.set_feel(&self.scene_id, tissue, feel.as_ref());
        Ok(self.connected.call(set)?.geometry_revision)
    }

    fn hold(&self, tissue: u32) -> Result<u64, Failure> {
        let held = self.connected.call(self.client().hold_tissue(&self.scene_id, tissue))?;
        Ok(held.geometry_revision)
    }

    fn self_collisions(
        &self,
        tissues: &[Interval],
        options: &SelfCollisionOptions,
    ) -> Result<(Vec<palpate_self_contact>, usize), Failure> {
        let interval = |of: &Interval| proto::TissueInterval {
            tissue_id: of.tissue.0,
            from_geometry_revision: of.from,
            to_geometry_revision: of.to.unwrap_or_default(),
        };
        let scope = match options.scope {
            Scope::All => proto::CollisionScope::All,
            Scope::WithinEach => proto::CollisionScope::WithinEach,
        };
        let request = proto::DetectSelfCollisionsRequest {
            scene_id: self.scene_id.clone(),
            tissues: tissues.iter().map(interval).collect(),
            thickness_m: options.thickness_m,
            scope: scope.into(),
            max_contacts: options.max_contacts as u32,
        };
        let found = self.connected.call(self.client().self_collisions(request))?;
        let n_found = (found.totals.vertex_face + found.totals.edge_edge) as usize;
        Ok((found.contacts.iter().flat_map(self_contacts_of_server).collect(), n_found))
    }

    fn contacts(&self, posed: &PosedTool) -> Result<Touched, Failure> {
        let tool = ToolPose {
            tool_id: posed.tool,
            pose: Some(on_the_wire(&posed.pose)),
            link_poses: posed.links.iter().map(on_the_wire).collect(),
            ..ToolPose::default()
        };
        let report = ReportOptions {
            contact_margin_m: posed.contact_margin_m,
            link_barycentrics: true,
            ..ReportOptions::default()
        };
        let request = proto::QueryContactsRequest {
            scene_id: self.scene_id.clone(),
            tool: Some(tool),
            report: Some(report),
        };
        let answer = self.connected.call(self.client().query_contacts(request))?;
        Ok(Touched::of_server(&answer))
    }

    fn open_session(&self, options: &palpate_session_options) -> Result<Opened, Failure> {
        let render = render_options(options);
        let (mut servo, feed) =
            device_servo(servo_options(&render)).map_err(|e| Failure::argument(e.to_string()))?;
        let client = self.client();
        let rest = client.rest_poses(&self.scene_id, options.tool_id);
        let rest = self.connected.call(rest)?;
        let n_links = rest.len();
        servo.rest_at(rest);
        let rate_hz = match options {
            options if options.lock_step != 0 => 0.0,
            options if options.rate_hz == 0.0 => 1e3,
            options => options.rate_hz,
        };
        let deadline = deadline(options)?;
        let how = LoopOptions { device: Some(feed), rate_hz, deadline, ..LoopOptions::default() };
        let epoch = how.epoch;
        let start = TrackStart {
            scene_id: self.scene_id.clone(),
            tool_ids: vec![options.tool_id],
            mode: TrackMode::Latest.into(),
            render: vec![render],
            report: Some(ReportOptions {
                contact_margin_m: options.contact_margin_m,
                max_contacts: options.max_contacts,
                omit_sweep: options.omit_sweep != 0,
                feature_pairs: options.feature_pairs != 0,
                max_pairs: options.max_feature_pairs,
                link_barycentrics: true,
                ..ReportOptions::default()
            }),
            ..TrackStart::default()
        };
        let haptics = self.connected.call(client.haptics_with(start, how))?;
        let connected = Arc::clone(&self.connected);
        let (tool_id, read) = (options.tool_id, Mutex::default());
        let running = RemoteSession { connected, tool_id, haptics, epoch, read };
        Ok(Opened { n_links, servo, running: Box::new(running) })
    }
}

impl RemoteTheatre {
    /// Returns a handle that shares the connections, and the routes that other handles have found.
    fn client(&self) -> Client {
        self.connected.client.clone()
    }
}

impl Running for RemoteSession {
    fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    fn tick(&self, pose: &Pose, links: &[Pose], at_ns: u64) -> Result<(), Failure> {
        let tool = ToolPose {
            tool_id: self.tool_id,
            pose: Some(on_the_wire(pose)),
            link_poses: links.iter().map(on_the_wire).collect(),
            teleport: false,
        };
        let sequence = self.haptics.send_at(vec![tool], at_ns)?;
        self.connected.call(self.haptics.wait(sequence)).map(|_| ())
    }

    fn read_newest(&self, read: &mut dyn FnMut(&Snapshot)) {
        let Some(newest) = self.haptics.newest() else { return };
        let mut last = self.read.lock();
        let (answer, snapshot) = &mut *last;
        if answer.as_ref().is_none_or(|answer| !Arc::ptr_eq(answer, &newest)) {
            *answer = snapshot.become_of_server(&newest).then_some(newest);
        }
        if answer.is_some() {
            read(snapshot);
        }
    }

    fn state(&self) -> Option<palpate_render_state> {
        let state = |answer: &TrackResponse| Some(state_of(answer.renderings.first()?.state));
        self.haptics.try_newest(state).flatten()
    }

    fn status(&self) -> palpate_session_status {
        let status = self.haptics.status();
        palpate_session_status {
            is_open: status.is_open.into(),
            reconnected: status.reconnected,
            sessions_lost: status.sessions_lost,
            dropped: status.dropped,
            age_s: status.age.as_secs_f64(),
        }
    }

    fn check(&self) -> Result<(), Failure> {
        Ok(self.haptics.check()?)
    }
}

/// Rendering options of a session.
pub(crate) fn render_options(options: &palpate_session_options) -> RenderOptions {
    let hold = options.hold_point_m;
    RenderOptions {
        tool_id: options.tool_id,
        stiffness_n_per_m: options.stiffness_n_per_m,
        rotational_stiffness_nm_per_rad: options.rotational_stiffness_nm_per_rad,
        link_stiffness_n_per_m: options.link_stiffness_n_per_m,
        friction: options.friction,
        max_force_n: options.max_force_n,
        max_torque_nm: options.max_torque_nm,
        max_force_rate_n_per_s: options.max_force_rate_n_per_s,
        max_torque_rate_nm_per_s: options.max_torque_rate_nm_per_s,
        cutting_links: (0..32).filter(|link| options.cutting_links >> link & 1 == 1).collect(),
        hold_point_m: Some(proto::Vec3 { x: hold.x, y: hold.y, z: hold.z }),
        tissue_loads: true,
        local_model: true,
        device_distances: false,
        force_shading_rad: options.force_shading_rad,
    }
}

/// Returns the geometry revision.
async fn moved(stream: &mut DeformStream, tissue: u32, moved: &Moved) -> Result<u64, ClientError> {
    let answer = match moved {
        Moved::Vertices(Deformation::Dense(all)) => stream.move_all(tissue, flat(all)).await,
        Moved::Vertices(Deformation::Sparse { vertices, positions }) => {
            stream.move_some(tissue, vertices.clone(), flat(positions)).await
        }
        Moved::Controls(ControlMove { controls, to }) => {
            stream.drive(tissue, controls.clone().unwrap_or_default(), to.numbers()).await
        }
    };
    Ok(answer?.geometry_revision)
}

fn flat(positions: &[glam::Vec3]) -> Vec<f32> {
    positions.iter().flat_map(|p| p.to_array()).collect()
}

fn cut_made(answer: &EditTopologyResponse) -> palpate_cut_made {
    palpate_cut_made {
        topology_revision: answer.topology_revision,
        first_vertex: answer.first_vertex,
        first_triangle: answer.first_triangle,
    }
}
