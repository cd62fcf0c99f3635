//! Limits of connections, requests and messages.

use std::time::Duration;

use palpate::{
    config::{Config, TransportSettings},
    proto::{
        GetSceneRequest, Pose, QueryDistancesRequest, Tick, ToolPose, TrackMode, TrackRequest,
        query_distances_request::Target, scene_service_client::SceneServiceClient,
    },
};
use prost::Message;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tonic::{Code, Request, transport::Channel};

use crate::support::{
    messages::{
        SCENE, start, start_message, tick, tick_message, tissue_head, tissue_header, tool_at, vec3,
    },
    refusal::assert_refused,
    server::{TestServer, tissue},
};

/// Timeout for events that happen at once.
const SOON: Duration = Duration::from_secs(20);
/// HTTP/2's preface.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

async fn with(change: impl FnOnce(&mut TransportSettings)) -> TestServer {
    let mut config = Config::default();
    change(&mut config.transport);
    let mut server = TestServer::configured(config).await;
    server.create(SCENE).await.expect("a new scene");
    server
}

/// Reads until the server closes; returns the number of bytes read.
async fn read_to_end(stream: &mut TcpStream) -> usize {
    let mut said = Vec::new();
    let read = timeout(SOON, stream.read_to_end(&mut said)).await.expect("it closes");
    // A reset is an end as well.
    read.unwrap_or(said.len())
}

#[tokio::test]
async fn what_is_not_http_2_is_closed_at_once() {
    let mut server = TestServer::furnished().await;
    let tls_hello: &[u8] = &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03];
    let garbage: &[u8] = &[0xa5; 4096];
    let http_1: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut almost = PREFACE.to_vec();
    almost[23] = b'?';
    let cases = [
        ("HTTP/1.1", http_1),
        ("TLS", tls_hello),
        ("garbage", garbage),
        ("a wrong last byte", &almost),
    ];
    for (case, bytes) in cases {
        let mut stream = TcpStream::connect(server.address).await.expect("it listens");
        stream.write_all(bytes).await.expect("sent");
        assert_eq!(read_to_end(&mut stream).await, 0, "{case}");
    }
    // Invalid frames after a good preface: HTTP/2 reports the reason and closes.
    let mut stream = TcpStream::connect(server.address).await.expect("it listens");
    stream.write_all(&[PREFACE, garbage].concat()).await.expect("sent");
    read_to_end(&mut stream).await;
    server.seen().await;
}

#[tokio::test]
async fn silent_connections_are_closed_and_keep_nobody_out() {
    let preface_max = Duration::from_millis(500);
    let mut server = with(|t| (t.connections_max, t.preface_max) = (8, preface_max)).await;
    let mut silent = Vec::new();
    // Four times as many as there may be connections, half of them with half a preface.
    for at in 0..32 {
        let mut stream = TcpStream::connect(server.address).await.expect("it listens");
        if at % 2 == 0 {
            stream.write_all(&PREFACE[..12]).await.expect("sent");
        }
        silent.push(stream);
    }
    let mut other = TestServer::connect(server.address).await;
    other.create("other").await.expect("an honest client is let in");
    for stream in &mut silent {
        assert_eq!(read_to_end(stream).await, 0);
    }
    println!("32 half-open connections: all closed after {preface_max:?}, an honest client served");
    server.seen().await;
}

#[tokio::test]
async fn there_are_no_more_connections_than_allowed() {
    let server = with(|t| t.connections_max = 2).await;
    let mut second = TestServer::connect(server.address).await;
    second.create("second").await.expect("the limit is two");
    let endpoint = Channel::from_shared(format!("http://{}", server.address)).expect("an address");
    let mut third = SceneServiceClient::new(endpoint.connect_lazy());
    let request = GetSceneRequest { scene_id: SCENE.to_owned() };
    let refused = third.get_scene(request.clone()).await.expect_err("the third");
    // The client's library decides the code of a broken connection.
    assert!(matches!(refused.code(), Code::Unavailable | Code::Unknown), "{refused:?}");
    drop(second);
    let let_in = async {
        // The server notices the end a little later.
        while third.get_scene(request.clone()).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, let_in).await.expect("there is room again");
}

#[tokio::test]
async fn the_settings_of_http_2_are_as_configured() {
    let server = with(|t| t.streams_per_connection_max = 7).await;
    let mut stream = TcpStream::connect(server.address).await.expect("it listens");
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    stream.write_all(&[PREFACE, &settings].concat()).await.expect("sent");
    let length = timeout(SOON, stream.read_u32()).await.expect("soon").expect("a frame") >> 8;
    let mut rest = vec![0; 5 + length as usize];
    stream.read_exact(&mut rest).await.expect("all of it");
    let entries = rest[5..].chunks_exact(6).map(|e| {
        let value = u32::from_be_bytes([e[2], e[3], e[4], e[5]]);
        (u16::from_be_bytes([e[0], e[1]]), value)
    });
    let entries: Vec<_> = entries.collect();
    // RFC 9113: 3 is streams, 4 the window of a stream, 6 the header list.
    for expected in [(3, 7), (4, 64 << 10), (6, 8 << 10)] {
        assert!(entries.contains(&expected), "{entries:?} lacks {expected:?}");
    }
}

