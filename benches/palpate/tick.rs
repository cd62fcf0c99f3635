//! P8: a whole tick in the engine: a dental probe dragged through a liver of 70 k triangles with about 24 contacts,
//! four probe points, the sweep on; compared with parry3d's contact manifolds of the same two meshes and its
//! projections of the same four points, which return less.
//!
//! The floor of such a tick is `still_us`, of a tool that stands: earlier proofs hold, each contact is read again and
//! exactly, and contacts are searched for only about the tool's open tip. The rest is the search for deepest points,
//! because no proof within the field's tolerance survives 80 um a tick. The target of 25 us would take reads of a dense
//! grid, 0.026 us, 27 for each of five triangles that are entered, and 20 GB for the grid (P3).

use std::{hint::black_box, sync::Arc};

use glam::{DMat3, DQuat, DVec3};
use palpate::{
    geometry::{LoadedMesh, Pose, TriangleMesh},
    oracle::brute_force::nearest,
    proxy::{RenderOptions, RenderedSession},
    scene::{
        Distance, Limits, Link, Probe, Scene, Tissue, TissueOptions, Tool, ToolParts,
        tick::{Session, TickOptions, ToolPose, answer::TickAnswer},
        tool::field::field_of,
    },
    sdf::FieldOptions,
    surface::Surface,
    time_left::TimeLeft,
};
use parry3d::{
    query::{
        ContactManifold, DefaultQueryDispatcher, PersistentQueryDispatcher, PointQueryWithLocation,
    },
    shape::{TriMesh, TriMeshFlags},
};

use crate::{
    counting::calls_during,
    inputs::{self, FILLED_PROBE, PARRY, TOOLS, liver, parry, vector},
    run::{Figures, Run, Timed},
    turns::{Effort, by_turns},
};

/// Contacts that the depth is controlled to.
const CONTACTS: usize = 24;
/// Steps of a tip at 1 kHz along the surface and into it, metres.
const STEP_M: f64 = 8e-5;
const PRESS_M: f64 = 1e-5;
/// Greatest depth, however few contacts there are, metres.
const DEPTH_MAX_M: f64 = 2e-3;
/// Probe points: the tip and some up the shaft, metres.
const PROBES_M: [f64; 4] = [0.0, 0.002, 0.004, 0.006];
/// Tolerance of the field in a smoke run, as a share of the tool's diagonal.
pub const SMOKE_TOLERANCE: f64 = 5e-3;
/// Largest difference between brute force and the tick, metres: rounding of coordinates to `f32`.
const ROUNDING_M: f64 = 1e-7;
/// Ticks whose answers are compared with brute force.
const BRUTE: usize = 8;
/// Ticks at each pose that measure the cost of standing.
const STANDS: usize = 8;

/// Prints a line for each tool.
pub fn run(run: &mut Run) {
    let (name, loaded) = liver(run.effort);
    let n = run.effort.of(400, 100);
    for tool in [&TOOLS[0], &FILLED_PROBE] {
        let stage = Stage::new(run.effort, loaded.clone(), tool, n);
        stage.print(run, "P8", &format!("{}/{name}", tool.name));
    }
}

/// A tool on its way through a tissue.
pub struct Stage {
    scene: Arc<Scene>,
    tissue: Arc<Tissue>,
    pub tool: Arc<Tool>,
    /// Probe points, tool frame.
    points: Vec<DVec3>,
    pub way: Vec<[ToolPose; 1]>,
    peer_tissue: TriMesh,
    peer_tool: TriMesh,
}

impl Stage {
    /// Creates a stage with a way of `n` ticks.
    pub fn new(effort: Effort, tissue: LoadedMesh, tool: &inputs::Tool, n: usize) -> Stage {
        let (_, loaded) = tool.load(effort);
        let flags = TriMeshFlags::ORIENTED;
        let (peer_tissue, peer_tool) = (parry(&tissue.mesh, flags), parry(&loaded.mesh, flags));
        let scene = Arc::new(Scene::new("bench".to_owned(), Limits::default()));
        let (tip, axis) = tip(&loaded.mesh);
        let points: Vec<DVec3> = PROBES_M.iter().map(|up| tip - axis * *up).collect();
        let probe = |(i, at): (usize, &DVec3)| Probe {
            name: format!("{i}"),
            link: 0,
            position: *at,
            radius: 0.0,
        };
        let tolerance_m = SMOKE_TOLERANCE * loaded.mesh.used_box().diagonal();
        let tolerance_m = effort.of(None, Some(tolerance_m));
        let options = FieldOptions { tolerance_m, ..FieldOptions::default() };
        let field = |surface: &Surface| field_of(surface, &options);
        let parts = ToolParts {
            name: tool.name.to_owned(),
            links: vec![Link::new("link".to_owned(), loaded, Pose::IDENTITY, field)],
            probes: points.iter().enumerate().map(probe).collect(),
        };
        let tool = scene.add_tool(parts).expect("room");
        let tissue = scene.add_tissue("organ", tissue, TissueOptions::default(), 0).expect("room");
        let way = Vec::new();
        let mut stage = Stage { scene, tissue, tool, points, way, peer_tissue, peer_tool };
        stage.way = stage.drag(n, tip, axis);
        stage
    }

