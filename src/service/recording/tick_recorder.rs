//! Ticks on their way from a haptic loop to its scene's file.
//!
//! A loop has a ring of allocated buffers, and writes each tick into a free one: it takes no lock, waits for nobody,
//! and allocates nothing once the buffers have grown. If no buffer is free because the disk does not keep up, the whole
//! tick is left out and counted. Most buffers are allocated by the thread that writes the file, once the loop has had
//! some ticks: a loop that comes and goes would allocate them in vain.

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

/// Maximum ticks of a loop that can wait: a second at 1 kHz.
const BUFFERS: usize = 1024;
/// Number of buffers allocated at once: more ticks than arrive before the ring is drained.
const FIRST_BUFFERS: usize = 64;
/// Number of ticks after which a loop counts as lasting: the other buffers are allocated too.
const LASTING_TICKS: u32 = 16;
/// Initial capacity of a buffer, bytes: a tick with some twenty contacts.
const BUFFER_BYTES: usize = 4 << 10;
/// Minimum memory of the ring of a lasting loop, bytes.
pub const RING_BYTES: u64 = (BUFFERS * BUFFER_BYTES) as u64;

/// Writing side, for the loop.
pub struct TickRecorder {
    ring: Arc<TickRing>,
    clock: ReadClock,
    /// Ticks so far, including dropped ones.
    number: u32,
    note: RecordedTick,
}

/// State of both sides.
pub struct TickRing {
    /// Number of the session in the recording, from 1.
    pub session: u32,
    free: ArrayQueue<TickBuffer>,
    full: ArrayQueue<TickBuffer>,
    /// All buffers are allocated.
    has_room: AtomicBool,
    /// Number of ticks that were left out.
    dropped: AtomicU64,
    /// Number of ticks that were left out, of all loops.
    all_dropped: Arc<AtomicU64>,
    /// The loop is over.
    is_over: AtomicBool,
}

/// A tick: its three messages, encoded one after the other.
#[derive(Default)]
pub struct TickBuffer {
    /// Number of the tick in the session, from 1.
    pub number: u32,
    /// Time when it was recorded, nanoseconds of the server's clock.
    pub at_ns: u64,
    bytes: Vec<u8>,
    note_end: usize,
    tick_end: usize,
}

impl TickRecorder {
    /// Creates both sides of a loop's ring; ticks left out are also counted in `all_dropped`.
    pub fn new(session: u32, all_dropped: Arc<AtomicU64>) -> (TickRecorder, Arc<TickRing>) {
        let (free, full) = (ArrayQueue::new(BUFFERS), ArrayQueue::new(BUFFERS));
        for n in 0..BUFFERS {
            let bytes = Vec::with_capacity(if n < FIRST_BUFFERS { BUFFER_BYTES } else { 0 });
            // The queue has room for all.
            let _ = free.push(TickBuffer { bytes, ..TickBuffer::default() });
        }
        let (has_room, dropped, is_over) = Default::default();
        let ring = TickRing { session, free, full, has_room, dropped, all_dropped, is_over };
        let ring = Arc::new(ring);
        let (clock, number, note) = (ReadClock::new(), 0, RecordedTick::default());
        (TickRecorder { ring: Arc::clone(&ring), clock, number, note }, ring)
    }

    /// Begins a tick that starts in the engine at `started_ns` and may take until `until_ns`. Returns the clock for it,
    /// which records its readings.
    pub fn begin(&mut self, started_ns: u64, until_ns: u64) -> &ReadClock {
        self.clock.begin(started_ns);
        self.note.started_ns = started_ns;
        self.note.time_ns = until_ns.saturating_sub(started_ns);
        &self.clock
    }

    /// Records that a tick was answered. `removed` names tools of the loop that are no longer in the scene.
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
        // Swapped for the encoding: a copy would be another buffer to grow.
        mem::swap(&mut self.note.clock_ns, &mut readings.after_ns);
        self.write(now_ns(), tick, answer);
        mem::swap(&mut self.note.clock_ns, &mut self.clock.readings().after_ns);
        self.clock.forget();
        (self.note.started_ns, self.note.time_ns) = (0, 0);
    }

    /// Records that a tick was coalesced into a newer one.
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
    /// Takes out all recorded ticks; returns true if no more will come.
    pub fn drain<E>(&self, mut each: impl FnMut(&TickBuffer) -> Result<(), E>) -> Result<bool, E> {
        // Read first: ticks written before the end are taken out below.
        let is_over = self.is_over.load(Relaxed);
        while let Some(buffer) = self.full.pop() {
            // Done before waiting for the disk.
            if buffer.number >= LASTING_TICKS && !self.has_room.swap(true, Relaxed) {
                self.give_room();
            }
            each(&buffer)?;
            // The queue has room for each buffer.
            let _ = self.free.push(buffer);
        }
        Ok(is_over)
    }

    /// Allocates all buffers that are free now. The others have been written to.
    fn give_room(&self) {
        for _ in 0..self.free.len() {
            let Some(mut buffer) = self.free.pop() else { return };
            buffer.bytes.clear();
            buffer.bytes.reserve(BUFFER_BYTES);
            // The queue has room for each buffer.
            let _ = self.free.push(buffer);
        }
    }
}

impl TickRing {
    /// Number of ticks left out so far.
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

    /// Encoded [`RecordedTick`].
    pub fn note(&self) -> &[u8] {
        &self.bytes[..self.note_end]
    }

    /// Encoded [`Tick`].
    pub fn tick(&self) -> &[u8] {
        &self.bytes[self.note_end..self.tick_end]
    }

    /// Encoded [`TrackResponse`]; empty for a coalesced tick.
    pub fn answer(&self) -> &[u8] {
        &self.bytes[self.tick_end..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{counting::calls_during, proto::LinkAnswer};

    /// Once every buffer of the ring has held the longest tick, ticks of all lengths cost no allocation.
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
        // Each buffer is written twice: by an answer and by a coalesced tick, in either order.
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
        // Each buffer is taken out once, and put back in order.
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
