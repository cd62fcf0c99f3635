//! Driven tissues over the wire: their controls are uploaded, moved, cut around, and bear the loads.

use glam::{DQuat, DVec3, Vec3};
use palpate::{
    config::Config,
    oracle::{Random, shapes},
    proto::{
        AddTissueHeader, AddTissueRequest, BindingChunk, BindingHeader, ControlKind, ControlMove,
        DeformRequest, EditTopologyRequest, ExportTissueResponse, RenderOptions, TrackMode,
        TrackStart, add_tissue_request, deform_request::Positions, export_tissue_response,
    },
    scene::Limits,
    service::replay::replay_recording,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;

use super::renderings::{at, only, press};
use crate::{
    cells::grid,
    recordings::equal::{ALL, ended, file_of, recording_server},
    seed::{Seed, scaled},
    support::{
        folder::Folder,
        meshes::{Mesh, wire},
        messages::{
            SCENE, dense, start, start_message, tick_message, tissue_head, tissue_header,
            tissue_piece, tool_head, tool_header, tool_piece,
        },
        process::Process,
        refusal::assert_refused,
        server::{Seen, TestServer, positions, tissue, with_kept_fields},
    },
};

/// Binds each vertex to two points: half to its own place, half to the origin at rest.
fn halves(mesh: &Mesh) -> (BindingHeader, BindingChunk) {
    let n = mesh.positions.len() as u32 / 3;
    let mut rest = vec![0.0; 3];
    rest.extend(mesh.positions.iter().map(|x| 2.0 * x));
    let chunk = BindingChunk {
        rest,
        weights_per_vertex: vec![2; n as usize],
        controls: (0..n).flat_map(|v| [0, v + 1]).collect(),
        weights: vec![0.5; 2 * n as usize],
        ..BindingChunk::default()
    };
    let kind = ControlKind::Points.into();
    (BindingHeader { kind, controls: n + 1, weights: 2 * n, ..BindingHeader::default() }, chunk)
}

/// Binds all vertices to one frame.
fn rigid(mesh: &Mesh, frame: [f32; 7]) -> (BindingHeader, BindingChunk) {
    let n = mesh.positions.len() / 3;
    let chunk = BindingChunk {
        rest: frame.to_vec(),
        weights_per_vertex: vec![1; n],
        controls: vec![0; n],
        weights: vec![1.0; n],
        ..BindingChunk::default()
    };
    let kind = ControlKind::Frames.into();
    (BindingHeader { kind, controls: 1, weights: n as u32, ..BindingHeader::default() }, chunk)
}

fn piece(chunk: BindingChunk) -> AddTissueRequest {
    AddTissueRequest { message: Some(add_tissue_request::Message::Binding(chunk)) }
}

fn upload(mesh: &Mesh, (header, chunk): (BindingHeader, BindingChunk)) -> Vec<AddTissueRequest> {
    let header = AddTissueHeader { binding: Some(header), ..tissue_header("liver", mesh) };
    vec![tissue_head(header), piece(chunk), tissue_piece(mesh.chunk())]
}

fn controls(sequence: u64, control_ids: &[u32], state: &[f32]) -> DeformRequest {
    let moved = ControlMove { control_ids: control_ids.to_vec(), state: state.to_vec() };
    DeformRequest { positions: Some(Positions::Controls(moved)), ..dense(sequence, &[]) }
}

#[tokio::test]
async fn controls_are_told_and_move_what_they_carry() {
    let mut server = TestServer::with_scene().await;
    let mesh = tissue();
    let added = server.add_tissue(upload(&mesh, halves(&mesh))).await.expect("a tissue");
    assert_eq!(added.binding_error_m, 0.0);
    let seen = server.seen().await;
    let described = &seen.scene.tissues[0];
    assert_eq!((described.controls, described.control_kind()), (7, ControlKind::Points));
    assert_eq!(positions(&seen.surfaces[0]), mesh.positions);
    // The common control carries all vertices by half of its way, the others one each.
    let common = controls(1, &[0], &[0.02, 0.0, 0.0]);
    let own = controls(2, &[4, 1], &[0.0, -0.3, 0.0, 0.4, 0.0, 0.0]);
    for (request, touched) in [(common, 8), (own, 6)] {
        let done = server.deform(vec![request]).await.remove(0).expect("good");
        assert_eq!(done.triangles_touched, touched);
    }
    let mut expected: Vec<f32> =
        mesh.positions.chunks(3).flat_map(|p| [p[0] + 0.01, p[1], p[2]]).collect();
    expected[9..12].copy_from_slice(&[0.01, -0.15, 0.0]);
    expected[0..3].copy_from_slice(&[0.21, 0.0, 0.0]);
    let got = positions(&server.seen().await.surfaces[0]);
    assert!(got.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-7), "{got:?}");
}

