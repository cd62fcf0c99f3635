//! Metrics and the health page over HTTP/1.1, on a port of their own.

use std::{convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpListener, sync::Semaphore, time::sleep};
use tracing::{debug, warn};

use super::{exposition::exposition, page::page};
use crate::service::host::{scene_registry::SceneRegistry, sessions::SessionRegistry};

/// Whoever reads metrics needs few connections.
const CONNECTIONS_MAX: usize = 16;
/// Until a request's head is there; also how long a connection may be idle.
const HEAD_MAX: Duration = Duration::from_secs(10);
/// After the system refused a connection.
const REFUSED_PAUSE: Duration = Duration::from_millis(50);

/// Serves until the task is dropped.
pub async fn serve(
    listener: TcpListener,
    registry: &Arc<SceneRegistry>,
    sessions: &Arc<SessionRegistry>,
) {
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
        let (registry, sessions) = (Arc::clone(registry), Arc::clone(sessions));
        tokio::spawn(async move {
            let _place = place;
            let answer = service_fn(|request| {
                let answer = answer(&registry, &sessions, &request);
                async move { Ok::<_, Infallible>(answer) }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEAD_MAX);
            if let Err(error) = http.serve_connection(TokioIo::new(stream), answer).await {
                debug!("a reader of metrics broke off: {error}");
            }
        });
    }
}

fn answer(
    registry: &SceneRegistry,
    sessions: &SessionRegistry,
    request: &Request<Incoming>,
) -> Response<Full<Bytes>> {
    let exposition = || exposition(registry, &sessions.counted());
    let page = || page(registry, &sessions.counted());
    let plain = "text/plain; charset=utf-8";
    let (status, kind, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => {
            (StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", exposition())
        }
        (&Method::GET, "/") => (StatusCode::OK, "text/html; charset=utf-8", page()),
        (&Method::GET, "/health") => match registry.life().check_served() {
            Ok(()) => (StatusCode::OK, plain, "SERVING\n".to_owned()),
            Err(_) => (StatusCode::SERVICE_UNAVAILABLE, plain, "NOT_SERVING\n".to_owned()),
        },
        (&Method::GET, _) => {
            (StatusCode::NOT_FOUND, plain, "there are /, /health and /metrics\n".to_owned())
        }
        _ => (StatusCode::METHOD_NOT_ALLOWED, plain, "only GET\n".to_owned()),
    };
    let answer = Response::builder().status(status).header(CONTENT_TYPE, kind);
    answer.body(Full::from(body)).expect("a good head")
}
