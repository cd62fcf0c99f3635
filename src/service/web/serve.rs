//! HTTP/1.1 on a port of its own: who asks for what.

use std::{convert::Infallible, sync::Arc, time::Duration};

use http::{Method, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpListener, sync::Semaphore, time::sleep};
use tonic::body::Body;
use tracing::{debug, warn};

use super::{
    browser_calls::{self, BrowserCalls},
    viewer_files::ViewerFiles,
};
use crate::service::{
    heartbeat::Heartbeat,
    host::{scene_registry::SceneRegistry, sessions::SessionRegistry},
    metrics::{WATCHERS_MAX, exposition::exposition, page::page},
};

/// Whoever reads metrics needs few connections; a browser opens up to six.
const CONNECTIONS_MAX: usize = 64;
/// Live views alone leave room for whoever reads metrics.
const _: () = assert!(2 * WATCHERS_MAX < CONNECTIONS_MAX);
/// Below it are the files of the live view.
const VIEWER_PATH: &str = "/view/";
/// Until a request's head is there; also how long a connection may be idle.
const HEAD_MAX: Duration = Duration::from_secs(10);
/// After the system refused a connection.
const REFUSED_PAUSE: Duration = Duration::from_millis(50);

/// What is served.
pub struct WebPort {
    /// The scenes, and what the server counts.
    pub registry: Arc<SceneRegistry>,
    /// The haptic loops.
    pub sessions: Arc<SessionRegistry>,
    /// Of the runtime of ticks.
    pub heart: Arc<Heartbeat>,
    /// The live view.
    pub calls: BrowserCalls,
    /// Its page, where there is one.
    pub viewer: Option<ViewerFiles>,
}

/// Serves until the task is dropped.
pub async fn serve(listener: TcpListener, port: &Arc<WebPort>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let place = Arc::clone(&room).acquire_owned().await.expect("it is never closed");
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                warn!("no connection for metrics can be accepted: {error}");
                sleep(REFUSED_PAUSE).await;
                continue;
            }
        };
        // A frame that waits for a delayed acknowledgement is a frame late.
        let _ = stream.set_nodelay(true);
        let port = Arc::clone(port);
        tokio::spawn(async move {
            let _place = place;
            let answer = service_fn(|request| {
                let port = Arc::clone(&port);
                async move { Ok::<_, Infallible>(port.answer(request).await) }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEAD_MAX);
            if let Err(error) = http.serve_connection(TokioIo::new(stream), answer).await {
                debug!("a reader of metrics broke off: {error}");
            }
        });
    }
}

impl WebPort {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
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
                text(StatusCode::OK, kind, exposition(registry, &sessions.counted()))
            }
            "/" => {
                let view = self.viewer.is_some().then_some(VIEWER_PATH);
                let page = page(registry, &sessions.counted(), view);
                text(StatusCode::OK, "text/html; charset=utf-8", page)
            }
            "/health" => match registry.life().check_served() {
                Ok(()) => text(StatusCode::OK, PLAIN, "SERVING\n".to_owned()),
                Err(_) => text(StatusCode::SERVICE_UNAVAILABLE, PLAIN, "NOT_SERVING\n".to_owned()),
            },
            // Of no use to whoever would place a scene: a server that drains is well.
            "/alive" => match self.heart.is_beating() {
                true => text(StatusCode::OK, PLAIN, "ALIVE\n".to_owned()),
                false => text(StatusCode::SERVICE_UNAVAILABLE, PLAIN, "HANGS\n".to_owned()),
            },
            path => self.file(path).unwrap_or_else(|| {
                let there =
                    "there are /, /alive, /health, /metrics and, with metrics.viewer_dir, /view/\n";
                text(StatusCode::NOT_FOUND, PLAIN, there.to_owned())
            }),
        }
    }

    fn file(&self, path: &str) -> Option<Response<Body>> {
        self.viewer.as_ref()?.answer(path.strip_prefix(VIEWER_PATH)?)
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";

fn text(status: StatusCode, kind: &str, text: String) -> Response<Body> {
    let answer = Response::builder().status(status).header(CONTENT_TYPE, kind);
    answer.body(Body::new(Full::from(text))).expect("a good head")
}
