//! Checks that the manifests agree with the server, its settings and `palpate plan`. `deploy/kubernetes/check.py`,
//! which `.ci/run` runs, checks them against schemas.

use std::{fs, path::Path, process::Command, sync::mpsc, thread, time::Duration};

use palpate::config::Config;
use serde_json::Value;

use crate::support::{
    folder::Folder,
    metrics::get,
    program::{has_feature, under_test},
    server::{TestServer, free_address},
};

const STATEFUL_SET: &str = "overlays/statefulset/stateful-set.yaml";
const FLEET: &str = "overlays/agones/fleet.yaml";
/// Changes of the overlay to the StatefulSet.
const WITH_STORE: &str = "overlays/object-store/stateful-set.yaml";
/// Resources that the manifests request from a machine.
const CORES: u64 = 8;
const MEMORY_GIB: u64 = 32;

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/kubernetes").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the values after `key: ` anywhere in the text.
fn values(text: &str, key: &str) -> Vec<String> {
    let found = text.lines().filter_map(|line| {
        line.trim_start_matches([' ', '-']).strip_prefix(key)?.strip_prefix(": ")
    });
    found.map(|value| value.trim_matches('"').to_owned()).collect()
}

/// Returns the value of a variable of a container.
fn variable(text: &str, name: &str) -> String {
    let (_, rest) = text.split_once(&format!("name: {name}\n")).unwrap_or_else(|| panic!("{name}"));
    values(rest, "value").first().expect("a value").clone()
}

#[test]
fn a_server_has_time_to_drain() {
    let drain_max = Config::default().transport.drain_max;
    for file in [STATEFUL_SET, FLEET] {
        let grace = &values(&read(file), "terminationGracePeriodSeconds")[0];
        let grace = Duration::from_secs(grace.parse().expect("seconds"));
        // A second each for work under way, for the sidecar and for the newest positions.
        assert!(grace >= drain_max + Duration::from_secs(3), "{file}: {grace:?} of {drain_max:?}");
    }
}

#[test]
fn a_server_has_the_cores_that_it_is_planned_with_and_no_quota() {
    for file in [STATEFUL_SET, FLEET] {
        let text = read(file);
        // The CPU is requested, and not limited.
        assert_eq!(values(&text, "cpu"), [CORES.to_string()], "{file}");
        let memory = format!("{MEMORY_GIB}Gi");
        assert_eq!(values(&text, "memory"), [memory.clone(), memory], "{file}");
        assert_eq!(variable(&text, "PALPATE_RUNTIME_THREADS"), CORES.to_string(), "{file}");
    }
}

/// A server with these variables shares its scenes in a bucket, and gives its pod's name as its address to others.
#[test]
fn servers_of_an_object_store_share_it_and_say_where_they_are() {
    if !has_feature("s3") {
        return;
    }
    let text = read(WITH_STORE);
    let names = [
        "PALPATE_STORE_URL",
        "PALPATE_CLUSTER_SHARED",
        "PALPATE_CLUSTER_LEASE",
        "PALPATE_CLUSTER_ADDRESS",
    ];
    let variables =
        names.map(|name| (name, variable(&text, name).replace("$(POD_NAME)", "palpate-2")));
    // Kubernetes expands a variable in the variables after it.
    let (before, _) = text.split_once("name: PALPATE_CLUSTER_ADDRESS").expect("an address");
    assert!(before.contains("name: POD_NAME") && before.contains("fieldPath: metadata.name"));
    let folder = Folder::new("kubernetes-store");
    let file = folder.write("empty.toml", "");
    let mut command = Command::new(under_test());
    command.args(["config", "check"]).arg(&file).env("RUST_LOG", "off").envs(variables);
    let done = command.output().expect("built");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let settings: toml::Table =
        String::from_utf8(done.stdout).expect("text").parse().expect("TOML");
    assert_eq!(settings["cluster"]["shared"].as_bool(), Some(true));
    // The headless service defines this name.
    let service = read("base/service.yaml");
    let address = format!("palpate-2.{}:7447", values(&service, "name")[0]);
    assert_eq!(settings["cluster"]["address"].as_str(), Some(address.as_str()));
    assert!(settings["store"]["url"].as_str().expect("a URL").starts_with("s3://"));
    let seconds = |section: &str, key: &str| {
        let text = settings[section][key].as_str().expect("a duration");
        text.trim_end_matches('s').parse::<f64>().expect("seconds")
    };
    assert!(seconds("cluster", "lease") >= 6.0 * seconds("store", "request_max"));
}

