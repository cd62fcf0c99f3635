//! Keys, roles, quotas, TLS and client certificates, and the reloading of their files.

use std::time::Duration;

use palpate::oracle::shapes;
use palpate::proto::{
    AddTissueRequest, CreateSceneRequest, DeleteSceneRequest, EditTopologyRequest, GetSceneRequest,
    TrackMode, scene_service_client::SceneServiceClient,
};
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Code, Status,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::support::{
    certificates::{Authority, with_tls},
    folder::Folder,
    keys::{ADMIN, OTHER, SURGEON, VIEWER, all_keys, by, key, with_keys},
    meshes::wire,
    messages::{
        SCENE, start, start_message, tick, tick_message, tissue_upload, tool_head, tool_header,
        tool_piece,
    },
    program::under_test,
    refusal::{assert_refused, refusal},
    server::{TestServer, link, tissue},
};

const SOON: Duration = Duration::from_secs(20);
fn creation(id: &str) -> CreateSceneRequest {
    CreateSceneRequest { scene_id: id.to_owned(), durable: None }
}

async fn create(server: &mut TestServer, secret: &str, id: &str) -> Result<(), Status> {
    server.scenes.create_scene(by(secret, creation(id))).await.map(drop)
}

async fn upload(
    server: &mut TestServer,
    secret: &str,
    upload: Vec<AddTissueRequest>,
) -> Result<(), Status> {
    server.scenes.add_tissue(by(secret, tokio_stream::iter(upload))).await.map(drop)
}

#[tokio::test]
async fn a_key_allows_what_its_role_does() {
    let folder = Folder::new("roles");
    let keys = folder.write("keys.toml", &all_keys(""));
    let mut server = TestServer::configured(with_keys(&keys)).await;
    let (unknown, denied) = (Code::Unauthenticated, Code::PermissionDenied);
    let none = server.scenes.create_scene(creation(SCENE)).await;
    assert_refused(none, unknown, "", "no key");
    assert_refused(create(&mut server, "none-0123456789ab", SCENE).await, unknown, "", "wrong key");
    assert_refused(create(&mut server, "", SCENE).await, unknown, "", "empty key");
    let viewer = create(&mut server, VIEWER, SCENE).await;
    assert_refused(viewer, denied, "key viewer", "read-only");
    create(&mut server, SURGEON, SCENE).await.expect("a full key");

    let look = GetSceneRequest { scene_id: SCENE.to_owned() };
    server.scenes.get_scene(by(VIEWER, look.clone())).await.expect("it may look");
    assert_refused(server.scenes.get_scene(look).await, unknown, "", "to look");
    let liver = || tissue_upload("liver", &tissue());
    let owned = format!("scene {SCENE}");
    assert_refused(upload(&mut server, OTHER, liver()).await, denied, &owned, "another's");
    upload(&mut server, SURGEON, liver()).await.expect("its own");
    let delete = DeleteSceneRequest { scene_id: SCENE.to_owned() };
    let other = server.scenes.delete_scene(by(OTHER, delete.clone())).await;
    assert_refused(other, denied, &owned, "another's");
    server.scenes.delete_scene(by(ADMIN, delete)).await.expect("an admin may");

    let request = HealthCheckRequest { service: String::new() };
    HealthClient::new(server.channel).check(request).await.expect("health needs no key");
}

#[tokio::test]
async fn quotas_are_checked_before_memory_is_taken() {
    let folder = Folder::new("quotas");
    let quotas = "scenes = 1\ntriangles = 20\nbytes = 1000000\nstreams = 1";
    let keys = folder.write("keys.toml", &all_keys(quotas));
    let mut server = TestServer::configured(with_keys(&keys)).await;
    let full = Code::ResourceExhausted;
    create(&mut server, SURGEON, SCENE).await.expect("the first");
    assert_refused(create(&mut server, SURGEON, "b").await, full, "scenes_per_key", "a second");
    create(&mut server, OTHER, "b").await.expect("another key's");

    upload(&mut server, SURGEON, tissue_upload("liver", &tissue())).await.expect("8 triangles");
    upload(&mut server, SURGEON, tissue_upload("spleen", &tissue())).await.expect("16 triangles");
    let third = upload(&mut server, SURGEON, tissue_upload("kidney", &tissue())).await;
    let status = third.expect_err("24 triangles");
    assert_eq!(refusal(&status), (full, "triangles_per_key".to_owned()));
    for part in ["\"surgeon\"", "16", "8 more", "20"] {
        assert!(status.message().contains(part), "{status:?} lacks {part}");
    }
    assert!(!status.message().contains(SURGEON), "{status:?}");

    // The header alone is enough for the refusal.
    let mut declared = tissue_upload("kidney", &tissue());
    declared.truncate(1);
    assert_refused(
        upload(&mut server, SURGEON, declared).await,
        full,
        "triangles_per_key",
        "header",
    );
}

