//! Binding, serving and draining.

use std::{
    future::Future,
    io::{self, Write},
    net::SocketAddr,
    pin::pin,
    sync::Arc,
    time::Duration,
};

use tokio::{
    net::TcpListener,
    sync::{Mutex, Notify},
    time::timeout,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    service::Routes,
    transport::{Server, server::Router},
};
use tonic_health::{
    ServingStatus,
    pb::health_server::HealthServer,
    server::{HealthReporter, HealthService},
};
use tonic_web::GrpcWebLayer;
use tower::{
    Layer,
    layer::util::{Identity, Stack},
};
use tracing::{info, warn};

#[cfg(any(feature = "agones", test))]
use super::agones::Sidecar;
use super::{
    access::{Access, credential_file::AccessError},
    catch_panic::catch_panic_blocking,
    clock::now_ns,
    control::Control,
    heartbeat::Heartbeat,
    host::{
        answer_room::AnswerRooms,
        cluster::{
            hand_over::leave, membership::Membership, opening::SceneOpener, renewal::LeaseRenewal,
        },
        durable::{
            recovery::{RecoveryError, load_again, recover},
            scene_keeper::SceneKeeper,
        },
        fields::Fields,
        scene_registry::SceneRegistry,
    },
    loops::sessions::SessionRegistry,
    recording::recorders::Recorders,
    rpc::{haptic_service::Haptics, scene_service::Scenes, watch_service::Watches},
    stdin, systemd,
    transport::{
        acceptor::Acceptor,
        background::Background,
        call_middleware::{CallLayer, HapticRoutes},
        connection_table::ConnectionTable,
        listeners::{ListenError, Listeners},
    },
    web::{
        browser_calls::{BrowserCalls, BrowserServices},
        serve::{HealthCalls, VIEWER_PATH, WebPort},
        viewer_files::{ViewerFiles, ViewerFilesError},
    },
};
use crate::proto::{
    DESCRIPTORS, scene_service_server::SceneServiceServer, watch_service_server::WatchServiceServer,
};
use crate::{
    config::Config,
    geometry::lanes::use_narrow,
    os::interrupt::{Hangup, Interrupt},
    store::{
        FieldCache, default_data_dir,
        scenes::scene_store::{SceneStore, StoreError},
    },
};
#[cfg(feature = "objects")]
use crate::{
    config::StoreSettings, os::thread_priority::lower_priority,
    store::place::object_address::ObjectAddress,
};

/// Maximum bytes of a WatchService request, which names a scene and a few numbers.
const WATCH_REQUEST_BYTES_MAX: usize = 4 << 10;
/// Maximum bytes of a Health request, which names a service.
const HEALTH_REQUEST_BYTES_MAX: usize = 4 << 10;
/// Maximum time to read scenes before the server accepts calls and reports that it is not serving.
const UNHEARD_MAX: Duration = Duration::from_secs(1);

/// Maximum time to complete recordings once the server has ended.
const RECORDINGS_END_MAX: Duration = Duration::from_secs(2);

