//! Answer of a call that has a deadline.
//!
//! tonic enforces a caller's deadline by dropping the handler's future, even after it has begun a change: of twelve
//! uploads that were answered DEADLINE_EXCEEDED four had taken effect. So the head of such an answer is sent at once,
//! which ends tonic's timeout, and this body enforces the deadline: it ends the call only if [`CallDeadline`] says that
//! nothing was changed, and otherwise waits for the answer.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Instant,
};

use bytes::Bytes;
use http::{HeaderMap, Response, header::CONTENT_TYPE};
use http_body::{Body as _, Frame};
use tokio::time::{Sleep, sleep_until};
use tonic::{Code, Status, body::Body};

use crate::service::catch_panic::last_frame;
use crate::service::deadline::{CallDeadline, DeadlinePassed};

/// Body of an answer whose handler is still running.
pub struct LateAnswer {
    state: AnswerState,
    deadline: CallDeadline,
    /// True if each message answers a change of its own; the call may then end after any message.
    is_stream: bool,
    /// Timer of the deadline.
    sleep: Pin<Box<Sleep>>,
    /// Records the code of a call that ends before its handler has answered.
    note_code: Box<dyn FnOnce(Code) + Send>,
}

enum AnswerState {
    Computing(Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>),
    Answering(Body),
    Ended,
}

impl LateAnswer {
    /// Returns the head of an answer whose rest comes from `answering`, unless the call is ended `at` its deadline.
    pub fn of(
        answering: impl Future<Output = Result<Response<Body>, Infallible>> + Send + 'static,
        deadline: CallDeadline,
        at: Instant,
        is_stream: bool,
        note_code: impl FnOnce(Code) + Send + 'static,
    ) -> Response<Body> {
        let sleep = Box::pin(sleep_until(at.into()));
        let state = AnswerState::Computing(Box::pin(answering));
        let note_code = Box::new(note_code);
        let body = Body::new(LateAnswer { state, deadline, is_stream, sleep, note_code });
        let head = Response::builder().header(CONTENT_TYPE, "application/grpc");
        head.body(body).expect("a good head")
    }

    fn poll_inner(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        loop {
            match &mut self.state {
                AnswerState::Computing(answering) => {
                    let Ok(answer) = ready!(answering.as_mut().poll(cx));
                    let (head, body) = answer.into_parts();
                    if Status::from_header_map(&head.headers).is_some() {
                        // A refusal consists of its head; the head was sent already, so the refusal comes as trailers.
                        self.state = AnswerState::Ended;
                        return Poll::Ready(Some(Ok(Frame::trailers(trailers(head.headers)))));
                    }
                    self.state = AnswerState::Answering(body);
                }
                AnswerState::Answering(body) => return Pin::new(body).poll_frame(cx),
                AnswerState::Ended => return Poll::Ready(None),
            }
        }
    }
}

impl http_body::Body for LateAnswer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        // Polls the answer first: finished work is not discarded.
        if let Poll::Ready(frame) = this.poll_inner(cx) {
            // Messages that came in one frame count as one. The call is then not ended, which is the safe side.
            if this.is_stream && matches!(&frame, Some(Ok(frame)) if frame.is_data()) {
                this.deadline.note_answer();
            }
            return Poll::Ready(frame);
        }
        ready!(this.sleep.as_mut().poll(cx));
        if !this.deadline.end() {
            // The change goes through, and its answer wakes this body.
            return Poll::Pending;
        }
        if let AnswerState::Computing(_) = std::mem::replace(&mut this.state, AnswerState::Ended) {
            let note = std::mem::replace(&mut this.note_code, Box::new(|_| ()));
            note(Code::DeadlineExceeded);
        }
        Poll::Ready(Some(last_frame(DeadlinePassed.into())))
    }
}

fn trailers(mut head: HeaderMap) -> HeaderMap {
    head.remove(CONTENT_TYPE);
    head
}
