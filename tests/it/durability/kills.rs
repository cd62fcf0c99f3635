//! `kill -9` at any moment, under edits, uploads, removals and deformations.

use std::time::Duration;

use glam::DVec3;
use palpate::{
    oracle::{Random, shapes},
    proto::{
        DeformRequest, EditTopologyRequest, QueryDistancesRequest, RemoveTissueRequest,
        RemoveToolRequest, query_distances_request::Target,
    },
};
use tonic::Status;

use super::model::SceneModel;
use crate::{
    seed::{Seed, scaled},
    support::{
        keeping::Keeping,
        meshes::{octahedron, wire},
        messages::{SCENE, sparse, tissue_upload, tool_head, tool_header, tool_piece},
        server::TestServer,
    },
};

/// Positions and snapshots are written all the time, so that kills meet them.
const HASTY: [(&str, &str); 4] = [
    ("PALPATE_CLUSTER_LEASE", "1s"),
    ("PALPATE_STORE_POSITIONS_INTERVAL", "20ms"),
    ("PALPATE_STORE_SNAPSHOT_BYTES", "4096"),
    ("PALPATE_STORE_SNAPSHOT_INTERVAL", "1s"),
];
const TISSUES_MAX: usize = 3;
const TOOLS_MAX: usize = 2;
/// Points queried after each kill, for each tissue.
const POINTS: usize = 20;
/// Rounding of coordinates below half a metre, in `f32`.
const ROUNDING_M: f64 = 1e-7;

/// Next request of the client.
enum Step {
    AddTissue(bool),
    RemoveTissue(u32),
    AddTool,
    RemoveTool(u32),
    /// A cut while the tissue deforms.
    Change(u32),
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_kill_9_at_any_moment() {
    kill(&Keeping::in_folder("kills"), scaled(20)).await;
}

/// The next server has to wait for the lease of the one that was killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_kill_9_in_an_object_store() {
    let Some(bucket) = Keeping::in_bucket("kills-s3") else { return };
    kill(&bucket, scaled(6)).await;
}

/// As [`what_was_acknowledged_survives_kill_9_in_an_object_store`], but in Azure's Blob Storage: `--features azure`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_kill_9_in_a_container() {
    let Some(container) = Keeping::in_container("kills-azure") else { return };
    kill(&container, scaled(6)).await;
}

async fn kill(keeping: &Keeping, kills: usize) {
    let seed = Seed::or(23);
    let mut random = seed.random(0);
    let mut model = SceneModel::default();
    let (mut n_changes, mut n_unanswered, mut n_queries) = (0, 0, 0);
    for round in 0..=kills {
        let mut process = keeping.serve(&HASTY);
        let mut server = TestServer::connect(process.address()).await;
        if round == 0 {
            server.create(SCENE).await.expect("a new scene");
        } else {
            server.awaited().await;
            let seen = server.seen().await;
            assert!(seen.scene.durable);
            let bare = model.found(&seen);
            model = bare.unwrap_or_else(|error| panic!("after kill {round}: {error}"));
            n_queries += query(&mut server, &model, &mut seed.random(1 + round as u64)).await;
        }
        if round == kills {
            break;
        }
        let wait = Duration::from_millis(5 + random.below(250) as u64);
        let kill = async {
            tokio::time::sleep(wait).await;
            process.signal("KILL");
        };
        let (unanswered, ()) = tokio::join!(drive(&mut server, &mut model, &mut random), kill);
        process.end();
        n_changes += unanswered.n_answered;
        // The restart shows whether the last change was made: both are right, half of it is not.
        if let Some(made) = unanswered.with_last {
            n_unanswered += 1;
            let mut process = keeping.serve(&HASTY);
            let mut server = TestServer::connect(process.address()).await;
            server.awaited().await;
            let seen = server.seen().await;
            model = match (model.found(&seen), made.found(&seen)) {
                (Ok(without), _) => without,
                (_, Ok(with)) => with,
                (Err(without), Err(with)) => {
                    panic!("after kill {round} neither {without}, nor with the last: {with}")
                }
            };
            process.signal("KILL");
            process.end();
        }
    }
    println!(
        "{kills} kills, {n_changes} changes acknowledged, {n_unanswered} cut off, {n_queries} points as near as in the model"
    );
    assert!(n_changes > 0, "every kill came before the first change");
}

/// Compares the index of each tissue with all triangles of the model. Returns the number of points.
async fn query(server: &mut TestServer, model: &SceneModel, random: &mut Random) -> usize {
    for (id, tissue) in &model.tissues {
        let corner = DVec3::splat(0.2);
        let points: Vec<DVec3> = (0..POINTS).map(|_| random.point(-corner, corner)).collect();
        let request = QueryDistancesRequest {
            scene_id: SCENE.to_owned(),
            target: Some(Target::TissueId(*id)),
            points_xyz_m: points.iter().flat_map(|p| p.to_array()).collect(),
            max_distance_m: 0.0,
        };
        let got = server.haptics.query_distances(request).await.expect("good").into_inner();
        for (i, p) in points.iter().enumerate() {
            let truth = tissue.distances(*p);
            let nearest = truth.values().copied().fold(f64::INFINITY, f64::min);
            let of_triangle = truth.get(&got.triangle_ids[i]).expect("of a triangle that is there");
            for distance in [got.signed_distance_m[i].abs(), *of_triangle] {
                let is_true = (distance - nearest).abs() <= ROUNDING_M;
                assert!(is_true, "tissue {id} is {distance} from {p}, expected {nearest}");
            }
        }
    }
    POINTS * model.tissues.len()
}

