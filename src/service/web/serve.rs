//! HTTP/1.1, and HTTP/2 without TLS, on a separate port: routing of requests.

use std::{convert::Infallible, pin::pin, sync::Arc, time::Duration};

use http::{
    Method, Request, Response, StatusCode, Version,
    header::{CONTENT_TYPE, LOCATION},
};
use http_body_util::Full;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Mutex, MutexGuard},
    task::yield_now,
    time::timeout,
};
use tokio_io_timeout::TimeoutStream;
use tonic::{Status, body::Body};
use tower::{Service, util::BoxCloneSyncService};
use tracing::debug;

use super::{
    browser_calls::{self, BrowserCalls, whole_request},
    viewer_files::ViewerFiles,
    web_places::{WebPlace, WebPlaces},
};
use super::{exposition::exposition, health_page::page};
use crate::config::TransportSettings;
use crate::service::{accept_errors::AcceptErrors, loops::sessions::SessionRegistry};
use crate::service::{heartbeat::Heartbeat, host::scene_registry::SceneRegistry};

/// Path above the files of the live view.
pub const VIEWER_PATH: &str = "/view/";
/// Path of the live view as people type it.
const VIEWER_PATH_BARE: &str = "/view";
/// Path of gRPC's health service, over HTTP/2.
const HEALTH_PATH: &str = "/grpc.health.v1.Health/";
/// Maximum time until a request's head has arrived; also the idle time of an HTTP/1.1 connection, and the time for a
/// closed connection to finish.
const HEAD_MAX: Duration = Duration::from_secs(10);
/// Maximum time for which an HTTP/2 connection may be idle, or its client read nothing: longer than the interval of
/// most probes.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// Maximum concurrent calls of one connection; health checks need one.
const STREAMS_MAX: u32 = 16;
/// Receive window of such a connection; requests are small.
const WINDOW_BYTES: u32 = 64 << 10;
/// Buffer of HTTP/1.1 for an unread answer, and for a request's head.
const BUFFER_BYTES: usize = 64 << 10;

/// gRPC's health service.
pub type HealthCalls = BoxCloneSyncService<Request<Body>, Response<Body>, Infallible>;

/// Services of the port.
pub struct WebPort {
    /// Scenes and metrics of the server.
    pub registry: Arc<SceneRegistry>,
    /// Haptic loops.
    pub sessions: Arc<SessionRegistry>,
    /// Heartbeat of the runtime of ticks.
    pub heart: Arc<Heartbeat>,
    /// gRPC's health service, behind the access rules.
    pub health: HealthCalls,
    /// Settings of HTTP/2 that are shared with the port of ticks.
    pub transport: TransportSettings,
    /// Calls of the live view.
    pub calls: BrowserCalls,
    /// Page of the live view, if configured.
    pub viewer: Option<ViewerFiles>,
    /// Serialises pages: each takes about a millisecond, and health waits for no more than one.
    pub pages: Mutex<()>,
}

/// Serves until the task is dropped.
pub async fn serve(listener: TcpListener, port: &Arc<WebPort>) {
    let places = Arc::new(WebPlaces::default());
    let mut errors = AcceptErrors::new("metrics and health");
    loop {
        let (stream, address) = match listener.accept().await {
            Ok((stream, peer)) => (stream, peer.ip().to_canonical()),
            Err(error) => {
                errors.wait(&error).await;
                continue;
            }
        };
        errors.clear();
        // A frame that waits for a delayed acknowledgement arrives a frame late.
        let _ = stream.set_nodelay(true);
        if let Some(place) = places.take(address) {
            tokio::spawn(Arc::clone(port).serve(stream, place));
        }
        // Lets the connection be read before another can replace it.
        yield_now().await;
    }
}

impl WebPort {
    /// Answers one connection until it ends, is idle for too long, or has to give way.
    async fn serve(self: Arc<Self>, stream: TcpStream, place: WebPlace) {
        tokio::select! {
            () = self.answer_all(stream, &place) => {}
            () = place.used.given_way() => debug!("a reader of metrics gives way to another"),
        }
    }

