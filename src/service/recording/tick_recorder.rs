//! Ticks on their way from a haptic loop to its scene's file.
//!
//! A loop has a ring of buffers with their room, and writes each tick into a free one: it takes no lock, waits for nobody,
//! and allocates nothing once the buffers have grown. When none is free, as the disk does not keep up, the whole tick is
//! left out and counted. Most buffers get their room when the loop has had some ticks, from the thread that writes the
//! file: a loop that comes and goes would take it for nothing.

use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use crossbeam::queue::ArrayQueue;
use prost::Message;

use super::clock_readings::ReadClock;
use crate::{
    proto::{RecordedTick, Tick, TickOutcome, TrackResponse},
    service::clock::now_ns,
};

/// Ticks of a loop that can wait: a second at 1 kHz.
const BUFFERS: usize = 1024;
/// Those that have room at once: more ticks than come before the ring is looked into.
const FIRST_BUFFERS: usize = 64;
/// A loop of so many ticks lasts: the others get room too.
const LASTING_TICKS: u32 = 16;
/// Room of each at the beginning: a tick with some twenty contacts.
const BUFFER_BYTES: usize = 4 << 10;
/// What the ring of a loop that lasts takes at least.
pub const RING_BYTES: u64 = (BUFFERS * BUFFER_BYTES) as u64;

/// The side of the loop.
pub struct TickRecorder {
    ring: Arc<TickRing>,
    clock: ReadClock,
    /// Ticks so far, dropped ones included.
    number: u32,
    note: RecordedTick,
}

/// What both sides have.
pub struct TickRing {
    /// Counted from 1 in the recording.
    pub session: u32,
    free: ArrayQueue<TickBuffer>,
    full: ArrayQueue<TickBuffer>,
    /// All buffers have.
    has_room: AtomicBool,
    /// Ticks that were left out.
    dropped: AtomicU64,
    /// The same of all loops.
    all_dropped: Arc<AtomicU64>,
    /// The loop is over.
    is_over: AtomicBool,
}

/// One tick: its three messages, encoded one behind the other.
#[derive(Default)]
pub struct TickBuffer {
    /// Counted from 1 in the session.
    pub number: u32,
    /// When it was written down: nanoseconds of the server's clock.
    pub at_ns: u64,
    bytes: Vec<u8>,
    note_end: usize,
    tick_end: usize,
}

impl TickRecorder {
    /// Both sides of a loop's ring; what is left out is counted in `all_dropped` too.
    pub fn new(session: u32, all_dropped: Arc<AtomicU64>) -> (TickRecorder, Arc<TickRing>) {
        let (free, full) = (ArrayQueue::new(BUFFERS), ArrayQueue::new(BUFFERS));
        for n in 0..BUFFERS {
            let bytes = Vec::with_capacity(if n < FIRST_BUFFERS { BUFFER_BYTES } else { 0 });
            // There is room for all.
            let _ = free.push(TickBuffer { bytes, ..TickBuffer::default() });
        }
        let (has_room, dropped, is_over) = Default::default();
        let ring = TickRing { session, free, full, has_room, dropped, all_dropped, is_over };
        let ring = Arc::new(ring);
        let (clock, number, note) = (ReadClock::new(), 0, RecordedTick::default());
        (TickRecorder { ring: Arc::clone(&ring), clock, number, note }, ring)
    }

    /// A tick starts in the engine, at `started_ns`, which has until `until_ns`: by this clock, which writes down what it
    /// says.
    pub fn begin(&mut self, started_ns: u64, until_ns: u64) -> &ReadClock {
        self.clock.begin(started_ns);
        self.note.started_ns = started_ns;
        self.note.time_ns = until_ns.saturating_sub(started_ns);
        &self.clock
    }

    /// A tick was answered. `removed`: tools of the loop that are not in the scene any more.
    pub fn answered(
        &mut self,
        outcome: TickOutcome,
        tick: &Tick,
        answer: &TrackResponse,
        removed: impl Iterator<Item = u32>,
    ) {
        self.note.outcome = outcome.into();
        self.note.removed_tools.clear();
        self.note.removed_tools.extend(removed);
        let readings = self.clock.readings();
        self.note.clock_is_partial = readings.is_partial;
        // Lent for the encoding: copied it would be a buffer more to grow.
        mem::swap(&mut self.note.clock_ns, &mut readings.after_ns);
        self.write(now_ns(), tick, answer);
        mem::swap(&mut self.note.clock_ns, &mut self.clock.readings().after_ns);
        self.clock.forget();
        (self.note.started_ns, self.note.time_ns) = (0, 0);
    }