#[tokio::test]
async fn a_frame_moves_a_rigid_body_by_one_pose() {
    let mut server = TestServer::with_scene().await;
    let mesh = tissue();
    let frame = [0.01, 0.02, 0.03, 0.0, 0.0, 0.0, 1.0];
    server.add_tissue(upload(&mesh, rigid(&mesh, frame))).await.expect("a bone");
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let request = controls(1, &[], &[0.11, 0.02, 0.03, 0.0, 0.0, half, half]);
    server.deform(vec![request]).await.remove(0).expect("good");
    let seen = server.seen().await;
    assert_eq!(seen.scene.tissues[0].control_kind(), ControlKind::Frames);
    let turn = DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2);
    let at = DVec3::new(0.01, 0.02, 0.03);
    for (got, rest) in positions(&seen.surfaces[0]).chunks(3).zip(mesh.positions.chunks(3)) {
        let rest = DVec3::new(rest[0].into(), rest[1].into(), rest[2].into());
        let expected = turn * (rest - at) + at + DVec3::X * 0.1;
        let got = DVec3::new(got[0].into(), got[1].into(), got[2].into());
        assert!((got - expected).length() < 2e-8, "{got} for {expected}");
    }
}

/// A binding to cells, in two pieces.
fn to_cells(nodes: &[Vec3], hexahedra: &[[u32; 8]]) -> (BindingHeader, Vec<AddTissueRequest>) {
    let (controls, kind) = (nodes.len() as u32, ControlKind::Points.into());
    let hexahedra = hexahedra.as_flattened();
    let header = BindingHeader {
        kind,
        controls,
        hexahedra: hexahedra.len() as u32 / 8,
        ..BindingHeader::default()
    };
    let (first, second) = hexahedra.split_at(11);
    let rest = nodes.iter().flat_map(|p| p.to_array()).collect();
    let chunk = |rest, hexahedra: &[u32]| {
        piece(BindingChunk { rest, hexahedra: hexahedra.to_vec(), ..BindingChunk::default() })
    };
    (header, vec![chunk(rest, first), chunk(Vec::new(), second)])
}

#[tokio::test]
async fn a_surface_is_bound_to_the_cells_of_a_volume_mesh() {
    let mut server = TestServer::with_scene().await;
    let mut random = Random::new(7);
    let (nodes, hexahedra) = grid(4, 0.003, &mut random);
    let mesh = wire(&shapes::sphere(0.06, 8));
    let (binding, pieces) = to_cells(&nodes, &hexahedra);
    let header = AddTissueHeader { binding: Some(binding), ..tissue_header("liver", &mesh) };
    let upload = [vec![tissue_head(header)], pieces, vec![tissue_piece(mesh.chunk())]].concat();
    let added = server.add_tissue(upload).await.expect("a tissue");
    let outside = |p: &&[f32]| p.iter().any(|x| x.abs() > 0.054);
    assert!(added.vertices_outside as usize >= mesh.positions.chunks(3).filter(outside).count());
    assert!((0.005..0.015).contains(&added.outside_max_m), "{added:?}");
    assert!(added.weight_min < 0.0 && added.binding_error_m < 1e-8, "{added:?}");
    // Barycentric weights, extended or not, carry affine motions exactly.
    let affine = |p: DVec3| DVec3::new(p.x + 0.2 * p.y, 0.9 * p.y - 0.1 * p.z, 1.1 * p.z + 0.02);
    let moved: Vec<f32> =
        nodes.iter().flat_map(|p| affine(p.as_dvec3()).as_vec3().to_array()).collect();
    server.deform(vec![controls(1, &[], &moved)]).await.remove(0).expect("good");
    for (got, rest) in
        positions(&server.seen().await.surfaces[0]).chunks(3).zip(mesh.positions.chunks(3))
    {
        let expected = affine(Vec3::from_slice(rest).as_dvec3());
        let got = Vec3::from_slice(got).as_dvec3();
        assert!(got.distance(expected) < 1e-7, "{got} for {expected}");
    }
}

