//! A thin organ dented so far that its top comes out below, and points inside it, checked by a separate oracle.
//!
//! At the crossing of top and bottom the organ encloses a pocket that is inside out. Its winding number is -1: the
//! pocket is outside, and reported so with a certainty of 0.

use glam::{DQuat, DVec3, Vec3};
use palpate::{
    geometry::{LoadOptions, MeshData, Pose, TriangleMesh, mesh::load::load},
    oracle::{
        brute_force::{nearest, placed, surface_distance},
        shapes,
        solid_angle::winding_number,
    },
    proto::{QueryDistancesRequest, query_distances_request::Target},
    scene::{
        Distance, Limits, Link, NearestSurface, Probe, Scene, TissueOptions, ToolParts,
        query::{QueryTarget, distances},
        tick::{Session, TickOptions, ToolPose},
        tissue::{Tissue, deform::Deformation},
        tool::field::default_field,
    },
    time_left::TimeLeft,
};

use std::sync::Arc;

use crate::{
    seed::{Seed, scaled},
    support::{
        bench::Bench,
        meshes::Mesh,
        messages::{SCENE, dense, tissue_upload},
        server::TestServer,
    },
};

/// Rounding of poses, coordinates and sums of solid angles, metres and turns.
const ROUNDING: f64 = 1e-9;
/// Rounding of coordinates that are sent as f32, metres.
const SENT_ROUNDING_M: f64 = 1e-7;
/// Radius of the needle, metres.
const RADIUS_M: f64 = 1e-3;
const HALF_LENGTH_M: f64 = 0.008;
const MARGIN_M: f64 = 1e-3;

/// An ellipsoid 200 mm wide, 16 mm thick.
fn organ() -> MeshData {
    let mut organ = shapes::sphere(0.1, 10);
    organ.positions.iter_mut().for_each(|p| p.z *= 0.08);
    organ
}

/// The organ with its top pushed down at a point, by up to 60 mm and about 50 mm wide.
fn dented(rest: &[Vec3], at: Vec3) -> Vec<Vec3> {
    let dent = |p: &Vec3| {
        let away = (*p - at).truncate().length_squared();
        let depth = if p.z > 0.0 { 0.06 * (-away / 6e-4).exp() } else { 0.0 };
        *p - Vec3::Z * depth
    };
    rest.iter().map(dent).collect()
}

/// Expected answer for a point, by brute force: the signed distance, and whether the point is in a pocket.
fn truth(mesh: &TriangleMesh, p: DVec3) -> (f64, bool) {
    let winding = winding_number(mesh, p);
    let distance = nearest(mesh, p).expect("an organ").distance;
    (if winding > 0.5 { -distance } else { distance }, winding < -0.5)
}

fn assert_told(found: &NearestSurface, mesh: &TriangleMesh, p: DVec3, what: &str) -> bool {
    let (distance, in_pocket) = truth(mesh, p);
    let got = found.signed_distance_m;
    assert!((got - distance).abs() <= ROUNDING, "{what}: {got}, in truth {distance} at {p}");
    let certainty = if in_pocket { 0.0 } else { 1.0 };
    assert_eq!(found.sign_certainty, certainty, "{what}: {got} at {p}");
    in_pocket
}

fn mesh_of(tissue: &Tissue) -> TriangleMesh {
    tissue.current().surface.mesh().clone()
}

fn search_all(tissue: &Tissue) {
    while !tissue.search_crossings() {}
}

/// Points of the organ before it crosses itself, while it does, with the crossing found or not, and afterwards.
#[test]
fn points_are_inside_where_the_organ_winds_around_them() {
    let seed = Seed::or(701);
    let mut random = seed.random(0);
    let scene = Scene::new("scene".to_owned(), Limits::default());
    let mesh = load(organ(), &LoadOptions::default()).expect("a good mesh");
    let rest = mesh.mesh.positions().to_vec();
    let tissue = scene.add_tissue("organ", mesh, TissueOptions::default(), 0).expect("room");
    assert!(!tissue.current().surface.is_by_winding(), "it does not cross itself at rest");
    let (mut inside, mut pockets) = (0, 0);
    for round in 0..4 {
        let at = Vec3::new(random.range(-0.03, 0.03) as f32, random.range(-0.03, 0.03) as f32, 0.0);
        tissue.deform(Deformation::Dense(dented(&rest, at)), 0).expect("all are there");
        for is_searched in [false, true] {
            if is_searched {
                search_all(&tissue);
            }
            let revision = [(tissue.id(), tissue.current())];
            assert!(revision[0].1.surface.is_by_winding(), "it crosses itself");
            let mesh = revision[0].1.surface.mesh();
            let points: Vec<DVec3> = (0..scaled(1_250))
                .map(|_| {
                    random.point(DVec3::new(-0.11, -0.11, -0.06), DVec3::new(0.11, 0.11, 0.02))
                })
                .map(|p| at.as_dvec3() * (1.0 - 0.4) + p * 0.4)
                .collect();
            let told =
                distances(&QueryTarget::Tissues(&revision), &points, 1.0, &TimeLeft::endless());
            let told = told.expect("time enough");
            for (p, told) in points.iter().zip(&told) {
                let Distance::Within(found) = told else { panic!("round {round}: {told:?}") };
                pockets += usize::from(assert_told(found, mesh, *p, &format!("round {round}")));
                inside += usize::from(found.signed_distance_m < 0.0);
            }
        }
    }
    let n = scaled(10_000);
    assert!(inside > n / 20 && pockets > n / 50, "{inside} inside, {pockets} in pockets of {n}");
    tissue.deform(Deformation::Dense(rest.clone()), 0).expect("all are there");
    search_all(&tissue);
    assert!(!tissue.current().surface.is_by_winding(), "it does not cross itself any more");
}

