//! Limit of the bytes that a connection passes to HTTP/2 before other connections are served.
//!
//! h2 continues for as long as there are bytes, and its work is per frame: a peer that sends frames of one byte
//! occupies a thread for tens of milliseconds at a time, and every client on that thread waits.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};

/// Maximum frames of one turn: some tens of microseconds of work. An honest client's socket is empty long before.
const FRAMES_MAX: u64 = 256;
/// Average size below which frames count as small: many of them fit into one read. A tick's frame has 64 bytes and
/// more.
const SMALL_BYTES: u64 = 32;
/// Maximum read from a peer with small frames, so that one read is no long turn.
const READ_BYTES_MAX: usize = 2 << 10;

/// Turn of a connection: from one wait for bytes, or yield to others, to the next.
#[derive(Debug, Default)]
pub struct FrameTurn {
    frames: u64,
    bytes: u64,
    /// True if the frames of the last turn were small.
    was_small: bool,
}

impl FrameTurn {
    /// Returns true if other connections go first now; a new turn then begins.
    pub fn take_over(&mut self) -> bool {
        let is_over = self.frames >= FRAMES_MAX;
        if is_over {
            self.begin();
        }
        is_over
    }

    /// Records the bytes and frames of a read.
    pub fn note(&mut self, bytes: usize, frames: u64) {
        self.bytes += bytes as u64;
        self.frames += frames;
    }

    /// Fills the buffer, or reads less if frames are small.
    pub fn poll_read(
        &mut self,
        wire: Pin<&mut (impl AsyncRead + ?Sized)>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = if self.is_small() && buf.remaining() > READ_BYTES_MAX {
            read_few(wire, cx, buf)
        } else {
            wire.poll_read(cx, buf)
        };
        if polled.is_pending() {
            self.begin();
        }
        polled
    }

    fn begin(&mut self) {
        let was_small = self.is_small();
        *self = FrameTurn { was_small, ..FrameTurn::default() };
    }

    fn is_small(&self) -> bool {
        if self.frames == 0 { self.was_small } else { self.frames * SMALL_BYTES > self.bytes }
    }
}

fn read_few(
    wire: Pin<&mut (impl AsyncRead + ?Sized)>,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    let mut few = [0; READ_BYTES_MAX];
    let mut few = ReadBuf::new(&mut few);
    ready!(wire.poll_read(cx, &mut few))?;
    buf.put_slice(few.filled());
    Poll::Ready(Ok(()))
}

#[cfg(test)]
mod tests {
    use std::mem;

    use super::*;

    /// Returns the frames that are read in each turn of a peer whose socket is never empty, with frames of this many
    /// bytes.
    fn frames_of_turns(frame_bytes: usize) -> Vec<u64> {
        let (mut turn, mut turns, mut frames) = (FrameTurn::default(), Vec::new(), 0);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        while turns.len() < 8 {
            if turn.take_over() {
                turns.push(mem::take(&mut frames));
            }
            let (mut room, mut wire) = ([0; 16 << 10], tokio::io::repeat(0));
            let mut buf = ReadBuf::new(&mut room);
            let polled = turn.poll_read(Pin::new(&mut wire), &mut cx, &mut buf);
            assert!(matches!(polled, Poll::Ready(Ok(()))));
            let read = (buf.filled().len() / frame_bytes) as u64;
            turn.note(buf.filled().len(), read);
            frames += read;
        }
        turns
    }

    #[test]
    fn many_frames_are_many_turns_however_small() {
        let tiny = frames_of_turns(9);
        // The first read has full size: nothing is known about the peer.
        assert!(tiny[0] <= 1_820, "{tiny:?}");
        assert!(tiny[1..].iter().all(|n| *n < 2 * FRAMES_MAX), "{tiny:?}");
        let ticks = frames_of_turns(100);
        assert!(ticks.iter().all(|n| *n < 2 * FRAMES_MAX), "{ticks:?}");
        // A turn of an upload has megabytes.
        assert!(frames_of_turns(16 << 10).iter().all(|n| *n == FRAMES_MAX));
    }

    #[test]
    fn a_turn_ends_when_the_socket_is_empty() {
        let mut turn = FrameTurn::default();
        turn.note(2 << 10, FRAMES_MAX - 1);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let (mut wire, _other) = tokio::io::duplex(16);
        let mut room = [0; 16];
        let mut buf = ReadBuf::new(&mut room);
        assert!(turn.poll_read(Pin::new(&mut wire), &mut cx, &mut buf).is_pending());
        turn.note(9, 1);
        assert!(!turn.take_over(), "one frame since it waited");
    }
}
