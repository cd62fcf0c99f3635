//! The engine in this process: no server, no network.

mod field_builds;
mod session;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Instant,
};

use glam::{DVec3, Vec3};
use palpate::{
    client::{
        ExportedTissue, LinkUpload, TissueBinding, TissueUpload, local_model::of_the_wire,
        mesh_source::MeshSource,
    },
    geometry::{
        LoadOptions, LoadedMesh, Orientation, Pose, TriangleId, tolerance::COORDINATE_MAX_M,
    },
    mesh_io,
    proto::{self, SurfaceOrientation},
    scene::{
        Distance, Limits, Link, NearestSurface, Probe, Scene, SceneError, Tissue, TissueId,
        TissueKind, TissueOptions, ToolId, ToolParts,
        limits::NAME_CHARS_MAX,
        query::{QueryTarget, distances},
        saved::NotAScene,
        self_collision::{Interval, SelfCollisionError, SelfCollisionOptions, self_collisions},
        tick::{Session, ToolPose},
        tissue::{
            binding::{Binding, BindingError, Controls},
            cells::{CellTree, VolumeBinding, tetrahedra_of},
            edit::TopologyEdit,
            feel::Feel,
            incision::{Incised, Incision},
            vertex_weights::VertexWeights,
        },
    },
    sdf::{Field, FieldOptions},
    servo::device_servo,
    surface::Surface,
    time_left::TimeLeft,
};
use parking_lot::Mutex;

use super::{
    Added, CutAlong, Moved, Opened, PosedTool, Running, Server, Theatre, TissueSize, Touched,
    snapshot::{Snapshot, self_contact_of_engine},
};
use crate::{
    code::{Failure, palpate_code::*},
    mesh::load,
    plain::{
        palpate_cut_made, palpate_render_state, palpate_session_options, palpate_session_status,
        palpate_surface_point,
    },
    report::{Meshed, palpate_mesh_report},
    self_collision::palpate_self_contact,
};
use field_builds::FieldBuilds;
use session::LocalSession;

/// Binds the vertices of a tissue, as a server does.
fn bound(sent: &TissueBinding, tissue: &Tissue, is_boundary: bool) -> Result<Binding, Failure> {
    let wrong = |problem: String| Failure::argument(format!("the binding {problem}"));
    let refused = |error: BindingError| wrong(error.to_string());
    let data = &sent.data;
    let rest = Controls::of_numbers(sent.kind == proto::ControlKind::Frames, &data.rest)
        .ok_or_else(|| wrong("is torn".to_owned()))?;
    let current = tissue.current();
    let positions = current.surface.mesh().positions();
    let weights = match &rest {
        _ if is_boundary => VertexWeights::each_alone(positions.len() as u32),
        Controls::Points(nodes) if sent.has_cells() => {
            if !data.weights.is_empty() {
                return Err(wrong("has weights beside cells, which give them".to_owned()));
            }
            let (tetrahedra, hexahedra) = cells_of(data);
            let cells = tetrahedra.iter().copied().chain(tetrahedra_of(hexahedra)).collect();
            let tree = CellTree::build(nodes, cells).map_err(refused)?;
            VolumeBinding::of(positions, &tree, || Ok::<_, Failure>(()))?.weights
        }
        Controls::Frames(_) if sent.has_cells() => {
            return Err(wrong("has frames beside cells, whose nodes are points".to_owned()));
        }
        _ => {
            let (controls, weights) = (data.controls.clone(), data.weights.clone());
            let made = VertexWeights::of_counts(&data.weights_per_vertex, controls, weights);
            let sum = || wrong("has other weights than weights_per_vertex says".to_owned());
            made.ok_or_else(sum)?
        }
    };
    Binding::new(rest, weights, positions).map_err(refused)
}

/// Returns the boundary of a binding's cells.
fn boundary(sent: &TissueBinding) -> Result<MeshSource, Failure> {
    let (nodes, _) = sent.data.rest.as_chunks::<3>();
    let nodes = nodes.iter().map(|p| Vec3::from_array(*p)).collect();
    let (tetrahedra, hexahedra) = cells_of(&sent.data);
    let made = mesh_io::boundary(nodes, tetrahedra, hexahedra);
    made.map(MeshSource::Raw).map_err(|e| Failure::argument(format!("the binding's cells: {e}")))
}

