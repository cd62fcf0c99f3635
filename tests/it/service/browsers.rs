//! The HTTP port as browsers use it: the page's files, grpc-web, and pages that may not call.

use std::{collections::BTreeSet, net::SocketAddr, time::Duration};

use palpate::{config::Config, oracle::shapes};
use prost::Message;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::sleep,
};

use crate::support::{
    folder::Folder,
    keys::{VIEWER, all_keys, with_keys},
    meshes::wire,
    messages::{SCENE, dense, tissue_upload},
    metrics::{get, get_whole},
    server::{TestServer, free_address},
    viewer::all_of,
};
use palpate::proto::{MoveDeviceRequest, WatchResponse};

const WATCH: &str = "/palpate.v1.WatchService/Watch";

async fn served(config: Config) -> (TestServer, SocketAddr) {
    let mut config = config;
    let address = free_address();
    config.metrics.listen = Some(address);
    (TestServer::configured(config).await, address)
}

/// Frames a message as grpc-web does.
fn framed(message: &impl Message) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend((message.encoded_len() as u32).to_be_bytes());
    bytes.extend(message.encode_to_vec());
    bytes
}

fn request(path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\n{headers}Content-Type: application/grpc-web+proto\r\nX-Grpc-Web: 1\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Returns the head of the answer to a browser's preflight request.
async fn preflight(address: SocketAddr, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let head = format!("OPTIONS {WATCH} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("text");
    answer
}

/// Sends a call and reads until `is_enough` accepts the answer.
async fn call(
    address: SocketAddr,
    path: &str,
    headers: &str,
    body: &[u8],
    is_enough: impl Fn(&[u8]) -> bool,
) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(&request(path, headers, body)).await.expect("sent");
    let mut answer = Vec::new();
    while !is_enough(&answer) {
        let n = stream.read_buf(&mut answer).await.expect("more");
        assert!(n > 0, "it ended: {}", String::from_utf8_lossy(&answer));
    }
    answer
}

fn has(part: &'static str) -> impl Fn(&[u8]) -> bool {
    move |answer| String::from_utf8_lossy(answer).contains(part)
}

fn own(address: SocketAddr) -> String {
    format!("Host: {address}\r\nOrigin: http://{address}\r\n")
}

#[tokio::test]
async fn a_page_of_the_server_sees_frames() {
    let (mut server, address) = served(Config::default()).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    let body = framed(&all_of(SCENE));
    let answer = call(address, WATCH, &own(address), &body, has(SCENE)).await;
    let text = String::from_utf8_lossy(&answer);
    assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
    assert!(text.contains("application/grpc-web+proto"), "{text}");
    // The first message of the first frame is the tissue.
    let message = &messages(&answer)[0];
    assert_eq!((message.frame, message.tissues[0].tissue_id), (1, 1));
    let moved =
        framed(&MoveDeviceRequest { scene_id: SCENE.to_owned(), tool_id: 9, ..Default::default() });
    let path = "/palpate.v1.WatchService/MoveDevice";
    let answer = call(address, path, &own(address), &moved, has("grpc-status")).await;
    assert!(String::from_utf8_lossy(&answer).contains("grpc-status: 5"), "there is no tool 9");
}

#[tokio::test]
async fn pages_of_others_are_refused() {
    let mut config = Config::default();
    config.metrics.cors_origin = Some("https://viewer.example".to_owned());
    let (_server, address) = served(config).await;
    let body = framed(&all_of(""));
    let status = async |headers: String| {
        let answer = call(address, WATCH, &headers, &body, has("\r\n\r\n")).await;
        String::from_utf8_lossy(&answer).lines().next().expect("a status").to_owned()
    };
    let refused = "HTTP/1.1 403 Forbidden";
    let host = format!("Host: {address}\r\n");
    assert_eq!(status(format!("{host}Origin: https://evil.example\r\n")).await, refused);
    // A name of an attacker's that resolves to this address.
    let bound = "Host: evil.example:9464\r\nOrigin: http://evil.example:9464\r\n".to_owned();
    assert_eq!(status(bound).await, refused);
    assert_eq!(status(format!("{host}Origin: null\r\n")).await, refused);
    assert_eq!(status(host.clone()).await, "HTTP/1.1 200 OK", "no browser");
    let known = format!("{host}Origin: https://viewer.example\r\n");
    let answer = call(address, WATCH, &known, &body, has("\r\n\r\n")).await;
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("access-control-allow-origin: https://viewer.example"), "{text}");
    // The browser's preflight request.
    let asked = preflight(address, &known).await;
    let told =
        ["204 No Content", "methods: POST", "headers: authorization, content-type, x-grpc-web"];
    assert!(told.iter().all(|told| asked.contains(told)), "{asked}");
    let long = vec![0; 5 << 10];
    let answer = call(address, WATCH, &own(address), &long, has("\r\n\r\n")).await;
    assert!(has("413 Payload Too Large")(&answer), "a long request");
}

#[tokio::test]
async fn other_pages_may_not_call_unless_one_is_named() {
    let (_server, address) = served(Config::default()).await;
    let other = format!("Host: {address}\r\nOrigin: https://viewer.example\r\n");
    let answer = call(address, WATCH, &other, &framed(&all_of("")), has("\r\n\r\n")).await;
    for answer in [String::from_utf8_lossy(&answer).into_owned(), preflight(address, &other).await]
    {
        assert!(answer.starts_with("HTTP/1.1 403 Forbidden"), "{answer}");
        assert!(!answer.contains("access-control"), "{answer}");
    }
}

