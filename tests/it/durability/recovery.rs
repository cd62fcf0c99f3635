//! Start of a server that has scenes to read: its duration, and the answers to clients until it is over.

use std::{
    fs,
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

use palpate::{
    oracle::shapes,
    proto::{CreateSceneRequest, EditTopologyRequest, GetSceneRequest},
};
use tonic::{Code, transport::Channel};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

use crate::{
    seed::figure,
    support::{
        folder::Folder,
        meshes::wire,
        messages::{SCENE, dense, tissue_upload, tool_head, tool_header, tool_piece},
        metrics::{get, value},
        process::Process,
        server::{TestServer, free_address, link},
    },
};

/// C library that makes each open of a snapshot wait while a file exists.
const GATED_OPEN: &str = "
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int opened(const char *name, const char *path, int flags, mode_t mode) {
    const char *gate = getenv(\"PALPATE_TEST_GATE\");
    size_t n = strlen(path);
    if (gate && n > 9 && strcmp(path + n - 9, \".snapshot\") == 0)
        while (access(gate, F_OK) == 0) usleep(5000);
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
    return next(path, flags, mode);
}
#define OPEN(name) int name(const char *path, int flags, ...) { \
    va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more); \
    return opened(#name, path, flags, mode); }
OPEN(open)
OPEN(open64)
";
const TRIANGLES: u32 = 20_000;
/// Recovery time promised for [`TRIANGLES`], seconds.
const RECOVERY_MAX_S: f64 = 1.0;
const SOON: Duration = Duration::from_secs(60);

fn gated_open(folder: &Folder) -> Option<PathBuf> {
    let (source, library) = (folder.write("gate.c", GATED_OPEN), folder.0.join("gate.so"));
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
    compiler.output().is_ok_and(|done| done.status.success()).then_some(library)
}

async fn health(channel: &Channel, service: &str) -> ServingStatus {
    let request = HealthCheckRequest { service: service.to_owned() };
    let answer = HealthClient::new(channel.clone()).check(request).await;
    answer.expect("health is always told").into_inner().status()
}

async fn is_serving(channel: &Channel) {
    let until = Instant::now() + SOON;
    while health(channel, "").await != ServingStatus::Serving {
        assert!(Instant::now() < until, "it never serves");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_comes_while_scenes_are_read_is_told_so_and_served_after_that() {
    let (folder, files) = (Folder::new("recovering"), Folder::new("gate"));
    let Some(library) = gated_open(&files) else {
        println!("skipped: there is no C compiler");
        return;
    };
    let mut process = Process::serve_keeping(&folder.0, &[], &[]);
    let mut server = TestServer::connect(process.address()).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    let before = server.seen().await;
    process.signal("KILL");
    process.end();

    let gate = files.write("closed", "");
    let metrics = free_address();
    let variables = [
        ("LD_PRELOAD", library.to_str().expect("UTF-8")),
        ("PALPATE_TEST_GATE", gate.to_str().expect("UTF-8")),
        ("PALPATE_METRICS_LISTEN", &*metrics.to_string()),
        ("RUST_LOG", "info"),
        ("NO_COLOR", "1"),
    ];
    let mut process = Process::serve_keeping(&folder.0, &[], &variables);
    let mut server = TestServer::connect(process.address()).await;
    for service in ["", "palpate.v1.HapticService", "palpate.v1.SceneService"] {
        assert_eq!(health(&server.channel, service).await, ServingStatus::NotServing, "{service}");
    }
    let (status, _) = get(metrics, "/health").await;
    assert!(status.contains("503"), "{status}");
    let scene = GetSceneRequest { scene_id: SCENE.to_owned() };
    let refused = server.scenes.get_scene(scene).await.expect_err("it is not read");
    assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    // No other scene may take the name either.
    for id in [SCENE, "another"] {
        let create = CreateSceneRequest { scene_id: id.to_owned(), durable: None };
        let refused = server.scenes.create_scene(create).await.expect_err("none is made");
        assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    }
    fs::remove_file(gate).expect("there");
    is_serving(&server.channel).await;
    assert_eq!(get(metrics, "/health").await.1, "SERVING\n");
    assert_eq!(server.seen().await, before);
    server.create("another").await.expect("a new scene");
    process.signal("KILL");
    let log = tokio::task::spawn_blocking(move || process.errors()).await.expect("no panic");
    let at = |words: &str| log.find(words).unwrap_or_else(|| panic!("no {words:?} in {log}"));
    assert!(at("reading a scene") < at("a field, kept or to be built"), "{log}");
    assert!(at("a field, kept or to be built") < at("scene recovered"), "{log}");
    at(&format!("scenes kept from before: 1 ({SCENE})"));
    let line = log[at("reading a scene")..].lines().next().unwrap_or_default();
    assert!(line.contains("number=1") && line.contains("bytes="), "{line}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_thousand_triangles_are_served_soon_after_a_kill() {
    let folder = Folder::new("soon-served");
    let metrics = free_address().to_string();
    let variables = [("PALPATE_METRICS_LISTEN", &*metrics)];
    let mut process = Process::serve_keeping(&folder.0, &[], &variables);
    let mut server = TestServer::connect(process.address()).await;
    server.create(SCENE).await.expect("a new scene");
    let organ = wire(&shapes::organ(TRIANGLES, 1));
    server.add_tissue(tissue_upload("organ", &organ)).await.expect("tissue 1");
    let tool = vec![tool_head(tool_header("probe", &link())), tool_piece(link().chunk())];
    server.add_tool(tool).await.expect("tool 1");
    // Adds entries to the journal.
    let moved: Vec<f32> = organ.positions.iter().map(|x| x * 1.01).collect();
    server.deform(vec![dense(1, &moved)]).await.remove(0).expect("good");
    for triangle in 0..100 {
        let cut = EditTopologyRequest {
            scene_id: SCENE.to_owned(),
            tissue_id: 1,
            removed_triangles: vec![triangle],
            ..Default::default()
        };
        server.scenes.edit_topology(cut).await.expect("a cut");
    }
    process.signal("KILL");
    process.end();
    let started = Instant::now();
    let mut process = Process::serve_keeping(&folder.0, &[], &variables);
    let mut server = TestServer::connect(process.address()).await;
    is_serving(&server.channel).await;
    let served = started.elapsed();
    let tissue = server.seen().await.scene.tissues.remove(0);
    assert_eq!(tissue.topology_revision, 100);
    let (_, text) = get(metrics.parse().expect("an address"), "/metrics").await;
    let took = value(&text, "palpate_recovery_seconds");
    let n = tissue.triangles;
    println!("{n} triangles read in {took:.3} s, SERVING {served:?} after the process began");
    figure("recovery of 20,000 triangles", took, RECOVERY_MAX_S, "s");
    assert!(took > 0.0, "it was read");
}