#[tokio::test]
async fn the_boundary_of_cells_is_a_surface_of_their_nodes() {
    let mut server = TestServer::with_scene().await;
    let (nodes, hexahedra) = grid(4, 0.003, &mut Random::new(8));
    let (binding, pieces) = to_cells(&nodes, &hexahedra);
    let header =
        AddTissueHeader { binding: Some(binding), mesh: None, ..tissue_header("liver", &tissue()) };
    let chunk = tissue_piece(tissue().chunk());
    let with_mesh = [vec![tissue_head(header.clone())], pieces.clone(), vec![chunk]].concat();
    let refused = server.add_tissue(with_mesh).await;
    assert_refused(
        refused,
        Code::InvalidArgument,
        "chunk.positions",
        "a mesh that was not declared",
    );
    let added = server.add_tissue([vec![tissue_head(header)], pieces].concat()).await;
    let added = added.expect("a tissue");
    assert_eq!((added.vertices_outside, added.binding_error_m), (0, 0.0));
    let report = added.report.expect("a report");
    // Six sides of 4 x 4 quadrilaterals.
    assert_eq!((report.triangles, report.vertices, report.open_edges), (192, 125, 0));
    let at_rest: Vec<f32> = nodes.iter().flat_map(|p| p.to_array()).collect();
    assert_eq!(positions(&server.seen().await.surfaces[0]), at_rest);
    server.deform(vec![controls(1, &[124], &[0.06, 0.06, 0.06])]).await.remove(0).expect("good");
    assert_eq!(positions(&server.seen().await.surfaces[0])[3 * 124..], [0.06; 3]);
}

