//! Processing of every call before and after its handler, and its choice of threads.

use std::{
    convert::Infallible,
    future::{Future, ready},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use http::{Request, Response};
use http_body_util::BodyExt as _;
use tonic::{Code, Status, body::Body, server::NamedService};
use tower::{Layer, Service};
use tracing::{Instrument, debug, field::Empty, info_span};

use super::{
    answer_bytes::AnswerBytes,
    background::Background,
    call_body::CallBody,
    connection_life::{AnswerProgress, ConnectionLife},
    late_answer::LateAnswer,
    unread_request::mend_code,
};
use crate::{
    config::TransportSettings,
    proto::haptic_service_server::HapticServiceServer,
    service::{
        access::{Access, caller::Caller, denied::Denied, revocation::unless_revoked, role::Role},
        catch_panic::{CatchPanicBody, catch_panic_future},
        deadline::{CallDeadline, EndedOnDrop},
        host::answer_room::{AnswerRooms, TakenRoom},
        metrics::Metrics,
        rpc::haptic_service::Haptics,
    },
};

/// Layer that puts [`CallMiddleware`] around all services.
#[derive(Clone)]
pub struct CallLayer {
    /// Counts of calls.
    pub metrics: Arc<Metrics>,
    /// Access rules.
    pub access: Arc<Access>,
    /// Threads for calls that must not delay ticks.
    pub background: Arc<Background>,
    /// Memory budgets of large answers.
    pub rooms: Arc<AnswerRooms>,
}

impl<S> Layer<S> for CallLayer {
    type Service = CallMiddleware<S>;

    fn layer(&self, inner: S) -> CallMiddleware<S> {
        CallMiddleware { inner, layer: self.clone() }
    }
}

/// Checks access, counts and logs each call, and confines a handler's panic to its call, which is answered INTERNAL.
#[derive(Clone)]
pub struct CallMiddleware<S> {
    inner: S,
    layer: CallLayer,
}

type Answer = Result<Response<Body>, Infallible>;
type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;

impl<S> Service<Request<Body>> for CallMiddleware<S>
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
        let Method { name, needs, runs, answers } = *method(request.uri().path());
        let CallLayer { metrics, access, background, rooms } = self.layer.clone();
        let allowed = match needs {
            None => Ok(Caller::ANYBODY),
            Some(role) => access.caller(request.headers()).and_then(|caller| {
                caller.check_role(role)?;
                Ok(caller)
            }),
        };
        let caller = match allowed {
            Ok(caller) => caller,
            Err(denied) => return refused(denied, name, &request, &metrics),
        };
        // Empty fields are recorded later: the scene once the handler knows it, because a stream's first message names
        // it; the number of a haptic loop's rendered tools with its first answer; the code at the end.
        let key = caller.name();
        let (scene, rendered, code) = (Empty, Empty, Empty);
        let span = info_span!("call", method = name, key, scene, rendered, code);
        let watch = caller.watch();
        let progress = connection_progress(&request, needs.is_some());
        let deadline = CallDeadline::of(request.headers());
        request.extensions_mut().insert(caller.clone());
        request.extensions_mut().insert(deadline.clone());
        // The handler finds its caller in the extensions, which tonic passes on.
        let answering = self.inner.call(request);
        let counted = Arc::clone(&metrics);
        let ended = EndedOnDrop(deadline.clone());
        let answering = async move {
            let started = Instant::now();
            let answered = async {
                // Taken before any part of the request is decoded.
                let room = match answers.bytes() {
                    0 => TakenRoom::none(),
                    bytes => rooms.take(&caller, bytes).await,
                };
                let answered = match runs {
                    WhereItArrives => catch_panic_future(answering).await,
                    InBackground => background.run(answering).await,
                };
                answered.map(|answer| (answer, room))
            };
            let mut answer = match unless_revoked(watch.as_ref(), answered).await {
                Ok(Ok((answer, room))) => answer?.map(|body| {
                    let is_one = matches!(answers, Message(_));
                    let body = AnswerBytes::of(body, progress, room, is_one);
                    match runs {
                        WhereItArrives => CatchPanicBody::of(body),
                        InBackground => background.body(body),
                    }
                }),
                Ok(Err(panicked)) => Status::from(panicked).into_http(),
                Err(denied) => Status::from(denied).into_http(),
            };
            mend_code(answer.headers_mut());
            metrics.note_call(name, code_of(&answer));
            Ok(CallBody::of(answer, watch, started, ended))
        };
        let answering = answering.instrument(span);
        let Some(at) = deadline.at() else { return Box::pin(answering) };
        let note_code = move |code| counted.note_call(name, code);
        Box::pin(ready(Ok(LateAnswer::of(answering, deadline, at, name == DEFORM, note_code))))
    }
}