fn cells_of(data: &proto::BindingChunk) -> (&[[u32; 4]], &[[u32; 8]]) {
    (data.tetrahedra.as_chunks().0, data.hexahedra.as_chunks().0)
}

/// Slices of the search for self-crossings that a deformation runs before it returns, a quarter of a millisecond each.
/// A server's writer runs them while it is idle; no thread is idle here.
const SEARCH_SLICES: usize = 4;

/// Scenes of this process.
pub(crate) struct LocalServer {
    scenes: Arc<Mutex<BTreeMap<String, Arc<LocalScene>>>>,
    epoch: Instant,
}

/// A scene, and whether it was deleted.
pub(crate) struct LocalScene {
    scene: Arc<Scene>,
    is_deleted: AtomicBool,
    epoch: Instant,
    /// Time of the newest tick in lock-step, by its host's own clock.
    stepped_ns: AtomicU64,
    /// Number of sessions that are not in lock-step.
    n_running: AtomicUsize,
    builds: FieldBuilds,
}

/// Marks that no session is in lock-step, or none has ticked yet.
const NOT_STEPPED: u64 = u64::MAX;

/// Handle to a scene, held by C.
struct LocalTheatre {
    scenes: Arc<Mutex<BTreeMap<String, Arc<LocalScene>>>>,
    scene: Arc<LocalScene>,
}

impl LocalServer {
    pub(crate) fn new() -> LocalServer {
        LocalServer { scenes: Arc::default(), epoch: Instant::now() }
    }

    /// Adds a scene.
    fn put(&self, scene: Scene) -> Result<Box<dyn Theatre>, Failure> {
        let mut scenes = self.scenes.lock();
        let id = scene.id().to_owned();
        if scenes.contains_key(&id) {
            let message = format!("there is a scene {id:?} already");
            return Err(Failure::new(PALPATE_ALREADY_EXISTS, message));
        }
        let scene = Arc::new(LocalScene {
            scene: Arc::new(scene),
            is_deleted: AtomicBool::new(false),
            epoch: self.epoch,
            stepped_ns: AtomicU64::new(NOT_STEPPED),
            n_running: AtomicUsize::new(0),
            builds: FieldBuilds::default(),
        });
        scenes.insert(id, Arc::clone(&scene));
        Ok(self.theatre(&scene))
    }

    fn theatre(&self, scene: &Arc<LocalScene>) -> Box<dyn Theatre> {
        let (scenes, scene) = (Arc::clone(&self.scenes), Arc::clone(scene));
        Box::new(LocalTheatre { scenes, scene })
    }
}

impl LocalScene {
    fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// Time of a change. If the host only steps, tissue moves in the host's time: its speed does not depend on the
    /// duration of the steps.
    fn changed_ns(&self) -> u64 {
        match self.stepped_ns.load(Ordering::Relaxed) {
            stepped_ns
                if stepped_ns != NOT_STEPPED && self.n_running.load(Ordering::Relaxed) == 0 =>
            {
                stepped_ns
            }
            _ => self.now_ns(),
        }
    }

    fn check(&self) -> Result<(), Failure> {
        let is_deleted = self.is_deleted.load(Ordering::Acquire);
        let gone = || Failure::new(PALPATE_NOT_FOUND, format!("scene {:?} is deleted", self.id()));
        if is_deleted { Err(gone()) } else { Ok(()) }
    }

    fn id(&self) -> &str {
        self.scene.id()
    }
}

impl Server for LocalServer {
    fn create_scene(&self, id: &str) -> Result<Box<dyn Theatre>, Failure> {
        checked_id(id)?;
        self.put(Scene::new(id.to_owned(), Limits::default()))
    }

    fn open_scene(&self, id: &str) -> Result<Box<dyn Theatre>, Failure> {
        let scenes = self.scenes.lock();
        let unknown = || Failure::new(PALPATE_NOT_FOUND, format!("there is no scene {id:?}"));
        Ok(self.theatre(scenes.get(id).ok_or_else(unknown)?))
    }
}

