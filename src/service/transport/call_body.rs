//! Body of a call's answer, which logs the call's end.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Instant,
};

use bytes::Bytes;
use http::Response;
use http_body::{Body as _, Frame, SizeHint};
use tonic::{Code, Status, body::Body};
use tracing::{Span, debug};

use super::unread_request::mend_code;
use crate::service::{
    access::revocation::RevocationWatch, catch_panic::last_frame, deadline::EndedOnDrop,
    metrics::code_name,
};

/// Body of an answer that ends when the key of its call is revoked.
pub struct CallBody {
    /// Messages of the answer; `None` once it has ended.
    inner: Option<Body>,
    /// Watch of the call's key; `None` for callers without a key.
    watch: Option<RevocationWatch>,
    /// Span of the call; lasts as long as its answer.
    span: Span,
    started: Instant,
    /// Final code, once the client can know it.
    code: Option<Code>,
    /// Ends the call when nobody reads its answer, so that no further work is done.
    _ended: EndedOnDrop,
}

impl CallBody {
    /// Wraps the answer to a call that began at `started` and has the current span.
    pub fn of(
        answer: Response<Body>,
        watch: Option<RevocationWatch>,
        started: Instant,
        ended: EndedOnDrop,
    ) -> Response<Body> {
        let code = Status::from_header_map(answer.headers()).map(|status| status.code());
        let span = Span::current();
        answer.map(|body| {
            Body::new(CallBody { inner: Some(body), watch, span, started, code, _ended: ended })
        })
    }

    fn poll_inner(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Some(body) = &mut self.inner else { return Poll::Ready(None) };
        let Some(watch) = &self.watch else { return Pin::new(body).poll_frame(cx) };
        // Checked first, so that a stream that always has a next message ends too.
        let denied = match watch.denied() {
            Some(denied) => denied,
            None => match (Pin::new(body).poll_frame(cx), watch.poll_denied(cx)) {
                (Poll::Pending, Poll::Ready(denied)) => denied,
                (polled, _) => return polled,
            },
        };
        self.inner = None;
        Poll::Ready(Some(last_frame(denied.into())))
    }
}

impl http_body::Body for CallBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let mut polled = self.poll_inner(cx);
        if let Poll::Ready(Some(Ok(frame))) = &mut polled
            && let Some(trailers) = frame.trailers_mut()
        {
            mend_code(trailers);
            self.code = Status::from_header_map(trailers).map(|status| status.code());
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(|body| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or(SizeHint::with_exact(0), |body| body.size_hint())
    }
}

impl Drop for CallBody {
    fn drop(&mut self) {
        let ms = self.started.elapsed().as_secs_f64() * 1e3;
        if let Some(code) = self.code {
            self.span.record("code", code_name(code));
        }
        let how = if self.code.is_some() { "answered" } else { "broken off" };
        self.span.in_scope(|| debug!(ms, "{how}"));
    }
}
