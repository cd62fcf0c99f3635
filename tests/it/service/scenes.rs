use palpate::{
    proto::{
        DeleteSceneRequest, GetSceneRequest, ListScenesRequest, RemoveTissueRequest,
        RemoveToolRequest,
    },
    scene::Limits,
};
use tonic::Code;

use crate::support::{
    messages::{SCENE, tissue_upload},
    refusal::assert_refused,
    server::{TestServer, tissue},
};

#[tokio::test]
async fn scenes_come_and_go() {
    let mut server = TestServer::empty(Limits::default()).await;
    let made = server.create("b-2").await.expect("a new scene");
    assert_eq!((made.scene_id.as_str(), made.tissues.len(), made.tools.len()), ("b-2", 0, 0));
    server.create("a-1").await.expect("another");
    let all = server.scenes.list_scenes(ListScenesRequest {}).await.expect("a list");
    let ids: Vec<_> = all.into_inner().scenes.into_iter().map(|s| s.scene_id).collect();
    assert_eq!(ids, ["a-1", "b-2"]);
    let delete = DeleteSceneRequest { scene_id: "b-2".to_owned() };
    server.scenes.delete_scene(delete).await.expect("it is there");
    let get = GetSceneRequest { scene_id: "b-2".to_owned() };
    assert_refused(server.scenes.get_scene(get).await, Code::NotFound, "scene b-2", "deleted");
    server.create("b-2").await.expect("the id is free again");
}

#[tokio::test]
async fn an_id_that_no_scene_can_have_is_refused() {
    let mut server = TestServer::empty(Limits::default()).await;
    let long = "a".repeat(65);
    for id in ["", "Liver", "liver 1", "leber-\u{e4}", "a/b", &long] {
        let made = server.create(id).await;
        assert_refused(made, Code::InvalidArgument, "scene_id", &format!("create {id:?}"));
        let get = GetSceneRequest { scene_id: id.to_owned() };
        let got = server.scenes.get_scene(get).await;
        assert_refused(got, Code::InvalidArgument, "scene_id", &format!("get {id:?}"));
    }
    server.create(&"a".repeat(64)).await.expect("64 are allowed");
}

#[tokio::test]
async fn a_scene_is_neither_made_twice_nor_beyond_the_limit() {
    let mut server = TestServer::empty(Limits { scenes: 1, ..Limits::default() }).await;
    server.create("liver").await.expect("the first");
    assert_refused(server.create("liver").await, Code::AlreadyExists, "scene liver", "twice");
    assert_refused(server.create("spleen").await, Code::ResourceExhausted, "scenes", "beyond");
    let delete = DeleteSceneRequest { scene_id: "spleen".to_owned() };
    let gone = server.scenes.delete_scene(delete).await;
    assert_refused(gone, Code::NotFound, "scene spleen", "unknown");
}

#[tokio::test]
async fn removed_tissues_and_tools_are_gone_and_their_ids_stay_unused() {
    let mut server = TestServer::furnished().await;
    let tissue_1 = RemoveTissueRequest { scene_id: SCENE.to_owned(), tissue_id: 1 };
    let tool_1 = RemoveToolRequest { scene_id: SCENE.to_owned(), tool_id: 1 };
    server.scenes.remove_tissue(tissue_1.clone()).await.expect("it is there");
    server.scenes.remove_tool(tool_1.clone()).await.expect("it is there");
    let seen = server.seen().await;
    assert_eq!((seen.scene.tissues.len(), seen.scene.tools.len()), (0, 0));
    let again = server.scenes.remove_tissue(tissue_1).await;
    assert_refused(again, Code::NotFound, "tissue 1", "removed before");
    let again = server.scenes.remove_tool(tool_1).await;
    assert_refused(again, Code::NotFound, "tool 1", "removed before");
    assert_refused(server.export(1).await, Code::NotFound, "tissue 1", "export");
    let added = server.add_tissue(tissue_upload("liver", &tissue())).await.expect("free again");
    assert_eq!(added.tissue_id, 2);
}
