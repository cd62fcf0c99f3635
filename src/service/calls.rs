//! What happens to every call before and after its handler.

use std::{
    convert::Infallible,
    future::{Future, ready},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use http::{Request, Response};
use tonic::{Code, Status, body::Body, server::NamedService};
use tower::{Layer, Service};
use tracing::{Instrument, debug, field::Empty, info_span};

use super::{
    access::{Access, Caller, keys::Role, withdrawal::while_standing},
    call_body::CallBody,
    contain::{ContainedBody, contain_future},
    haptics::Haptics,
    metrics::Metrics,
    proto::haptic_service_server::HapticServiceServer,
};
use crate::config::Transport;

/// Puts [`Calls`] around all services.
#[derive(Clone)]
pub struct CallLayer {
    /// Where calls are counted.
    pub metrics: Arc<Metrics>,
    /// Who may call.
    pub access: Arc<Access>,
}

impl<S> Layer<S> for CallLayer {
    type Service = Calls<S>;

    fn layer(&self, inner: S) -> Calls<S> {
        Calls { inner, metrics: Arc::clone(&self.metrics), access: Arc::clone(&self.access) }
    }
}

/// Lets in who may call, counts and logs each call, and keeps a handler's panic to it, which is answered INTERNAL.
#[derive(Clone)]
pub struct Calls<S> {
    inner: S,
    metrics: Arc<Metrics>,
    access: Arc<Access>,
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

    fn call(&mut self, mut request: Request<Body>) -> Answering {
        let Method { name, needs } = *method(request.uri().path());
        let metrics = Arc::clone(&self.metrics);
        let allowed = match needs {
            None => Ok(Caller::ANYBODY),
            Some(role) => self.access.caller(request.headers()).and_then(|caller| {
                caller.check_role(role)?;
                Ok(caller)
            }),
        };
        let caller = match allowed {
            Ok(caller) => caller,
            Err(denied) => {
                debug!(method = name, "refused: {denied}");
                let status = Status::from(denied);
                metrics.note_call(name, status.code());
                return Box::pin(ready(Ok(status.into_http())));
            }
        };
        // The scene is filled in where it is found: a stream's first message names it. The code is at the end.
        let key = caller.name();
        let span = info_span!("call", method = name, key, scene = Empty, code = Empty);
        let watch = caller.watch();
        request.extensions_mut().insert(caller);
        let answering = self.inner.call(request);
        let answering = async move {
            let started = Instant::now();
            let answered = while_standing(watch.as_ref(), contain_future(answering)).await;
            let answer = match answered {
                Ok(Ok(answer)) => answer?.map(ContainedBody::of),
                Ok(Err(panicked)) => Status::from(panicked).into_http(),
                Err(denied) => Status::from(denied).into_http(),
            };
            metrics.note_call(name, code_of(&answer));
            Ok(CallBody::of(answer, watch, started))
        };
        Box::pin(answering.instrument(span))
    }
}

/// A method, and what its callers must be.
struct Method {
    name: &'static str,
    /// `None`: no key is needed.
    needs: Option<Role>,
}

/// What reflection is asked by, and what does not exist.
const OTHER: Method = Method { name: "other", needs: Some(Role::ReadOnly) };

/// The methods there are; a client cannot make up others to be counted.
const METHODS: [Method; 17] = {
    const fn of(name: &'static str, needs: Option<Role>) -> Method {
        Method { name, needs }
    }
    const LOOK: Option<Role> = Some(Role::ReadOnly);
    const CHANGE: Option<Role> = Some(Role::Full);
    [
        of("SceneService/CreateScene", CHANGE),
        of("SceneService/GetScene", LOOK),
        of("SceneService/ListScenes", LOOK),
        of("SceneService/DeleteScene", CHANGE),
        of("SceneService/AddTissue", CHANGE),
        of("SceneService/AddTool", CHANGE),
        of("SceneService/RemoveTissue", CHANGE),
        of("SceneService/RemoveTool", CHANGE),
        of("SceneService/Deform", CHANGE),
        of("SceneService/EditTopology", CHANGE),
        of("SceneService/ExportTissue", LOOK),
        of("HapticService/Track", LOOK),
        of("HapticService/QueryDistances", LOOK),
        of("HapticService/QueryContacts", LOOK),
        of("HapticService/DetectSelfCollisions", LOOK),
        of("Health/Check", None),
        of("Health/Watch", None),
    ]
};

fn method(path: &str) -> &'static Method {
    let is = |m: &&Method| path.strip_suffix(m.name).is_some_and(|package| package.ends_with('.'));
    METHODS.iter().find(is).unwrap_or(&OTHER)
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
