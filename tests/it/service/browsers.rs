//! The HTTP port as browsers use it: the page's files, grpc-web, and pages that may not call.

use std::net::SocketAddr;

use palpate::config::Config;
use prost::Message;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{
    folder::Folder,
    keys::{VIEWER, all_keys, with_keys},
    messages::SCENE,
    metrics::get,
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

/// A message as grpc-web frames it.
fn framed(message: &impl Message) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend((message.encoded_len() as u32).to_be_bytes());
    bytes.extend(message.encode_to_vec());
    bytes
}

/// Sends a call and reads until `is_enough` of the answer.
async fn call(
    address: SocketAddr,
    path: &str,
    headers: &str,
    body: &[u8],
    is_enough: impl Fn(&[u8]) -> bool,
) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let head = format!(
        "POST {path} HTTP/1.1\r\n{headers}Content-Type: application/grpc-web+proto\r\nX-Grpc-Web: 1\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat()).await.expect("sent");
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
    // The first frame is the tissue, in a chunk of HTTP/1.1: a flag, a length, a message.
    let at = answer.windows(4).position(|w| w == b"\r\n\r\n").expect("a head") + 4;
    let chunk = answer[at..].windows(2).position(|w| w == b"\r\n").expect("a chunk") + 2;
    let first = &answer[at + chunk..];
    let length = u32::from_be_bytes(first[1..5].try_into().expect("four")) as usize;
    let message = WatchResponse::decode(&first[5..5 + length]).expect("a message");
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
    // A name of theirs that leads here.
    let bound = "Host: evil.example:9464\r\nOrigin: http://evil.example:9464\r\n".to_owned();
    assert_eq!(status(bound).await, refused);
    assert_eq!(status(format!("{host}Origin: null\r\n")).await, refused);
    assert_eq!(status(host.clone()).await, "HTTP/1.1 200 OK", "no browser");
    let known = format!("{host}Origin: https://viewer.example\r\n");
    let answer = call(address, WATCH, &known, &body, has("\r\n\r\n")).await;
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("access-control-allow-origin: https://viewer.example"), "{text}");
    let long = vec![0; 5 << 10];
    let answer = call(address, WATCH, &own(address), &long, has("\r\n\r\n")).await;
    assert!(has("413 Payload Too Large")(&answer), "a long request");
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
    // Scenes are changed over gRPC alone.
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
    for path in ["/view/../Cargo.toml", "/view/%2e%2e/Cargo.toml", "/view//etc/passwd", "/view/x"] {
        assert_eq!(get(address, path).await.0, "HTTP/1.1 404 Not Found", "{path}");
    }
    assert!(get(address, "/").await.1.contains("href=/view/"));
}
