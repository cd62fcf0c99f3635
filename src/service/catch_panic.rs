//! Confines a panic to the request that caused it.

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    task::{Context, Poll},
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Frame, SizeHint};
use tonic::{Status, body::Body};

/// The engine panicked; the panic hook has logged the location.
#[derive(Debug, thiserror::Error)]
#[error("the server failed while it computed this; the failure is in its log")]
pub struct Panicked;

/// Runs `work` and catches panics. The caller drops state that `work` may have left half changed.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    let work = || {
        #[cfg(test)]
        injected::panic_when_asked();
        work()
    };
    // Sound to assert: every caller drops or rebuilds the state that the work borrowed.
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked)
}

/// Runs `work` off the runtime's threads.
pub async fn catch_panic_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Panicked> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Panicked)
}

/// Runs a handler and catches panics.
pub async fn catch_panic_future<T>(work: impl Future<Output = T>) -> Result<T, Panicked> {
    let mut work = pin!(work);
    poll_fn(|cx| match catch_panic(|| work.as_mut().poll(cx)) {
        Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(panicked) => Poll::Ready(Err(panicked)),
    })
    .await
}

/// Body of an answer; a panic in it ends the answer with INTERNAL instead of breaking it off.
pub struct CatchPanicBody {
    /// Messages of the answer; `None` once it has ended.
    inner: Option<Body>,
}

impl CatchPanicBody {
    /// Wraps a body.
    pub fn of(inner: Body) -> Body {
        Body::new(CatchPanicBody { inner: Some(inner) })
    }
}

impl http_body::Body for CatchPanicBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        match catch_panic(|| Pin::new(inner).poll_frame(cx)) {
            Ok(polled) => polled,
            Err(panicked) => {
                // A body that panicked once is not polled again.
                self.inner = None;
                Poll::Ready(Some(last_frame(panicked.into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(|body| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or(SizeHint::with_exact(0), |body| body.size_hint())
    }
}

/// Returns the frame that ends an incomplete answer.
///
/// # Errors
/// Returns an error if the status cannot be sent: the answer then breaks off.
pub fn last_frame(status: Status) -> Result<Frame<Bytes>, Status> {
    let mut trailers = HeaderMap::new();
    status.add_header(&mut trailers)?;
    Ok(Frame::trailers(trailers))
}

/// Panics that tests inject on their own thread.
#[cfg(test)]
pub mod injected {
    use std::cell::Cell;

    thread_local! {
        static NEXT: Cell<u32> = const { Cell::new(0) };
    }

    /// Makes the next `n` works of this thread that [`catch_panic`](super::catch_panic) runs panic.
    pub fn panics(n: u32) {
        NEXT.set(n);
    }

    pub fn panic_when_asked() {
        let left = NEXT.get();
        if left > 0 {
            NEXT.set(left - 1);
            panic!("injected");
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, StreamBody};
    use tonic::Code;

    use super::*;

    #[tokio::test]
    async fn a_handler_that_panics_is_survived() {
        let failed: Result<(), Panicked> = catch_panic_future(async { panic!("on purpose") }).await;
        assert_eq!(Status::from(failed.expect_err("a panic")).code(), Code::Internal);
        assert_eq!(catch_panic_future(async { 7 }).await.expect("no panic"), 7);
    }

    #[tokio::test]
    async fn a_stream_that_panics_ends_with_internal() {
        let messages = tokio_stream::iter(0..3).map_frames();
        let body = CatchPanicBody::of(Body::new(StreamBody::new(messages)));
        let all = body.collect().await.expect("it ends well");
        let status = Status::from_header_map(all.trailers().expect("trailers")).expect("a status");
        assert_eq!(status.code(), Code::Internal);
        assert_eq!(all.to_bytes().len(), 1);
    }

    trait MapFrames {
        fn map_frames(self) -> impl tokio_stream::Stream<Item = Result<Frame<Bytes>, Status>>;
    }

    impl<S: tokio_stream::Stream<Item = u8>> MapFrames for S {
        /// Returns one good frame, then a panic.
        fn map_frames(self) -> impl tokio_stream::Stream<Item = Result<Frame<Bytes>, Status>> {
            tokio_stream::StreamExt::map(self, |n| {
                assert!(n == 0, "on purpose");
                Ok(Frame::data(Bytes::from_static(b"a")))
            })
        }
    }
}