    /// Checks, measures and prints.
    pub fn print(&self, run: &mut Run, measure: &str, case: &str) {
        let mut session = self.session(TickOptions::default());
        let (mut contacts, mut checksum, mut swept) = (0, 0.0, 0);
        for (i, poses) in self.way.iter().enumerate() {
            let answer =
                session.tick(i as u64 + 1, poses, 0, &TimeLeft::endless()).expect("accepted");
            contacts += answer.links[0].contacts_total;
            swept += usize::from(answer.flags.swept);
            checksum += answer.links[0].contacts.iter().map(|c| c.signed_distance_m).sum::<f64>();
            if i % (self.way.len() / BRUTE) == 0 {
                self.check(case, &poses[0].scene_from_tool, answer);
            }
        }
        let everything = TickOptions::default();
        let options = [
            everything.clone(),
            TickOptions { sweep: false, ..everything.clone() },
            TickOptions { probes: false, ..everything.clone() },
            TickOptions { contacts: false, sweep: false, ..everything },
        ];
        let mut loops = options.map(|o| ThereAndBack::new(self.session(o), &self.way));
        let calls = calls_during(|| loops[0].go());
        let halting: Vec<_> =
            self.way.iter().flat_map(|p| std::iter::repeat_n(p.clone(), STANDS)).collect();
        let mut halting = ThereAndBack::new(self.session(TickOptions::default()), &halting);
        let [all, no_sweep, no_probes, distance_only] = &mut loops;
        let [all, no_sweep, no_probes, distance_only, halting, peer] = by_turns(
            run.effort,
            self.way.len(),
            [
                &mut || all.go(),
                &mut || no_sweep.go(),
                &mut || no_probes.go(),
                &mut || distance_only.go(),
                &mut || halting.go(),
                &mut || self.peer_ticks(),
            ],
        );
        let stage = |name: &str, with: f64, without: f64| {
            format!("{name}_us={}", Figures((with - without).max(0.0)))
        };
        let text = format!(
            "{} peer={PARRY}-manifolds {} ratio={:.2} contacts={:.1} swept={swept}/{} {} {} {} {} \
             still_us={} allocator_calls={calls}",
            Timed("ours", &all),
            Timed("peer", &peer),
            peer.p50 / all.p50,
            contacts as f64 / self.way.len() as f64,
            self.way.len(),
            stage("sweep", all.p50, no_sweep.p50),
            stage("probes", all.p50, no_probes.p50),
            stage("contacts", no_sweep.p50, distance_only.p50),
            stage("distance", distance_only.p50, all.p50 - no_probes.p50),
            Figures((halting.p50 - all.p50) / (STANDS - 1) as f64),
        );
        run.line(measure, case, checksum, text);
    }

    pub fn session(&self, options: TickOptions) -> Session {
        Session::new(Arc::clone(&self.scene), &[self.tool.id], options).expect("the tool is there")
    }

    pub fn rendered(&self, options: TickOptions, render: &[RenderOptions]) -> RenderedSession {
        let scene = Arc::clone(&self.scene);
        RenderedSession::new(scene, &[self.tool.id], options, render).expect("the tool is there")
    }

    /// Returns the direction from the probes up the shaft to the tip, unit, tool frame.
    pub fn way_in(&self) -> DVec3 {
        (self.points[0] - self.points[1]).normalize()
    }

    /// Compares the distances of probes, and of the two points of each contact, with brute force.
    fn check(&self, case: &str, scene_from_tool: &Pose, answer: &TickAnswer) {
        let current = self.tissue.current();
        let tissue = current.surface.mesh();
        let tool = self.tool.links[0].surface.mesh();
        let tool_from_scene = scene_from_tool.inverse();
        let same = |got: f64, exact: f64| (got.abs() - exact).abs() <= ROUNDING_M;
        for (probe, at) in answer.probes.iter().zip(&self.points) {
            let exact = nearest(tissue, scene_from_tool.point(*at)).expect("a tissue").distance;
            let Distance::Within(found) = &probe.distance else { panic!("{case}: {probe:?}") };
            assert!(same(found.signed_distance_m, exact), "{case}: {found:?}, {exact}");
        }
        for contact in answer.links[0].contacts.iter().filter(|c| !c.left_behind) {
            let (own, other) = (contact.on_tool.position, contact.on_tissue.position);
            let got = contact.signed_distance_m;
            let to_tool = nearest(tool, tool_from_scene.point(other)).expect("a tool").distance;
            let to_tissue = nearest(tissue, own).expect("a tissue").distance;
            let is_so =
                same(got, own.distance(other)) && (same(got, to_tool) || same(got, to_tissue));
            assert!(is_so, "{case}: {contact:?}, {to_tool}, {to_tissue}");
        }
    }

