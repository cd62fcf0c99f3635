//! Use of a connection of the HTTP port: an unused connection is closed, or earlier gives way to a new one.

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
use tokio::{sync::Notify, time::sleep};
use tonic::{Status, body::Body};

/// Requests of one connection.
#[derive(Debug, Default)]
pub struct ConnectionUse {
    /// Number of requests received, and of answer parts that the connection took.
    moves: AtomicU64,
    /// Number of answers that the server has not made yet, or whose next part it has not.
    owed: AtomicUsize,
    /// Number of answers that protect the connection from giving way.
    kept: AtomicUsize,
    gives_way: Notify,
}

/// A request, until its answer was read or nobody waits for it.
pub struct OpenRequest {
    used: Arc<ConnectionUse>,
    is_owed: bool,
    keeps_place: bool,
}

/// Extension of an answer: until the answer ends, its connection does not give way to a new one.
#[derive(Clone, Copy, Debug)]
pub struct KeepsPlace;

impl ConnectionUse {
    /// Registers a request.
    pub fn begin(self: &Arc<Self>) -> OpenRequest {
        self.moves.fetch_add(1, Relaxed);
        self.owed.fetch_add(1, Relaxed);
        OpenRequest { used: Arc::clone(self), is_owed: true, keeps_place: false }
    }

    /// Returns true if the connection may be closed for a new one.
    pub fn may_give_way(&self) -> bool {
        self.kept.load(Relaxed) == 0
    }

    /// Closes the connection, whatever its state.
    pub fn give_way(&self) {
        self.gives_way.notify_one();
    }

    /// Waits until the connection has to give way.
    pub async fn given_way(&self) {
        self.gives_way.notified().await;
    }

    /// Waits until no first request came for `first_max`, or for `idle_max` the server owed nothing, no request came
    /// and no part of an answer was taken; at most twice `idle_max`.
    pub async fn idle(&self, first_max: Duration, idle_max: Duration) {
        sleep(first_max).await;
        let mut before = 0;
        loop {
            let moves = self.moves.load(Relaxed);
            if moves == before && self.owed.load(Relaxed) == 0 {
                return;
            }
            before = moves;
            sleep(idle_max).await;
        }
    }
}

impl OpenRequest {
    /// Keeps the request open for as long as the answer's body exists.
    pub fn until_taken(mut self, answer: Response<Body>) -> Response<Body> {
        self.set_owed(false);
        if answer.extensions().get::<KeepsPlace>().is_some() {
            self.keeps_place = true;
            self.used.kept.fetch_add(1, Relaxed);
        }
        answer.map(|body| Body::new(OpenBody { body, open: self }))
    }

    fn set_owed(&mut self, is_owed: bool) {
        match (self.is_owed, is_owed) {
            (false, true) => self.used.owed.fetch_add(1, Relaxed),
            (true, false) => self.used.owed.fetch_sub(1, Relaxed),
            _ => return,
        };
        self.is_owed = is_owed;
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.set_owed(false);
        if self.keeps_place {
            self.used.kept.fetch_sub(1, Relaxed);
        }
    }
}

/// Body of an answer to an open request.
struct OpenBody {
    body: Body,
    open: OpenRequest,
}

impl http_body::Body for OpenBody {
    type Data = Bytes;
    type Error = Status;

    // Called by the transport when the client reads more.
    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        self.open.set_owed(frame.is_pending());
        self.open.used.moves.fetch_add(u64::from(frame.is_ready()), Relaxed);
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    // Without the size an answer of known length is sent in chunks, which not all readers of metrics can decode.
    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use http_body_util::{BodyExt, Full, StreamBody};
    use tokio::{sync::mpsc, time::timeout};
    use tokio_stream::wrappers::ReceiverStream;

    use super::*;

    /// Returns an answer that protects its connection and has not ended: an empty body would be dropped at once.
    pub fn live_view() -> Response<Body> {
        let mut view = Response::new(Body::new(Full::new(Bytes::from_static(b"a"))));
        view.extensions_mut().insert(KeepsPlace);
        view
    }

    const SOON: Duration = Duration::from_millis(10);
    const FOREVER: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn a_connection_is_idle_once_the_server_owes_it_nothing() {
        let used = Arc::new(ConnectionUse::default());
        let idle = || used.idle(Duration::ZERO, Duration::from_millis(1));
        timeout(FOREVER, idle()).await.expect("nobody has asked");
        let other = used.begin();
        drop(used.begin());
        assert!(timeout(SOON, idle()).await.is_err(), "one answer is not made");
        drop(other);
        timeout(FOREVER, idle()).await.expect("none is owed");

        // An answer of many parts: the server makes the next part, then the client reads it.
        let (parts, made) = mpsc::channel(2);
        let body = Body::new(StreamBody::new(ReceiverStream::new(made)));
        let mut answer = used.begin().until_taken(Response::new(body)).into_body();
        timeout(FOREVER, idle()).await.expect("the client has asked for no part");
        assert!(timeout(SOON, answer.frame()).await.is_err(), "there is none");
        assert!(timeout(SOON, idle()).await.is_err(), "the client waits for it");
        let part = || Ok::<_, Status>(Frame::data(Bytes::from_static(b"a")));
        parts.send(part()).await.expect("room");
        answer.frame().await.expect("a part").expect("good");
        parts.send(part()).await.expect("room");
        timeout(FOREVER, idle()).await.expect("the client does not take the next part");
    }

    #[tokio::test]
    async fn a_place_is_kept_for_as_long_as_the_answer_that_keeps_it() {
        let used = Arc::new(ConnectionUse::default());
        let answer = used.begin().until_taken(Response::new(Body::default()));
        assert!(used.may_give_way());
        let view = used.begin().until_taken(live_view());
        assert!(!used.may_give_way());
        drop((answer, view));
        assert!(used.may_give_way());
        used.give_way();
        timeout(FOREVER, used.given_way()).await.expect("told before it was asked for");
    }
}