/// A needle at poses about the dent: its depth is that of its deepest vertex, or of the organ in the needle.
#[test]
fn a_needle_is_as_deep_as_the_organ_winds_around_it() {
    let seed = Seed::or(702);
    let mut random = seed.random(0);
    let options =
        TickOptions { contact_margin_m: MARGIN_M, max_distance_m: 1.0, ..TickOptions::default() };
    let mut bench = Bench::new(organ(), shapes::capsule(RADIUS_M, HALF_LENGTH_M, 6), options);
    let rest = mesh_of(&bench.tissue).positions().to_vec();
    let (mut inside, mut apart, mut pocketed) = (0, 0, 0);
    for pose_number in 0..scaled(300) {
        let at = Vec3::new(0.02, -0.01, 0.0);
        if pose_number % 50 == 0 {
            bench.tissue.deform(Deformation::Dense(dented(&rest, at)), 0).expect("all are there");
        }
        let mesh = mesh_of(&bench.tissue);
        let tip = random.point(DVec3::new(-0.04, -0.04, -0.05), DVec3::new(0.04, 0.04, 0.01));
        let pose = Pose::new(random.rotation(), at.as_dvec3() + tip).expect("unit");
        let (answer, _) = bench.tick(pose);
        let Distance::Within(found) = &answer.distance else { panic!("{:?}", answer.distance) };
        let got = found.signed_distance_m;
        let link = TriangleMesh::new(bench.link_mesh.clone());
        let vertices = link.positions().iter().map(|p| pose.point(p.as_dvec3()));
        let told: Vec<_> = vertices.map(|p| truth(&mesh, p)).collect();
        let deepest = told.iter().map(|(d, _)| -d).fold(0.0, f64::max);
        let away = surface_distance(&placed(&mesh, &Pose::IDENTITY), &placed(&link, &pose));
        let what = format!("pose {pose_number}: {got}, deepest {deepest}, {away} away");
        if deepest > RADIUS_M {
            assert!((got + deepest).abs() <= ROUNDING, "{what}");
            inside += 1;
        } else if deepest > 0.0 || away == 0.0 {
            // The organ is no deeper in the needle than the needle is thick.
            assert!(got <= -deepest + ROUNDING && got >= -RADIUS_M - ROUNDING, "{what}");
        } else {
            assert!((got - away).abs() <= ROUNDING, "{what}");
            let is_in_pocket = told.iter().all(|(_, in_pocket)| *in_pocket);
            assert_eq!(found.sign_certainty, if is_in_pocket { 0.0 } else { 1.0 }, "{what}");
            apart += 1;
            pocketed += usize::from(is_in_pocket);
        }
    }
    let n = scaled(300);
    let counts = format!("{inside} inside, {apart} apart, {pocketed} of them in the pocket");
    assert!(inside > n / 30 && apart > n / 20 && pocketed > 0, "{counts} of {n}");
}

/// A tick's probes inside, outside and in the pocket; a pocket sets the flag.
#[test]
fn probes_touch_where_the_organ_is() {
    let seed = Seed::or(703);
    let mut random = seed.random(0);
    let scene = Arc::new(Scene::new("scene".to_owned(), Limits::default()));
    let mesh = load(organ(), &LoadOptions::default()).expect("a good mesh");
    let rest = mesh.mesh.positions().to_vec();
    let tissue = scene.add_tissue("organ", mesh, TissueOptions::default(), 0).expect("room");
    tissue.deform(Deformation::Dense(dented(&rest, Vec3::ZERO)), 0).expect("all are there");
    let tool = scene.add_tool(probe(2e-3)).expect("room");
    let options = TickOptions { contacts: false, max_distance_m: 1.0, ..TickOptions::default() };
    let mut session = Session::new(scene, &[tool.id], options).expect("the tool is there");
    let mesh = mesh_of(&tissue);
    let mut pockets = 0;
    for sequence in 1..=scaled(1_000) as u64 {
        let centre = random.point(DVec3::new(-0.03, -0.03, -0.06), DVec3::new(0.03, 0.03, 0.02));
        let pose = ToolPose {
            tool: tool.id,
            scene_from_tool: Pose::new(DQuat::IDENTITY, centre).expect("unit"),
            tool_from_link: Vec::new(),
            teleport: true,
        };
        let answer = session.tick(sequence, &[pose], 0, &TimeLeft::endless()).expect("a good tick");
        let Distance::Within(found) = &answer.probes[0].distance else { panic!("none is near") };
        let centred =
            NearestSurface { signed_distance_m: found.signed_distance_m + 2e-3, ..*found };
        let in_pocket = assert_told(&centred, &mesh, centre, "probe");
        assert!(answer.flags.sign_uncertain || !in_pocket, "not flagged at {centre}");
        pockets += usize::from(in_pocket);
    }
    assert!(pockets > scaled(1_000) / 50, "{pockets} in the pocket");
}

