//! Peers without a key that hold connections of the HTTP port: health and metrics are still served.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::{sleep, timeout},
};
use tonic::transport::Channel;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::support::{
    folder::Folder,
    keys::all_keys,
    metrics::{get, value},
    process::Process,
    raw_http2::{RawHttp2, get_page, head},
    server::free_address,
};

const SOON: Duration = Duration::from_secs(20);
/// Number of holders, more than the port's connection limit.
const HOLDERS: usize = 80;
/// Longest time that a holder waits for its bytes to be taken.
const SENT_MAX: Duration = Duration::from_millis(20);
const PAGES: [&str; 5] = ["/", "/health", "/alive", "/metrics", "/nowhere"];
const WATCH_HEAD: &str = "POST /palpate.v1.WatchService/Watch HTTP/1.1\r\nHost: x\r\n\
     Content-Type: application/grpc-web+proto\r\nContent-Length: 100\r\n\r\n";

/// A server with keys, and the address of its HTTP port.
fn served(folder: &Folder, more: &[&str]) -> (Process, SocketAddr) {
    let (keys, address) = (folder.write("keys.toml", &all_keys("")), free_address());
    let sets =
        [format!("access.keys_file={}", keys.display()), format!("metrics.listen={address}")];
    let mut args: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
    args.extend(more);
    let mut process = Process::serve("127.0.0.1:0", &args);
    process.address();
    (process, address)
}

/// A connection that reads nothing, with the smallest receive buffer that the system allows.
async fn unread(address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4 << 10).expect("a small buffer");
    socket.connect(address).await.expect("it listens")
}

fn pages(path: &str, n: usize) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").repeat(n).into_bytes()
}

/// Checks that probes and Prometheus get their answers.
async fn check_probes(address: SocketAddr, beside: &str) {
    for path in ["/health", "/alive", "/metrics"] {
        let answer = timeout(SOON, get(address, path)).await;
        let (status, _) = answer.unwrap_or_else(|_| panic!("{path} beside {beside}"));
        assert_eq!(status, "HTTP/1.1 200 OK", "{path} beside {beside}");
    }
    let health = async {
        let channel = Channel::from_shared(format!("http://{address}")).expect("an address");
        let mut client = HealthClient::new(channel.connect().await.expect("it listens"));
        client.check(HealthCheckRequest::default()).await
    };
    let health = timeout(SOON, health).await.unwrap_or_else(|_| panic!("gRPC's beside {beside}"));
    health.expect("health needs no key");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holders_of_connections_keep_no_probe_out() {
    let folder = Folder::new("http-holders");
    let (_process, address) = served(&folder, &[]);
    let mut holders = vec![
        ("silence".to_owned(), Vec::new()),
        ("half a head".to_owned(), b"GET /health HTTP/1.1\r\nHost: ".to_vec()),
        ("half of HTTP/2's preface".to_owned(), b"PRI * HTTP/2.0\r\n\r\nSM".to_vec()),
        ("half a body".to_owned(), WATCH_HEAD.as_bytes().to_vec()),
        ("an idle connection".to_owned(), pages("/health", 1)),
    ];
    holders.extend(PAGES.map(|path| (format!("unread answers of {path}"), pages(path, 500))));
    for (kind, sent) in holders {
        let mut held = Vec::new();
        for _ in 0..HOLDERS {
            let mut stream = unread(address).await;
            // An error means that the connection had to give way.
            let _ = timeout(SENT_MAX, stream.write_all(&sent)).await;
            held.push(stream);
        }
        check_probes(address, &kind).await;
    }
    check_probes(address, "nobody").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holders_over_http_2_keep_no_probe_out() {
    const HEALTH: &str = "/grpc.health.v1.Health/";
    let folder = Folder::new("http-2-holders");
    let (_process, address) = served(&folder, &[]);
    let all = |request: &dyn Fn(u32) -> Vec<u8>| (0..16).flat_map(|n| request(2 * n + 1)).collect();
    let mut holders: Vec<(String, Vec<u8>)> = vec![
        ("silence".to_owned(), Vec::new()),
        ("half a frame".to_owned(), get_page(1, "/health")[..12].to_vec()),
    ];
    for method in ["Check", "Watch"] {
        let path = format!("{HEALTH}{method}");
        holders.push((format!("bodies of {path}"), all(&|stream| head(stream, &path))));
    }
    for path in PAGES {
        let sent = all(&|stream| get_page(stream, path));
        holders.push((format!("unread answers of {path}"), sent));
    }
    for (kind, sent) in holders {
        let mut held = Vec::new();
        for _ in 0..HOLDERS {
            let mut raw = RawHttp2::that_reads_nothing(address).await;
            raw.send(&sent).await;
            held.push(raw);
        }
        check_probes(address, &kind).await;
    }
    check_probes(address, "nobody").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_answers_and_bodies_that_do_not_come_end() {
    let folder = Folder::new("http-unread");
    let (_process, address) = served(&folder, &["--set", "transport.unread_max=200ms"]);
    let open = async || value(&get(address, "/metrics").await.1, "palpate_open_descriptors");
    let before = open().await;
    let mut stream = unread(address).await;
    let _ = timeout(SENT_MAX, stream.write_all(&pages("/metrics", 2_000))).await;
    let closed = async {
        while open().await > before {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, closed).await.expect("answers that nobody reads end");
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(WATCH_HEAD.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    let ended = timeout(SOON, stream.read_to_string(&mut answer)).await;
    ended.expect("a body that does not come ends").expect("text");
    assert!(answer.starts_with("HTTP/1.1 408 Request Timeout"), "{answer}");
}