    /// A tick was coalesced into a newer one.
    pub fn coalesced(&mut self, tick: &Tick, at_ns: u64) {
        self.note.outcome = TickOutcome::Coalesced.into();
        self.note.removed_tools.clear();
        self.write(at_ns, tick, &TrackResponse::default());
    }

    fn write(&mut self, at_ns: u64, tick: &Tick, answer: &TrackResponse) {
        self.number += 1;
        self.note.sequence = tick.sequence;
        let Some(mut buffer) = self.ring.free.pop() else {
            self.note.dropped_before += 1;
            self.ring.dropped.fetch_add(1, Relaxed);
            self.ring.all_dropped.fetch_add(1, Relaxed);
            return;
        };
        buffer.write(&self.note, tick, answer);
        (buffer.number, buffer.at_ns) = (self.number, at_ns);
        self.note.dropped_before = 0;
        let pushed = self.ring.full.push(buffer);
        debug_assert!(pushed.is_ok(), "there are no more buffers than the queue has places");
    }
}

impl Drop for TickRecorder {
    fn drop(&mut self) {
        self.ring.is_over.store(true, Relaxed);
    }
}

impl TickRing {
    /// Takes out all that is there; true when nothing will come any more.
    pub fn drain<E>(&self, mut each: impl FnMut(&TickBuffer) -> Result<(), E>) -> Result<bool, E> {
        // Asked first: what is written before it is over is taken out below.
        let is_over = self.is_over.load(Relaxed);
        while let Some(buffer) = self.full.pop() {
            // Before the disk is waited for.
            if buffer.number >= LASTING_TICKS && !self.has_room.swap(true, Relaxed) {
                self.give_room();
            }
            each(&buffer)?;
            // There is a place for each buffer.
            let _ = self.free.push(buffer);
        }
        Ok(is_over)
    }

    /// To all buffers that are free now. The others have been written to.
    fn give_room(&self) {
        for _ in 0..self.free.len() {
            let Some(mut buffer) = self.free.pop() else { return };
            buffer.bytes.clear();
            buffer.bytes.reserve(BUFFER_BYTES);
            // There is a place for each buffer.
            let _ = self.free.push(buffer);
        }
    }
}

impl TickRing {
    /// Ticks that were left out so far.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }
}

impl TickBuffer {
    fn write(&mut self, note: &RecordedTick, tick: &Tick, answer: &TrackResponse) {
        self.bytes.clear();
        let grows = "a vector grows";
        note.encode(&mut self.bytes).expect(grows);
        self.note_end = self.bytes.len();
        tick.encode(&mut self.bytes).expect(grows);
        self.tick_end = self.bytes.len();
        answer.encode(&mut self.bytes).expect(grows);
    }

    /// A [`RecordedTick`].
    pub fn note(&self) -> &[u8] {
        &self.bytes[..self.note_end]
    }

    /// A [`Tick`].
    pub fn tick(&self) -> &[u8] {
        &self.bytes[self.note_end..self.tick_end]
    }