struct Unanswered {
    n_answered: usize,
    /// Model with the change that was not answered.
    with_last: Option<SceneModel>,
}

/// Makes changes one after the other, until the server is gone.
async fn drive(server: &mut TestServer, model: &mut SceneModel, random: &mut Random) -> Unanswered {
    let mut n_answered = 0;
    loop {
        let mut next = model.clone();
        let done = match step(model, random) {
            Step::AddTissue(is_large) => {
                let name = format!("tissue-{}", model.last_tissue + 1);
                let mesh = if is_large { wire(&shapes::organ(300, 1)) } else { octahedron(0.1) };
                next.add_tissue(&name, &mesh);
                let added = server.add_tissue(tissue_upload(&name, &mesh)).await;
                added
                    .map(|added| assert_eq!(added.tissue_id, next.last_tissue, "never used before"))
            }
            Step::RemoveTissue(tissue_id) => {
                next.tissues.remove(&tissue_id);
                let request = RemoveTissueRequest { scene_id: SCENE.to_owned(), tissue_id };
                server.scenes.remove_tissue(request).await.map(drop)
            }
            Step::AddTool => {
                let name = format!("tool-{}", model.last_tool + 1);
                let mesh = octahedron(0.01);
                next.add_tool(&name);
                let upload = vec![tool_head(tool_header(&name, &mesh)), tool_piece(mesh.chunk())];
                let added = server.add_tool(upload).await;
                added.map(|added| assert_eq!(added.tool_id, next.last_tool, "never used before"))
            }
            Step::RemoveTool(tool_id) => {
                next.tools.remove(&tool_id);
                let request = RemoveToolRequest { scene_id: SCENE.to_owned(), tool_id };
                server.scenes.remove_tool(request).await.map(drop)
            }
            Step::Change(id) => cut_and_deform(server, (&mut *model, &mut next), id, random).await,
        };
        match done {
            Ok(()) => {
                *model = next;
                n_answered += 1;
            }
            Err(status) if is_gone(&status) => {
                return Unanswered { n_answered, with_last: Some(next) };
            }
            Err(status) => panic!("{status:?}"),
        }
    }
}

fn step(model: &SceneModel, random: &mut Random) -> Step {
    let any = |ids: Vec<u32>, random: &mut Random| ids[random.below(ids.len())];
    let tissues: Vec<u32> = model.tissues.keys().copied().collect();
    let tools: Vec<u32> = model.tools.keys().copied().collect();
    match random.below(20) {
        _ if tissues.is_empty() => Step::AddTissue(false),
        0 if tissues.len() < TISSUES_MAX => Step::AddTissue(random.below(2) == 0),
        1 if tissues.len() > 1 => Step::RemoveTissue(any(tissues, random)),
        2 if tools.len() < TOOLS_MAX => Step::AddTool,
        3 if !tools.is_empty() => Step::RemoveTool(any(tools, random)),
        _ => Step::Change(any(tissues, random)),
    }
}

/// Splits a triangle, and moves vertices before, during and after that.
async fn cut_and_deform(
    server: &mut TestServer,
    (model, next): (&mut SceneModel, &mut SceneModel),
    id: u32,
    random: &mut Random,
) -> Result<(), Status> {
    let tissue = model.tissues.get_mut(&id).expect("there");
    let mut deformations = Vec::new();
    for sequence in 1..=1 + random.below(4) as u64 {
        let vertices = [random.below(tissue.n_vertices()) as u32];
        let place = tissue.place(vertices[0]).map(|x| x + random.range(-0.01, 0.01) as f32);
        // Deforms both models, with and without the cut: from here on their revisions may be seen.
        tissue.deform(&vertices, &place);
        let request = DeformRequest { tissue_id: id, ..sparse(sequence, &vertices, &place) };
        deformations.push(request);
    }
    let mut edited = tissue.clone();
    let mut edit = None;
    if let Some((t, [a, b, c])) = tissue.triangle(random.below(tissue.n_triangles().max(1))) {
        let n = tissue.n_vertices() as u32;
        let corners = [a, b, c].map(|v| tissue.place(v));
        let request = EditTopologyRequest {
            scene_id: SCENE.to_owned(),
            tissue_id: id,
            base_topology_revision: Some(tissue.topology_revision()),
            removed_triangles: vec![t],
            added_positions_m: (0..3)
                .map(|k| corners.iter().map(|corner| corner[k]).sum::<f32>() / 3.0)
                .collect(),
            added_triangles: vec![a, b, n, b, c, n, c, a, n],
            added_triangle_parents: vec![t; 3],
            ..EditTopologyRequest::default()
        };
        edited.edit(&request);
        edit = Some(request);
    }
    let mut other = server.scenes.clone();
    let cut = async {
        let Some(request) = edit else { return Ok(()) };
        let first = tissue.next_triangle();
        let done = other.edit_topology(request).await?.into_inner();
        assert_eq!(done.first_triangle, first, "ids go on");
        assert_eq!(done.durable_topology_revision, Some(done.topology_revision));
        Ok::<_, Status>(())
    };
    let (cut, deformed) = tokio::join!(cut, server.deform(deformations));
    let told = deformed.iter().flatten().filter_map(|d| d.durable_geometry_revision).max();
    for model in [&mut *tissue, &mut edited] {
        model.durable_geometry = model.durable_geometry.max(told.unwrap_or(0));
    }
    next.tissues.insert(id, edited);
    cut?;
    deformed.into_iter().try_for_each(|answer| answer.map(drop))
}

/// Returns whether the connection broke: a killed process refuses nothing.
fn is_gone(status: &Status) -> bool {
    use tonic::Code;
    matches!(status.code(), Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled)
}
