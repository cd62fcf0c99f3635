//! The haptic loop's stream: computes each answer on the thread on which the bytes of its tick arrived.
//!
//! A tick has no task, channel or queue of its own. Polling for an answer takes all ready messages, keeps the newest
//! tick (each one in `Mode::Every`) and computes its answer on the spot.

use std::{
    future::{Future, ready as ready_now},
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Sleep, sleep, timeout};
use tokio_stream::Stream;
use tonic::Status;
use tracing::Span;

use super::sessions::{SessionLease, SessionRegistry};
use super::{haptic_loop::HapticLoop, until_ended::UntilEnded};
use crate::{
    proto::{TrackRequest, TrackResponse, track_request::Message},
    service::{
        access::caller::Caller,
        catch_panic::catch_panic,
        clock::now_ns,
        convert::Problem,
        host::{scene_life::Ended, scene_registry::SceneRegistry},
        refused::Refused,
    },
};

/// The answers of one haptic loop to the requests of `S`.
pub struct Track<S> {
    registry: Arc<SceneRegistry>,
    sessions: Arc<SessionRegistry>,
    caller: Caller,
    requests: UntilEnded<S>,
    /// Span of the call, for its first message and the kind of its loop.
    span: Span,
    lease: Option<SessionLease>,
    /// The client has received its session's token.
    token_told: bool,
    /// Greatest sequence number that its session had taken when the stream began.
    taken_before: Option<Option<u64>>,
    /// The last poll returned an answer that tonic has not handed to the transport yet.
    gathered: bool,
    /// Pause until the stream's key may have the threads again.
    pause: Option<Pin<Box<Sleep>>>,
    /// Set while the scene is being taken in; the first request waits for that.
    opening: Option<(Opened, TrackRequest)>,
}

/// Maximum time that a loop waits for its scene to be taken in. Then the loop must come back: a client that hears
/// nothing for 2 s looks for another server, and ends after a while if no server reports that it will serve.
const OPEN_MAX: Duration = Duration::from_secs(1);

type Opened = Pin<Box<dyn Future<Output = Result<(), Refused>> + Send>>;

/// Reason why a stream has no next answer.
enum StreamEnd {
    /// The stream broke off; the session may be resumed.
    BrokeOff(Status),
    /// The session is over.
    Over(Option<Status>),
}

impl<S> Track<S> {
    /// Creates a loop that starts with the first request.
    pub fn new(
        registry: Arc<SceneRegistry>,
        sessions: Arc<SessionRegistry>,
        caller: Caller,
        requests: S,
    ) -> Track<S> {
        let requests = UntilEnded::new(&registry, requests);
        let (span, lease) = (Span::current(), None);
        Track {
            registry,
            sessions,
            caller,
            requests,
            span,
            lease,
            token_told: false,
            taken_before: None,
            gathered: false,
            pause: None,
            opening: None,
        }
    }
}

impl<S> Track<S>
where
    S: Stream<Item = Result<TrackRequest, Status>> + Unpin,
{
    /// Takes in the scene that the first request names, and begins or resumes its session. Returns false if there is no
    /// request.
    fn poll_begin(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Status>> {
        let Track { registry, sessions, caller, requests, span, lease, opening, .. } = self;
        if opening.is_none() {
            let first = ready!(Pin::new(&mut *requests).poll_next(cx));
            let Some(first) = first.transpose()? else { return Poll::Ready(Ok(false)) };
            *opening = Some((open(registry, &first), first));
        }
        let (opened, first) = opening.as_mut().expect("it was set");
        ready!(opened.as_mut().poll(cx)).map_err(Status::from)?;
        let first = mem::take(first);
        *opening = None;
        let begun = span.in_scope(|| begin(registry, sessions, caller, first));
        *lease = Some(begun.map_err(Status::from)?);
        Poll::Ready(Ok(true))
    }
}

impl<S> Stream for Track<S>
where
    S: Stream<Item = Result<TrackRequest, Status>> + Unpin,
{
    type Item = Result<TrackResponse, Status>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let track = self.get_mut();
        if let Some(until) = &mut track.pause {
            ready!(until.as_mut().poll(cx));
            track.pause = None;
        }
        if track.lease.is_none() && !ready!(track.poll_begin(cx))? {
            return Poll::Ready(None);
        }
        let Track { requests, span, lease, token_told, taken_before, gathered, pause, .. } = track;
        let lease = lease.as_ref().expect("the session has begun");
        // The stream that had the session is in a poll on another thread, which is over within a tick.
        let Some(mut running) = lease.take().map_err(Refused::from)? else {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        };
        let taken_before = *taken_before.get_or_insert_with(|| running.last_taken());
        // A panic that got here has left the loop in an unusable state.
        let next = match catch_panic(|| advance(&mut running, lease, requests, gathered, pause, cx))
        {
            Ok(Poll::Ready(next)) => next,
            Ok(Poll::Pending) => {
                lease.park(running);
                return Poll::Pending;
            }
            Err(panicked) => Err(StreamEnd::Over(Some(panicked.into()))),
        };
        match next {
            Ok(mut answer) => {
                let rendered = running.n_rendered();
                lease.park(running);
                if !mem::replace(token_told, true) {
                    // The start of a resumed session does not contain this.
                    span.record("rendered", rendered);
                    answer.session_token = lease.token().to_vec();
                    // `None` for a new session.
                    answer.resumed_sequence = taken_before;
                }
                Poll::Ready(Some(Ok(answer)))
            }
            Err(StreamEnd::BrokeOff(status)) => {
                lease.park(running);
                Poll::Ready(Some(Err(status)))
            }
            Err(StreamEnd::Over(status)) => {
                lease.end();
                Poll::Ready(status.map(Err))
            }
        }
    }
}