/// Lists grow by doubling: a cut of three vertices may take as much memory as the tissue has.
#[tokio::test]
async fn cuts_do_not_take_a_key_over_its_quota_of_bytes() {
    const QUOTA: u64 = 1_800_000;
    let folder = Folder::new("quota-of-cuts");
    let keys = folder.write("keys.toml", &all_keys(&format!("bytes = {QUOTA}")));
    let mut server = TestServer::configured(with_keys(&keys)).await;
    create(&mut server, SURGEON, SCENE).await.expect("a full key");
    let mesh = wire(&shapes::organ(2_000, 1));
    for name in ["liver", "spleen"] {
        upload(&mut server, SURGEON, tissue_upload(name, &mesh)).await.expect("room");
    }
    let (mut n, first) = (0, mesh.positions.len() as u32 / 3);
    let refused = loop {
        let vertex = first + 3 * (n / 2);
        let cut = EditTopologyRequest {
            scene_id: SCENE.to_owned(),
            tissue_id: 1 + n % 2,
            added_positions_m: vec![0.1, 0.0, 0.0, 0.1, 0.001, 0.0, 0.1, 0.0, 0.001],
            added_triangles: vec![vertex, vertex + 1, vertex + 2],
            ..Default::default()
        };
        match server.scenes.edit_topology(by(SURGEON, cut)).await {
            Ok(_) => n += 1,
            Err(refused) => break refused,
        }
    };
    assert_eq!(refusal(&refused), (Code::ResourceExhausted, "bytes_per_key".to_owned()));
    let has = refused.message().split_once("has ").and_then(|(_, rest)| rest.split_once(' '));
    let used: u64 = has.expect("what it has").0.parse().expect("a number");
    println!("{n} cuts, {used} of {QUOTA} bytes: {}", refused.message());
    assert!(used <= QUOTA, "{}", refused.message());
}

#[tokio::test]
async fn a_key_has_no_more_streams_than_its_quota() {
    let folder = Folder::new("streams");
    let keys = folder.write("keys.toml", &all_keys("streams = 1"));
    let mut server = TestServer::configured(with_keys(&keys)).await;
    create(&mut server, SURGEON, SCENE).await.expect("a full key");
    let tool = vec![tool_head(tool_header("probe", &link())), tool_piece(link().chunk())];
    server.scenes.add_tool(by(SURGEON, tokio_stream::iter(tool))).await.expect("a tool");
    let mut streams = Vec::new();
    for (secret, expected) in [(SURGEON, None), (SURGEON, Some("streams_per_key")), (VIEWER, None)]
    {
        let (requests, sent) = tokio::sync::mpsc::channel(2);
        requests.send(start_message(start(TrackMode::Every))).await.expect("room");
        requests.send(tick_message(tick(1, 0.2))).await.expect("room");
        let answers = server.haptics.track(by(secret, ReceiverStream::new(sent))).await;
        let mut answers = answers.expect("a stream").into_inner();
        match (answers.message().await, expected) {
            (Ok(Some(answer)), None) => assert_eq!(answer.refusal, None),
            (refused, Some(quota)) => {
                assert_refused(refused, Code::ResourceExhausted, quota, secret)
            }
            other => panic!("{other:?}"),
        }
        streams.push((requests, answers));
    }
}

#[tokio::test]
async fn keys_are_read_again_and_bad_ones_change_nothing() {
    let folder = Folder::new("reload");
    let keys = folder.write("keys.toml", &key("old", "full", SURGEON, ""));
    let mut server = TestServer::configured(with_keys(&keys)).await;
    create(&mut server, SURGEON, "a").await.expect("the old key");
    folder.write("keys.toml", "[[key]]\nname = \"half\"");
    folder.write("keys.toml", &key("new", "full", OTHER, ""));
    let mut n = 0;
    let until_new = async {
        loop {
            n += 1;
            match create(&mut server, OTHER, &format!("new-{n}")).await {
                Ok(()) => break,
                Err(status) => assert_eq!(status.code(), Code::Unauthenticated),
            }
        }
    };
    timeout(SOON, until_new).await.expect("it is read again");
    let old = create(&mut server, SURGEON, "b").await;
    assert_refused(old, Code::Unauthenticated, "", "the old key");
    // From now on the file is bad, and the last good keys stay in effect.
    folder.write("keys.toml", "[[key]]\nsecret = 5");
    for at in 0..50 {
        let id = format!("after-{at}");
        create(&mut server, OTHER, &id).await.expect("the new key stays");
        let delete = DeleteSceneRequest { scene_id: id };
        server.scenes.delete_scene(by(OTHER, delete)).await.expect("its own");
    }
}

