//! DetectSelfCollisions over loopback.

use std::time::Duration;

use palpate::{
    oracle::Random,
    proto::{
        CollisionScope, DeformRequest, DeleteSceneRequest, DetectSelfCollisionsRequest,
        DetectSelfCollisionsResponse, EditTopologyRequest, FeatureContacts, FeatureKind,
        SelfCollisionTotals, TissueInterval, TissueMotion,
        detect_self_collisions_response::Message,
    },
    scene::Limits,
};
use tokio_stream::StreamExt;
use tonic::{Code, Status};

use crate::support::{
    meshes::{Mesh, octahedron},
    messages::{SCENE, dense, holding, sparse, tissue_upload},
    refusal::assert_refused,
    server::TestServer,
};

/// Timeout for operations that must end; nothing is measured with it.
const FOREVER: Duration = Duration::from_secs(20);

fn interval(tissue_id: u32, from: u64) -> TissueInterval {
    TissueInterval { tissue_id, from_geometry_revision: Some(from), to_geometry_revision: 0 }
}

fn request(tissues: &[TissueInterval]) -> DetectSelfCollisionsRequest {
    DetectSelfCollisionsRequest {
        scene_id: SCENE.to_owned(),
        tissues: tissues.to_vec(),
        ..Default::default()
    }
}

async fn detect(
    server: &mut TestServer,
    request: DetectSelfCollisionsRequest,
) -> Result<Vec<DetectSelfCollisionsResponse>, Status> {
    server.haptics.detect_self_collisions(request).await?.into_inner().collect().await
}

/// Returns the chunks of contacts, and the final totals.
fn parts(
    answers: Vec<DetectSelfCollisionsResponse>,
) -> (Vec<FeatureContacts>, SelfCollisionTotals) {
    let (mut chunks, mut totals) = (Vec::new(), None);
    for answer in answers {
        assert_eq!(totals, None, "the totals are last");
        match answer.message.expect("set") {
            Message::Contacts(chunk) => chunks.push(chunk),
            Message::Totals(last) => totals = Some(last),
        }
    }
    (chunks, totals.expect("told at the end"))
}

fn of_tissue(tissue_id: u32, request: DeformRequest) -> DeformRequest {
    DeformRequest { tissue_id, ..request }
}

async fn deform(server: &mut TestServer, request: DeformRequest) -> Vec<u64> {
    let answer = server.deform(vec![request]).await.remove(0).expect("good");
    answer.held_geometry_revisions
}

fn shifted(mesh: &Mesh, by: [f32; 3]) -> Vec<f32> {
    mesh.positions.iter().enumerate().map(|(i, p)| p + by[i % 3]).collect()
}

/// Tissues 1 and 2, both held as revision 1: octahedra of 0.1 m, with the tip of the second at (0.15, 0.01, 0.005) and
/// that of the first at (0.1, 0, 0); then the second moves 0.1 m along -x.
async fn two_that_meet() -> TestServer {
    let mut server = TestServer::with_scene().await;
    let (first, mut second) = (octahedron(0.1), octahedron(0.1));
    second.positions = shifted(&second, [0.25, 0.01, 0.005]);
    for (name, mesh) in [("liver", &first), ("spleen", &second)] {
        server.add_tissue(tissue_upload(name, mesh)).await.expect("a tissue");
    }
    for tissue in [1, 2] {
        assert_eq!(deform(&mut server, of_tissue(tissue, holding(sparse(1, &[], &[])))).await, [1]);
    }
    let moved = of_tissue(2, dense(1, &shifted(&second, [-0.1, 0.0, 0.0])));
    assert!(deform(&mut server, moved).await.is_empty(), "not asked to hold");
    server
}

