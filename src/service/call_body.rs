//! A call's answer on its way to the client.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tonic::{Status, body::Body};

use super::{access::withdrawal::Watch, contain::last_frame};

/// An answer that ends when the key that it was asked with is withdrawn.
pub struct CallBody {
    /// `None` once it has ended.
    inner: Option<Body>,
    /// `None` for anybody.
    watch: Option<Watch>,
}

impl CallBody {
    /// The same messages.
    pub fn of(inner: Body, watch: Option<Watch>) -> Body {
        Body::new(CallBody { inner: Some(inner), watch })
    }
}

impl http_body::Body for CallBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let CallBody { inner, watch } = self.get_mut();
        let Some(body) = inner else { return Poll::Ready(None) };
        let Some(watch) = watch else { return Pin::new(body).poll_frame(cx) };
        // A stream that always has a next message is to end too.
        let denied = match watch.denied() {
            Some(denied) => denied,
            None => match (Pin::new(body).poll_frame(cx), watch.poll_denied(cx)) {
                (Poll::Pending, Poll::Ready(denied)) => denied,
                (polled, _) => return polled,
            },
        };
        *inner = None;
        Poll::Ready(Some(last_frame(denied.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(|body| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or(SizeHint::with_exact(0), |body| body.size_hint())
    }
}
