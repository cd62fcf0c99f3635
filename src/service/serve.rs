//! Binds, serves and drains.

use std::{
    future::Future,
    io::{self, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::Notify,
};
use tonic::transport::{
    Server,
    server::{Router, TcpIncoming},
};
use tonic_health::{
    ServingStatus,
    pb::health_server::HealthServer,
    server::{HealthReporter, HealthService},
};
use tracing::{info, warn};

use super::{
    fields::Fields,
    haptics::Haptics,
    proto::{
        DESCRIPTORS, haptic_service_server::HapticServiceServer,
        scene_service_server::SceneServiceServer,
    },
    scenes::Scenes,
    table::SceneTable,
};
use crate::{
    scene::{Limits, limits::QUERY_POINTS_MAX},
    store::{FieldCache, default_data_dir},
};

/// Streams of one connection. tonic's own default is no limit at all.
const STREAMS_PER_CONNECTION_MAX: u32 = 64;
/// HTTP/2 receive window of one stream: what a client can have sent before it was read.
const STREAM_WINDOW_BYTES: u32 = 256 << 10;
/// And of a connection. With h2's default a server that was stopped for seconds ends honest streams of
/// small messages, because it meets too many data frames at once.
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// A peer that does not answer a ping in time is gone.
const PING_EVERY: Duration = Duration::from_secs(10);
const PING_ANSWER_MAX: Duration = Duration::from_secs(5);
/// Metadata of one request.
const HEADERS_BYTES_MAX: u32 = 8 << 10;
/// How long open streams may take to end after the server was told to.
const DRAIN_MAX: Duration = Duration::from_secs(10);

/// Room for the ids, tags and lengths around a message's arrays.
const ENVELOPE_BYTES: usize = 4 << 10;
/// A SceneService message: a chunk of an upload is at most 1 MiB.
const CONTROL_MESSAGE_BYTES_MAX: usize = (1 << 20) + ENVELOPE_BYTES;
/// A HapticService message: a distance query is by far the largest.
const HAPTIC_MESSAGE_BYTES_MAX: usize = 2 << 20;
const POINT_BYTES: usize = 3 * size_of::<f64>();
const _: () = assert!(QUERY_POINTS_MAX * POINT_BYTES + ENVELOPE_BYTES <= HAPTIC_MESSAGE_BYTES_MAX);

/// What `palpate serve` is told.
#[derive(Clone, Debug, clap::Args)]
pub struct ServeArgs {
    /// Address to listen on; port 0 takes a free one. Without TLS and keys only loopback is served.
    #[arg(long, env = "PALPATE_LISTEN", default_value = "127.0.0.1:7447")]
    pub listen: SocketAddr,
    /// Where built distance fields are kept [default: $XDG_DATA_HOME/palpate or ~/.local/share/palpate].
    #[arg(long, env = "PALPATE_DATA_DIR", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}

/// Why the server did not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Anybody on the network could connect.
    #[error("cannot listen on {0}: without TLS and keys only a loopback address is served")]
    NotLoopback(SocketAddr),
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// As asked for.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// No signal handler, or nobody to tell the address to.
    #[error("cannot start: {0}")]
    Start(#[from] io::Error),
    /// The transport failed.
    #[error("the server stopped: {0}")]
    Transport(#[from] tonic::transport::Error),
}

/// Runs `palpate serve` until SIGINT or SIGTERM. The first line of stdout names the address in use.
///
/// # Errors
/// When the address is refused or cannot be had.
pub async fn run(args: &ServeArgs) -> Result<(), ServeError> {
    let address = args.listen;
    if !address.ip().is_loopback() {
        return Err(ServeError::NotLoopback(address));
    }
    let listen = |source| ServeError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(listen)?;
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut stdout = io::stdout();
    writeln!(stdout, "listening on {}", listener.local_addr()?)?;
    stdout.flush()?;
    let told = async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    let data_dir = args.data_dir.clone().or_else(default_data_dir);
    match &data_dir {
        Some(folder) => info!("built fields are kept under {}", folder.display()),
        None => warn!("no data directory: built fields are not kept"),
    }
    serve(listener, Limits::default(), data_dir.as_deref(), told).await
}

/// Serves until `shutdown`, then ends streams at their next message and waits for them a bounded time.
/// Built fields are kept under `data_dir`, when there is one.
///
/// # Errors
/// When the transport fails.
pub async fn serve(
    listener: TcpListener,
    limits: Limits,
    data_dir: Option<&Path>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let table = Arc::new(SceneTable::new(limits));
    let health = HealthReporter::new();
    let fields = Fields::new(data_dir.map(FieldCache::new));
    let router = router(&table, fields, &health).await;
    let told = Notify::new();
    let drain = async {
        shutdown.await;
        info!("shutting down");
        table.shut_down();
        report_health(&health, ServingStatus::NotServing).await;
        told.notify_one();
    };
    let out_of_time = async {
        told.notified().await;
        tokio::time::sleep(DRAIN_MAX).await;
    };
    // Small frames both ways: waiting to fill a segment would cost 40 ms.
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    tokio::select! {
        served = router.serve_with_incoming_shutdown(incoming, drain) => Ok(served?),
        () = out_of_time => {
            warn!("streams were still open after {DRAIN_MAX:?}; they are cut");
            Ok(())
        }
    }
}

async fn router(table: &Arc<SceneTable>, fields: Fields, health: &HealthReporter) -> Router {
    let scenes = SceneServiceServer::new(Scenes::new(Arc::clone(table), fields))
        .max_decoding_message_size(CONTROL_MESSAGE_BYTES_MAX);
    let haptics = HapticServiceServer::new(Haptics::new(Arc::clone(table)))
        .max_decoding_message_size(HAPTIC_MESSAGE_BYTES_MAX);
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .expect("the descriptors were compiled with the code");
    report_health(health, ServingStatus::Serving).await;
    Server::builder()
        .max_concurrent_streams(STREAMS_PER_CONNECTION_MAX)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .http2_keepalive_interval(Some(PING_EVERY))
        .http2_keepalive_timeout(Some(PING_ANSWER_MAX))
        .http2_max_header_list_size(HEADERS_BYTES_MAX)
        .add_service(scenes)
        .add_service(haptics)
        .add_service(HealthServer::new(HealthService::from_health_reporter(health.clone())))
        .add_service(reflection)
}

async fn report_health(health: &HealthReporter, status: ServingStatus) {
    use tonic::server::NamedService;
    let services = ["", SceneServiceServer::<Scenes>::NAME, HapticServiceServer::<Haptics>::NAME];
    for service in services {
        health.set_service_status(service, status).await;
    }
}