/// Refuses a call, counted under the method's name too: guesses at keys show as a rate.
fn refused(
    denied: Denied,
    name: &'static str,
    call: &Request<Body>,
    metrics: &Metrics,
) -> Answering {
    debug!(method = name, "refused: {denied}");
    let status = Status::from(denied);
    metrics.note_call(name, status.code());
    if let Some(life) = call.extensions().get::<Arc<ConnectionLife>>() {
        life.note_refused();
    }
    Box::pin(ready(Ok(status.into_http())))
}

/// A method, the role that it requires, and the threads that answer it.
struct Method {
    name: &'static str,
    /// Required role; `None`: no key is needed.
    needs: Option<Role>,
    runs: Runs,
    answers: Answers,
}

/// Share of its key's memory budget that an answer may take, including the work that makes it and its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answers {
    /// Negligible, or an answer to each of many requests.
    Small,
    /// A single message, with the bytes that it takes until it is made.
    Message(usize),
    /// Many messages, with the bytes of those that are in flight at a time.
    Messages(usize),
}

use Answers::{Message, Messages, Small};

impl Answers {
    fn bytes(self) -> usize {
        match self {
            Small => 0,
            Message(bytes) | Messages(bytes) => bytes,
        }
    }
}

/// Maximum bytes of a query's request on arrival and of its answer, as gRPC clients accept it.
const QUERY_BYTES: usize = (2 << 20) + (4 << 20);
/// Bytes of the descriptions of all scenes of a server.
const LIST_BYTES: usize = 4 << 20;
/// Four chunks: one finished, one before the transport, one in it and one being made.
const EXPORT_BYTES: usize = 4 * (320 << 10);
/// Four parts, as in [`EXPORT_BYTES`].
const WATCH_BYTES: usize = 4 * (256 << 10);
/// Bytes of the maximum number of contacts in one answer, and of chunks of them.
const COLLISION_BYTES: usize = 16 << 20;

/// Returns the progress of an admitted call's answer on its connection.
fn connection_progress(request: &Request<Body>, has_key: bool) -> Arc<AnswerProgress> {
    match request.extensions().get::<Arc<ConnectionLife>>() {
        Some(life) => {
            if has_key {
                life.note_authorised();
            }
            life.answer_begins()
        }
        // A test's call has no connection.
        None => Arc::default(),
    }
}

/// Threads on which a call is decoded, answered and encoded.
// Applies to whole calls, not handlers: tonic decodes a unary message before it calls the handler. Beside a client that
// calls every 10 ms, ticks of a probe at 1 kHz were later than 1 ms in 5.6 to 6.6 % with cuts of 1 MB and in 16 to 17 %
// with exports of 70 k triangles; with the calls in the background in 1.5 to 2.0 % and 4.4 to 4.9 %. Such a call then
// takes some tenths of a millisecond longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runs {
    /// A thread that reads bytes and computes ticks: for calls that never take longer than a tick.
    WhereItArrives,
    /// A thread that ticks do not wait for: for calls that may decode, compute, encode or free more.
    InBackground,
}

use Runs::{InBackground, WhereItArrives};

/// Reflection, and unknown methods.
const OTHER: Method =
    Method { name: "other", needs: Some(Role::ReadOnly), runs: WhereItArrives, answers: Small };

/// The only method that answers several changes.
const DEFORM: &str = "SceneService/Deform";

/// Known methods; a client cannot add others to the counts.
const METHODS: [Method; 25] = {
    const fn of(name: &'static str, needs: Option<Role>, runs: Runs) -> Method {
        Method { name, needs, runs, answers: Small }
    }
    const fn large(name: &'static str, runs: Runs, answers: Answers) -> Method {
        Method { name, needs: LOOK, runs, answers }
    }
    const LOOK: Option<Role> = Some(Role::ReadOnly);
    const CHANGE: Option<Role> = Some(Role::Full);
    [
        of("SceneService/CreateScene", CHANGE, WhereItArrives),
        large("SceneService/GetScene", WhereItArrives, Message(LIST_BYTES)),
        large("SceneService/ListScenes", WhereItArrives, Message(LIST_BYTES)),
        of("SceneService/DeleteScene", CHANGE, InBackground),
        of("SceneService/MoveScene", CHANGE, InBackground),
        of("SceneService/AddTissue", CHANGE, InBackground),
        of("SceneService/AddTool", CHANGE, InBackground),
        of("SceneService/AddInstrument", CHANGE, InBackground),
        of("SceneService/RemoveTissue", CHANGE, InBackground),
        of("SceneService/RemoveTool", CHANGE, InBackground),
        of(DEFORM, CHANGE, InBackground),
        of("SceneService/EditTopology", CHANGE, InBackground),
        large("SceneService/ExportTissue", InBackground, Messages(EXPORT_BYTES)),
        large("SceneService/ExportTool", InBackground, Messages(EXPORT_BYTES)),
        of("SceneService/HoldTissue", CHANGE, InBackground),
        of("SceneService/SetFeel", CHANGE, InBackground),
        of("HapticService/Track", LOOK, WhereItArrives),
        large("HapticService/QueryDistances", InBackground, Message(QUERY_BYTES)),
        large("HapticService/QueryContacts", InBackground, Message(QUERY_BYTES)),
        large("HapticService/DetectSelfCollisions", InBackground, Messages(COLLISION_BYTES)),
        large("WatchService/Watch", InBackground, Messages(WATCH_BYTES)),
        of("WatchService/MoveDevice", CHANGE, WhereItArrives),
        of("WatchService/ControlReplay", CHANGE, WhereItArrives),
        of("Health/Check", None, WhereItArrives),
        of("Health/Watch", None, WhereItArrives),
    ]
};

