//! Accounting of an answer's bytes until the socket has accepted them.
//!
//! HTTP/2 lets a client open a call and never read its answer, while it still answers pings. So bytes are tracked until
//! they are dropped, which happens after they have been written: that releases their memory budget
//! (`host::answer_room`), and a connection whose bytes are not read for a while is closed (`connection_life`).

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

/// Messages of one answer, which hold `room` until the last byte is dropped.
pub struct AnswerBytes {
    inner: Body,
    /// Rest of the last message that was not passed on yet.
    rest: Bytes,
    progress: Arc<AnswerProgress>,
    room: Arc<TakenRoom>,
    /// True if the answer is one message: once it is made, only its own size is held.
    is_one: bool,
}

/// Size of a piece: a client counts as slow if it reads less than this in `transport.unread_max`, whatever the size of
/// a message.
const PIECE_BYTES: usize = 64 << 10;

/// Bytes in flight.
struct WaitingBytes {
    bytes: Bytes,
    progress: Arc<AnswerProgress>,
    _room: Arc<TakenRoom>,
}

impl AnswerBytes {
    /// Wraps the messages of an answer.
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
