//! An answer's bytes, until the socket has taken them.
//!
//! HTTP/2 lets a client open a call and never read its answer, while it answers pings like any other. So bytes are
//! followed to where they are dropped, which is when they have been written: that gives back their room
//! (`host::answer_room`), and a connection whose bytes nobody takes for a while is closed
//! (`connection_life`).

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tonic::{Status, body::Body};

use super::connection_life::AnswerProgress;
use crate::service::host::answer_room::TakenRoom;

/// One answer's messages; they hold `room` until the last byte is gone.
pub struct AnswerBytes {
    inner: Body,
    /// Of the last message, what has not been handed on.
    rest: Bytes,
    progress: Arc<AnswerProgress>,
    room: Arc<TakenRoom>,
    /// The answer is one message: once that is there, no more room is needed than it takes.
    is_one: bool,
}

/// A slow client is one that takes less than this in `transport.unread_max`, whatever a message has.
const PIECE_BYTES: usize = 64 << 10;

/// Bytes on their way.
struct WaitingBytes {
    bytes: Bytes,
    progress: Arc<AnswerProgress>,
    _room: Arc<TakenRoom>,
}

impl AnswerBytes {
    /// The same messages.
    pub fn of(inner: Body, progress: Arc<AnswerProgress>, room: TakenRoom, is_one: bool) -> Body {
        let room = Arc::new(room);
        Body::new(AnswerBytes { inner, rest: Bytes::new(), progress, room, is_one })
    }

    fn next_piece(&mut self) -> Frame<Bytes> {
        let bytes = self.rest.split_to(self.rest.len().min(PIECE_BYTES));
        self.progress.begin(bytes.len());
        let (progress, _room) = (Arc::clone(&self.progress), Arc::clone(&self.room));
        Frame::data(Bytes::from_owner(WaitingBytes { bytes, progress, _room }))
    }
}

impl http_body::Body for AnswerBytes {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        if this.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut this.inner).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                other => return Poll::Ready(other),
            };
            this.rest = match frame.into_data() {
                Ok(bytes) => bytes,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            };
            if this.is_one {
                this.room.shrink_to(this.rest.len());
            }
        }
        Poll::Ready(Some(Ok(this.next_piece())))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.rest.is_empty() { self.inner.size_hint() } else { SizeHint::default() }
    }
}

impl AsRef<[u8]> for WaitingBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for WaitingBytes {
    fn drop(&mut self) {
        self.progress.end(self.bytes.len());
    }
}
