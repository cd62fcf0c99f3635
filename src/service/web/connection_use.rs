//! Whether a connection of the HTTP port is in use: one that is not for long enough makes room.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::Response;
use http_body::{Frame, SizeHint};
use tokio::time::sleep;
use tonic::{Status, body::Body};

/// The requests of one connection.
#[derive(Default)]
pub struct ConnectionUse {
    begun: AtomicU64,
    open: AtomicUsize,
}

/// A request, until its answer was taken or nobody waits for it.
pub struct OpenRequest(Arc<ConnectionUse>);

impl ConnectionUse {
    /// A request has come.
    pub fn begin(self: &Arc<Self>) -> OpenRequest {
        self.begun.fetch_add(1, Relaxed);
        self.open.fetch_add(1, Relaxed);
        OpenRequest(Arc::clone(self))
    }

    /// Waits until there was no first request for `first_max`, or no other for `idle_max`; twice that at most.
    pub async fn idle(&self, first_max: Duration, idle_max: Duration) {
        sleep(first_max).await;
        let mut before = 0;
        loop {
            let begun = self.begun.load(Relaxed);
            if begun == before && self.open.load(Relaxed) == 0 {
                return;
            }
            before = begun;
            sleep(idle_max).await;
        }
    }
}

impl OpenRequest {
    /// Lasts as long as the answer's body.
    pub fn until_taken(self, answer: Response<Body>) -> Response<Body> {
        answer.map(|body| Body::new(OpenBody { body, _open: self }))
    }
}

/// The body of an answer to an open request.
struct OpenBody {
    body: Body,
    _open: OpenRequest,
}

impl http_body::Body for OpenBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    // Else an answer of known length is sent in chunks, which not all that read metrics can take apart.
    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_millis(10);
    const FOREVER: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn a_connection_is_idle_once_all_answers_are_taken() {
        let used = Arc::new(ConnectionUse::default());
        let idle = || used.idle(Duration::ZERO, Duration::from_millis(1));
        timeout(FOREVER, idle()).await.expect("nobody has asked");
        let answer = used.begin().until_taken(Response::new(Body::default()));
        let other = used.begin();
        drop(used.begin());
        assert!(timeout(SOON, idle()).await.is_err(), "two are open");
        drop(answer);
        assert!(timeout(SOON, idle()).await.is_err(), "one is open");
        drop(other);
        timeout(FOREVER, idle()).await.expect("none is");
    }
}
