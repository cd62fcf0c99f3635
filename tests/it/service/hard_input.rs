//! Valid but difficult input: poses on features and far jumps, concurrent editors, edits without end.

use palpate::proto::{
    EditTopologyRequest, EditTopologyResponse, Flag, Tick, TrackMode, TrackResponse,
};
use tonic::{Code, Status};

use crate::{
    seed::scaled,
    support::{
        messages::{SCENE, start, start_message, tick, tick_message, tool_at, turned, vec3},
        process::Process,
        refusal::assert_refused,
        server::TestServer,
    },
};

/// Rounding of stored f32 coordinates of a tenth of a metre, with a margin.
const F32_SLACK_M: f64 = 2e-8;

fn at(sequence: u64, x: f64, y: f64, z: f64) -> Tick {
    Tick { tools: vec![tool_at(vec3(x, y, z))], ..tick(sequence, 0.0) }
}

async fn answers(server: &mut TestServer, ticks: Vec<Tick>) -> Vec<TrackResponse> {
    let first = start_message(start(TrackMode::Every));
    let sent = std::iter::once(first).chain(ticks.into_iter().map(tick_message)).collect();
    let answers = server.track(sent).await;
    answers.into_iter().map(|answer| answer.expect("an answer")).collect()
}

fn is_finite(answer: &TrackResponse) -> bool {
    let link = &answer.links[0];
    let contacts = link.contacts.as_ref();
    let numbers = contacts.map(|c| [&c.on_tissue_xyz_m, &c.on_tool_xyz_m, &c.normal_xyz]);
    link.signed_distance_m.is_finite()
        && numbers.iter().flatten().all(|array| array.iter().all(|x| x.is_finite()))
}

/// Tissue and link are octahedra; the probe's centre is 10 mm from the link's origin towards -x.
#[tokio::test]
async fn a_probe_exactly_on_a_vertex_an_edge_and_a_face() {
    let mut server = TestServer::furnished().await;
    let third = 0.1 / 3.0;
    let cases =
        [("vertex", [0.1, 0.0, 0.0]), ("edge", [0.05, 0.05, 0.0]), ("face", [third, third, third])];
    for (case, [x, y, z]) in cases {
        let answer = answers(&mut server, vec![at(1, x + 0.01, y, z)]).await.remove(0);
        assert!(is_finite(&answer), "{case}: {answer:?}");
        // The probe has a radius of a millimetre.
        let probe = answer.probes[0].signed_distance_m;
        assert!((probe + 0.001).abs() <= F32_SLACK_M, "{case}: {probe}");
        let link = answer.links[0].signed_distance_m;
        assert!(link < 0.0, "{case}: {link}");
    }
}

#[tokio::test]
async fn jumps_turns_and_clocks_that_go_back_are_answered() {
    let mut server = TestServer::furnished().await;
    let mut backwards = at(5, 0.13, 0.0, 0.0);
    backwards.client_time_ns = i64::MIN;
    let mut turned_back = turned(7, [0.0, 0.0, 1.0, 0.0]);
    turned_back.tools[0].pose.as_mut().expect("a pose").position_m = Some(vec3(0.13, 0.0, 0.0));
    let ticks = vec![
        at(1, 0.13, 0.0, 0.0),
        // A metre in one step, through the tissue and out on the other side.
        at(2, -0.87, 0.0, 0.0),
        at(3, 1000.0, 0.0, 0.0),
        at(4, 0.13, 0.0, 0.0),
        backwards,
        turned(6, [0.0, 0.0, 0.0, 1.0]),
        turned_back,
        // The sign bit alone, and the largest sequence.
        at(1 << 63, 0.13, 0.0, 0.0),
        at(u64::MAX, 0.13, 0.0, 0.0),
    ];
    let n = ticks.len();
    let answers = answers(&mut server, ticks).await;
    assert_eq!(answers.len(), n);
    assert!(answers.iter().all(|answer| answer.refusal.is_none() && is_finite(answer)));
    let jumped = |at: usize| answers[at].flags & 1 << Flag::PoseJump as u32 != 0;
    assert!(jumped(1) && jumped(2) && !jumped(4));
    let met = answers[1].links[0].contacts.as_ref().expect("it went through the tissue");
    assert!(met.toi.iter().any(|toi| (0.0..=1.0).contains(toi)), "{met:?}");
    assert_eq!(answers[4].client_time_ns, i64::MIN);
    assert!((answers[8].links[0].signed_distance_m - 0.02).abs() <= F32_SLACK_M);
}