impl Theatre for LocalTheatre {
    fn delete(&self) -> Result<(), Failure> {
        let mut scenes = self.scenes.lock();
        self.scene.check()?;
        self.scene.is_deleted.store(true, Ordering::Release);
        scenes.remove(self.scene.id());
        Ok(())
    }

    fn copy(&self, id: &str) -> Result<Box<dyn Theatre>, Failure> {
        self.scene.check()?;
        checked_id(id)?;
        let LocalScene { scene, epoch, .. } = &*self.scene;
        let tools = scene.tools();
        let mut saved = scene.saved();
        saved.id = id.to_owned();
        // Tools are shared instead of built again.
        saved.tools.clear();
        saved.next_tool = tools.first().map_or(saved.next_tool, |tool| tool.id);
        let now_ns = self.scene.changed_ns();
        let no_field = |_: &str, _: &Surface, _: &FieldOptions| unreachable!("there is no tool");
        let copy =
            Scene::restored::<Field, NotAScene>(saved, scene.limits().clone(), now_ns, no_field);
        let copy = copy.map_err(|e| Failure::new(PALPATE_INTERNAL, e.to_string()))?;
        tools.iter().for_each(|tool| copy.share_tool(Arc::clone(tool)));
        LocalServer { scenes: Arc::clone(&self.scenes), epoch: *epoch }.put(copy)
    }

    fn add_tissue(&self, tissue: &TissueUpload) -> Result<Added, Failure> {
        self.scene.check()?;
        let name = named("name", &tissue.name)?;
        let kind = match tissue.options.kind() {
            proto::TissueKind::ForbiddenRegion => TissueKind::ForbiddenRegion,
            _ => TissueKind::Tissue,
        };
        let orientation = match tissue.options.orientation() {
            SurfaceOrientation::AsWound => Orientation::AsWound,
            _ => Orientation::Auto,
        };
        let TissueUpload { fill_holes_m, weld_m, .. } = *tissue;
        let options = LoadOptions { orientation, fill_holes_m, weld_m, ..LoadOptions::default() };
        let bounded = match (&tissue.mesh, &tissue.binding) {
            (None, Some(binding)) => Some(boundary(binding)?),
            _ => None,
        };
        let mesh = tissue.mesh.as_ref().or(bounded.as_ref());
        let mesh = mesh.ok_or_else(|| Failure::argument("mesh is NULL".to_owned()))?;
        let loaded = loaded(mesh, options)?;
        let warnings = loaded.report.warnings();
        let (scene, now_ns) = (&self.scene.scene, self.scene.now_ns());
        let options = TissueOptions::default();
        let mut made = Tissue::new((name.to_owned(), kind), loaded, options, now_ns);
        if let Some(binding) = &tissue.binding {
            made.bind(bound(binding, &made, tissue.mesh.is_none())?);
        }
        Ok(Added { id: scene.put_tissue(made).map_err(of_scene)?.id().0, warnings })
    }

    fn add_tool(
        &self,
        name: &str,
        links: Vec<LinkUpload>,
        probes: Vec<Probe>,
    ) -> Result<Added, Failure> {
        self.scene.check()?;
        let (scene, limit) = (&self.scene.scene, self.scene.scene.limits().links_per_tool);
        let name = named("name", name)?.to_owned();
        if !(1..=limit).contains(&links.len()) {
            let got = links.len();
            return Err(Failure::argument(format!("there are {got} links, expected 1 to {limit}")));
        }
        for (at, link) in links.iter().enumerate() {
            named("link.name", &link.name)?;
            if links[..at].iter().any(|other| other.name == link.name) {
                return Err(Failure::argument(format!("two links are named {:?}", link.name)));
            }
        }
        for (at, probe) in probes.iter().enumerate() {
            named("probe.name", &probe.name)?;
            if probes[..at].iter().any(|other| other.name == probe.name) {
                return Err(Failure::argument(format!("two probes are named {:?}", probe.name)));
            }
        }
        // Checked before the fields are built, which takes seconds.
        scene.check_room_for_tool(&name).map_err(of_scene)?;
        let building = self.scene.builds.begin(&name);
        let mut warnings = Vec::new();
        let build = |link: &LinkUpload| {
            let rest = match &link.rest_pose {
                Some(sent) => {
                    of_the_wire(sent).ok_or_else(|| Failure::argument("rest_pose is no pose"))?
                }
                None => Pose::IDENTITY,
            };
            let LinkUpload { fill_holes_m, weld_m, .. } = *link;
            let options = LoadOptions { fill_holes_m, weld_m, ..LoadOptions::default() };
            let loaded = loaded(&link.mesh, options)?;
            warnings.extend(loaded.report.warnings());
            Ok(Link::new(link.name.clone(), loaded, rest, |surface| building.field(surface)))
        };
        let links = links.iter().map(build).collect::<Result<Vec<_>, Failure>>()?;
        let added = scene.add_tool(ToolParts { name, links, probes });
        Ok(Added { id: added.map_err(of_scene)?.id.0, warnings })
    }

