//! Rate limit for reads of connections without an admitted call.
//!
//! Such connections cost their peers nothing. So all of them together have a fixed number of turns a second, in the
//! order in which they ask: clients with a stream never wait for more than a few turns, and a client that comes amid a
//! flood waits for its turn. Accepting has turns of its own: connections that are read repeatedly do not keep new ones
//! out.

use std::{
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, ReadBuf},
    time::{Sleep, sleep},
};

use crate::service::clock::now_ns;

/// Interval of turns; a turn is some tens of microseconds of work.
const BETWEEN: Duration = Duration::from_micros(250);
/// Maximum turns at once after a pause. A client needs three until its first call is let in.
const AT_ONCE: u32 = 8;
/// Bytes that are read in a turn: enough for a client's first call.
const TURN_BYTES: usize = 512;

/// Turns of a server.
#[derive(Debug, Default)]
pub struct NewcomerTurns {
    /// Time of the next free turn.
    next_ns: AtomicU64,
}

impl NewcomerTurns {
    /// Takes the next turn, and returns the time until then.
    pub fn take(&self) -> Duration {
        self.take_at(now_ns())
    }

    /// Waits for the next turn.
    pub async fn turn(&self) {
        let wait = self.take();
        if !wait.is_zero() {
            sleep(wait).await;
        }
    }

    fn take_at(&self, now_ns: u64) -> Duration {
        let between = BETWEEN.as_nanos() as u64;
        let earliest = now_ns.saturating_sub(between * u64::from(AT_ONCE - 1));
        let taken = |next: u64| Some(next.max(earliest) + between);
        let next = self.next_ns.fetch_update(Relaxed, Relaxed, taken).expect("never none");
        Duration::from_nanos(next.max(earliest).saturating_sub(now_ns))
    }
}

/// Bytes of one such connection that wait for its turn.
#[derive(Default)]
pub struct HeldBytes {
    /// Bytes that were read; empty at the end of the stream.
    read: Option<Vec<u8>>,
    wait: Option<Pin<Box<Sleep>>>,
}

impl HeldBytes {
    /// Returns true if bytes are held.
    pub fn are_there(&self) -> bool {
        self.read.is_some()
    }

    /// Reads a few bytes, and returns them at their turn; at once if `has_turn`.
    pub fn poll_read(
        &mut self,
        mut wire: Pin<&mut (impl AsyncRead + ?Sized)>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        turns: &NewcomerTurns,
        has_turn: bool,
    ) -> Poll<std::io::Result<()>> {
        if self.read.is_none() {
            let mut room = [0; TURN_BYTES];
            let most = room.len().min(buf.remaining());
            let mut few = ReadBuf::new(&mut room[..most]);
            ready!(wire.as_mut().poll_read(cx, &mut few))?;
            self.read = Some(few.filled().to_vec());
            let wait = turns.take();
            self.wait = (!wait.is_zero()).then(|| Box::pin(sleep(wait)));
        }
        if let Some(wait) = self.wait.as_mut().filter(|_| !has_turn) {
            ready!(wait.as_mut().poll(cx));
        }
        self.wait = None;
        let mut read = self.read.take().expect("just read");
        // Also reads the bytes that have come meanwhile, mostly the first call. With a separate turn for them, a client
        // amid two thousand new connections a second occasionally had to give way before it was read.
        let mut room = [0; TURN_BYTES];
        let mut more = ReadBuf::new(&mut room[..TURN_BYTES.saturating_sub(read.len())]);
        // An error comes again with the next read.
        if !read.is_empty() && wire.as_mut().poll_read(cx, &mut more).is_ready() {
            read.extend_from_slice(more.filled());
        }
        let now = read.len().min(buf.remaining());
        buf.put_slice(&read[..now]);
        if now < read.len() {
            self.read = Some(read.split_off(now));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_go_at_once_and_the_others_one_after_the_other() {
        let turns = NewcomerTurns::default();
        let now = 1_000_000_000;
        let waits: Vec<Duration> = (0..20).map(|_| turns.take_at(now)).collect();
        let at_once = AT_ONCE as usize;
        assert!(waits[..at_once].iter().all(Duration::is_zero), "{waits:?}");
        for (n, wait) in waits[at_once..].iter().enumerate() {
            assert_eq!(*wait, BETWEEN * (n as u32 + 1), "{waits:?}");
        }
        // After a pause as before, whatever its length.
        let later = now + 3_600_000_000_000;
        let waits: Vec<Duration> = (0..=at_once).map(|_| turns.take_at(later)).collect();
        assert!(waits[..at_once].iter().all(Duration::is_zero), "{waits:?}");
        assert_eq!(waits[at_once], BETWEEN);
    }

    #[tokio::test]
    async fn bytes_come_whole_and_in_order_and_then_the_end() {
        use tokio::io::AsyncReadExt;

        struct Newcomer(HeldBytes, NewcomerTurns, &'static [u8]);
        impl AsyncRead for Newcomer {
            fn poll_read(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<std::io::Result<()>> {
                let Newcomer(held, turns, sent) = &mut *self;
                held.poll_read(Pin::new(sent), cx, buf, turns, false)
            }
        }
        let sent: &'static [u8] = (0..5_000).map(|n| n as u8).collect::<Vec<u8>>().leak();
        let mut newcomer = Newcomer(HeldBytes::default(), NewcomerTurns::default(), sent);
        let mut got = Vec::new();
        newcomer.read_to_end(&mut got).await.expect("it ends");
        assert_eq!(got, sent);
    }

    #[tokio::test]
    async fn what_comes_while_it_waits_is_read_in_the_same_turn() {
        use std::future::poll_fn;
        use tokio::io::AsyncWriteExt;

        let turns = NewcomerTurns::default();
        // Its own turn is a tenth of a second away.
        (0..AT_ONCE + 400).for_each(|_| {
            turns.take();
        });
        let (mut client, mut wire) = tokio::io::duplex(4 * TURN_BYTES);
        let mut held = HeldBytes::default();
        client.write_all(b"settings").await.expect("room");
        let mut room = [0; 2 * TURN_BYTES];
        let mut buf = ReadBuf::new(&mut room);
        let mut poll = |cx: &mut Context<'_>, buf: &mut ReadBuf<'_>| {
            held.poll_read(Pin::new(&mut wire), cx, buf, &turns, false)
        };
        assert!(poll_fn(|cx| Poll::Ready(poll(cx, &mut buf))).await.is_pending(), "not its turn");
        client.write_all(&[b' '; TURN_BYTES]).await.expect("room");
        poll_fn(|cx| poll(cx, &mut buf)).await.expect("open");
        assert_eq!(buf.filled().len(), TURN_BYTES, "no more than a turn has");
        poll_fn(|cx| poll(cx, &mut buf)).await.expect("open");
        assert_eq!(buf.filled().len(), TURN_BYTES + b"settings".len(), "the rest in the next");
    }
}