#[tokio::test]
async fn a_tool_of_another_scene_is_unknown() {
    let mut server = TestServer::furnished().await;
    server.create("empty").await.expect("a new scene");
    let elsewhere =
        palpate::proto::TrackStart { scene_id: "empty".to_owned(), ..start(TrackMode::Every) };
    let mut answers = server.track(vec![start_message(elsewhere)]).await;
    assert_refused(answers.remove(0), Code::NotFound, "tool 1", "of another scene");
}

/// Removes a triangle and adds it again, on top of `base`.
async fn swap(
    server: &mut TestServer,
    triangle: u32,
    base: Option<u64>,
) -> Result<EditTopologyResponse, Status> {
    let request = EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        base_topology_revision: base,
        removed_triangles: vec![triangle],
        added_triangles: vec![0, 2, 4],
        ..Default::default()
    };
    Ok(server.scenes.edit_topology(request).await?.into_inner())
}

#[tokio::test]
async fn of_two_editors_on_one_base_one_is_refused() {
    let mut server = TestServer::furnished().await;
    let mut other = TestServer::connect(server.address).await;
    let (one, two) = tokio::join!(swap(&mut server, 0, Some(0)), swap(&mut other, 0, Some(0)));
    let refused = if one.is_ok() { two } else { one };
    assert_refused(refused, Code::FailedPrecondition, "base_topology_revision", "the second");
    assert_eq!(server.seen().await.scene.tissues[0].topology_revision, 1);
}

#[tokio::test]
async fn a_triangle_is_taken_away_and_put_back_again_and_again() {
    let mut server = TestServer::furnished().await;
    let before = answers(&mut server, vec![at(1, 0.105, 0.001, 0.001)]).await.remove(0);
    let mut triangle = 0;
    let n = scaled(300);
    for _ in 0..n {
        triangle = swap(&mut server, triangle, None).await.expect("a good cut").first_triangle;
    }
    println!("{n} cuts of one triangle");
    let after = answers(&mut server, vec![at(1, 0.105, 0.001, 0.001)]).await.remove(0);
    assert_eq!(after.tissues[0].topology_revision, n as u64);
    assert_eq!(after.links[0].signed_distance_m, before.links[0].signed_distance_m);
    assert_eq!(server.seen().await.scene.tissues[0].triangles, 8);
}

/// Data in the shared folder only saves time.
#[tokio::test]
async fn two_servers_on_one_data_folder_and_one_without_serve_alike() {
    let folder = std::env::temp_dir().join(format!("palpate-shared-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let shared = folder.to_str().expect("UTF-8");
    let mut seen = Vec::new();
    // A file in place of a folder: nothing can be stored, as on a full or read-only disk.
    let file = folder.join("file");
    std::fs::write(&file, "").expect("room");
    let file = file.to_str().expect("UTF-8");
    let mut processes = Vec::new();
    for data_dir in [shared, shared, file] {
        let mut process = Process::serve("127.0.0.1:0", &["--data-dir", data_dir]);
        let mut server = TestServer::connect(process.address()).await;
        server.create(SCENE).await.expect("a new scene");
        server.furnish().await;
        let answer = answers(&mut server, vec![at(1, 0.105, 0.0, 0.0)]).await.remove(0);
        seen.push(answer.links);
        processes.push(process);
    }
    assert!(seen.iter().all(|links| *links == seen[0]));
    drop(processes);
    std::fs::remove_dir_all(folder).expect("it is there");
}
