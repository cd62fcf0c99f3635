//! Log lines of calls.

use std::collections::BTreeMap;

use palpate::proto::{
    DeleteSceneRequest, DetectSelfCollisionsRequest, EditTopologyRequest, GetSceneRequest,
    ListScenesRequest, QueryContactsRequest, QueryDistancesRequest, RemoveTissueRequest,
    RemoveToolRequest, RenderOptions, TissueInterval, TrackMode, TrackRequest, TrackStart,
    query_distances_request::Target,
};
use serde_json::Value;
use tokio_stream::StreamExt;

use crate::support::{
    messages::{
        SCENE, sparse, start as start_of, start_message, tick, tick_message, tool_at, vec3,
    },
    process::Process,
    server::TestServer,
};

/// Ticks and deformations of a stream that is logged once.
const MANY: u64 = 50;

async fn call_each_method(server: &mut TestServer) {
    let scene = || SCENE.to_owned();
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    server.scenes.list_scenes(ListScenesRequest {}).await.expect("good");
    server.seen().await;
    let deforms = (0..MANY).map(|sequence| sparse(sequence, &[0], &[0.1, 0.0, 0.0]));
    assert_eq!(server.deform(deforms.collect()).await.len() as u64, MANY);
    let ticks = (0..MANY).map(|sequence| tick_message(tick(sequence, 0.105)));
    let start = [start_message(start_of(TrackMode::Every))].into_iter();
    let answers = server.track(start.chain(ticks).collect()).await;
    assert_eq!(answers.len() as u64, MANY);
    let render = vec![RenderOptions { tool_id: 1, ..Default::default() }];
    let rendering = TrackStart { render, ..start_of(TrackMode::Every) };
    let rendered = server.track(vec![start_message(rendering), tick_message(tick(0, 0.105))]);
    assert_eq!(rendered.await.len(), 1);
    let request = QueryDistancesRequest {
        scene_id: scene(),
        points_xyz_m: vec![0.2, 0.0, 0.0],
        target: Some(Target::TissueId(1)),
        ..Default::default()
    };
    server.haptics.query_distances(request).await.expect("good");
    let tool = Some(tool_at(vec3(0.2, 0.0, 0.0)));
    let request = QueryContactsRequest { scene_id: scene(), tool, ..Default::default() };
    server.haptics.query_contacts(request).await.expect("good");
    let tissues = vec![TissueInterval { tissue_id: 1, ..Default::default() }];
    let request = DetectSelfCollisionsRequest { scene_id: scene(), tissues, ..Default::default() };
    let found = server.haptics.detect_self_collisions(request).await.expect("good");
    found.into_inner().collect::<Vec<_>>().await;
    let removed_triangles = vec![0];
    let edit = EditTopologyRequest {
        scene_id: scene(),
        tissue_id: 1,
        removed_triangles,
        ..Default::default()
    };
    server.scenes.edit_topology(edit).await.expect("good");
    let request = RemoveToolRequest { scene_id: scene(), tool_id: 1 };
    server.scenes.remove_tool(request).await.expect("good");
    let request = RemoveTissueRequest { scene_id: scene(), tissue_id: 1 };
    server.scenes.remove_tissue(request).await.expect("good");
    server.scenes.delete_scene(DeleteSceneRequest { scene_id: scene() }).await.expect("good");
}

/// Returns method, scene and code of each line about a call's end.
fn ends(log: &str) -> Vec<[String; 3]> {
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
    let ends = lines.filter(|line| line["fields"]["message"] == "answered");
    let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let parts =
        ends.map(|line| ["method", "scene", "code"].map(|field| text(&line["span"][field])));
    parts.collect()
}

/// Returns the number of rendered tools of each haptic loop that answered.
fn rendered(log: &str) -> Vec<u64> {
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
    let ends = lines.filter(|line| line["fields"]["message"] == "answered");
    ends.filter_map(|line| line["span"]["rendered"].as_u64()).collect()
}

/// The scene of a stream is in its first message, which comes after the call has begun.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_has_a_line_a_call_with_its_scene_and_none_a_tick() {
    let variables = [("RUST_LOG", "palpate=debug"), ("PALPATE_LOG_FORMAT", "json")];
    let mut process = Process::serve_with("127.0.0.1:0", &[], &variables);
    let mut server = TestServer::connect(process.address()).await;
    call_each_method(&mut server).await;
    let lost = GetSceneRequest { scene_id: "lost".to_owned() };
    server.scenes.get_scene(lost).await.expect_err("there is none");
    let odd = GetSceneRequest { scene_id: "not an id".to_owned() };
    server.scenes.get_scene(odd).await.expect_err("no id");
    server.track(vec![TrackRequest::default()]).await;
    drop(server);
    process.signal("TERM");
    let log = process.errors();
    let ends = ends(&log);
    let mut calls = BTreeMap::<_, u64>::new();
    for [method, scene, code] in &ends {
        *calls.entry((&**method, &**scene, &**code)).or_default() += 1;
    }
    let mut expected = BTreeMap::from([
        (("SceneService/ListScenes", "none", "OK"), 1),
        (("SceneService/GetScene", "lost", "NOT_FOUND"), 1),
        (("SceneService/GetScene", "none", "INVALID_ARGUMENT"), 1),
        (("HapticService/Track", "none", "INVALID_ARGUMENT"), 1),
    ]);
    let of_scene = ["Create", "Get", "Delete"].map(|verb| format!("SceneService/{verb}Scene"));
    let of_things = ["AddTissue", "AddTool", "RemoveTissue", "RemoveTool", "Deform"];
    let of_things = of_things.iter().chain(&["EditTopology", "ExportTissue"]);
    let of_things = of_things.map(|name| format!("SceneService/{name}"));
    let haptic = ["Track", "QueryDistances", "QueryContacts", "DetectSelfCollisions"];
    let haptic = haptic.iter().map(|name| format!("HapticService/{name}"));
    let all: Vec<String> = of_scene.into_iter().chain(of_things).chain(haptic).collect();
    expected.extend(all.iter().map(|method| ((&**method, SCENE, "OK"), 1)));
    expected.insert(("HapticService/Track", SCENE, "OK"), 2);
    assert_eq!(calls, expected, "{log}");
    assert_eq!(rendered(&log), [0, 1], "{log}");
}
