//! Incisions over the wire: made by the server, kept, recorded, and refused with the point that is wrong.

use std::collections::HashSet;

use glam::Vec3;
use palpate::{
    client::ServerAddress,
    config::Config,
    oracle::shapes,
    proto::{
        DeleteSceneRequest, EditTopologyRequest, ExportTissueResponse, Incision,
        export_tissue_response::Message,
    },
    scene::Limits,
    service::replay::replay_recording,
};
use tonic::Code;

use crate::{
    recordings::equal::{ALL, ended, file_of},
    seed::Seed,
    support::{
        folder::Folder,
        meshes::wire,
        messages::{SCENE, dense, tissue_upload},
        process::Process,
        refusal::assert_refused,
        server::{TestServer, positions},
    },
};

const RADIUS_M: f64 = 0.05;

/// A request for an incision of tissue 1.
fn incise(path_m: Vec<f32>, width_m: f64, depth_m: f64) -> EditTopologyRequest {
    EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        incision: Some(Incision { path_m, width_m, depth_m }),
        ..EditTopologyRequest::default()
    }
}

/// A line on the ball, along a circle of latitude: `from` and `to` are in radians about z.
fn arc(z: f32, from: f32, to: f32) -> Vec<f32> {
    let radius = (RADIUS_M as f32).powi(2) - z * z;
    let at = |k: u8| {
        let (sin, cos) = (from + (to - from) * f32::from(k) / 8.0).sin_cos();
        [radius.sqrt() * cos, radius.sqrt() * sin, z]
    };
    (0..=8).flat_map(at).collect()
}

fn triangles(surface: &[ExportTissueResponse]) -> HashSet<(u32, [u32; 3])> {
    let chunks = surface.iter().filter_map(|m| match &m.message {
        Some(Message::Chunk(chunk)) => Some(chunk),
        _ => None,
    });
    let of = |chunk: &palpate::proto::ExportTissueChunk| {
        let vertices = chunk.triangles.as_chunks::<3>().0.to_vec();
        chunk.triangle_ids.clone().into_iter().zip(vertices)
    };
    chunks.flat_map(of).collect()
}

#[tokio::test]
async fn an_incision_tells_what_it_made() {
    let mut server = TestServer::with_scene().await;
    let ball = wire(&shapes::sphere(RADIUS_M, 20));
    server.add_tissue(tissue_upload("ball", &ball)).await.expect("a tissue");
    let before = triangles(&server.export(1).await.expect("there"));
    let request = incise(arc(0.01, 0.0, 0.8), 0.001, 0.004);
    let made = server.scenes.edit_topology(request).await.expect("a cut").into_inner();
    let told = made.incision.clone().expect("an incision");
    let n = told.left_vertices.len();
    assert!(n > 8 && told.right_vertices.len() == n && told.floor_vertices.len() == n);
    assert_eq!(told.left_vertices[0], told.right_vertices[0]);
    assert!(told.width_m > 5e-4 && told.width_m <= 1e-3);
    // The surface is that of the answer.
    let surface = server.export(1).await.expect("there");
    let after = triangles(&surface);
    let gone: HashSet<u32> = made.remap.iter().map(|remap| remap.old_triangle).collect();
    let new: HashSet<(u32, [u32; 3])> = (made.first_triangle..)
        .zip(made.added_triangle_vertices.as_chunks::<3>().0.iter().copied())
        .collect();
    assert_eq!(new.len() as u32, made.added_triangles);
    let kept = before.into_iter().filter(|(t, _)| !gone.contains(t));
    assert_eq!(after, kept.chain(new).collect());
    let at = positions(&surface);
    let first = 3 * made.first_vertex as usize;
    assert_eq!(at[first..], made.added_positions_m);
    let place = |v: u32| Vec3::from_slice(&at[3 * v as usize..]);
    let lips = told.left_vertices.iter().zip(&told.right_vertices);
    let widest = lips.map(|(l, r)| place(*l).distance(place(*r))).fold(0.0, f32::max);
    assert!((f64::from(widest) - told.width_m).abs() < 1e-7, "{widest}");
    // A solver pulls at the lips.
    let mut pulled = at.clone();
    told.left_vertices[1..n - 1].iter().for_each(|v| pulled[3 * *v as usize + 2] += 0.001);
    server.deform(vec![dense(1, &pulled)]).await.remove(0).expect("good");
}