    fn field_progress(&self, tool: &str) -> Result<Option<f64>, Failure> {
        self.scene.check()?;
        Ok(self.scene.builds.progress(tool))
    }

    fn remove_tissue(&self, tissue: u32) -> Result<(), Failure> {
        self.scene.check()?;
        self.scene.scene.remove_tissue(TissueId(tissue)).map_err(of_scene)
    }

    fn remove_tool(&self, tool: u32) -> Result<(), Failure> {
        self.scene.check()?;
        self.scene.scene.remove_tool(ToolId(tool)).map_err(of_scene)
    }

    fn limits(&self) -> Limits {
        self.scene.scene.limits().clone()
    }

    fn size(&self, tissue: u32, _: &dyn Fn(TissueSize) -> bool) -> Result<TissueSize, Failure> {
        self.scene.check()?;
        let now = self.scene.scene.tissue(TissueId(tissue)).map_err(of_scene)?.current();
        let mesh = now.surface.mesh();
        let controls = now.driven.as_ref().map(|driven| &driven.controls);
        Ok(TissueSize {
            vertices: mesh.positions().len(),
            triangles: mesh.n_triangles(),
            controls: controls.map_or(0, |controls| controls.len()),
            are_frames: controls.is_some_and(|controls| controls.are_frames()),
        })
    }

    fn deform(&self, tissue: u32, moved: Moved) -> Result<u64, Failure> {
        self.scene.check()?;
        let tissue = self.scene.scene.tissue(TissueId(tissue)).map_err(of_scene)?;
        let deformed = match moved {
            Moved::Vertices(deformation) => tissue.deform(deformation, self.scene.changed_ns()),
            Moved::Controls(controls) => tissue.drive(&controls, self.scene.changed_ns()),
        };
        let deformed = deformed.map_err(|e| Failure::argument(format!("the deformation {e}")))?;
        self.scene.scene.join_borders(&tissue);
        tissue.catch_up();
        let _ = (0..SEARCH_SLICES).any(|_| tissue.search_crossings());
        Ok(deformed.geometry_revision)
    }

    fn export_tissue(&self, tissue: u32) -> Result<ExportedTissue, Failure> {
        self.scene.check()?;
        let now = self.scene.scene.tissue(TissueId(tissue)).map_err(of_scene)?.current();
        let mesh = now.surface.mesh();
        Ok(ExportedTissue {
            geometry_revision: now.geometry_revision,
            topology_revision: now.topology_revision,
            positions_m: mesh.positions().iter().flat_map(|p| p.to_array()).collect(),
            triangle_ids: mesh.triangle_ids().map(|t| t.0).collect(),
            triangles: mesh.triangle_ids().flat_map(|t| mesh.vertices(t)).collect(),
        })
    }

    fn mesh_report(&self, of: Meshed) -> Result<palpate_mesh_report, Failure> {
        self.scene.check()?;
        let scene = &self.scene.scene;
        let report = match of {
            Meshed::Tissue(id) => scene.tissue(TissueId(id)).ok().map(|t| t.report().into()),
            Meshed::Link { tool, link } => {
                let tool = scene.tool(ToolId(tool)).ok();
                tool.and_then(|t| t.links.get(link as usize).map(|link| (&link.report).into()))
            }
        };
        report.ok_or_else(|| of.unknown(self.scene.id()))
    }