    fn peer_ticks(&self) {
        let (mut manifolds, mut workspace) = (Vec::<ContactManifold<(), ()>>::new(), None);
        let margin = TickOptions::default().contact_margin_m as f32;
        for poses in &self.way {
            let pose = &poses[0].scene_from_tool;
            let (axis, angle) = DQuat::from_mat3(&pose.rotation).to_axis_angle();
            let pose12 = parry3d::math::Pose::new(
                vector(&pose.translation.as_vec3()),
                vector(&(axis * angle).as_vec3()),
            );
            let (a, b) = (&self.peer_tissue, &self.peer_tool);
            DefaultQueryDispatcher
                .contact_manifolds(&pose12, a, b, margin, &mut manifolds, &mut workspace)
                .expect("two meshes");
            for p in &self.points {
                let at = vector(&pose.point(*p).as_vec3());
                black_box(self.peer_tissue.project_local_point_and_get_location(at, false));
            }
            black_box(&manifolds);
        }
    }

    /// Returns poses along the organ's waist, at a depth that keeps about [`CONTACTS`].
    fn drag(&self, n: usize, tip: DVec3, axis: DVec3) -> Vec<[ToolPose; 1]> {
        let mut session =
            self.session(TickOptions { sweep: false, probes: false, ..TickOptions::default() });
        let current = self.tissue.current();
        let surface = &current.surface;
        let bounds = surface.bounds();
        let radius = 0.35 * bounds.size().max_element();
        let mut depth = 0.0;
        let mut sequence = 0;
        let mut place = |i: usize| {
            let (sin, cos) = (i as f64 * STEP_M / radius).sin_cos();
            let from = bounds.centre() + DVec3::new(cos, sin, 0.3 * sin * cos) * radius;
            let near = surface.signed_distance(from, f64::INFINITY, None).expect("a surface");
            let outwards = (from - bounds.centre()).normalize();
            let rotation = DMat3::from_quat(DQuat::from_rotation_arc(axis, -outwards));
            let to = near.closest.point - outwards * depth;
            let scene_from_tool = Pose { rotation, translation: to - rotation * tip };
            let (tool, tool_from_link) = (self.tool.id, Vec::new());
            let pose = [ToolPose { tool, scene_from_tool, tool_from_link, teleport: false }];
            sequence += 1;
            let answer = session.tick(sequence, &pose, 0, &TimeLeft::endless()).expect("accepted");
            let press = CONTACTS as f64 - answer.links[0].contacts_total as f64;
            depth = (depth + PRESS_M * press.clamp(-1.0, 1.0)).clamp(-DEPTH_MAX_M, DEPTH_MAX_M);
            pose
        };
        // The first steps stay in place until the depth is found.
        (0..300).for_each(|_| drop(place(0)));
        (0..n).map(place).collect()
    }
}

/// A session that goes along a way and back, so that each turn begins where the last one ended.
pub struct ThereAndBack<'a> {
    session: Session,
    way: &'a [[ToolPose; 1]],
    sequence: u64,
    turns: usize,
}

impl ThereAndBack<'_> {
    /// Starts after two turns, so that buffers have grown.
    pub fn new(session: Session, way: &[[ToolPose; 1]]) -> ThereAndBack<'_> {
        let mut warm = ThereAndBack { session, way, sequence: 0, turns: 0 };
        (0..2).for_each(|_| warm.go());
        warm
    }

    pub fn go(&mut self) {
        for i in 0..self.way.len() {
            let at = if self.turns.is_multiple_of(2) { i } else { self.way.len() - 1 - i };
            self.sequence += 1;
            let answer = self.session.tick(self.sequence, &self.way[at], 0, &TimeLeft::endless());
            black_box(answer.expect("accepted"));
        }
        self.turns += 1;
    }
}

/// Returns the end of a tool on its longest side, and the direction in which it points.
pub fn tip(mesh: &TriangleMesh) -> (DVec3, DVec3) {
    let size = mesh.used_box().size();
    let k = (0..3).max_by(|i, j| size[*i].total_cmp(&size[*j])).expect("three");
    let vertices = mesh.triangle_ids().flat_map(|t| mesh.triangle(t));
    let tip = vertices.min_by(|p, q| p[k].total_cmp(&q[k])).expect("a vertex");
    (tip, -DVec3::AXES[k])
}