#[tokio::test]
async fn what_is_no_incision_is_refused_with_its_point() {
    let mut server = TestServer::empty(Limits::default()).await;
    server.create(SCENE).await.expect("a new scene");
    let ball = wire(&shapes::sphere(RADIUS_M, 10));
    server.add_tissue(tissue_upload("ball", &ball)).await.expect("a tissue");
    let before = server.seen().await;
    let good = || arc(0.01, 0.0, 0.8);
    let with = |at: usize, x: f32| {
        let mut path = good();
        path[at] = x;
        path
    };
    let mixed = EditTopologyRequest { removed_triangles: vec![1], ..incise(good(), 0.0, 0.0) };
    let stale = EditTopologyRequest { base_topology_revision: Some(3), ..incise(good(), 0.0, 0.0) };
    let elsewhere = EditTopologyRequest { tissue_id: 7, ..incise(good(), 0.0, 0.0) };
    let twice: Vec<f32> = [arc(0.01, 0.0, 0.8), arc(0.01, 0.8, 0.1)].concat();
    let bad = Code::InvalidArgument;
    let cases = [
        ("torn", incise(good()[1..].to_vec(), 0.0, 0.0), bad, "incision.path_m"),
        ("one point", incise(good()[..3].to_vec(), 0.0, 0.0), bad, "incision.path_m"),
        ("far", incise(with(3, 0.3), 0.0, 0.0), bad, "incision.path_m[3]"),
        ("NaN", incise(with(7, f32::NAN), 0.0, 0.0), bad, "incision.path_m[6]"),
        ("many", incise(vec![0.0; 3 * 4097], 0.0, 0.0), bad, "incision.path_m"),
        ("back", incise(twice, 0.0, 0.0), bad, "incision.path_m[27]"),
        ("width", incise(good(), -1.0, 0.0), bad, "incision.width_m"),
        ("depth", incise(good(), 0.0, f64::INFINITY), bad, "incision.depth_m"),
        ("through", incise(good(), 0.0, 0.12), bad, "incision.depth_m"),
        ("mixed", mixed, bad, "incision"),
        ("stale", stale, Code::FailedPrecondition, "base_topology_revision"),
        ("no tissue", elsewhere, Code::NotFound, "tissue 7"),
    ];
    for (case, request, code, about) in cases {
        let refused = server.scenes.edit_topology(request).await;
        assert_refused(refused.map(|_| ()), code, about, case);
        assert_eq!(server.seen().await, before, "{case}");
    }
}

/// A scene in memory, in which two clients cut at a time: none is refused for the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_clients_cut_one_tissue() {
    let mut server = TestServer::with_scene().await;
    let ball = wire(&shapes::sphere(RADIUS_M, 20));
    server.add_tissue(tissue_upload("ball", &ball)).await.expect("a tissue");
    let cutting = [-0.02_f32, 0.02].map(|z| {
        let mut scenes = server.scenes.clone();
        tokio::spawn(async move {
            for k in 0..12_u8 {
                let from = 0.5 * f32::from(k);
                let request = incise(arc(z, from, from + 0.3), 0.0, 0.0);
                scenes.edit_topology(request).await.expect("a cut");
            }
        })
    });
    for one in cutting {
        one.await.expect("no panic");
    }
    assert_eq!(server.seen().await.scene.tissues[0].topology_revision, 24);
}

/// A server that is killed has each acknowledged incision, and a recording replays them to the bit, though vertices move
/// between the making of an incision and its turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn incisions_are_kept_and_replayed_to_the_bit() {
    let folder = Folder::new("incisions");
    let mut serving = Process::serve_keeping(&folder.0.join("data"), &[], &[]);
    let mut server = TestServer::connect(serving.address()).await;
    server.create(SCENE).await.expect("a new scene");
    let ball = wire(&shapes::sphere(RADIUS_M, 20));
    server.add_tissue(tissue_upload("ball", &ball)).await.expect("a tissue");
    for k in 0..6_u8 {
        let from = f32::from(k);
        let request = incise(arc(0.01, from, from + 0.6), 5e-4, 0.003);
        server.scenes.edit_topology(request).await.expect("a cut");
    }
    let before = server.seen().await;
    drop(serving);
    serving = Process::serve_keeping(&folder.0.join("data"), &[], &[]);
    let mut server = TestServer::connect(serving.address()).await;
    assert_eq!(server.seen().await, before);

    let mut config = Config { data_dir: Some(folder.0.join("other")), ..Config::default() };
    config.record.dir = Some(folder.0.clone());
    let mut server = TestServer::configured(config).await;
    server.create(SCENE).await.expect("a new scene");
    server.add_tissue(tissue_upload("ball", &ball)).await.expect("a tissue");
    let mut mover = TestServer::connect(server.address).await;
    let mut random = Seed::or(48).random(0);
    let at = ball.positions.clone();
    let moving = tokio::spawn(async move {
        for n in 1.. {
            let by = random.range(0.99, 1.01) as f32;
            let moved: Vec<f32> = at.iter().map(|x| x * by).collect();
            // The vertices that incisions add stay.
            let vertices: Vec<u32> = (0..moved.len() as u32 / 3).collect();
            let some = crate::support::messages::sparse(n, &vertices, &moved);
            mover.deform(vec![some]).await.remove(0).expect("good");
        }
    });
    for k in 0..6_u8 {
        let from = f32::from(k);
        server
            .scenes
            .edit_topology(incise(arc(0.01, from, from + 0.6), 5e-4, 0.0))
            .await
            .expect("a cut");
    }
    moving.abort();
    let _ = moving.await;
    let request = DeleteSceneRequest { scene_id: SCENE.to_owned() };
    server.scenes.delete_scene(request).await.expect("there");
    let report = replay_recording(ended(&file_of(&folder.0)), &ALL, None).expect("a recording");
    assert!(report.changes_stopped.is_none() && report.is_equal(), "{report:?}");
}

#[tokio::test]
async fn a_client_cuts_along_a_line() {
    let mut server = TestServer::with_scene().await;
    let ball = wire(&shapes::sphere(RADIUS_M, 10));
    server.add_tissue(tissue_upload("ball", &ball)).await.expect("a tissue");
    let address = ServerAddress::new(&format!("http://{}", server.address));
    let mut client = palpate::client::Client::connect(&address).await.expect("it listens");
    let path = arc(0.0, 0.2, 0.9);
    let path = path.as_chunks::<3>().0;
    let made = client.cut_along(SCENE, 1, path, 0.0, 0.002).await.expect("a cut");
    assert_eq!(made.topology_revision, 1);
    assert_eq!(made.incision.expect("told").width_m, 0.0);
}