#[tokio::test]
async fn what_does_not_fit_is_refused_with_its_field_and_changes_nothing() {
    let limits = Limits { vertices_per_mesh: 50, ..Limits::default() };
    let mut server = TestServer::empty(limits).await;
    server.create(SCENE).await.expect("a new scene");
    let (mesh, bad) = (tissue(), Code::InvalidArgument);
    let with = |change: &dyn Fn(&mut BindingHeader, &mut BindingChunk)| {
        let (mut header, mut chunk) = halves(&mesh);
        change(&mut header, &mut chunk);
        upload(&mesh, (header, chunk))
    };
    let celled = |change: &dyn Fn(&mut BindingHeader, &mut BindingChunk)| {
        with(&|header, chunk| {
            (header.weights, header.tetrahedra) = (0, 1);
            let rest = std::mem::take(&mut chunk.rest);
            *chunk = BindingChunk { rest, tetrahedra: vec![1, 2, 3, 5], ..BindingChunk::default() };
            change(header, chunk);
        })
    };
    let undeclared = vec![
        tissue_head(tissue_header("liver", &mesh)),
        piece(halves(&mesh).1),
        tissue_piece(mesh.chunk()),
    ];
    let full = Code::ResourceExhausted;
    let cases: Vec<(&str, Vec<AddTissueRequest>, Code, &str)> = vec![
        ("not declared", undeclared, bad, "binding"),
        ("kind", with(&|h, _| h.kind = 9), bad, "header.binding.kind"),
        ("many controls", with(&|h, _| h.controls = 51), full, "vertices_per_mesh"),
        ("many weights", with(&|h, _| h.weights = 1_601), bad, "header.binding.weights"),
        ("more rest", with(&|h, _| h.controls = 6), bad, "binding.rest"),
        ("less rest", with(&|h, _| h.controls = 8), bad, "binding.rest"),
        ("more weights", with(&|h, _| h.weights = 11), bad, "binding.weights"),
        ("less weights", with(&|h, _| h.weights = 13), bad, "binding.weights"),
        ("torn rest", with(&|_, c| c.rest.truncate(c.rest.len() - 1)), bad, "binding.rest"),
        (
            "few vertices",
            with(&|_, c| c.weights_per_vertex.truncate(c.weights_per_vertex.len() - 1)),
            bad,
            "binding.weights",
        ),
        ("lists", with(&|_, c| c.controls.truncate(c.controls.len() - 1)), bad, "binding.weights"),
        ("sum", with(&|_, c| c.weights[3] = 0.6), bad, "binding.weights"),
        ("NaN", with(&|_, c| c.weights[3] = f64::NAN), bad, "binding.weights"),
        ("control", with(&|_, c| c.controls[3] = 7), bad, "binding.weights"),
        ("coordinate", with(&|_, c| c.rest[5] = f32::INFINITY), bad, "binding.weights"),
        ("cells too", with(&|h, _| h.tetrahedra = 1), bad, "header.binding.weights"),
        ("few cells", celled(&|h, _| h.tetrahedra = 2), bad, "binding.tetrahedra"),
        ("more corners", celled(&|_, c| c.tetrahedra.push(0)), bad, "binding.tetrahedra"),
        ("torn cell", celled(&|_, c| c.tetrahedra.truncate(3)), bad, "binding.tetrahedra"),
        ("no such node", celled(&|_, c| c.tetrahedra[2] = 7), bad, "binding.tetrahedra"),
        ("flat cell", celled(&|_, c| c.tetrahedra[2] = 0), bad, "binding.tetrahedra"),
        ("node", celled(&|_, c| c.rest[5] = f32::NAN), bad, "binding.rest"),
        ("frames", celled(&|h, _| h.kind = ControlKind::Frames.into()), bad, "header.binding.kind"),
        ("counts too", celled(&|_, c| c.weights_per_vertex.push(1)), full, "vertices_per_mesh"),
        ("many cells", celled(&|h, _| h.hexahedra = u32::MAX), full, "triangles_per_mesh"),
    ];
    for (case, requests, code, about) in cases {
        assert_refused(server.add_tissue(requests).await, code, about, case);
        assert!(server.seen().await.scene.tissues.is_empty(), "{case}");
    }

    server.add_tissue(upload(&mesh, halves(&mesh))).await.expect("a tissue");
    let before = server.seen().await;
    let far = [0.0, 2e4, 0.0];
    let state = "controls.state";
    let cases: Vec<(&str, DeformRequest, &str)> = vec![
        ("positions", dense(1, &mesh.positions), "dense.positions_m"),
        ("count", controls(1, &[], &[0.0; 3]), state),
        ("torn", controls(1, &[0], &[0.0; 4]), state),
        ("ids", controls(1, &[0, 1], &[0.0; 3]), state),
        ("unknown", controls(1, &[0, 7], &[0.0; 6]), "controls.control_ids[1]"),
        ("repeated", controls(1, &[2, 2], &[0.0; 6]), "controls.control_ids[1]"),
        ("far", controls(1, &[1, 2], &[&[0.0; 3][..], &far].concat()), "controls.state[3]"),
        ("empty", controls(1, &[], &[]), state),
    ];
    for (case, request, about) in cases {
        let refused = server.deform(vec![request]).await.remove(0);
        assert_refused(refused, bad, about, case);
        assert_eq!(server.seen().await, before, "{case}");
    }
    let edit = |change: &dyn Fn(&mut EditTopologyRequest)| {
        let mut request = cut(0, &mesh.positions);
        change(&mut request);
        request
    };
    let cases: Vec<(&str, EditTopologyRequest, &str)> = vec![
        ("no parent", edit(&|e| e.added_triangle_parents.clear()), "added_positions_m[0]"),
        ("sum", edit(&|e| weigh(e, &[(0, 0.9)])), "added_weights"),
        ("control", edit(&|e| weigh(e, &[(7, 1.0)])), "added_weights"),
        ("count", edit(&|e| e.added_weights_per_vertex = vec![1, 1]), "added_weights"),
    ];
    for (case, request, about) in cases {
        let refused = server.scenes.edit_topology(request).await;
        assert_refused(refused.map(|_| ()), bad, about, case);
        assert_eq!(server.seen().await, before, "{case}");
    }
}