#[test]
fn servers_of_an_object_store_reach_it_and_names_and_nothing_else() {
    let text = read("overlays/object-store/network-policy.yaml");
    let (_, egress) = text.split_once("egress:").expect("what is let out");
    assert_eq!(values(egress, "port"), ["443", "53", "53"]);
    assert_eq!(values(egress, "protocol"), ["TCP", "UDP", "TCP"]);
    assert_eq!(values(&text, "name"), values(&read("base/network-policy.yaml"), "name")[..1]);
    // The merge takes the volume's name, and the claim is removed.
    let overlay = read("overlays/object-store/kustomization.yaml");
    assert!(overlay.contains("path: /spec/volumeClaimTemplates"));
    for file in [STATEFUL_SET, WITH_STORE] {
        assert!(read(file).contains("name: data\n"), "{file}");
    }
}

/// The counters equal those of a plan for such machines and the default workload.
#[test]
fn a_fleet_has_as_many_places_as_a_plan_says() {
    let (cores, memory) = (CORES.to_string(), MEMORY_GIB.to_string());
    let args = [
        "--scenes",
        "1000",
        "--loops",
        "1000",
        "--cores",
        &cores,
        "--memory-gib",
        &memory,
        "--json",
    ];
    let done = Command::new(under_test()).arg("plan").args(args).output();
    let plan: Value = serde_json::from_slice(&done.expect("built").stdout).expect("JSON");
    let planned =
        ["scenes_per_machine", "loops_per_machine"].map(|name| plan["sizing"][name].to_string());
    let fleet = read(FLEET);
    assert_eq!(values(&fleet, "capacity"), planned, "scenes and loops");
    let scaler = read("overlays/agones/fleet-autoscaler.yaml");
    let number = |key| values(&scaler, key)[0].parse::<u64>().expect("a number");
    let replicas: u64 = values(&fleet, "replicas")[0].parse().expect("a number");
    let places: u64 = planned[0].parse().expect("a number");
    assert_eq!(number("minCapacity"), replicas * places);
    assert!((2 * places..=number("minCapacity")).contains(&number("bufferSize")));
}

#[tokio::test]
async fn probes_ask_for_what_is_served() {
    let metrics = free_address();
    let mut config = Config::default();
    config.metrics.listen = Some(metrics);
    let mut server = TestServer::configured(config).await;
    server.create("any").await.expect("a new scene");
    for file in [STATEFUL_SET, FLEET] {
        let text = read(file);
        let paths: Vec<_> = values(&text, "path").into_iter().collect();
        assert!(paths.contains(&"/health".to_owned()), "{file}: {paths:?}");
        for path in paths {
            let (status, _) = get(metrics, &path).await;
            assert!(status.contains(" 200 "), "{file}: {path} is {status}");
        }
        for port in ["containerPort: 7447", "containerPort: 9464"] {
            assert!(text.contains(port), "{file} has no {port}");
        }
        assert_eq!(variable(&text, "PALPATE_METRICS_LISTEN"), "0.0.0.0:9464", "{file}");
    }
}

/// A server whose tick runtime hangs reports it at `/alive`, while `/health` still answers.
#[tokio::test]
async fn a_runtime_that_hangs_is_not_alive() {
    let metrics = free_address();
    let mut config = Config::default();
    config.metrics.listen = Some(metrics);
    let mut server = TestServer::configured(config).await;
    server.create("any").await.expect("a new scene");
    let (told, tell) = mpsc::channel();
    thread::spawn(move || {
        let own = tokio::runtime::Builder::new_current_thread().enable_all().build();
        own.expect("a runtime").block_on(async move {
            let hangs = async {
                while !get(metrics, "/alive").await.0.contains(" 503 ") {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                get(metrics, "/health").await.0
            };
            // An error means that the test has failed by itself.
            let _ = told.send(tokio::time::timeout(Duration::from_secs(60), hangs).await.ok());
        });
    });
    // The server runs on this test's only thread, which is blocked here.
    let health = tell.recv().expect("the other thread ends").expect("/alive never said so");
    assert!(health.contains(" 200 "), "{health}");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(get(metrics, "/alive").await.0.contains(" 200 "), "it runs again");
}
