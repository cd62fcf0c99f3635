//! The command line as a whole, and `palpate scenes --server`.

use std::{
    fs,
    process::{Command, Output},
};

use palpate::{proto::CreateSceneRequest, scene::Limits};
use serde_json::{Value, json};

use crate::support::{
    folder::Folder,
    keys::{SURGEON, VIEWER, all_keys, by, with_keys},
    messages::{SCENE, sparse},
    program::under_test,
    server::TestServer,
};

fn palpate(args: &[&str]) -> Output {
    Command::new(under_test()).args(args).output().expect("it was built")
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("text")
}

#[test]
fn help_lists_the_exit_codes_and_usage_has_its_own() {
    let help = text(palpate(&["--help"]).stdout);
    assert!(help.contains("\n  3  load and demo: an objective was missed"), "{help}");
    assert_eq!(palpate(&["sreve"]).status.code(), Some(2));
}

#[test]
fn shells_complete_the_options_of_each_command() {
    for shell in ["bash", "zsh", "fish"] {
        let done = palpate(&["completions", shell]);
        let script = text(done.stdout);
        assert!(done.status.success() && script.contains("find-capacity"), "{shell}: {script}");
    }
    assert_eq!(palpate(&["completions", "cmd"]).status.code(), Some(2));
}

#[test]
fn each_command_has_a_man_page() {
    let folder = Folder::new("man");
    let pages = folder.0.join("man1");
    let done = palpate(&["man", pages.to_str().expect("UTF-8")]);
    assert!(done.status.success(), "{done:?}");
    let page = |name: &str| fs::read_to_string(pages.join(name)).expect(name);
    assert!(page("palpate.1").contains("Exit codes"));
    assert!(page("palpate-load.1").contains("find\\-capacity"));
    assert!(page("palpate-scenes-move.1").contains("take\\-over"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenes_of_a_server_are_listed() {
    let mut server = TestServer::empty(Limits::default()).await;
    let address = server.address.to_string();
    let list = |more: &[&str]| {
        let done = palpate(&[&["scenes", "--server", &address], more].concat());
        assert!(done.status.success(), "{done:?}");
        text(done.stdout)
    };
    assert_eq!(list(&[]), format!("no scenes at {address}\n"));
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    server.create("spleen").await.expect("another");
    server.deform(vec![sparse(1, &[0], &[0.12, 0.0, 0.0])]).await.remove(0).expect("good");
    let table = "scene    durable  tissue  triangles  deformed  cut  tools\n\
                 liver-1  no       liver           8         1    0  probe\n\
                 spleen   no\n";
    assert_eq!(list(&[]), table);
    let scenes: Value = serde_json::from_str(&list(&["--json"])).expect("JSON");
    let tissue = &scenes[0]["tissues"][0];
    assert_eq!((&tissue["name"], &tissue["geometry_revision"]), (&json!("liver"), &json!(1)));
    assert_eq!((&scenes[0]["tools"][0]["links"], &scenes[1]["id"]), (&json!(1), &json!("spleen")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenes_are_listed_to_whoever_has_a_key() {
    let folder = Folder::new("listed");
    let keys = folder.write("keys.toml", &all_keys(""));
    let mut server = TestServer::configured(with_keys(&keys)).await;
    let creation = CreateSceneRequest { scene_id: SCENE.to_owned(), durable: None };
    server.scenes.create_scene(by(SURGEON, creation)).await.expect("a new scene");
    let address = server.address.to_string();
    let refused = palpate(&["scenes", "--server", &address]);
    assert_eq!(refused.status.code(), Some(1));
    let said = text(refused.stderr);
    assert!(said.starts_with("palpate: ListScenes was refused (Unauthenticated)"), "{said}");
    let key = folder.write("key", VIEWER);
    let key = key.to_str().expect("UTF-8");
    let listed = palpate(&["scenes", "--server", &address, "--key-file", key]);
    assert!(text(listed.stdout).contains(SCENE));
}

#[test]
fn a_list_needs_a_server_and_other_commands_none() {
    for args in [&["scenes"][..], &["scenes", "--json"], &["scenes", "--server=a", "list"]] {
        assert_eq!(palpate(args).status.code(), Some(2), "{args:?}");
    }
}