/// Reasons why the server did not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A listening address or path is not available.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// A file of keys or certificates is unusable.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// A file of the live view's page is unusable.
    #[error(transparent)]
    Viewer(#[from] ViewerFilesError),
    /// A signal handler cannot be installed, or the address cannot be printed.
    #[error("cannot start: {0}")]
    Start(#[from] io::Error),
    /// Scenes cannot be kept, or existing scenes cannot be continued.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// The transport failed.
    #[error("the server stopped: {0}")]
    Transport(#[from] tonic::transport::Error),
}

/// Runs `palpate serve` until an [`Interrupt`] comes, or standard input closes. The first line of stdout names the
/// address in use.
///
/// # Errors
/// Returns an error if it cannot listen, or files of keys and certificates are unusable.
pub async fn run(config: &Config, until_stdin_closes: bool) -> Result<(), ServeError> {
    // Caught before anything is printed: a signal that comes with the first line is not lost.
    let mut interrupt = Interrupt::catch()?;
    check_files(config)?;
    if !config.runtime.wide_instructions {
        info!("narrow instructions, as runtime.wide_instructions says");
        use_narrow();
    }
    let listeners = Listeners::bind(config).await?;
    let told = async move {
        tokio::select! {
            () = interrupt.came() => (),
            () = stdin::closed(), if until_stdin_closes => (),
        }
    };
    let data_dir = config.data_dir.clone().or_else(default_data_dir);
    match (&data_dir, &config.store.url) {
        (fields, Some(url)) if config.store.scenes => {
            let fields = fields.as_ref().map(|folder| folder.display().to_string());
            info!(
                "scenes are kept in {url}, built fields in {}",
                fields.as_deref().unwrap_or("nothing")
            );
        }
        (Some(folder), _) => info!("scenes and built fields are kept under {}", folder.display()),
        (None, _) => warn!("no data directory: scenes and built fields are not kept"),
    }
    let config = Config { data_dir, ..config.clone() };
    let registry = Arc::new(SceneRegistry::new(&config));
    serve_and_say(listeners, &config, registry, say_address, told).await
}

fn say_address(address: SocketAddr) -> io::Result<()> {
    let mut stdout = io::stdout();
    writeln!(stdout, "listening on {address}")?;
    stdout.flush()
}

/// Serves until `shutdown`, then ends streams at their next message and waits for them a bounded time. The addresses
/// are those of `listeners`, not of `config`. Scenes and built fields are kept if there is a data directory.
///
/// # Errors
/// Returns an error if files of keys and certificates or the data directory are unusable, there are no threads, or the
/// transport fails.
pub async fn serve(
    listeners: Listeners,
    config: &Config,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    serve_registry(listeners, config, Arc::new(SceneRegistry::new(config)), shutdown).await
}

/// As [`serve`], with a registry into which the caller may put scenes.
///
/// # Errors
/// Errors of [`serve`].
pub async fn serve_registry(
    listeners: Listeners,
    config: &Config,
    registry: Arc<SceneRegistry>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    serve_and_say(listeners, config, registry, |_| Ok(()), shutdown).await
}

/// State shared by services and pages.
struct ServerParts {
    registry: Arc<SceneRegistry>,
    sessions: Arc<SessionRegistry>,
    fields: Fields,
    health: HealthReporter,
    heart: Arc<Heartbeat>,
}

impl ServerParts {
    fn new(config: &Config, registry: Arc<SceneRegistry>) -> ServerParts {
        let cache = |folder| FieldCache::new(folder, config.fields_bytes_max);
        let cached = config.data_dir.as_deref().map(cache);
        ServerParts {
            sessions: Arc::new(SessionRegistry::new(&config.sessions)),
            fields: Fields::new(cached, config.field_build_max, registry.metrics()),
            health: HealthReporter::new(),
            heart: Arc::default(),
            registry,
        }
    }
}

/// As [`serve_registry`], and passes the address to `say` once the ports, the data folder and the page are available.
/// Clients that connect before that wait: the sockets are bound.
async fn serve_and_say(
    listeners: Listeners,
    config: &Config,
    registry: Arc<SceneRegistry>,
    say: fn(SocketAddr) -> io::Result<()>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let address = listeners.address()?;
    let Listeners { tcp, unix, metrics: metrics_listener } = listeners;
    let (_socket, unix) = unix.unzip();
    let access = Arc::new(Access::open(&config.access)?);
    let hangup = Hangup::catch()?;
    let parts = ServerParts::new(config, registry);
    let ServerParts { registry, sessions, fields, health, heart } = &parts;
    let is_keeping = keep_and_record(registry, config)?;
    let _renewal = share(registry, fields, config, address.to_string())?;
    let calls = call_layer(config, registry, &access)?;
    let web = |listener: &TcpListener| web_port(config, listener, calls.clone(), &parts);
    let port = metrics_listener.as_ref().map(web).transpose()?;
    say(address)?;
    let metrics_listener = metrics_listener.map(TcpListener::into_std).transpose()?;
    report_health(health, ServingStatus::NotServing).await;
    let router = router(config, &parts, calls);
    let (told, drain_max) = (Notify::new(), config.transport.drain_max);
    // Notified by Agones, if it is used.
    let to_end = Arc::new(Notify::new());
    let is_to_end = async {
        tokio::select! { () = shutdown => (), () = to_end.notified() => () }
    };
    let drain = drain(&parts, is_to_end, (&told, drain_max));
    let out_of_time = async {
        told.notified().await;
        tokio::time::sleep(drain_max).await;
    };
    let table = Arc::new(ConnectionTable::new(&config.transport, registry.metrics()));
    let acceptor = Acceptor::new(&config.transport, &table, &access, registry.metrics());
    // Without a store nothing is read, and the first call is answered at once.
    registry.life().set_recovering(is_keeping);
    #[cfg(any(feature = "agones", test))]
    let sidecar = Sidecar::new(registry, sessions, heart, &to_end).talking();
    #[cfg(not(any(feature = "agones", test)))]
    let sidecar = None::<std::future::Pending<()>>;
    let _control = Control::start(metrics_listener.zip(port), heart, sidecar)?;
    let mut recovered = pin!(go_on(&parts, config, is_keeping));
    // A few scenes are read before the first connection. While many are being read, calls are answered that the server
    // is recovering.
    let mut keeper = timeout(UNHEARD_MAX, &mut recovered).await.ok().transpose()?;
    let connections = ReceiverStream::new(acceptor.open(tcp, unix));
    let is_recovered = keeper.is_some();
    let kept = async {
        if !is_recovered {
            keeper = Some(recovered.await?);
        }
        std::future::pending::<Result<(), ServeError>>().await
    };
    let served = tokio::select! {
        // The branches that run without end are dropped when the server has ended, or its time to drain.
        served = router.serve_with_incoming_shutdown(connections, drain) => Ok(served?),
        () = access.watch(hangup) => unreachable!("files are watched without end"),
        () = table.watch() => unreachable!("connections are watched without end"),
        () = sessions.watch() => unreachable!("sessions are watched without end"),
        () = heart.beat() => unreachable!("it beats without end"),
        failed = kept => failed,
        () = out_of_time => {
            warn!("streams were still open, or scenes not given up, after {drain_max:?}; they are cut");
            Ok(())
        }
    };
    end_recordings(registry).await;
    served
}

/// Gives the registry its store and its recorders, if configured. Returns true if there is a store.
fn keep_and_record(registry: &Arc<SceneRegistry>, config: &Config) -> Result<bool, ServeError> {
    let store = scene_store(config).map_err(RecoveryError::from)?;
    let is_keeping = store.is_some();
    store.map_or(Ok(()), |store| registry.keep_in(store))?;
    if let Some(folder) = &config.record.dir {
        info!("scenes are recorded in {}", folder.display());
        registry.record_in(Recorders::new(folder.clone(), config, &registry.metrics().record)?);
    }
    Ok(is_keeping)
}

fn call_layer(
    config: &Config,
    registry: &SceneRegistry,
    access: &Arc<Access>,
) -> io::Result<CallLayer> {
    Ok(CallLayer {
        metrics: Arc::clone(registry.metrics()),
        access: Arc::clone(access),
        background: Arc::new(Background::start(config.runtime.threads)?),
        rooms: Arc::new(AnswerRooms::new(config.transport.answer_bytes_per_key)),
    })
}

/// Loads the kept scenes and reports that the server serves; the returned keeper saves their changes from then on.
async fn go_on(
    ServerParts { registry, fields, health, .. }: &ServerParts,
    config: &Config,
    is_keeping: bool,
) -> Result<Option<SceneKeeper>, ServeError> {
    let (scenes, of_links) = (Arc::clone(registry), fields.clone());
    let recovered = catch_panic_blocking(move || recover(&scenes, &of_links)).await;
    recovered.map_err(|_| io::Error::other("reading the scenes failed"))??;
    registry.life().set_recovering(false);
    if registry.life().check_served().is_ok() {
        report_health(health, ServingStatus::Serving).await;
        systemd::ready();
    }
    let start = || SceneKeeper::start(registry, fields, &config.store);
    Ok(is_keeping.then(start).transpose()?)
}

/// Waits for the shutdown, then notifies health, systemd, the scenes and `told`, and releases the scenes.
async fn drain(
    ServerParts { registry, health, .. }: &ServerParts,
    is_to_end: impl Future<Output = ()>,
    (told, at_most): (&Notify, Duration),
) {
    is_to_end.await;
    info!("shutting down");
    systemd::stopping();
    // Reported before streams end, so that a balancer sends no new client.
    report_health(health, ServingStatus::NotServing).await;
    registry.shut_down();
    told.notify_one();
    give_scenes_up(registry, at_most).await;
}

/// Releases scenes that other servers may continue, as soon as streams are notified: their clients are about to connect
/// there.
async fn give_scenes_up(registry: &Arc<SceneRegistry>, at_most: Duration) {
    let Some(membership) = registry.membership().cloned() else { return };
    let leaving = Arc::clone(registry);
    let left = catch_panic_blocking(move || leave(&leaving, &membership, at_most)).await;
    left.unwrap_or_else(|panicked| warn!("scenes are not given up: {panicked}"));
}

/// Waits until recordings are complete.
async fn end_recordings(registry: &Arc<SceneRegistry>) {
    let recorded = Arc::clone(registry);
    // A panic there is logged, and the server still ends.
    let _ = catch_panic_blocking(move || recorded.end_recordings(RECORDINGS_END_MAX)).await;
}

/// Opens the store of scenes; `None` if scenes are not kept.
fn scene_store(config: &Config) -> Result<Option<SceneStore>, StoreError> {
    #[cfg(feature = "objects")]
    if let Some(url) = config.store.url.as_ref().filter(|_| config.store.scenes) {
        let StoreSettings { request_max, allow_http, .. } = config.store;
        // Ticks have priority.
        let of_thread = lower_priority;
        let address = ObjectAddress { url: url.clone(), allow_http, request_max, of_thread };
        return SceneStore::of_objects(&address).map(Some);
    }
    let open = if config.cluster.shared { SceneStore::open_shared } else { SceneStore::open };
    config.data_dir.as_deref().filter(|_| config.store.scenes).map(open).transpose()
}

/// Joins the servers that share the data folder or the bucket, if configured. With and without sharing, stored scenes
/// that are not loaded are loaded when they are asked for.
fn share(
    registry: &Arc<SceneRegistry>,
    fields: &Fields,
    config: &Config,
    listens_at: String,
) -> io::Result<Option<LeaseRenewal>> {
    let Some((store, _)) = registry.keeping() else { return Ok(None) };
    if !config.cluster.shared {
        let fields = fields.clone();
        registry.open_by(Arc::new(move |registry: &SceneRegistry, id: &str, _| {
            load_again(registry, &fields, id, now_ns());
            Ok(())
        }));
        return Ok(None);
    }
    let address = config.cluster.address.clone().unwrap_or(listens_at);
    let membership = Arc::new(Membership::join(store, address, config.cluster.lease)?);
    let own = membership.own();
    info!(server = own.server, address = own.address, "scenes are shared with other servers");
    let opener = SceneOpener::new(fields, &membership);
    let open = move |registry: &SceneRegistry, id: &str, from| opener.open(registry, id, from);
    registry.share(Arc::clone(&membership));
    registry.open_by(Arc::new(open));
    Ok(Some(LeaseRenewal::start(registry, &membership)?))
}

/// Checks that the files of keys and certificates and the live view's page can be used.
///
/// # Errors
/// The first unusable file.
pub fn check_files(config: &Config) -> Result<(), ServeError> {
    Access::open(&config.access)?;
    ViewerFiles::open(config.metrics.viewer_dir.as_deref())?;
    Ok(())
}

fn router(
    config: &Config,
    ServerParts { registry, sessions, fields, health, .. }: &ServerParts,
    calls: CallLayer,
) -> Router<Stack<CallLayer, Identity>> {
    let transport = &config.transport;
    let scenes = Scenes::new(Arc::clone(registry), fields.clone(), transport.upload_pause_max);
    let scenes = SceneServiceServer::new(scenes)
        .max_decoding_message_size(transport.control_message_bytes_max);
    let haptics = Haptics::new(Arc::clone(registry), Arc::clone(sessions));
    let haptics = HapticRoutes::new(haptics, transport);
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .expect("the descriptors were compiled with the code");
    Server::builder()
        .max_concurrent_streams(transport.streams_per_connection_max)
        .initial_stream_window_size(transport.stream_window_bytes)
        .initial_connection_window_size(transport.connection_window_bytes)
        // A haptic client that disappears silently holds a session; TCP alone would take minutes to notice.
        .http2_keepalive_interval(Some(transport.ping_interval))
        .http2_keepalive_timeout(Some(transport.ping_answer_max))
        .http2_max_header_list_size(transport.headers_bytes_max)
        .layer(calls)
        .add_service(scenes)
        .add_service(haptics)
        .add_service(watch_server(registry))
        // All services of a connection are answered on its thread of ticks: this health service thus shows that those
        // threads answer, with their delay. The HTTP port serves health on a thread that has no other work.
        .add_service(health_server(health))
        .add_service(reflection)
}

/// Creates the services of the HTTP port, with the live view behind the access rules of gRPC.
fn web_port(
    config: &Config,
    listener: &TcpListener,
    calls: CallLayer,
    ServerParts { registry, sessions, heart, health, .. }: &ServerParts,
) -> Result<WebPort, ServeError> {
    let address = listener.local_addr()?;
    let health = health_server(health);
    let health = HealthCalls::new(calls.layer(Routes::new(health).prepare()));
    let services = calls.layer(Routes::new(watch_server(registry)).prepare());
    let cors_origin = config.metrics.cors_origin.as_deref();
    let viewer = ViewerFiles::open(config.metrics.viewer_dir.as_deref())?;
    info!("metrics and health are at http://{address}");
    if viewer.is_some() {
        info!("the live view is at http://{address}{VIEWER_PATH}");
    }
    Ok(WebPort {
        registry: Arc::clone(registry),
        sessions: Arc::clone(sessions),
        heart: Arc::clone(heart),
        health,
        transport: config.transport.clone(),
        calls: BrowserCalls {
            services: BrowserServices::new(GrpcWebLayer::new().layer(services)),
            has_keys: config.access.keys_file.is_some(),
            is_insecure: config.insecure,
            address,
            cors_origin: cors_origin.map(|o| o.parse().expect("checked with the settings")),
        },
        viewer,
        pages: Mutex::default(),
    })
}

fn watch_server(registry: &Arc<SceneRegistry>) -> WatchServiceServer<Watches> {
    WatchServiceServer::new(Watches::new(Arc::clone(registry)))
        .max_decoding_message_size(WATCH_REQUEST_BYTES_MAX)
}

fn health_server(health: &HealthReporter) -> HealthServer<HealthService> {
    HealthServer::new(HealthService::from_health_reporter(health.clone()))
        .max_decoding_message_size(HEALTH_REQUEST_BYTES_MAX)
}

async fn report_health(health: &HealthReporter, status: ServingStatus) {
    use tonic::server::NamedService;
    let services = ["", SceneServiceServer::<Scenes>::NAME, HapticRoutes::NAME];
    for service in services {
        health.set_service_status(service, status).await;
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, future::pending};

    use tokio::sync::mpsc;
    use tonic::Code;

    use super::*;
    use crate::{
        config::ClusterSettings,
        proto::{
            CreateSceneRequest, ListScenesRequest, TrackRequest,
            haptic_service_client::HapticServiceClient, scene_service_client::SceneServiceClient,
        },
        service::{access::caller::Caller, catch_panic::injected},
        store::lease::claim::ClaimState,
    };

    const SOON: Duration = Duration::from_secs(20);

    /// Server and client share this one thread, so that the next call meets the injected panic.
    #[tokio::test]
    async fn a_panic_is_internal_and_costs_its_call_only() {
        let config = Config { listen: "127.0.0.1:0".parse().expect("good"), ..Config::default() };
        let listeners = Listeners::bind(&config).await.expect("a free port");
        let address = listeners.address().expect("bound");
        tokio::spawn(async move { serve(listeners, &config, pending()).await });
        let url = format!("http://{address}");
        let mut scenes = SceneServiceClient::connect(url.clone()).await.expect("it listens");
        let mut haptics = HapticServiceClient::connect(url).await.expect("it listens");
        let create = CreateSceneRequest { scene_id: "s".to_owned(), durable: None };
        for _ in 0..3 {
            injected::panics(1);
            let failed = scenes.create_scene(create.clone()).await.expect_err("a panic");
            assert_eq!(failed.code(), Code::Internal, "{failed:?}");
        }
        scenes.create_scene(create).await.expect("none of them has made it");

        // A stream that waits for its first request, and panics on it.
        let (requests, sent) = mpsc::channel(1);
        let stream = haptics.track(ReceiverStream::new(sent)).await.expect("a stream");
        injected::panics(1);
        requests.send(TrackRequest::default()).await.expect("room");
        let ended = stream.into_inner().message().await.expect_err("a panic");
        assert_eq!(ended.code(), Code::Internal, "{ended:?}");
        scenes.list_scenes(ListScenesRequest {}).await.expect("the server goes on");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_scene_that_cannot_be_given_up_keeps_neither_the_server_nor_the_others() {
        let folder = std::env::temp_dir().join(format!("palpate-end-{}", std::process::id()));
        let mut config = Config {
            listen: "127.0.0.1:0".parse().expect("good"),
            data_dir: Some(folder.clone()),
            cluster: ClusterSettings { shared: true, ..ClusterSettings::default() },
            ..Config::default()
        };
        config.transport.drain_max = Duration::from_millis(500);
        let registry = Arc::new(SceneRegistry::new(&config));
        let listeners = Listeners::bind(&config).await.expect("a free port");
        let url = format!("http://{}", listeners.address().expect("bound"));
        let (end, told) = tokio::sync::oneshot::channel::<()>();
        let serving = Arc::clone(&registry);
        let served = tokio::spawn(async move {
            let told = async { drop(told.await) };
            serve_registry(listeners, &config, serving, told).await
        });
        let mut scenes = SceneServiceClient::connect(url).await.expect("it listens");
        while scenes.list_scenes(ListScenesRequest {}).await.is_err() {
            tokio::task::yield_now().await;
        }
        drop(scenes);
        let making = Arc::clone(&registry);
        let made = catch_panic_blocking(move || {
            ["a", "b"].map(|id| making.create_durable(id, &Caller::ANYBODY).expect("room"))
        });
        let [blocked, _] = made.await.expect("no panic");
        // Models an unreachable store while a change is on its way there.
        let turn = blocked.turn().await.expect("served");
        end.send(()).expect("it serves");
        let ended = timeout(SOON, served).await;
        let newest = registry.membership().expect("shared").newest("b").expect("a claim");
        // Dropped in either case: the runtime waits for tasks that wait for the lock.
        drop(turn);
        ended.expect("in time").expect("no panic").expect("a good end");
        assert_eq!(newest.expect("a claim").state, ClaimState::Free);
        // Error ignored: the release of the scene may still use the folder.
        let _ = fs::remove_dir_all(&folder);
    }
}