/// Takes in the scene that a first request names, if needed.
fn open(registry: &Arc<SceneRegistry>, first: &TrackRequest) -> Opened {
    match &first.message {
        Some(Message::Start(sent)) if registry.may_open(&sent.scene_id) => {
            let (registry, id) = (Arc::clone(registry), sent.scene_id.clone());
            Box::pin(async move {
                let opened = timeout(OPEN_MAX, registry.open(&id)).await;
                opened.unwrap_or_else(|_| Err(Ended::Opening { id }.into()))
            })
        }
        _ => Box::pin(ready_now(Ok(()))),
    }
}

/// Begins a new session, or resumes one.
fn begin(
    registry: &SceneRegistry,
    sessions: &Arc<SessionRegistry>,
    caller: &Caller,
    first: TrackRequest,
) -> Result<SessionLease, Refused> {
    let Some(Message::Start(sent)) = first.message else {
        return Err(Problem::Missing.of("start").into());
    };
    if sent.resume_token.is_empty() {
        let haptic_loop = HapticLoop::start(registry, sessions.stale_after(), caller, &sent)?;
        return Ok(sessions.begin(&sent.scene_id, caller, &sent.tool_ids, haptic_loop)?);
    }
    registry.served(&sent.scene_id).map_err(|e| e.within("start"))?;
    Ok(sessions.resume(&sent.resume_token, &sent.scene_id, caller, &sent.tool_ids)?)
}

/// Takes in all ready messages and computes an answer, if one is due.
fn advance<S>(
    running: &mut HapticLoop,
    lease: &SessionLease,
    requests: &mut S,
    gathered: &mut bool,
    pause: &mut Option<Pin<Box<Sleep>>>,
    cx: &mut Context<'_>,
) -> Poll<Result<TrackResponse, StreamEnd>>
where
    S: Stream<Item = Result<TrackRequest, Status>> + Unpin,
{
    running.release_held();
    while !running.must_answer() {
        match Pin::new(&mut *requests).poll_next(cx) {
            Poll::Ready(Some(Ok(request))) => {
                let received_ns = now_ns();
                lease.note_pose(received_ns);
                if let Err(status) = running.take(request, received_ns) {
                    return Poll::Ready(Err(StreamEnd::Over(Some(status))));
                }
            }
            Poll::Ready(Some(Err(status))) => return Poll::Ready(Err(StreamEnd::BrokeOff(status))),
            Poll::Pending if running.waiting.is_none() => {
                *gathered = false;
                lease.subscription().register(cx.waker());
                if let Err(status) = running.check_lasting() {
                    return Poll::Ready(Err(StreamEnd::Over(Some(status))));
                }
                let notice = running.notice(lease.is_stale());
                return notice.map_or(Poll::Pending, |notice| Poll::Ready(Ok(notice)));
            }
            Poll::Ready(None) | Poll::Pending => break,
        }
    }
    let Some(waiting) = running.waiting.take() else {
        return Poll::Ready(Err(StreamEnd::Over(None)));
    };
    // tonic gathers answers, up to 32 KiB of them, until a poll is pending. If the next tick were computed at once, a
    // client that sends without pause would get answers that are many ticks old.
    if mem::take(gathered) {
        running.waiting = Some(waiting);
        cx.waker().wake_by_ref();
        return Poll::Pending;
    }
    match running.answer(waiting) {
        Ok(answer) => {
            // The scene may have ended since the tick was taken. The stream's status names its new owner, a refusal does
            // not.
            if answer.refusal.is_some()
                && let Err(status) = running.check_lasting()
            {
                return Poll::Ready(Err(StreamEnd::Over(Some(status))));
            }
            *gathered = true;
            Poll::Ready(Ok(answer))
        }
        // Others go first once the key has had its share. Messages that arrive meanwhile wait in the receive window.
        Err(wait) => {
            let until = pause.insert(Box::pin(sleep(wait)));
            if until.as_mut().poll(cx).is_ready() {
                cx.waker().wake_by_ref();
            }
            Poll::Pending
        }
    }
}
