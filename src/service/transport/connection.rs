//! Connection of one client, which observes its bytes.

use std::{
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready},
    net::TcpStream,
};
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use super::{
    connection_life::ConnectionLife, connection_table::ConnectionPlace, frame_turn::FrameTurn,
    header_block::HeaderBlock, newcomer_turns::HeldBytes,
};

/// Byte stream in both directions, over any transport.
pub trait Wire: AsyncRead + AsyncWrite + Send + Unpin {
    /// Returns true if the peer sends no more bytes than those already received: it has closed its half, or is gone. No
    /// system call.
    fn is_left(&self) -> bool;
}

impl Wire for TcpStream {
    fn is_left(&self) -> bool {
        is_closed(self.ready(Interest::READABLE))
    }
}

#[cfg(unix)]
impl Wire for super::unix_socket::UnixStream {
    fn is_left(&self) -> bool {
        is_closed(self.ready(Interest::READABLE))
    }
}

impl Wire for TlsStream<TcpStream> {
    fn is_left(&self) -> bool {
        self.get_ref().0.is_left()
    }
}

/// Returns the state as far as it is known now.
fn is_closed(readiness: impl Future<Output = io::Result<Ready>>) -> bool {
    let known = pin!(readiness).poll(&mut Context::from_waker(Waker::noop()));
    matches!(known, Poll::Ready(Ok(ready)) if ready.is_read_closed())
}

/// A client that has begun to speak HTTP/2; counted while the connection exists.
pub struct Connection {
    wire: Box<dyn Wire>,
    /// Part of the preface that has not been read again.
    ahead: &'static [u8],
    headers: HeaderBlock,
    turn: FrameTurn,
    /// Bytes held back until a call is let in.
    held: HeldBytes,
    place: ConnectionPlace,
}

impl Connection {
    /// Continues `wire` after `ahead`, which has already been read from it.
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
            // Nobody waits for an answer: the connection is read no further, and needs no turn. Otherwise peers that
            // come and go at once, thousands of times a second, would keep others from their turns.
            if !is_let_in && this.wire.is_left() {
                return Poll::Ready(Ok(()));
            }
            let (wire, turns) = (Pin::new(&mut *this.wire), this.place.turns());
            ready!(this.held.poll_read(wire, cx, buf, turns, is_let_in))?;
            this.place.life.note_turn();
        }
        let bytes = &buf.filled()[before..];
        this.headers.feed(bytes);
        this.turn.note(bytes.len(), this.headers.frames() - frames);
        // Recorded only on changes: most calls begin and end their headers in one read.
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
    /// Each call finds its connection's state in its extensions.
    type ConnectInfo = Arc<ConnectionLife>;

    fn connect_info(&self) -> Arc<ConnectionLife> {
        Arc::clone(&self.place.life)
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, time::Duration};

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
        time::sleep,
    };

    use super::*;
    use crate::{
        config::TransportSettings,
        service::{metrics::Metrics, transport::connection_table::ConnectionTable},
    };

    #[tokio::test]
    async fn who_left_without_a_call_is_read_no_further() {
        let metrics = Arc::new(Metrics::new(Duration::from_millis(1)));
        let table = Arc::new(ConnectionTable::new(&TransportSettings::default(), &metrics));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        // State: not let in, let in before it sends, or let in while its bytes wait for a turn.
        for (is_let_in, is_held) in [(false, false), (true, false), (true, true)] {
            let address = listener.local_addr().expect("bound");
            let mut client = TcpStream::connect(address).await.expect("it listens");
            let (wire, _) = listener.accept().await.expect("one comes");
            let mut connection =
                Connection::new(Box::new(wire), b"", table.admit(None).expect("room"));
            assert!(!connection.wire.is_left());
            client.write_all(b"some bytes").await.expect("open");
            if is_held {
                // The connection's own turn is seconds away.
                for _ in 0..20_000 {
                    connection.place.turns().take();
                }
            }
            while is_held && !connection.held.are_there() {
                let mut room = [0; 64];
                let mut buf = ReadBuf::new(&mut room);
                let polled = |cx: &mut Context<'_>| {
                    Poll::Ready(Pin::new(&mut connection).poll_read(cx, &mut buf))
                };
                assert!(poll_fn(polled).await.is_pending(), "it is not its turn");
                sleep(Duration::from_millis(1)).await;
            }
            if is_let_in {
                connection.place.life.note_authorised();
            }
            drop(client);
            while !connection.wire.is_left() {
                sleep(Duration::from_millis(1)).await;
            }
            let mut got = Vec::new();
            connection.read_to_end(&mut got).await.expect("it ends");
            assert_eq!(got, if is_let_in { &b"some bytes"[..] } else { b"" });
        }
    }
}
