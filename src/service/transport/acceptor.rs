//! Accepting of connections.
//!
//! Connections are passed to HTTP/2 only after their preface: a peer that connects and stays silent, or speaks another
//! protocol, costs a socket for a bounded time and none of the allowed connections.

use std::{
    collections::VecDeque,
    future::pending,
    io,
    net::IpAddr,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use tokio::{
    io::AsyncReadExt,
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::AbortHandle,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;
use tracing::debug;

use super::{
    connection::{Connection, Wire},
    connection_table::{ConnectionTable, NoRoom},
    newcomer_turns::NewcomerTurns,
    unix_socket::{UnixListener, UnixStream},
};
use crate::config::TransportSettings;
use crate::service::accept_errors::AcceptErrors;
use crate::service::{
    access::Access,
    metrics::{Metrics, REFUSAL_REASONS},
};

/// First bytes of every HTTP/2 client.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Maximum accepted connections that wait for the transport.
const READY_MAX: usize = 16;

/// Acceptor of connections.
pub struct Acceptor {
    preface_max: Duration,
    /// Maximum number of silent peers.
    silent_max: usize,
    table: Arc<ConnectionTable>,
    turns: NewcomerTurns,
    access: Arc<Access>,
    metrics: Arc<Metrics>,
}

/// Reasons why a peer was refused.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("it did not begin with HTTP/2's preface")]
    NotHttp2,
    #[error(transparent)]
    Full(#[from] NoRoom),
    #[error("it was silent for {0:?}, or too many are")]
    Silent(Duration),
    #[error("it left before it was let in")]
    Left,
    #[error("no TLS connection: {0}")]
    Tls(#[source] io::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Refusal {
    /// Returns the reason's name in the metrics.
    fn reason(&self) -> &'static str {
        match self {
            Refusal::NotHttp2 => "not_http2",
            Refusal::Full(NoRoom::Server(_)) => "full",
            Refusal::Full(NoRoom::Address(_)) => "address_full",
            Refusal::Silent(_) => "silent",
            Refusal::Tls(_) => "tls",
            Refusal::Left => "left",
            Refusal::Io(_) => "io",
        }
    }
}

impl Acceptor {
    /// Creates an acceptor that admits connections to `table`.
    pub fn new(
        transport: &TransportSettings,
        table: &Arc<ConnectionTable>,
        access: &Arc<Access>,
        metrics: &Arc<Metrics>,
    ) -> Acceptor {
        let TransportSettings { connections_max: silent_max, preface_max, .. } = *transport;
        let (access, metrics) = (Arc::clone(access), Arc::clone(metrics));
        let (table, turns) = (Arc::clone(table), NewcomerTurns::default());
        Acceptor { preface_max, silent_max, table, turns, access, metrics }
    }

    /// Accepts connections until the receiver is dropped.
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
        // Peers whose preface is awaited, oldest first. If there are too many, the oldest is closed: an honest client
        // needs milliseconds.
        let mut waiting: VecDeque<AbortHandle> = VecDeque::new();
        let mut errors = AcceptErrors::new("calls");
        loop {
            let accepted = tokio::select! {
                accepted = tcp.accept() => accepted.map(|(stream, peer)| Accepted::Tcp(stream, peer.ip())),
                accepted = accept_unix(unix.as_ref()) => accepted.map(Accepted::Unix),
                () = ready.closed() => return,
            };
            let accepted = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    errors.wait(&error).await;
                    continue;
                }
            };
            errors.clear();
            // The system queues the others: a crowd that comes and goes is accepted one by one.
            self.turns.turn().await;
            waiting.retain(|task| !task.is_finished());
            if waiting.len() >= self.silent_max
                && let Some(oldest) = waiting.pop_front()
            {
                oldest.abort();
                self.refuse(&Refusal::Silent(self.preface_max));
            }
            let (acceptor, ready) = (Arc::clone(&self), ready.clone());
            let task = tokio::spawn(async move {
                let greeted = timeout(acceptor.preface_max, acceptor.greet(accepted)).await;
                match greeted.unwrap_or(Err(Refusal::Silent(acceptor.preface_max))) {
                    // An error means that the server is ending.
                    Ok(connection) => drop(ready.send(Ok(connection)).await),
                    Err(refusal) => acceptor.refuse(&refusal),
                }
            });
            waiting.push_back(task.abort_handle());
        }
    }

    async fn greet(&self, accepted: Accepted) -> Result<Connection, Refusal> {
        let address = match &accepted {
            // An IPv4 peer of a dual-stack socket is the same peer.
            Accepted::Tcp(_, address) => Some(address.to_canonical()),
            Accepted::Unix(_) => None,
        };
        let mut wire: Box<dyn Wire> = match accepted {
            Accepted::Tcp(stream, _) => {
                // Needed on this end too: without it 11 to 32 % of the ticks were later than 1 ms, with it 0.03 to
                // 0.4 %. TCP_QUICKACK and SO_BUSY_POLL are not set: they cost a call a read, or spin for a device that
                // loopback does not have. Frames are small both ways: waiting to fill a segment would cost 40 ms.
                stream.set_nodelay(true)?;
                match self.access.tls() {
                    Some(tls) => {
                        let accepted = TlsAcceptor::from(tls).accept(stream).await;
                        Box::new(accepted.map_err(Refusal::Tls)?)
                    }
                    None => Box::new(stream),
                }
            }
            // Not preferred to TCP: at 8 and 32 streams both take equally long, at one TCP took 87 to 99 us and a Unix
            // socket 141 to 157.
            Accepted::Unix(stream) => Box::new(stream),
        };
        // Neither tonic nor hyper bounds the silence of a peer before its preface, and a slot among the connections is
        // worth more than a socket.
        let mut got = [0; PREFACE.len()];
        let mut n_got = 0;
        while n_got < got.len() {
            let n = wire.read(&mut got[n_got..]).await?;
            n_got += n;
            if n == 0 || got[..n_got] != PREFACE[..n_got] {
                return Err(Refusal::NotHttp2);
            }
        }
        // It would replace an open connection.
        if wire.is_left() {
            return Err(Refusal::Left);
        }
        Ok(Connection::new(wire, PREFACE, self.table.admit(address)?))
    }

    fn refuse(&self, refusal: &Refusal) {
        debug!("a connection was refused: {refusal}");
        let reason = REFUSAL_REASONS.iter().position(|reason| *reason == refusal.reason());
        let reason = reason.expect("each reason is counted");
        self.metrics.connections_refused[reason].fetch_add(1, Relaxed);
    }
}

enum Accepted {
    Tcp(TcpStream, IpAddr),
    Unix(UnixStream),
}

async fn accept_unix(listener: Option<&UnixListener>) -> io::Result<UnixStream> {
    match listener {
        Some(listener) => Ok(listener.accept().await?.0),
        None => pending().await,
    }
}