    fn cut(&self, tissue: u32, cut: TopologyEdit) -> Result<palpate_cut_made, Failure> {
        self.scene.check()?;
        let LocalScene { scene, .. } = &*self.scene;
        let tissue = scene.tissue(TissueId(tissue)).map_err(of_scene)?;
        let made = tissue.edit(cut, scene.limits(), self.scene.changed_ns());
        let made = made.map_err(|e| Failure::argument(e.to_string()))?;
        scene.join_borders(&tissue);
        tissue.catch_up();
        let TriangleId(first_triangle) = made.first_triangle;
        Ok(palpate_cut_made {
            topology_revision: made.topology_revision,
            first_vertex: made.first_vertex,
            first_triangle,
        })
    }

    fn cut_along(&self, tissue: u32, line: Incision) -> Result<CutAlong, Failure> {
        self.scene.check()?;
        let found = self.scene.scene.tissue(TissueId(tissue)).map_err(of_scene)?;
        let Incised { edit, left, right, .. } =
            found.incised(&line).map_err(|e| Failure::argument(e.to_string()))?;
        Ok(CutAlong { made: self.cut(tissue, edit)?, left, right })
    }

    fn nearest(
        &self,
        tissue: Option<u32>,
        points: &[DVec3],
    ) -> Result<Vec<palpate_surface_point>, Failure> {
        self.scene.check()?;
        let far = |p: &DVec3| !(p.is_finite() && p.abs().max_element() <= COORDINATE_MAX_M);
        if let Some(at) = points.iter().position(far) {
            let got = points[at];
            let message = format!("point {at} is {got}, expected coordinates within 10,000 m");
            return Err(Failure::argument(message));
        }
        let scene = &self.scene.scene;
        let tissues = scene.tissues();
        let now: Vec<_> = tissues.iter().map(|tissue| (tissue.id(), tissue.current())).collect();
        let target = match tissue {
            Some(id) => {
                let unknown = SceneError::Unknown { kind: "tissue", id };
                let place = now.iter().position(|(tissue, _)| tissue.0 == id);
                QueryTarget::Tissue(&now, place.ok_or(unknown).map_err(of_scene)?)
            }
            None => QueryTarget::Tissues(&now),
        };
        let endless = &TimeLeft::endless();
        let found = distances(&target, points, f64::INFINITY, endless);
        let found = found.expect("time that never ends");
        let point = |found: &Distance<NearestSurface>| match found {
            Distance::Within(near) => palpate_surface_point::of(near),
            Distance::Beyond(bound) => {
                palpate_surface_point { signed_distance_m: *bound, ..Default::default() }
            }
        };
        Ok(found.iter().map(point).collect())
    }

    fn set_feel(&self, tissue: u32, feel: Option<Feel>) -> Result<u64, Failure> {
        self.scene.check()?;
        let tissue = self.scene.scene.tissue(TissueId(tissue)).map_err(of_scene)?;
        let set = tissue.set_feel(feel, self.scene.changed_ns());
        let revision = set.map_err(|error| Failure::argument(error.to_string()))?;
        tissue.catch_up();
        Ok(revision)
    }

    fn hold(&self, tissue: u32) -> Result<u64, Failure> {
        self.scene.check()?;
        let tissue = self.scene.scene.tissue(TissueId(tissue)).map_err(of_scene)?;
        Ok(*tissue.hold().last().expect("the newest is held"))
    }

    fn self_collisions(
        &self,
        tissues: &[Interval],
        options: &SelfCollisionOptions,
    ) -> Result<(Vec<palpate_self_contact>, usize), Failure> {
        self.scene.check()?;
        let found = self_collisions(&self.scene.scene, tissues, options, &|| false);
        let found = found.map_err(|error| match error {
            SelfCollisionError::Scene(error) => of_scene(error),
            error => Failure::argument(error.to_string()),
        })?;
        let n_found = found.totals.iter().sum::<u64>() as usize;
        Ok((found.contacts.iter().map(self_contact_of_engine).collect(), n_found))
    }