fn weigh(request: &mut EditTopologyRequest, weights: &[(u32, f64)]) {
    request.added_weights_per_vertex = vec![weights.len() as u32];
    (request.added_controls, request.added_weights) = weights.iter().copied().unzip();
}

/// Splits a triangle of the first eight at its centroid; each earlier cut has added a vertex.
fn cut(number: u32, positions: &[f32]) -> EditTopologyRequest {
    let [a, b, c] = tissue().triangles.as_chunks::<3>().0[number as usize];
    let m = 6 + number;
    let mean = |axis: usize| {
        [a, b, c].iter().map(|v| positions[3 * *v as usize + axis]).sum::<f32>() / 3.0
    };
    EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        removed_triangles: vec![number],
        added_positions_m: (0..3).map(mean).collect(),
        added_triangles: vec![a, b, m, b, c, m, c, a, m],
        added_triangle_parents: vec![number; 3],
        ..EditTopologyRequest::default()
    }
}

/// The plain path gives the same surface: what is in the answer of a cut is where the vertex is.
#[tokio::test]
async fn a_new_vertex_is_carried_like_its_place_in_the_cut_triangle() {
    let mut server = TestServer::with_scene().await;
    let mesh = tissue();
    server.add_tissue(upload(&mesh, halves(&mesh))).await.expect("a tissue");
    let made = server.scenes.edit_topology(cut(0, &mesh.positions)).await.expect("a cut");
    let made = made.into_inner();
    let at = positions(&server.seen().await.surfaces[0]);
    assert_eq!((made.first_vertex, &made.added_positions_m[..]), (6, &at[18..21]));
    server.deform(vec![controls(1, &[0], &[0.0, 0.0, 0.2])]).await.remove(0).expect("good");
    let moved = positions(&server.seen().await.surfaces[0]);
    let way = moved[20] - at[20];
    assert!((way - 0.1).abs() < 1e-7, "{way}");
    let mut explicit = cut(1, &moved);
    weigh(&mut explicit, &[(0, 1.0)]);
    let made = server.scenes.edit_topology(explicit).await.expect("a cut").into_inner();
    assert_eq!(made.added_positions_m, [0.0, 0.0, 0.2]);
}