#[tokio::test]
async fn two_tissues_that_meet() {
    let mut server = two_that_meet().await;
    let asked = request(&[interval(2, 1), interval(1, 1)]);
    let answers = detect(&mut server, asked.clone()).await.expect("good");
    let (chunks, totals) = parts(answers.clone());
    let [contacts] = &chunks[..] else { panic!("{} chunks", chunks.len()) };
    let n = contacts.toi.len();
    assert_eq!(totals.vertex_face + totals.edge_edge, n as u64);
    // Parallel faces touch all at once, 0.065 m along the path; each has the other's tip in it.
    assert!(n > 2 && contacts.toi.is_sorted(), "{contacts:?}");
    assert!((contacts.toi[0] - 0.65).abs() < 1e-6, "{contacts:?}");
    let tip = |tissue, vertex, face| {
        let is_it = |i: &usize| {
            contacts.kinds[*i] == FeatureKind::VertexFace as i32
                && (contacts.tissue_ids[*i], contacts.vertex_ids[4 * i]) == (tissue, vertex)
                && contacts.other_triangle_ids[*i] == face
        };
        (0..n).find(is_it).expect("its tip")
    };
    let (first, second) = (tip(1, 0, 6), tip(2, 1, 0));
    assert!((contacts.toi[first] - contacts.toi[second]).abs() < 1e-6);
    assert_eq!(contacts.vertex_ids[4 * second..][..4], [1, 0, 2, 4]);
    let side = 1.0 / 3f32.sqrt();
    for (k, expected) in [0.085, 0.01, 0.005].into_iter().enumerate() {
        assert!((contacts.point_xyz_m[3 * second + k] - expected).abs() < 1e-6, "{contacts:?}");
        assert!((contacts.normal_xyz[3 * second + k] - side).abs() < 1e-6, "{contacts:?}");
    }
    let ids = [&contacts.triangle_ids, &contacts.other_triangle_ids];
    assert!(ids.iter().all(|ids| ids.len() == n && ids.iter().all(|t| *t < 8)));
    for tissues in [&contacts.tissue_ids, &contacts.other_tissue_ids] {
        assert!(tissues.len() == n && tissues.iter().all(|t| [1, 2].contains(t)));
    }
    assert_eq!((contacts.kinds.len(), contacts.vertex_ids.len()), (n, 4 * n));
    let triples = [
        &contacts.barycentric_xyz,
        &contacts.other_barycentric_xyz,
        &contacts.point_xyz_m,
        &contacts.other_point_xyz_m,
        &contacts.normal_xyz,
    ];
    assert!(triples.iter().all(|t| t.len() == 3 * n));
    let motion = |tissue_id, to| TissueMotion {
        tissue_id,
        from_geometry_revision: 1,
        to_geometry_revision: to,
        topology_revision: 0,
    };
    assert_eq!(totals.tissues, [motion(1, 1), motion(2, 2)]);
    assert_eq!(detect(&mut server, asked.clone()).await.expect("good"), answers, "the same again");

    let one = DetectSelfCollisionsRequest { max_contacts: 1, ..asked.clone() };
    let (first, of_all) = parts(detect(&mut server, one).await.expect("good"));
    assert_eq!((&first[0].toi[..], of_all), (&contacts.toi[..1], totals));

    let scope = CollisionScope::WithinEach as i32;
    let within = DetectSelfCollisionsRequest { scope, ..asked };
    let (chunks, totals) = parts(detect(&mut server, within).await.expect("good"));
    assert_eq!((chunks.len(), totals.vertex_face, totals.edge_edge), (0, 0, 0));
}

#[tokio::test]
async fn a_tissue_that_meets_itself_with_and_without_thickness() {
    let mut server = TestServer::with_scene().await;
    server.add_tissue(tissue_upload("liver", &octahedron(0.1))).await.expect("a tissue");
    deform(&mut server, holding(sparse(1, &[], &[]))).await;
    // The tip at +x is pushed through the one at -x: its edges pass through no others but meet there.
    deform(&mut server, sparse(1, &[0], &[-0.098, 0.003, 0.002])).await;
    let mut totals = Vec::new();
    for thickness_m in [0.0, 0.01] {
        let asked = DetectSelfCollisionsRequest { thickness_m, ..request(&[interval(1, 1)]) };
        let (_, of) = parts(detect(&mut server, asked).await.expect("good"));
        totals.push(of.vertex_face);
    }
    assert!(totals[0] < totals[1], "{totals:?}");
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused() {
    let mut server = two_that_meet().await;
    let bad = Code::InvalidArgument;
    let missing = Code::NotFound;
    let unheld = Code::FailedPrecondition;
    let good = || request(&[interval(1, 1), interval(2, 1)]);
    let with = |change: fn(&mut DetectSelfCollisionsRequest)| {
        let mut request = good();
        change(&mut request);
        request
    };
    let thickness = |thickness_m| DetectSelfCollisionsRequest { thickness_m, ..good() };
    let scene = |id: &str| DetectSelfCollisionsRequest { scene_id: id.to_owned(), ..good() };
    let tissue_1 = |from, to| {
        let tissue_1 =
            TissueInterval { tissue_id: 1, from_geometry_revision: from, to_geometry_revision: to };
        request(&[interval(2, 1), tissue_1])
    };
    let many: Vec<_> = (1..=65).map(|tissue| interval(tissue, 1)).collect();
    let cases: Vec<(&str, DetectSelfCollisionsRequest, Code, &str)> = vec![
        ("scene id", scene("?"), bad, "scene_id"),
        ("scene", scene("none"), missing, "scene none"),
        ("no tissues", with(|r| r.tissues.clear()), bad, "tissues"),
        ("too many", request(&many), bad, "tissues"),
        ("twice", request(&[interval(2, 1), interval(2, 1)]), bad, "tissues[1].tissue_id"),
        ("tissue", request(&[interval(1, 1), interval(9, 1)]), missing, "tissue 9"),
        ("NaN", thickness(f64::NAN), bad, "thickness_m"),
        ("negative", thickness(-1e-3), bad, "thickness_m"),
        ("thick", thickness(10.5), bad, "thickness_m"),
        ("scope", with(|r| r.scope = 3), bad, "scope"),
        ("contacts", with(|r| r.max_contacts = 65_537), bad, "max_contacts"),
        ("first", tissue_1(Some(0), 0), unheld, "tissues[1].from_geometry_revision"),
        ("future", tissue_1(None, 7), unheld, "tissues[1].to_geometry_revision"),
        (
            "backwards",
            request(&[TissueInterval { to_geometry_revision: 1, ..interval(2, 2) }]),
            bad,
            "tissues[0].to_geometry_revision",
        ),
    ];
    for (case, request, code, about) in cases {
        assert_refused(detect(&mut server, request).await, code, about, case);
    }
    detect(&mut server, good()).await.expect("good");
}

#[tokio::test]
async fn a_cut_and_a_full_hold_let_revisions_go() {
    let mut server = TestServer::furnished().await;
    for n in 1..=10 {
        let held =
            deform(&mut server, holding(sparse(1, &[0], &[0.1 + 0.001 * n as f32, 0.0, 0.0])));
        let first = if n > 8 { n - 7 } else { 1 };
        assert_eq!(held.await, (first..=n).collect::<Vec<u64>>());
    }
    detect(&mut server, request(&[interval(1, 3)])).await.expect("held");
    let gone = detect(&mut server, request(&[interval(1, 2)])).await;
    let field = "tissues[0].from_geometry_revision";
    let message = gone.as_ref().expect_err("refused").message().to_owned();
    assert_refused(gone, Code::FailedPrecondition, field, "let go");
    assert!(message.contains("revision 2 is not held") && message.contains("[3, 4,"), "{message}");
    let cut = EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        removed_triangles: vec![7],
        ..Default::default()
    };
    server.scenes.edit_topology(cut).await.expect("cut");
    let across = detect(&mut server, request(&[interval(1, 9)])).await;
    let message = across.as_ref().expect_err("refused").message().to_owned();
    assert_refused(across, Code::FailedPrecondition, field, "cut");
    assert!(message.contains("topology revision 0, expected 1"), "{message}");
    assert_eq!(deform(&mut server, holding(sparse(1, &[], &[]))).await, [11]);
    detect(&mut server, request(&[interval(1, 11)])).await.expect("held after the cut");
}