fn method(path: &str) -> &'static Method {
    let is = |m: &&Method| path.strip_suffix(m.name).is_some_and(|package| package.ends_with('.'));
    // A text comparison for each method, once a call; a stream of ticks is one call.
    METHODS.iter().find(is).unwrap_or(&OTHER)
}

/// Returns the code of an answer that ends with its head; OK for one that continues.
fn code_of(answer: &Response<Body>) -> Code {
    Status::from_header_map(answer.headers()).map_or(Code::Ok, |status| status.code())
}

/// HapticService with a separate limit for the messages of Track, which are small.
#[derive(Clone)]
pub struct HapticRoutes {
    track: HapticServiceServer<Haptics>,
    queries: HapticServiceServer<Haptics>,
}

impl HapticRoutes {
    /// Creates the routes with both configured limits.
    pub fn new(haptics: Haptics, transport: &TransportSettings) -> HapticRoutes {
        let haptics = Arc::new(haptics);
        let limited = |bytes| {
            HapticServiceServer::from_arc(Arc::clone(&haptics)).max_decoding_message_size(bytes)
        };
        HapticRoutes {
            track: limited(transport.track_message_bytes_max),
            queries: limited(transport.query_message_bytes_max),
        }
    }
}

impl NamedService for HapticRoutes {
    const NAME: &'static str = HapticServiceServer::<Haptics>::NAME;
}

impl Service<Request<Body>> for HapticRoutes {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Answering {
        match request.uri().path().rsplit('/').next() {
            Some("Track") => self.track.call(request.map(with_resets_told)),
            _ => self.queries.call(request),
        }
    }
}

/// Turns a stream's reset into an error. tonic treats CANCELLED as a regular end; but a loop that ends gives up its
/// session, while the session of a loop that broke off waits for its client.
fn with_resets_told(requests: Body) -> Body {
    Body::new(requests.map_err(|status| match status.code() {
        Code::Cancelled => Status::unavailable("the client has reset the stream"),
        _ => status,
    }))
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use bytes::Bytes;
    use http_body::Frame;
    use http_body_util::StreamBody;
    use tokio_stream::{StreamExt, once};
    use tower::service_fn;

    use super::*;
    use crate::config;

    fn on_background() -> bool {
        thread::current().name() == Some("background")
    }

    /// A handler and its answer's messages report the thread that they run on.
    #[tokio::test]
    async fn what_ticks_are_not_to_wait_for_runs_in_the_background() {
        let layer = CallLayer {
            metrics: Arc::new(Metrics::new(Duration::from_millis(1))),
            access: Arc::new(
                Access::open(&config::AccessSettings::default()).expect("none is asked for"),
            ),
            background: Arc::new(Background::start(1).expect("a thread")),
            rooms: Arc::new(AnswerRooms::new(64 << 20)),
        };
        let tells = service_fn(async |_: Request<Body>| {
            let handled = on_background();
            let told = once(()).map(move |()| {
                let threads = [u8::from(handled), u8::from(on_background())];
                Ok::<_, Status>(Frame::data(Bytes::copy_from_slice(&threads)))
            });
            Ok::<_, Infallible>(Response::new(Body::new(StreamBody::new(told))))
        });
        let mut calls = layer.layer(tells);
        for path in METHODS.iter().map(|m| format!("/palpate.v1.{}", m.name)) {
            let expected = u8::from(method(&path).runs == InBackground);
            let request = Request::builder().uri(&path).body(Body::empty()).expect("good");
            let answer = calls.call(request).await.expect("infallible");
            let told = answer.into_body().collect().await.expect("it ends well").to_bytes();
            assert_eq!(told[..], [expected; 2], "{path}");
        }
        let large = ["AddTissue", "AddTool", "Deform", "EditTopology", "ExportTissue"];
        let large = large.map(|name| format!("/palpate.v1.SceneService/{name}"));
        assert!(large.iter().all(|path| method(path).runs == InBackground));
        assert_eq!(method("/palpate.v1.HapticService/Track").runs, WhereItArrives);
    }
}