    async fn answer_all(self: &Arc<Self>, stream: TcpStream, WebPlace { used, .. }: &WebPlace) {
        let answer = service_fn(|request| {
            let (port, open) = (Arc::clone(self), used.begin());
            async move { Ok::<_, Infallible>(open.until_taken(port.answer(request).await)) }
        });
        let mut http = auto::Builder::new(TokioExecutor::new());
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_MAX)
            .max_buf_size(BUFFER_BYTES);
        let TransportSettings {
            headers_bytes_max, ping_interval, ping_answer_max, unread_max, ..
        } = self.transport;
        http.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS_MAX)
            .max_header_list_size(headers_bytes_max)
            .initial_stream_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .keep_alive_interval(ping_interval)
            .keep_alive_timeout(ping_answer_max);
        let mut wire = TimeoutStream::new(stream);
        wire.set_write_timeout(Some(unread_max));
        let mut connection = pin!(http.serve_connection(TokioIo::new(Box::pin(wire)), answer));
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            // Neither HTTP/2 nor the choice between it and HTTP/1.1 has such a limit of its own.
            () = used.idle(HEAD_MAX, IDLE_MAX) => {
                connection.as_mut().graceful_shutdown();
                // A connection that is still open then is cut.
                timeout(HEAD_MAX, connection).await.unwrap_or(Ok(()))
            }
        };
        if let Err(error) = ended {
            debug!("a reader of metrics broke off: {error}");
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        if request.uri().path().starts_with(HEALTH_PATH) {
            return self.health(request).await;
        }
        if request.uri().path().starts_with(browser_calls::PATH) {
            return self.calls.answer(request).await;
        }
        if request.method() != Method::GET {
            return text(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET\n".to_owned());
        }
        let (registry, sessions) = (&self.registry, &self.sessions);
        match request.uri().path() {
            "/metrics" => {
                let kind = "text/plain; version=0.0.4; charset=utf-8";
                let _turn = self.page_turn().await;
                text(StatusCode::OK, kind, exposition(registry, &sessions.counted()))
            }
            "/" => {
                let _turn = self.page_turn().await;
                let view = self.viewer.is_some().then_some(VIEWER_PATH);
                let page = page(registry, &sessions.counted(), view);
                text(StatusCode::OK, "text/html; charset=utf-8", page)
            }
            "/health" => match registry.life().check_served() {
                Ok(()) => text(StatusCode::OK, PLAIN, "SERVING\n".to_owned()),
                Err(_) => text(StatusCode::SERVICE_UNAVAILABLE, PLAIN, "NOT_SERVING\n".to_owned()),
            },
            // Independent of draining: a draining server is alive, but should get no new scenes.
            "/alive" => match self.heart.is_beating() {
                true => text(StatusCode::OK, PLAIN, "ALIVE\n".to_owned()),
                false => text(StatusCode::SERVICE_UNAVAILABLE, PLAIN, "HANGS\n".to_owned()),
            },
            VIEWER_PATH_BARE if self.viewer.is_some() => to_viewer(request.uri().query()),
            path => self.file(path).unwrap_or_else(|| {
                let there =
                    "there are /, /alive, /health, /metrics and, if there is a page, /view/\n";
                text(StatusCode::NOT_FOUND, PLAIN, there.to_owned())
            }),
        }
    }

    /// Waits until no page is being made, and all other tasks have run since the last one.
    async fn page_turn(&self) -> MutexGuard<'_, ()> {
        let turn = self.pages.lock().await;
        yield_now().await;
        turn
    }

    async fn health(&self, request: Request<Incoming>) -> Response<Body> {
        if request.version() != Version::HTTP_2 {
            let why = "gRPC needs HTTP/2; /health is the same over HTTP/1.1\n";
            return text(StatusCode::HTTP_VERSION_NOT_SUPPORTED, PLAIN, why.to_owned());
        }
        let request = match whole_request(request).await {
            Ok(request) => request.map(Body::new),
            // gRPC clients expect a gRPC status.
            Err(refusal) if refusal.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                return Status::resource_exhausted("the request is too large").into_http();
            }
            Err(_) => return Status::cancelled("the request did not come").into_http(),
        };
        match self.health.clone().call(request).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        }
    }

    fn file(&self, path: &str) -> Option<Response<Body>> {
        self.viewer.as_ref()?.answer(path.strip_prefix(VIEWER_PATH)?)
    }
}

/// Redirects relatively, so that the redirect also works behind a proxy that serves this port below a path of its own.
fn to_viewer(query: Option<&str>) -> Response<Body> {
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    let answer = Response::builder().status(StatusCode::TEMPORARY_REDIRECT);
    let answer = answer.header(LOCATION, format!("view/{query}"));
    answer.body(Body::empty()).expect("a query of a request's head is good in another")
}

const PLAIN: &str = "text/plain; charset=utf-8";

fn text(status: StatusCode, kind: &str, text: String) -> Response<Body> {
    let answer = Response::builder().status(status).header(CONTENT_TYPE, kind);
    answer.body(Body::new(Full::from(text))).expect("a good head")
}
