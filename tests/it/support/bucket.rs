//! An object store for one test: moto, which stands in for S3, and the network to it.
//!
//! `PALPATE_MOTO` names the program `moto_server` of an environment with PyPI's `moto[server]`; without it, tests on an
//! object store print that they are skipped.

use std::{
    env,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream as Stream},
    task::AbortHandle,
};

use super::{process::signal, server::free_address};

/// A store with one bucket, deleted with the test.
pub struct Bucket {
    moto: Child,
    pub address: SocketAddr,
}

const SOON: Duration = Duration::from_secs(60);
const BUCKET: &str = "palpate";
/// Prefix of a server's scenes in the bucket.
const PREFIX: &str = "theatre";
/// Serves one request at a time: moto checks if an object exists and puts it without a lock around both. A client that
/// does not continue its request within half a second, such as a stopped server, is dropped, because all others wait
/// for it.
const MOTO: &str = "
import sys
from werkzeug.serving import WSGIRequestHandler, run_simple
from moto.server import DomainDispatcherApplication, create_backend_app
class Quiet(WSGIRequestHandler):
    timeout = 0.5
    def log_request(self, *_): pass
run_simple('127.0.0.1', int(sys.argv[1]), DomainDispatcherApplication(create_backend_app), threaded=False,
           request_handler=Quiet)
";

impl Bucket {
    /// Opens an empty bucket; prints the reason and returns `None` if moto is not installed.
    pub fn open() -> Option<Bucket> {
        let Some(program) = env::var_os("PALPATE_MOTO").map(PathBuf::from) else {
            println!("skipped: PALPATE_MOTO names no moto_server (PyPI's moto[server])");
            return None;
        };
        let python = program.parent().unwrap_or(Path::new("")).join("python");
        let address = free_address();
        let mut command = Command::new(python);
        command.args(["-c", MOTO, &address.port().to_string()]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let bucket = Bucket { moto: command.spawn().expect("python beside moto_server"), address };
        let until = Instant::now() + SOON;
        while bucket.try_ask("PUT", &format!("/{BUCKET}"), b"").is_none_or(|(code, _)| code != 200)
        {
            assert!(Instant::now() < until, "moto does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(bucket)
    }

    /// Variables that make a server keep its scenes in the bucket, `through` this address.
    pub fn variables(through: SocketAddr) -> Vec<(&'static str, String)> {
        vec![
            ("PALPATE_STORE_URL", format!("s3://{BUCKET}/{PREFIX}")),
            ("PALPATE_CLUSTER_SHARED", "true".to_owned()),
            ("AWS_ENDPOINT_URL", format!("http://{through}")),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "anybody".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "knows".to_owned()),
        ]
    }

    pub fn signal(&self, name: &str) {
        signal(&self.moto, name);
    }

    /// Returns the names of all objects of a scene, each after the scene's id.
    pub fn objects(&self, scene: &str) -> Vec<String> {
        let below = format!("{PREFIX}/scenes/{scene}/");
        let (_, list) = self.ask("GET", &format!("/{BUCKET}?list-type=2&prefix={below}"), b"");
        let list = String::from_utf8(list).expect("XML");
        let keys = list.split("<Key>").skip(1).map(|rest| rest.split("</Key>").next());
        let mut keys: Vec<String> = keys
            .map(|key| key.and_then(|k| k.strip_prefix(&below)).expect("below").to_owned())
            .collect();
        keys.sort();
        keys
    }

    pub fn object(&self, scene: &str, name: &str) -> Vec<u8> {
        let (code, bytes) = self.ask("GET", &path(scene, name), b"");
        assert_eq!(code, 200, "{scene}/{name}");
        bytes
    }

    pub fn put(&self, scene: &str, name: &str, bytes: &[u8]) {
        assert_eq!(self.ask("PUT", &path(scene, name), bytes).0, 200);
    }

    pub fn remove(&self, scene: &str, name: &str) {
        assert_eq!(self.ask("DELETE", &path(scene, name), b"").0, 204);
    }

    fn ask(&self, method: &str, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
        self.try_ask(method, path, body).expect("it runs")
    }

    fn try_ask(&self, method: &str, path: &str, body: &[u8]) -> Option<(u16, Vec<u8>)> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        // moto reads the signer's name and does not check the signature.
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: s3.amazonaws.com\r\nContent-Length: {}\r\nAuthorization: \
             AWS4-HMAC-SHA256 Credential=anybody/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, \
             Signature=0\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(body).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let head = answer.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
        let code = String::from_utf8_lossy(&answer[..head]).split(' ').nth(1)?.parse().ok()?;
        Some((code, answer.split_off(head)))
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        // An error means that moto has ended.
        let _ = self.moto.kill();
        let _ = self.moto.wait();
    }
}

fn path(scene: &str, name: &str) -> String {
    format!("/{BUCKET}/{PREFIX}/scenes/{scene}/{name}")
}

/// Behaviour of a [`Wire`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WireState {
    /// Data arrives.
    Up,
    /// Connections are closed at once.
    Down,
    /// Data arrives when the wire is up again, however late that is.
    Silent,
    /// The answer to every n-th request is lost.
    LosesAnswers(usize),
    /// Data arrives, except for the condition of a put.
    Careless,
}