/// Returns the messages in the bytes read of a call, whose HTTP/1.1 chunks may cut them anywhere; the last may be
/// incomplete.
fn messages(answer: &[u8]) -> Vec<WatchResponse> {
    let at = answer.windows(4).position(|w| w == b"\r\n\r\n").expect("a head") + 4;
    let (mut chunks, mut body) = (&answer[at..], Vec::new());
    while let Some(end) = chunks.windows(2).position(|w| w == b"\r\n") {
        let digits = std::str::from_utf8(&chunks[..end]).expect("digits");
        let length = usize::from_str_radix(digits, 16).expect("a length");
        let rest = &chunks[end + 2..];
        body.extend_from_slice(&rest[..length.min(rest.len())]);
        chunks = rest.get(length + 2..).unwrap_or_default();
    }
    let (mut rest, mut found) = (&body[..], Vec::new());
    while let [_, a, b, c, d, more @ ..] = rest {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        let Some(message) = more.get(..length) else { break };
        found.push(WatchResponse::decode(message).expect("a message"));
        rest = &more[length..];
    }
    found
}

/// Data queued for a page that does not read is bounded: it gets the newest frame after a few others.
#[tokio::test]
async fn a_slow_page_skips_frames() {
    let (mut server, address) = served(Config::default()).await;
    server.create(SCENE).await.expect("a new scene");
    let mesh = wire(&shapes::sphere(0.1, 56));
    server.add_tissue(tissue_upload("liver", &mesh)).await.expect("a tissue");
    let body = framed(&all_of(SCENE));
    let n_deformations = 60;
    // The page's own buffer is as small as the system allows.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(16 << 10).expect("a small buffer");
    let mut stream = socket.connect(address).await.expect("it listens");
    stream.write_all(&request(WATCH, &own(address), &body)).await.expect("sent");
    let mut answer = Vec::new();
    while !has("\r\n\r\n")(&answer) || messages(&answer).iter().all(|m| m.more) {
        assert!(stream.read_buf(&mut answer).await.expect("more") > 0);
    }
    let n_before = messages(&answer).len();
    for sequence in 1..=n_deformations {
        let larger = 1.0 + 1e-3 * sequence as f32;
        let to: Vec<f32> = mesh.positions.iter().map(|x| x * larger).collect();
        server.deform(vec![dense(sequence, &to)]).await.remove(0).expect("it deforms");
        sleep(Duration::from_millis(20)).await;
    }
    let revisions = |answer: &[u8]| -> BTreeSet<u64> {
        let tissues = messages(answer).into_iter().skip(n_before).flat_map(|m| m.tissues);
        tissues.map(|tissue| tissue.geometry_revision).collect()
    };
    while revisions(&answer).last() != Some(&n_deformations) {
        let n = stream.read_buf(&mut answer).await.expect("more");
        assert!(n > 0, "it ended");
    }
    let shown = revisions(&answer);
    println!("shown {shown:?}");
    assert!(shown.len() <= 6, "kept for it: {shown:?}");
}

#[tokio::test]
async fn keys_count_over_http_too() {
    let folder = Folder::new("browser-keys");
    let keys = folder.write("keys.toml", &all_keys(""));
    let (_server, address) = served(with_keys(&keys)).await;
    let body = framed(&all_of(""));
    let answer = call(address, WATCH, &own(address), &body, has("\r\n\r\n")).await;
    assert!(has("grpc-status: 16")(&answer), "{}", String::from_utf8_lossy(&answer));
    let with_key = format!("{}Authorization: Bearer {VIEWER}\r\n", own(address));
    let answer = call(address, WATCH, &with_key, &body, |answer| answer.len() > 300).await;
    assert!(!has("grpc-status: 16")(&answer), "{}", String::from_utf8_lossy(&answer));
    // Only gRPC may change scenes.
    let path = "/palpate.v1.SceneService/ListScenes";
    let answer = call(address, path, &with_key, &body, has("\r\n\r\n")).await;
    assert!(has("405 Method Not Allowed")(&answer), "{}", String::from_utf8_lossy(&answer));
}

#[tokio::test]
async fn the_page_is_served_and_nothing_beside_it() {
    let folder = Folder::new("viewer");
    folder.write("index.html", "<title>Palpate</title>");
    let mut config = Config::default();
    config.metrics.viewer_dir = Some(folder.0.clone());
    let (mut server, address) = served(config).await;
    server.create(SCENE).await.expect("a new scene");
    let ok = "HTTP/1.1 200 OK".to_owned();
    assert_eq!(get(address, "/view/").await, (ok, "<title>Palpate</title>".to_owned()));
    let (head, _) = get_whole(address, "/view?scene=liver").await;
    assert!(head.starts_with("HTTP/1.1 307 Temporary Redirect\r\n"), "{head}");
    assert!(head.contains("\r\nlocation: view/?scene=liver\r\n"), "{head}");
    for path in ["/view/../Cargo.toml", "/view/%2e%2e/Cargo.toml", "/view//etc/passwd", "/view/x"] {
        assert_eq!(get(address, path).await.0, "HTTP/1.1 404 Not Found", "{path}");
    }
    assert!(get(address, "/").await.1.contains("href=/view/"));
}
