//! A server behind Envoy that is stopped while loops keep sending.

use std::time::Duration;

use super::channel;
use crate::support::{
    certificates::Authority,
    envoy::{Envoy, certified, program},
    folder::Folder,
    messages::SCENE,
    paced::Paced,
    process::Process,
    server::TestServer,
};

const LOOPS: usize = 8;
/// A quarter of the default. The server's limit for small frames on one connection shrinks with it, as if there were 32
/// loops.
const WINDOW: &str = "4194304";
/// Shorter than the silence that Envoy and the server take for the end of a connection.
const STOP: Duration = Duration::from_secs(4);

/// All waiting messages arrive at once after the stop, on connections of few streams each: no server takes that for an
/// attack.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loops_outlive_a_stop_of_their_server() {
    let Some(program) = program() else { return };
    let (folder, authority) = (Folder::new("envoy-stall"), Authority::new());
    let variables = certified(&folder, &authority);
    let window = ("PALPATE_TRANSPORT_CONNECTION_WINDOW_BYTES", WINDOW);
    let own = variables.iter().map(|(name, value)| (*name, value.as_str()));
    let variables: Vec<_> = own.chain([window]).collect();
    let mut process = Process::serve_with("127.0.0.1:0", &[], &variables);
    let envoy = Envoy::start(&program, &folder, &[process.address()]);
    let through = channel(envoy.front, &authority).connect_lazy();
    let mut server = TestServer::over(envoy.front, through);
    let until = std::time::Instant::now() + super::SOON;
    while let Err(status) = server.create(SCENE).await {
        assert!(std::time::Instant::now() < until, "{status:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    server.furnish().await;
    let mut loops = Vec::new();
    for _ in 0..LOOPS {
        loops.push(Paced::start(&mut server).await);
    }
    for each in &loops {
        each.fresh().await;
    }
    process.signal("STOP");
    tokio::time::sleep(STOP).await;
    process.signal("CONT");
    let mut slowest = Duration::ZERO;
    for each in &loops {
        slowest = slowest.max(each.fresh().await);
    }
    println!(
        "{LOOPS} loops, a server stopped for {STOP:?}: all answered {slowest:?} after it goes on"
    );
    // The same streams go on for a second: none was about to end.
    tokio::time::sleep(Duration::from_secs(1)).await;
    for each in loops {
        each.fresh().await;
        each.stop().await;
    }
}