/// A hand that presses on a bone loads its frame: with the contacts' force, and with their moment about its origin.
#[tokio::test]
async fn a_frame_bears_the_force_and_the_moment_of_a_hand() {
    let mut server = TestServer::configured(with_kept_fields()).await;
    server.create(SCENE).await.expect("a new scene");
    let mut slab = shapes::cuboid(DVec3::new(0.2, 0.2, 0.04));
    slab.positions.iter_mut().for_each(|p| p.z -= 0.02);
    let slab = wire(&slab);
    let frame = [0.05, 0.0, -0.1, 0.0, 0.0, 0.0, 1.0];
    server.add_tissue(upload(&slab, rigid(&slab, frame))).await.expect("a bone");
    let ball = wire(&shapes::sphere(0.01, 6));
    let tool = vec![tool_head(tool_header("ball", &ball)), tool_piece(ball.chunk())];
    server.add_tool(tool).await.expect("a ball");
    let options = RenderOptions { tool_id: 1, tissue_loads: true, ..RenderOptions::default() };
    let started = TrackStart { render: vec![options], ..start(TrackMode::Every) };
    let mut stream = server.hand_fed(start_message(started)).await;
    stream.ask(tick_message(at(1, 0.001))).await.expect("answered");
    let answer = press(&mut stream, 2, -0.003).await;
    let rendering = only(&answer);
    let [load] = &rendering.tissue_loads[..] else { panic!("one tissue bears") };
    assert_eq!(load.control_ids, [0]);
    let three = |n: &[f32]| DVec3::new(n[0].into(), n[1].into(), n[2].into());
    let forces = rendering.contact_force_xyz_n.chunks(3).map(three);
    let points = rendering.contact_xyz_m.chunks(3).map(three);
    let origin = three(&frame[..3]);
    let force: DVec3 = forces.clone().sum();
    let moment: DVec3 = forces.zip(points).map(|(f, p)| (p - origin).cross(f)).sum();
    let [got, turn] =
        [&load.control_force_xyz_n, &load.control_torque_xyz_nm].map(|n| DVec3::from_slice(n));
    assert!(force.length() > 1.0 && (got + force).length() < 1e-6 * force.length(), "{got}");
    assert!((turn + moment).length() < 1e-5 * moment.length(), "{turn} for {moment}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recording_of_a_driven_tissue_is_replayed_to_the_bit() {
    let folder = Folder::new("driven-recording");
    let mut server = recording_server(&folder.0).await;
    let mesh = tissue();
    server.add_tissue(upload(&mesh, halves(&mesh))).await.expect("a tissue");
    for round in 0..8 {
        let moved = controls(1, &[round % 7], &[0.01 * round as f32, 0.0, 0.15]);
        server.deform(vec![moved]).await.remove(0).expect("good");
        let at = positions(&server.seen().await.surfaces[0]);
        server.scenes.edit_topology(cut(round, &at)).await.expect("a cut");
    }
    let request = palpate::proto::DeleteSceneRequest { scene_id: SCENE.to_owned() };
    server.scenes.delete_scene(request).await.expect("there");
    let report = replay_recording(ended(&file_of(&folder.0)), &ALL, None).expect("a recording");
    assert!(report.changes_stopped.is_none() && report.is_equal(), "{report:?}");
    assert_eq!(report.equal_changes, 16);
}

/// In a durable scene a cut waits for the disk, with the weights that it got before, while controls move.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recording_of_cuts_that_race_deformations_is_replayed_to_the_bit() {
    let seed = Seed::or(47);
    for is_rigid in [false, true] {
        let mut random = seed.random(is_rigid.into());
        let folder = Folder::new("driven-race");
        let mut config = Config { data_dir: Some(folder.0.join("data")), ..Config::default() };
        config.record.dir = Some(folder.0.clone());
        let mut server = TestServer::configured(config).await;
        server.create(SCENE).await.expect("a new scene");
        let mesh = tissue();
        let binding = match is_rigid {
            true => two_frames(&mesh),
            false => halves(&mesh),
        };
        server.add_tissue(upload(&mesh, binding)).await.expect("a tissue");
        let (requests, sent) = mpsc::channel(1);
        let moves = ReceiverStream::new(sent);
        let mut answers = server.scenes.deform(moves).await.expect("a stream").into_inner();
        let mut dice = seed.random(2);
        let moving = tokio::spawn(async move {
            for n in 1.. {
                let way = dice.range(-0.03, 0.03) as f32;
                let turn = DQuat::from_rotation_x(dice.range(-0.4, 0.4)).as_quat().to_array();
                let moved = match is_rigid {
                    true => controls(n, &[1], &[&[way, 0.0, 0.0], &turn[..]].concat()),
                    false => controls(n, &[dice.below(7) as u32], &[way, 0.0, 0.15]),
                };
                requests.send(moved).await.expect("it is read");
                answers.message().await.expect("good").expect("answered");
            }
        });
        let n_cuts = scaled(200);
        for _ in 0..n_cuts {
            let cut = random_cut(&server.seen().await.surfaces[0], &mut random);
            server.scenes.edit_topology(cut).await.expect("a cut");
        }
        moving.abort();
        let _ = moving.await;
        let request = palpate::proto::DeleteSceneRequest { scene_id: SCENE.to_owned() };
        server.scenes.delete_scene(request).await.expect("there");
        let report = replay_recording(ended(&file_of(&folder.0)), &ALL, None).expect("a recording");
        assert!(report.changes_stopped.is_none() && report.is_equal(), "{report:?}");
        assert!(report.equal_changes > 2 * n_cuts, "{report:?}");
    }
}

