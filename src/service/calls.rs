//! What happens to every call before and after its handler.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use http::{Request, Response};
use tonic::{Code, Status, body::Body, server::NamedService};
use tower::{Layer, Service};
use tracing::{Instrument, debug, info_span};

use super::{
    contain::{ContainedBody, contain_future},
    haptics::Haptics,
    metrics::{Metrics, code_name},
    proto::haptic_service_server::HapticServiceServer,
};
use crate::config::Transport;

/// Puts [`Calls`] around all services.
#[derive(Clone)]
pub struct CallLayer {
    /// Where calls are counted.
    pub metrics: Arc<Metrics>,
}

impl<S> Layer<S> for CallLayer {
    type Service = Calls<S>;

    fn layer(&self, inner: S) -> Calls<S> {
        Calls { inner, metrics: Arc::clone(&self.metrics) }
    }
}

/// Counts and logs each call, and keeps a handler's panic to it, which is answered INTERNAL.
#[derive(Clone)]
pub struct Calls<S> {
    inner: S,
    metrics: Arc<Metrics>,
}

type Answer = Result<Response<Body>, Infallible>;
type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;

impl<S> Service<Request<Body>> for Calls<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Answering {
        let method = method(request.uri().path());
        let span = info_span!("call", method);
        let metrics = Arc::clone(&self.metrics);
        let answering = self.inner.call(request);
        let answering = async move {
            let started = Instant::now();
            let answer = match contain_future(answering).await {
                Ok(answer) => answer?.map(ContainedBody::of),
                Err(panicked) => Status::from(panicked).into_http(),
            };
            let code = code_of(&answer);
            metrics.note_call(method, code);
            let ms = started.elapsed().as_secs_f64() * 1e3;
            debug!(code = code_name(code), ms, "answered");
            Ok(answer)
        };
        Box::pin(answering.instrument(span))
    }
}

/// The methods that calls are counted by; a client cannot make up others.
const METHODS: [&str; 17] = [
    "SceneService/CreateScene",
    "SceneService/GetScene",
    "SceneService/ListScenes",
    "SceneService/DeleteScene",
    "SceneService/AddTissue",
    "SceneService/AddTool",
    "SceneService/RemoveTissue",
    "SceneService/RemoveTool",
    "SceneService/Deform",
    "SceneService/EditTopology",
    "SceneService/ExportTissue",
    "HapticService/Track",
    "HapticService/QueryDistances",
    "HapticService/QueryContacts",
    "HapticService/DetectSelfCollisions",
    "Health/Check",
    "Health/Watch",
];

fn method(path: &str) -> &'static str {
    let known = |method: &&&str| path.strip_suffix(**method).is_some_and(|p| p.ends_with('.'));
    METHODS.iter().find(known).copied().unwrap_or("other")
}

/// The code of an answer that ends with its head; of one that goes on, OK so far.
fn code_of(answer: &Response<Body>) -> Code {
    Status::from_header_map(answer.headers()).map_or(Code::Ok, |status| status.code())
}

/// HapticService with a limit of its own for the messages of Track, which are small.
#[derive(Clone)]
pub struct HapticCalls {
    track: HapticServiceServer<Haptics>,
    queries: HapticServiceServer<Haptics>,
}

impl HapticCalls {
    /// Both limits as configured.
    pub fn new(haptics: Haptics, transport: &Transport) -> HapticCalls {
        let haptics = Arc::new(haptics);
        let limited = |bytes| {
            HapticServiceServer::from_arc(Arc::clone(&haptics)).max_decoding_message_size(bytes)
        };
        HapticCalls {
            track: limited(transport.track_message_bytes_max),
            queries: limited(transport.query_message_bytes_max),
        }
    }
}

impl NamedService for HapticCalls {
    const NAME: &'static str = HapticServiceServer::<Haptics>::NAME;
}

impl Service<Request<Body>> for HapticCalls {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Answering {
        match request.uri().path().rsplit('/').next() {
            Some("Track") => self.track.call(request),
            _ => self.queries.call(request),
        }
    }
}