/// 8 tools of 8 links, each number as long as it gets.
fn largest_tick() -> Tick {
    let at = vec3(0.1, 0.2, 0.3);
    let orientation = Some(palpate::proto::Quaternion { x: 0.5, y: 0.5, z: 0.5, w: 0.5 });
    let pose = Pose { position_m: Some(at), orientation };
    let tool =
        ToolPose { tool_id: u32::MAX, pose: Some(pose), link_poses: vec![pose; 8], teleport: true };
    let tools = vec![tool; 8];
    Tick { sequence: u64::MAX, client_time_ns: -1, tools, deadline_us: u32::MAX }
}

#[tokio::test]
async fn messages_of_track_are_small_and_queries_may_be_large() {
    let bytes = largest_tick().encoded_len();
    println!("the largest tick of the default limits has {bytes} bytes");
    let limit = TransportSettings::default().track_message_bytes_max;
    assert!(10 * bytes < limit, "{bytes}");
    let mut server = TestServer::furnished().await;
    let tools = vec![tool_at(vec3(0.2, 0.0, 0.0)); limit / 8];
    let oversize = tick_message(Tick { tools, ..tick(2, 0.2) });
    assert!(oversize.encoded_len() > limit);
    let sent = vec![start_message(start(TrackMode::Every)), tick_message(tick(1, 0.2)), oversize];
    let mut answers = server.track(sent).await;
    let refused = answers.pop().expect("a refusal").expect_err("too large");
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    let points_xyz_m = vec![0.3; 3 * 4096];
    let request = QueryDistancesRequest {
        scene_id: SCENE.to_owned(),
        target: Some(Target::AllTissues(true)),
        points_xyz_m,
        ..Default::default()
    };
    assert!(request.encoded_len() > limit);
    server.haptics.query_distances(request).await.expect("queries may be larger");
}

#[tokio::test]
async fn huge_metadata_and_unknown_methods_are_refused() {
    let mut server = TestServer::furnished().await;
    let mut request = Request::new(GetSceneRequest { scene_id: SCENE.to_owned() });
    let long = "x".repeat(64 << 10).parse().expect("ASCII");
    request.metadata_mut().insert("x-long", long);
    server.scenes.get_scene(request).await.expect_err("64 KiB of metadata");
    let mut client = tonic::client::Grpc::new(server.channel.clone());
    client.ready().await.expect("connected");
    let path = http::uri::PathAndQuery::from_static("/palpate.v1.HapticService/Tickle");
    let codec = tonic_prost::ProstCodec::<TrackRequest, TrackRequest>::default();
    let answer = client.unary(Request::new(TrackRequest::default()), path, codec).await;
    assert_eq!(answer.expect_err("no such method").code(), Code::Unimplemented);
    server.seen().await;
}

#[tokio::test]
async fn an_upload_that_pauses_is_given_up() {
    let mut server = with(|t| t.upload_pause_max = Duration::from_millis(50)).await;
    let (requests, sent) = tokio::sync::mpsc::channel(1);
    requests.send(tissue_head(tissue_header("liver", &tissue()))).await.expect("room");
    let abandoned = tokio_stream::wrappers::ReceiverStream::new(sent);
    let refused = timeout(SOON, server.scenes.add_tissue(abandoned)).await.expect("soon");
    assert_refused(refused, Code::DeadlineExceeded, "", "abandoned half way");
    drop(requests);
    assert_eq!(server.seen().await.scene.tissues, []);
}

#[tokio::test]
async fn a_cancelled_call_leaves_nothing_behind() {
    let mut server = TestServer::furnished().await;
    let before = server.seen().await;
    // Before the start, after it, and with a tick in work.
    for sent in [0, 1, 2] {
        let first = start_message(start(TrackMode::Latest));
        let stream = server.hand_fed(first).await;
        for sequence in 0..sent {
            stream.requests.send(tick_message(tick(sequence, 0.2))).await.expect("open");
        }
        drop(stream);
    }
    let mut hurried = Request::new(GetSceneRequest { scene_id: SCENE.to_owned() });
    hurried.set_timeout(Duration::from_micros(1));
    // Either side may win the race.
    let _ = server.scenes.get_scene(hurried).await;
    assert_eq!(server.seen().await, before);
}

#[cfg(unix)]
#[tokio::test]
async fn a_unix_socket_serves_the_same() {
    use std::os::unix::fs::PermissionsExt;

    use tonic::transport::Endpoint;

    let path = std::env::temp_dir().join(format!("palpate-{}.sock", std::process::id()));
    // A socket that a server left behind is replaced.
    drop(std::os::unix::net::UnixListener::bind(&path).expect("a temporary folder"));
    let config = Config { unix_socket: Some(path.clone()), ..Config::default() };
    let mut server = TestServer::configured(config).await;
    let mode = std::fs::metadata(&path).expect("it listens").permissions().mode();
    assert_eq!(mode & 0o777, 0o660, "for its user and group");
    server.create(SCENE).await.expect("a new scene");
    let at = format!("unix://{}", path.display());
    let endpoint = Endpoint::from_shared(at).expect("a path");
    let channel = endpoint.connect().await.expect("it listens");
    let mut client = SceneServiceClient::new(channel);
    let request = GetSceneRequest { scene_id: SCENE.to_owned() };
    client.get_scene(request).await.expect("the same scenes");
    std::fs::remove_file(path).expect("it is there");
}
