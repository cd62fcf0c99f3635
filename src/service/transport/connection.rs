//! One client's connection: its bytes, watched on their way.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

use super::{
    connection_life::ConnectionLife, connection_table::ConnectionPlace, frame_turn::FrameTurn,
    header_block::HeaderBlock, newcomer_turns::HeldBytes,
};

/// Bytes both ways, over whatever carries them.
pub trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// A client that has begun to speak HTTP/2; counted while it lasts.
pub struct Connection {
    wire: Box<dyn Wire>,
    /// What of the preface has not been read again.
    ahead: &'static [u8],
    headers: HeaderBlock,
    turn: FrameTurn,
    /// Until a call is let in.
    held: HeldBytes,
    place: ConnectionPlace,
}

impl Connection {
    /// What goes on after `ahead`, which has been read from `wire` already.
    pub fn new(wire: Box<dyn Wire>, ahead: &'static [u8], place: ConnectionPlace) -> Connection {
        let (headers, turn, held) = Default::default();
        Connection { wire, ahead, headers, turn, held, place }
    }

    fn poll_writing(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut dyn Wire>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        self.place.life.check_writer(cx.waker())?;
        let written = write(Pin::new(&mut *self.wire), cx);
        self.place.life.note_full(written.is_pending());
        written
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.place.life.check_reader(cx.waker())?;
        if !this.ahead.is_empty() {
            let (now, later) = this.ahead.split_at(this.ahead.len().min(buf.remaining()));
            buf.put_slice(now);
            this.ahead = later;
            return Poll::Ready(Ok(()));
        }
        if this.turn.take_over() {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let (before, open, frames) =
            (buf.filled().len(), this.headers.open(), this.headers.frames());
        let is_let_in = this.place.life.is_authorised();
        if is_let_in && !this.held.are_there() {
            ready!(this.turn.poll_read(Pin::new(&mut this.wire), cx, buf))?;
        } else {
            let (wire, turns) = (Pin::new(&mut *this.wire), this.place.turns());
            ready!(this.held.poll_read(wire, cx, buf, turns, is_let_in))?;
            this.place.life.note_turn();
        }
        let bytes = &buf.filled()[before..];
        this.headers.feed(bytes);
        this.turn.note(bytes.len(), this.headers.frames() - frames);
        // Told when it changes only: most calls begin and end their headers in one read.
        if this.headers.open() != open {
            this.place.life.note_headers(this.headers.open().is_some());
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_writing(cx, |wire, cx| wire.poll_write(cx, buf))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_writing(cx, |wire, cx| wire.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        self.wire.is_write_vectored()
    }
}

impl Connected for Connection {
    /// Each call finds its connection's among its extensions.
    type ConnectInfo = Arc<ConnectionLife>;

    fn connect_info(&self) -> Arc<ConnectionLife> {
        Arc::clone(&self.place.life)
    }
}