    /// A [`TrackResponse`]; empty for a tick that was coalesced.
    pub fn answer(&self) -> &[u8] {
        &self.bytes[self.tick_end..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{counting::calls_during, proto::LinkAnswer};

    /// Once every buffer of the ring has held the longest, ticks of all lengths cost no allocation.
    #[test]
    fn a_recorded_tick_allocates_nothing_once_its_buffers_have_grown() {
        let (mut loop_side, ring) = TickRecorder::new(1, Arc::default());
        let links = vec![LinkAnswer { link: 1, ..LinkAnswer::default() }; 2_000];
        let answers = [0, 700, 2_000].map(|n| {
            let links = links[..n].to_vec();
            TrackResponse { sequence: 9, links, ..TrackResponse::default() }
        });
        assert!(answers[2].encoded_len() > BUFFER_BYTES, "{} bytes", answers[2].encoded_len());
        let tick = Tick { sequence: 9, ..Tick::default() };
        let mut ask = |answer: &TrackResponse| {
            let clock = loop_side.begin(now_ns(), now_ns());
            for _ in 0..20 {
                clock.read();
            }
            let removed = [4, 5].into_iter();
            loop_side.answered(TickOutcome::Answered, &tick, answer, removed);
            loop_side.coalesced(&tick, now_ns());
        };
        let drain = || ring.drain(|_| Ok::<_, ()>(())).expect("taken out");
        let mut round = |answer: &dyn Fn(usize) -> usize| {
            let mut calls = 0;
            for i in 0..BUFFERS {
                calls += calls_during(|| ask(&answers[answer(i)]));
                drain();
            }
            calls
        };
        // Each buffer is written twice: by an answer and by a coalesced tick, whichever meets it.
        let grown: u64 = (0..3).map(|_| round(&|_| 2)).sum();
        assert!(grown > 0, "longer than the room at the beginning");
        assert!(round(&|_| 2) == 0 && round(&|i| i % 3) == 0, "a tick has allocated");
    }

    #[test]
    fn a_loop_that_lasts_has_room_for_a_second_and_one_that_goes_at_once_has_little() {
        let dropped = Arc::new(AtomicU64::new(0));
        let (mut loop_side, ring) = TickRecorder::new(1, Arc::clone(&dropped));
        let mut ask = || {
            let (tick, answer) = (Tick::default(), TrackResponse::default());
            loop_side.begin(7, 9);
            loop_side.answered(TickOutcome::Answered, &tick, &answer, [].into_iter());
        };
        let drain = || ring.drain(|_| Ok::<_, ()>(())).expect("taken out");
        // Each is taken out once, and put back in its turn.
        let n_with_room = || {
            let all = (0..BUFFERS).map(|_| {
                let buffer = ring.free.pop().expect("all are free");
                let has_room = buffer.bytes.capacity() >= BUFFER_BYTES;
                assert!(ring.free.push(buffer).is_ok());
                has_room
            });
            all.filter(|has_room| *has_room).count()
        };
        (1..LASTING_TICKS).for_each(|_| ask());
        drain();
        assert_eq!(n_with_room(), FIRST_BUFFERS);
        ask();
        drain();
        assert_eq!(n_with_room(), BUFFERS);
        let calls: u64 = (0..BUFFERS).map(|_| calls_during(&mut ask)).sum();
        assert_eq!((calls, dropped.load(Relaxed)), (0, 0), "a second that nobody looks");
    }

    #[test]
    fn a_ring_that_nobody_drains_leaves_out_whole_ticks_and_counts_them() {
        let dropped = Arc::new(AtomicU64::new(0));
        let (mut loop_side, ring) = TickRecorder::new(1, Arc::clone(&dropped));
        let ask = |recorder: &mut TickRecorder, sequence| {
            let clock = recorder.begin(7, 9);
            clock.read();
            let tick = Tick { sequence, ..Tick::default() };
            let answer = TrackResponse { sequence, ..TrackResponse::default() };
            recorder.answered(TickOutcome::Answered, &tick, &answer, [].into_iter());
        };
        (1..=BUFFERS as u64 + 5).for_each(|sequence| ask(&mut loop_side, sequence));
        assert_eq!(dropped.load(Relaxed), 5);
        let mut seen = Vec::new();
        let mut take = |buffer: &TickBuffer| {
            let note = RecordedTick::decode(buffer.note()).expect("whole");
            let tick = Tick::decode(buffer.tick()).expect("whole");
            let answer = TrackResponse::decode(buffer.answer()).expect("whole");
            assert_eq!((note.sequence, note.sequence), (tick.sequence, answer.sequence));
            assert_eq!((note.started_ns, note.time_ns, note.clock_ns.len()), (7, 2, 1));
            seen.push((buffer.number, note.dropped_before));
            Ok::<_, ()>(())
        };
        assert_eq!(ring.drain(&mut take), Ok(false));
        ask(&mut loop_side, 1_000);
        drop(loop_side);
        assert_eq!(ring.drain(&mut take), Ok(true));
        let last = BUFFERS as u32;
        assert_eq!(seen[..2], [(1, 0), (2, 0)]);
        assert_eq!(seen[seen.len() - 2..], [(last, 0), (last + 6, 5)]);
    }
}