/// Random triangles as large as the whole mesh: all of them meet, which takes minutes to compute.
fn tangle() -> Mesh {
    let mut random = Random::new(7);
    let n_vertices = 20_000;
    let positions = (0..n_vertices).flat_map(|_| random.unit_vector().as_vec3().to_array());
    let positions = positions.collect();
    let triangles = (0..11_000).flat_map(|_| [(); 3].map(|()| random.below(n_vertices) as u32));
    Mesh { positions, triangles: triangles.collect() }
}

/// Each client takes a slot for minutes of work and disconnects; if a slot were not returned, the last client would
/// wait for those minutes.
#[tokio::test]
async fn a_client_that_goes_away_gives_its_place_back() {
    let mut server = TestServer::with_scene().await;
    server.add_tissue(tissue_upload("tangle", &tangle())).await.expect("tissue 1");
    server.add_tissue(tissue_upload("liver", &octahedron(0.1))).await.expect("tissue 2");
    for tissue in [1, 2] {
        deform(&mut server, of_tissue(tissue, holding(sparse(1, &[], &[])))).await;
    }
    let mut haptics = server.haptics.clone();
    let few = tokio::time::timeout(FOREVER, async {
        for _ in 0..6 {
            let many = haptics.detect_self_collisions(request(&[interval(1, 1)]));
            tokio::time::timeout(Duration::from_millis(50), many).await.expect_err("minutes");
        }
        detect(&mut server, request(&[interval(2, 1)])).await
    });
    parts(few.await.expect("all places are free again").expect("good"));
}

#[tokio::test]
async fn a_deleted_scene_ends_its_searches() {
    let mut server = TestServer::empty(Limits::default()).await;
    server.create(SCENE).await.expect("a new scene");
    server.add_tissue(tissue_upload("tangle", &tangle())).await.expect("tissue 1");
    let mut haptics = server.haptics.clone();
    let search = tokio::spawn(async move {
        let asked = TissueInterval { tissue_id: 1, ..Default::default() };
        haptics.detect_self_collisions(request(&[asked])).await.map(|_| ())
    });
    // The job ends either way, begun or not.
    tokio::task::yield_now().await;
    let delete = DeleteSceneRequest { scene_id: SCENE.to_owned() };
    server.scenes.delete_scene(delete).await.expect("it was there");
    let outcome = tokio::time::timeout(FOREVER, search).await.expect("soon").expect("no panic");
    assert_refused(outcome, Code::NotFound, &format!("scene {SCENE}"), "deleted");
}