/// Binds each vertex half to a frame at rest and half to one that moves.
fn two_frames(mesh: &Mesh) -> (BindingHeader, BindingChunk) {
    let n = mesh.positions.len() / 3;
    let chunk = BindingChunk {
        rest: [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]; 2].concat(),
        weights_per_vertex: vec![2; n],
        controls: [0, 1].repeat(n),
        weights: vec![0.5; 2 * n],
        ..BindingChunk::default()
    };
    let kind = ControlKind::Frames.into();
    (BindingHeader { kind, controls: 2, weights: 2 * n as u32, ..BindingHeader::default() }, chunk)
}

/// A random triangle of an exported surface is split at a random point.
fn random_cut(surface: &[ExportTissueResponse], random: &mut Random) -> EditTopologyRequest {
    let chunks = || {
        surface.iter().filter_map(|m| match &m.message {
            Some(export_tissue_response::Message::Chunk(chunk)) => Some(chunk),
            _ => None,
        })
    };
    let ids: Vec<u32> = chunks().flat_map(|c| c.triangle_ids.clone()).collect();
    let triangles: Vec<u32> = chunks().flat_map(|c| c.triangles.clone()).collect();
    let positions = positions(surface);
    let k = random.below(ids.len());
    let [a, b, c] = triangles.as_chunks::<3>().0[k];
    let m = positions.len() as u32 / 3;
    let (u, v) = (random.range(0.1, 0.45) as f32, random.range(0.1, 0.45) as f32);
    let at = |axis: usize| {
        let [p, q, r] = [a, b, c].map(|corner| positions[3 * corner as usize + axis]);
        p * (1.0 - u - v) + q * u + r * v
    };
    EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        removed_triangles: vec![ids[k]],
        added_positions_m: (0..3).map(at).collect(),
        added_triangles: vec![a, b, m, b, c, m, c, a, m],
        added_triangle_parents: vec![ids[k]; 3],
        ..EditTopologyRequest::default()
    }
}

/// After a kill, each of 200 acknowledged cuts is there, and all is where the controls of its time carry it: also the
/// controls that the last deformation left out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driven_tissue_survives_kills_with_its_controls() {
    let seed = Seed::or(46);
    let folder = Folder::new("driven-kills");
    let seldom = [("PALPATE_STORE_POSITIONS_INTERVAL", "1h")];
    let mesh = tissue();
    for is_rigid in [false, true] {
        let mut random = seed.random(is_rigid.into());
        let data = folder.0.join(is_rigid.to_string());
        let mut before: Option<Seen> = None;
        let mut moves = 0;
        for round in 0..8 {
            let mut serving = Process::serve_keeping(&data, &[], &seldom);
            let mut server = TestServer::connect(serving.address()).await;
            if let Some(before) = before.take() {
                let after = server.seen().await;
                assert_eq!(after, before, "round {round}");
            } else {
                server.create(SCENE).await.expect("a new scene");
                let binding = match is_rigid {
                    true => rigid(&mesh, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
                    false => halves(&mesh),
                };
                server.add_tissue(upload(&mesh, binding)).await.expect("a tissue");
            }
            for _ in 0..scaled(100) / 8 + 1 {
                let way = random.range(-0.01, 0.01) as f32;
                let turn = DQuat::from_rotation_x(random.range(-1.0, 1.0)).as_quat().to_array();
                let moved = match is_rigid {
                    true => controls(1, &[0], &[&[way, 0.0, 0.0], &turn[..]].concat()),
                    false => controls(1, &[random.below(7) as u32], &[way, 0.0, 0.15]),
                };
                server.deform(vec![moved]).await.remove(0).expect("good");
                moves += 1;
                let cut = random_cut(&server.seen().await.surfaces[0], &mut random);
                let made = server.scenes.edit_topology(cut).await.expect("a cut").into_inner();
                assert_eq!(made.durable_geometry_revision, Some(moves));
            }
            before = Some(server.seen().await);
            // Killed, not asked to end.
            drop(serving);
        }
    }
}