fn probe(radius: f64) -> ToolParts {
    let mesh = load(shapes::sphere(1e-4, 1), &LoadOptions::default()).expect("a good mesh");
    let links = vec![Link::new("tip".to_owned(), mesh, Pose::IDENTITY, default_field)];
    let tip = Probe { name: "tip".to_owned(), link: 0, position: DVec3::ZERO, radius };
    ToolParts { name: "probe".to_owned(), links, probes: vec![tip] }
}

/// An instrument that crosses itself as loaded: its field and its surface agree on the side.
#[test]
fn a_tool_that_crosses_itself_has_one_inside() {
    let seed = Seed::or(704);
    let mut random = seed.random(0);
    let mut data = shapes::sphere(0.01, 8);
    // A ring bent past a full turn: the surface winds twice in the overlap of its ends.
    let bent = |p: &Vec3| {
        let angle = 450.0f32.to_radians() * (p.z + 0.01) / 0.02;
        let out = 6e-3 + 0.3 * p.x;
        Vec3::new(out * angle.cos(), 0.3 * p.y + 1e-4 * angle, out * angle.sin())
    };
    data.positions = data.positions.iter().map(bent).collect();
    let loaded = load(data, &LoadOptions::default()).expect("a good mesh");
    let link = Link::new("bent".to_owned(), loaded, Pose::IDENTITY, default_field);
    let tool_mesh = link.surface.mesh().clone();
    let is_crossing = link.surface.is_by_winding();
    let bounds = *link.surface.bounds();
    let (low, high) = (bounds.min.as_dvec3(), bounds.max.as_dvec3());
    let (mut twice, mut inside) = (0, 0);
    for _ in 0..scaled(6_000) {
        let p = random.point(low, high);
        let winding = winding_number(&tool_mesh, p);
        let distance = nearest(&tool_mesh, p).expect("a tool").distance;
        let truth = if winding > 0.5 { -distance } else { distance };
        let (is_inside, certainty) = link.surface.contains(p);
        assert_eq!((is_inside, certainty), (winding > 0.5, f64::from(winding > -0.5)), "{p}");
        let reading = link.field.read(&tool_mesh, p);
        let holds = reading.lower <= truth + ROUNDING && truth <= reading.upper + ROUNDING;
        assert!(holds, "{reading:?}, in truth {truth} at {p}, winding {winding}");
        twice += usize::from(winding > 1.5);
        inside += usize::from(winding > 0.5);
    }
    let n = scaled(6_000);
    assert!(is_crossing && inside > n / 20 && twice > n / 500, "{inside} inside, {twice} twice");
}

/// Queries a server right after the deformation, and once its writer had time.
#[tokio::test]
async fn a_server_tells_what_the_organ_winds_around() {
    let seed = Seed::or(705);
    let mut random = seed.random(0);
    let data = organ();
    let flat = |p: &[Vec3]| p.iter().flat_map(|p| p.to_array()).collect::<Vec<f32>>();
    let sent = Mesh {
        positions: flat(&data.positions),
        triangles: data.triangles.iter().flatten().copied().collect(),
    };
    let mut server = TestServer::with_scene().await;
    server.add_tissue(tissue_upload("organ", &sent)).await.expect("a good mesh");
    for sequence in 1..=4 {
        let at = Vec3::new(random.range(-0.03, 0.03) as f32, 0.0, 0.0);
        let moved = dented(&data.positions, at);
        let answers = server.deform(vec![dense(sequence, &flat(&moved))]).await;
        answers.into_iter().for_each(|a| drop(a.expect("good")));
        let mesh = TriangleMesh::new(MeshData { positions: moved, ..data.clone() });
        for _ in 0..2 {
            let (low, high) = (DVec3::new(-0.03, -0.03, -0.06), DVec3::new(0.03, 0.03, 0.02));
            let points: Vec<DVec3> =
                (0..scaled(200)).map(|_| at.as_dvec3() + random.point(low, high)).collect();
            let request = QueryDistancesRequest {
                scene_id: SCENE.to_owned(),
                target: Some(Target::TissueId(1)),
                points_xyz_m: points.iter().flat_map(|p| p.to_array()).collect(),
                max_distance_m: 0.0,
            };
            let answer = server.haptics.query_distances(request).await.expect("good").into_inner();
            for (i, p) in points.iter().enumerate() {
                let (distance, in_pocket) = truth(&mesh, *p);
                let got = answer.signed_distance_m[i];
                assert!((got - distance).abs() <= SENT_ROUNDING_M, "{got}, {distance} at {p}");
                let certainty = if in_pocket { 0.0 } else { 1.0 };
                assert_eq!(answer.sign_certainty[i], certainty, "{got} at {p}");
            }
        }
    }
}