/// A network to a store, controlled by a test. Each connection carries one request, because moto closes the connection
/// then.
pub struct Wire {
    pub address: SocketAddr,
    state: Arc<Mutex<WireState>>,
    /// Number of requests that reached the store.
    n: Arc<AtomicUsize>,
    listens: AbortHandle,
}

impl Wire {
    pub async fn to(store: SocketAddr) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let state = Arc::new(Mutex::new(WireState::Up));
        let n = Arc::new(AtomicUsize::new(0));
        let (of_all, counted) = (Arc::clone(&state), Arc::clone(&n));
        let listens = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                if *of_all.lock() != WireState::Down {
                    tokio::spawn(carry(near, store, Arc::clone(&of_all), Arc::clone(&counted)));
                }
            }
        });
        Wire { address, state, n, listens: listens.abort_handle() }
    }

    pub fn set(&self, state: WireState) {
        *self.state.lock() = state;
    }

    /// Returns the number of requests since the last call.
    pub fn requests(&self) -> usize {
        self.n.swap(0, Relaxed)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.listens.abort();
    }
}

/// Carries one request and its answer.
async fn carry(
    mut near: Stream,
    store: SocketAddr,
    state: Arc<Mutex<WireState>>,
    counted: Arc<AtomicUsize>,
) -> Option<()> {
    let mut request = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    while !is_whole(&request) {
        let n = near.read(&mut chunk).await.ok().filter(|n| *n > 0)?;
        request.extend_from_slice(&chunk[..n]);
    }
    // Waits even if the sender has stopped waiting.
    while *state.lock() == WireState::Silent {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let now = *state.lock();
    if now == WireState::Down {
        return None;
    }
    if now == WireState::Careless {
        let condition = b"if-none-match";
        if let Some(at) = request.windows(condition.len()).position(|w| w == condition) {
            request[at..at + 2].copy_from_slice(b"x-");
        }
    }
    let mut far = Stream::connect(store).await.ok()?;
    far.write_all(&request).await.ok()?;
    let mut answer = Vec::new();
    far.read_to_end(&mut answer).await.ok()?;
    let n = counted.fetch_add(1, Relaxed) + 1;
    match now {
        WireState::LosesAnswers(every) if n.is_multiple_of(every) => None,
        _ => near.write_all(&answer).await.ok(),
    }
}

fn is_whole(request: &[u8]) -> bool {
    let Some(head) = request.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let text = String::from_utf8_lossy(&request[..head]).to_ascii_lowercase();
    let length =
        text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    request.len() >= head + 4 + length.unwrap_or(0)
}