    fn contacts(&self, posed: &PosedTool) -> Result<Touched, Failure> {
        self.scene.check()?;
        let scene = &self.scene.scene;
        let tool = scene.tool(ToolId(posed.tool)).map_err(of_scene)?;
        let (got, expected) = (posed.links.len(), tool.links.len());
        if got != 0 && got != expected {
            let message = format!("there are {got} poses of links, expected {expected}");
            return Err(Failure::argument(message));
        }
        let options = palpate_session_options {
            contact_margin_m: posed.contact_margin_m,
            ..Default::default()
        };
        let options = session::tick_options(&options, &tool)?;
        let pose = ToolPose {
            tool: tool.id,
            scene_from_tool: posed.pose,
            tool_from_link: posed.links.clone(),
            teleport: false,
        };
        let mut forbidden = Vec::new();
        scene.forbidden_regions(&mut forbidden);
        let of = |error: &dyn std::fmt::Display| Failure::argument(error.to_string());
        let mut asked = Session::new(Arc::clone(scene), &[tool.id], options).map_err(|e| of(&e))?;
        let answer = asked.tick(1, &[pose], self.scene.now_ns(), &TimeLeft::endless());
        Ok(Touched::of_engine(answer.map_err(|e| of(&e))?, &forbidden))
    }

    fn open_session(&self, options: &palpate_session_options) -> Result<Opened, Failure> {
        self.scene.check()?;
        let render = super::remote::render_options(options);
        let servo = palpate::client::local_model::servo_options(&render);
        let (mut servo, feed) =
            device_servo(servo).map_err(|e| Failure::argument(e.to_string()))?;
        let tool = self.scene.scene.tool(ToolId(options.tool_id)).map_err(of_scene)?;
        servo.rest_at(tool.links.iter().map(|link| link.rest));
        let running = LocalSession::open(&self.scene, options, &render, feed)?;
        Ok(Opened { n_links: tool.links.len(), servo, running: Box::new(running) })
    }
}

impl Running for LocalSession {
    fn now_ns(&self) -> u64 {
        self.scene().now_ns()
    }

    fn tick(&self, pose: &Pose, links: &[Pose], at_ns: u64) -> Result<(), Failure> {
        self.check()?;
        self.scene().stepped_ns.store(at_ns, Ordering::Relaxed);
        self.step(pose, links, at_ns)
    }

    fn read_newest(&self, read: &mut dyn FnMut(&Snapshot)) {
        self.read_seen(read);
    }

    fn state(&self) -> Option<palpate_render_state> {
        self.state_now()
    }

    fn status(&self) -> palpate_session_status {
        // The next `check` reports a refused pose.
        let is_open = self.scene().check().is_ok().into();
        palpate_session_status { is_open, age_s: self.age_s(), ..Default::default() }
    }

    fn check(&self) -> Result<(), Failure> {
        self.scene().check()?;
        self.failure()
    }
}

fn checked_id(id: &str) -> Result<(), Failure> {
    let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if (1..=NAME_CHARS_MAX).contains(&id.len()) && id.chars().all(is_good) {
        return Ok(());
    }
    Err(Failure::argument(format!("scene_id is {id:?}, expected 1 to 64 of a-z, 0-9 and '-'")))
}

fn named<'a>(field: &str, name: &'a str) -> Result<&'a str, Failure> {
    match name.chars().count() {
        1..=NAME_CHARS_MAX => Ok(name),
        n => Err(Failure::argument(format!(
            "{field} has {n} characters, expected 1 to {NAME_CHARS_MAX}"
        ))),
    }
}

fn loaded(mesh: &MeshSource, options: LoadOptions) -> Result<LoadedMesh, Failure> {
    let loaded = load(mesh, options).map_err(|e| Failure::argument(e.to_string()))?;
    let (limits, report) = (Limits::default(), &loaded.report);
    for (what, got, most) in [
        ("vertices", report.vertices, limits.vertices_per_mesh),
        ("triangles", report.triangles, limits.triangles_per_mesh),
    ] {
        if got > most {
            return Err(Failure::argument(format!(
                "the mesh has {got} {what}, expected at most {most}"
            )));
        }
    }
    Ok(loaded)
}

fn of_scene(error: SceneError) -> Failure {
    let code = match &error {
        SceneError::NameTaken { .. } => PALPATE_ALREADY_EXISTS,
        SceneError::Full { .. } => PALPATE_REFUSED,
        SceneError::Unknown { .. } => PALPATE_NOT_FOUND,
    };
    Failure::new(code, error.to_string())
}