#[test]
fn a_bad_keys_file_is_refused_without_its_secrets() {
    let folder = Folder::new("bad-keys");
    let cases = [
        ("short", key("a", "full", "short", ""), "\"a\""),
        ("role", key("a", "owner", SURGEON, ""), "line 3"),
        ("unknown", key("a", "full", SURGEON, "scene = 1"), "line"),
        ("twice", key("a", "full", SURGEON, "") + &key("b", "full", SURGEON, ""), "\"b\""),
        ("kind", "[[key]]\nname = \"a\"\nrole = \"full\"\nsecret = 987654321\n".into(), "line 4"),
        ("none", "key = \"0123456789abcdef\"".to_owned(), "line 1"),
    ];
    for (case, text, part) in cases {
        let file = folder.write("keys.toml", &text);
        let done = std::process::Command::new(under_test())
            .args(["config", "check"])
            .env("PALPATE_ACCESS_KEYS_FILE", &file)
            .output()
            .expect("it was built");
        let error = String::from_utf8(done.stderr).expect("text");
        assert_eq!(done.status.code(), Some(1), "{case}: {error}");
        assert!(error.contains("access.keys_file, "), "{case}: {error}");
        assert!(error.contains("keys.toml") && error.contains(part), "{case}: {error}");
        for secret in [SURGEON, "987654321", "0123456789abcdef", "short"] {
            assert!(!error.contains(secret), "{case}: {error}");
        }
    }
}

async fn over_tls(
    server: &TestServer,
    tls: ClientTlsConfig,
) -> Result<(), Box<dyn std::error::Error>> {
    let port = server.address.port();
    let endpoint = Endpoint::from_shared(format!("https://127.0.0.1:{port}"))?;
    let channel: Channel = endpoint.tls_config(tls.domain_name("localhost"))?.connect().await?;
    let request = HealthCheckRequest { service: String::new() };
    HealthClient::new(channel).check(request).await?;
    Ok(())
}

fn trusting(authority: &Authority) -> ClientTlsConfig {
    ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority.pem()))
}

#[tokio::test]
async fn tls_is_for_those_who_trust_the_server_and_certificates_are_read_again() {
    let folder = Folder::new("tls");
    let (first, second) = (Authority::new(), Authority::new());
    let mut server = with_tls(&folder, &first, None).await;
    over_tls(&server, trusting(&first)).await.expect("trusted");
    over_tls(&server, trusting(&second)).await.expect_err("signed by somebody else");
    server.create(SCENE).await.expect_err("plain text");
    let (certificate, key) = second.sign();
    folder.write("server.key", &key);
    folder.write("server.pem", &certificate);
    let renewed = async { while over_tls(&server, trusting(&second)).await.is_err() {} };
    timeout(SOON, renewed).await.expect("it is read again");
}

#[tokio::test]
async fn a_client_certificate_is_asked_for() {
    let folder = Folder::new("mtls");
    let (ca, clients, strangers) = (Authority::new(), Authority::new(), Authority::new());
    let server = with_tls(&folder, &ca, Some(&clients)).await;
    let identity = |(certificate, key): (String, String)| Identity::from_pem(certificate, key);
    let known = trusting(&ca).identity(identity(clients.sign()));
    over_tls(&server, known).await.expect("signed by the clients' authority");
    over_tls(&server, trusting(&ca)).await.expect_err("no certificate");
    let stranger = trusting(&ca).identity(identity(strangers.sign()));
    over_tls(&server, stranger).await.expect_err("signed by somebody else");
}

#[tokio::test]
async fn tls_to_plain_is_refused() {
    let server = TestServer::with_scene().await;
    over_tls(&server, trusting(&Authority::new())).await.expect_err("the server speaks plain");
    let mut client = SceneServiceClient::new(server.channel.clone());
    let request = GetSceneRequest { scene_id: SCENE.to_owned() };
    client.get_scene(request).await.expect("and goes on");
}
