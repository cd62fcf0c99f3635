//! One client's connection, and the acceptor it comes in by.
//!
//! Nothing is handed to HTTP/2 before its preface is there: a peer that connects and stays silent, or speaks
//! something else, costs a socket for a bounded time and none of the connections that are allowed.

use std::{
    collections::VecDeque,
    future::pending,
    io,
    pin::Pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::mpsc,
    task::AbortHandle,
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;
use tonic::transport::server::Connected;
use tracing::{debug, warn};

use crate::config::TransportSettings;
use crate::service::{
    access::Access,
    metrics::{Metrics, REFUSAL_REASONS},
};

/// What every HTTP/2 client sends first.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// After the system refused a connection, as it does without free descriptors.
const REFUSED_PAUSE: Duration = Duration::from_millis(50);
/// Connections on their way to the transport.
const READY_MAX: usize = 16;

/// Bytes both ways, over whatever carries them.
pub trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// A client that has begun to speak HTTP/2; counted while it lasts.
pub struct Connection {
    wire: Box<dyn Wire>,
    /// What of the preface has not been read again.
    ahead: &'static [u8],
    _permit: ConnectionPermit,
}

/// Accepts connections.
pub struct Acceptor {
    connections_max: usize,
    preface_max: Duration,
    access: Arc<Access>,
    metrics: Arc<Metrics>,
}

/// One of the connections that are allowed; given back when dropped.
struct ConnectionPermit(Arc<Metrics>);

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Relaxed);
    }
}

/// Why a peer was not let in.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("it did not begin with HTTP/2's preface")]
    NotHttp2,
    #[error("there are {0} connections already, the limit")]
    Full(usize),
    #[error("it was silent for {0:?}, or too many are")]
    Silent(Duration),
    #[error("no TLS connection: {0}")]
    Tls(#[source] io::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Refusal {
    /// As it is counted.
    fn reason(&self) -> &'static str {
        match self {
            Refusal::NotHttp2 => "not_http2",
            Refusal::Full(_) => "full",
            Refusal::Silent(_) => "silent",
            Refusal::Tls(_) => "tls",
            Refusal::Io(_) => "io",
        }
    }
}

impl Acceptor {
    /// No connections yet.
    pub fn new(
        transport: &TransportSettings,
        access: &Arc<Access>,
        metrics: &Arc<Metrics>,
    ) -> Acceptor {
        let TransportSettings { connections_max, preface_max, .. } = *transport;
        let (access, metrics) = (Arc::clone(access), Arc::clone(metrics));
        Acceptor { connections_max, preface_max, access, metrics }
    }

    /// Lets connections in until the receiver is dropped.
    pub fn open(
        self,
        tcp: TcpListener,
        unix: Option<UnixListener>,
    ) -> mpsc::Receiver<io::Result<Connection>> {
        let (ready, received) = mpsc::channel(READY_MAX);
        tokio::spawn(Arc::new(self).accept(tcp, unix, ready));
        received
    }

    async fn accept(
        self: Arc<Self>,
        tcp: TcpListener,
        unix: Option<UnixListener>,
        ready: mpsc::Sender<io::Result<Connection>>,
    ) {
        // Those whose preface is awaited, oldest first. When there are too many, the oldest has to go: an
        // honest client needs milliseconds.
        let mut waiting: VecDeque<AbortHandle> = VecDeque::new();
        loop {
            let accepted = tokio::select! {
                accepted = tcp.accept() => accepted.map(|(stream, _)| Accepted::Tcp(stream)),
                accepted = accept_unix(unix.as_ref()) => accepted.map(Accepted::Unix),
                () = ready.closed() => return,
            };
            let accepted = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    warn!("no connection can be accepted: {error}");
                    sleep(REFUSED_PAUSE).await;
                    continue;
                }
            };
            waiting.retain(|task| !task.is_finished());
            if waiting.len() >= self.connections_max
                && let Some(oldest) = waiting.pop_front()
            {
                oldest.abort();
                self.refuse(&Refusal::Silent(self.preface_max));
            }
            let (acceptor, ready) = (Arc::clone(&self), ready.clone());
            let task = tokio::spawn(async move {
                let greeted = timeout(acceptor.preface_max, acceptor.greet(accepted)).await;
                match greeted.unwrap_or(Err(Refusal::Silent(acceptor.preface_max))) {
                    // An error: the server is ending.
                    Ok(connection) => drop(ready.send(Ok(connection)).await),
                    Err(refusal) => acceptor.refuse(&refusal),
                }
            });
            waiting.push_back(task.abort_handle());
        }
    }

    async fn greet(&self, accepted: Accepted) -> Result<Connection, Refusal> {
        let mut wire: Box<dyn Wire> = match accepted {
            Accepted::Tcp(stream) => {
                // On this end too: without it 11 to 32 % of the ticks were later than 1 ms, with it 0.03 to 0.4 %.
                // TCP_QUICKACK and SO_BUSY_POLL are not set: they cost a call a read, or spin for a device that
                // loopback does not have.
                // Small frames both ways: waiting to fill a segment would cost 40 ms.
                stream.set_nodelay(true)?;
                match self.access.tls() {
                    Some(tls) => {
                        let accepted = TlsAcceptor::from(tls).accept(stream).await;
                        Box::new(accepted.map_err(Refusal::Tls)?)
                    }
                    None => Box::new(stream),
                }
            }
            // Not preferred to TCP: at 8 and 32 streams both take the same, at one TCP took 87 to 99 us and a Unix
            // socket 141 to 157.
            Accepted::Unix(stream) => Box::new(stream),
        };
        // Neither tonic nor hyper bounds how long a peer may be silent before its preface, and a slot among the
        // connections is worth more than a socket.
        let mut got = [0; PREFACE.len()];
        let mut n_got = 0;
        while n_got < got.len() {
            let n = wire.read(&mut got[n_got..]).await?;
            n_got += n;
            if n == 0 || got[..n_got] != PREFACE[..n_got] {
                return Err(Refusal::NotHttp2);
            }
        }
        Ok(Connection { wire, ahead: PREFACE, _permit: self.permit()? })
    }

    fn refuse(&self, refusal: &Refusal) {
        debug!("a connection was refused: {refusal}");
        let reason = REFUSAL_REASONS.iter().position(|reason| *reason == refusal.reason());
        let reason = reason.expect("each reason is counted");
        self.metrics.connections_refused[reason].fetch_add(1, Relaxed);
    }

    fn permit(&self) -> Result<ConnectionPermit, Refusal> {
        let room = |open: u64| (open < self.connections_max as u64).then_some(open + 1);
        let taken = self.metrics.connections.fetch_update(Relaxed, Relaxed, room);
        taken.map_err(|_| Refusal::Full(self.connections_max))?;
        Ok(ConnectionPermit(Arc::clone(&self.metrics)))
    }
}

enum Accepted {
    Tcp(TcpStream),
    Unix(UnixStream),
}

async fn accept_unix(listener: Option<&UnixListener>) -> io::Result<UnixStream> {
    match listener {
        Some(listener) => Ok(listener.accept().await?.0),
        None => pending().await,
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            return Pin::new(&mut self.wire).poll_read(cx, buf);
        }
        let (now, later) = self.ahead.split_at(self.ahead.len().min(buf.remaining()));
        buf.put_slice(now);
        self.ahead = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.wire).poll_write(cx, buf)
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
        Pin::new(&mut self.wire).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.wire.is_write_vectored()
    }
}

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}
