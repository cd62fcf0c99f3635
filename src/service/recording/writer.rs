//! The thread that writes a scene's recording.
//!
//! A chunk is written whole, and at least once a second: a process that is killed leaves all but the last second.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, BufWriter, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use crossbeam::channel::{Receiver, RecvTimeoutError};
use mcap::{
    Compression, McapError, McapResult, WriteOptions, Writer, records::MessageHeader, write::NoSeek,
};
use prost::Message;
use tracing::{error, info, warn};

use super::{
    pictures::Pictures,
    scene_recorder::{Entry, RecorderState},
    schemas::Schemas,
    tick_recorder::{TickBuffer, TickRing},
    topics::{CHANGES, RECORDING, SESSIONS, SURFACES, TRANSFORMS, TickPart},
};
use crate::{
    proto::{RecordedChange, RecordingEnd, RecordingHead, recorded_change::Change},
    service::{clock::now_ns, metrics::record::RecordMetrics},
};

/// Interval at which rings are drained: they hold a second.
const DRAIN_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum age of a chunk.
const FLUSH_INTERVAL_NS: u64 = 1_000_000_000;
const CHUNK_BYTES: u64 = 1 << 20;

/// Input of the writing thread.
pub struct RecordingJob {
    /// Scene id, for the log.
    pub scene: String,
    /// First message of the file.
    pub head: RecordingHead,
    /// Opens the file, which may take time.
    pub open: Box<dyn FnOnce() -> io::Result<Box<dyn Write + Send>> + Send>,
    /// Pictures for a viewer.
    pub pictures: Pictures,
    /// Changes and loops.
    pub queue: Receiver<Entry>,
    /// State shared with the callers.
    pub state: Arc<RecorderState>,
    /// Metrics of the server.
    pub metrics: Arc<RecordMetrics>,
    /// Size at which a file ends, bytes.
    pub bytes_max: u64,
}

/// A file that is being written.
struct RecordingFile {
    mcap: Writer<NoSeek<BufWriter<CountedSink>>>,
    schemas: Schemas,
    /// Schema ids by name: each loop needs them again, and extracting one takes a millisecond.
    schema_ids: BTreeMap<String, u16>,
    channels: BTreeMap<String, u16>,
    epoch_ns: i64,
    bytes: Arc<AtomicU64>,
    places: TopicPlaces,
}

/// Places of loops' topics. MCAP numbers a file's topics with 16 bits and keeps the names of all, so a loop that is
/// over leaves its place to the next.
#[derive(Default)]
struct TopicPlaces {
    by_session: BTreeMap<u32, u32>,
    free: BTreeSet<u32>,
}

/// Counts the bytes that pass through.
struct CountedSink {
    sink: Box<dyn Write + Send>,
    own: Arc<AtomicU64>,
    all: Arc<AtomicU64>,
}

/// Rings of loops, and dropped ticks of ended loops.
#[derive(Default)]
struct Rings {
    now: Vec<Arc<TickRing>>,
    /// Sessions whose last tick was taken out.
    over: Vec<u32>,
    dropped: u64,
}

/// Writes until the scene or the server ends, or the disk fails.
pub fn work(job: RecordingJob) {
    let (scene, state) = (job.scene.clone(), Arc::clone(&job.state));
    let metrics = Arc::clone(&job.metrics);
    let written = write(job);
    state.end();
    match written {
        Ok(end) if end.reason.is_empty() => {
            info!(scene, dropped_ticks = end.dropped_ticks, "recording ended");
        }
        Ok(RecordingEnd { dropped_ticks, reason }) => {
            metrics.ended_early.fetch_add(1, Relaxed);
            warn!(scene, dropped_ticks, "recording ended early: {reason}");
        }
        Err(failed) => {
            metrics.ended_early.fetch_add(1, Relaxed);
            error!(scene, "recording ended early, the file cannot be written: {failed}");
        }
    }
}

fn write(mut job: RecordingJob) -> McapResult<RecordingEnd> {
    let open = std::mem::replace(&mut job.open, Box::new(|| unreachable!("it is opened once")));
    let mut file = RecordingFile::begin(open()?, &job.head, &job.metrics)?;
    let (mut rings, mut flushed_ns) = (Rings::default(), now_ns());
    loop {
        let next = job.queue.recv_timeout(DRAIN_INTERVAL);
        let is_gone = matches!(next, Err(RecvTimeoutError::Disconnected));
        let is_last = is_gone || job.state.is_asked_to_end();
        for entry in next.into_iter().chain(job.queue.try_iter()) {
            file.entry(entry, &job.state, &mut rings, &mut job.pictures)?;
        }
        rings.drain(|ring, tick| {
            job.metrics.ticks.fetch_add(1, Relaxed);
            file.tick(ring.session, tick, &mut job.pictures)
        })?;
        for session in rings.over.drain(..) {
            job.pictures.end(session);
            file.places.leave(session);
        }
        let at_ns = now_ns();
        if let Some(surfaces) = job.pictures.surfaces(job.head.epoch_ns, at_ns) {
            file.put(SURFACES, "foxglove.SceneUpdate", (0, at_ns), &surfaces.encode_to_vec())?;
        }
        let reason = match () {
            () if file.bytes.load(Relaxed) >= job.bytes_max => "it is as large as record.bytes_max",
            () if job.state.has_overflown() => "changes came faster than the disk took them",
            () => "",
        };
        if is_last || !reason.is_empty() {
            job.state.end();
            // Writes the entries handed in before; after a missing change nothing is of use.
            for entry in job.queue.try_iter().filter(|_| reason.is_empty()) {
                file.entry(entry, &job.state, &mut rings, &mut job.pictures)?;
            }
            let dropped_ticks = rings.dropped();
            let end = RecordingEnd { dropped_ticks, reason: reason.to_owned() };
            file.put(RECORDING, "palpate.v1.RecordingEnd", (0, at_ns), &end.encode_to_vec())?;
            file.mcap.finish()?;
            return Ok(end);
        }
        if at_ns - flushed_ns >= FLUSH_INTERVAL_NS {
            flushed_ns = at_ns;
            file.mcap.flush()?;
        }
    }
}

impl RecordingFile {
    fn begin(
        sink: Box<dyn Write + Send>,
        head: &RecordingHead,
        metrics: &RecordMetrics,
    ) -> McapResult<RecordingFile> {
        let bytes = Arc::new(AtomicU64::new(0));
        let (own, all) = (Arc::clone(&bytes), Arc::clone(&metrics.bytes));
        let sink = NoSeek::new(BufWriter::new(CountedSink { sink, own, all }));
        let options = WriteOptions::new()
            .compression(Some(Compression::Lz4))
            .chunk_size(Some(CHUNK_BYTES))
            .library(format!("palpate {}", head.version))
            // Never writes behind the end: a file that breaks off has whole chunks up to its end.
            .disable_seeking(true);
        let mcap = options.create(sink)?;
        let mut file = RecordingFile {
            mcap,
            schemas: Schemas::new(),
            schema_ids: BTreeMap::new(),
            channels: BTreeMap::new(),
            epoch_ns: head.epoch_ns,
            bytes,
            places: TopicPlaces::default(),
        };
        let at = (0, now_ns());
        file.put(RECORDING, "palpate.v1.RecordingHead", at, &head.encode_to_vec())?;
        file.mcap.flush()?;
        Ok(file)
    }

    /// Writes a message of a topic and schema, with its sequence number and a time of the server's clock.
    fn put(
        &mut self,
        topic: &str,
        schema: &str,
        (sequence, at_ns): (u32, u64),
        data: &[u8],
    ) -> McapResult<()> {
        // Head and end have one topic but two schemas.
        let key = format!("{topic} {schema}");
        let channel_id = match self.channels.get(&key) {
            Some(channel) => *channel,
            None => {
                let schema = match self.schema_ids.get(schema) {
                    Some(known) => *known,
                    None => {
                        let descriptors = self.schemas.schema(schema);
                        let id = self.mcap.add_schema(schema, "protobuf", &descriptors)?;
                        self.schema_ids.insert(schema.to_owned(), id);
                        id
                    }
                };
                let channel = self.mcap.add_channel(schema, topic, "protobuf", &BTreeMap::new())?;
                self.channels.insert(key, channel);
                channel
            }
        };
        let time = (self.epoch_ns + at_ns as i64).max(0) as u64;
        let header = MessageHeader { channel_id, sequence, log_time: time, publish_time: time };
        self.mcap.write_to_known_channel(&header, data)
    }

    fn entry(
        &mut self,
        entry: Entry,
        state: &RecorderState,
        rings: &mut Rings,
        pictures: &mut Pictures,
    ) -> McapResult<()> {
        match entry {
            Entry::Changed(change, bytes) => {
                state.taken(bytes);
                self.change(&change)
            }
            Entry::Saved(at_ns, change, bytes) => {
                state.taken(bytes);
                let saved = postcard::to_stdvec(&change).expect("plain data");
                let change = Some(Change::Saved(saved));
                self.change(&RecordedChange { at_ns, change, answer: None })
            }
            Entry::Session(mut session, ring) => {
                rings.now.push(ring);
                session.place = self.places.take(session.session);
                let (data, at_ns) = (session.encode_to_vec(), session.at_ns);
                self.put(SESSIONS, "palpate.v1.RecordedSession", (session.session, at_ns), &data)?;
                let shapes = pictures.begin(&session, self.epoch_ns).encode_to_vec();
                self.put(SURFACES, "foxglove.SceneUpdate", (0, at_ns), &shapes)
            }
        }
    }

    fn change(&mut self, change: &RecordedChange) -> McapResult<()> {
        let (at_ns, data) = (change.at_ns, change.encode_to_vec());
        self.put(CHANGES, "palpate.v1.RecordedChange", (0, at_ns), &data)
    }

    fn tick(&mut self, session: u32, tick: &TickBuffer, pictures: &mut Pictures) -> McapResult<()> {
        let at = (tick.number, tick.at_ns);
        let place = self.places.by_session[&session];
        // A coalesced tick has no answer.
        let is_there = |part: &TickPart| *part != TickPart::Answer || !tick.answer().is_empty();
        for part in TickPart::ALL.into_iter().filter(is_there) {
            let (schema, data) = match part {
                TickPart::Tick => ("palpate.v1.Tick", tick.tick()),
                TickPart::Answer => ("palpate.v1.TrackResponse", tick.answer()),
                TickPart::Replay => ("palpate.v1.RecordedTick", tick.note()),
            };
            self.put(&part.topic(place), schema, at, data)?;
        }
        match pictures.transforms(session, tick, self.epoch_ns) {
            Some(transforms) => {
                let data = transforms.encode_to_vec();
                self.put(TRANSFORMS, "foxglove.FrameTransforms", (0, tick.at_ns), &data)
            }
            None => Ok(()),
        }
    }
}

impl TopicPlaces {
    /// Takes the first free place.
    fn take(&mut self, session: u32) -> u32 {
        let next = self.by_session.len() as u32 + 1;
        let place = self.free.pop_first().unwrap_or(next);
        self.by_session.insert(session, place);
        place
    }

    /// Frees the place of a session of which nothing more will be written.
    fn leave(&mut self, session: u32) {
        self.free.extend(self.by_session.remove(&session));
    }
}

impl Rings {
    fn drain(
        &mut self,
        mut each: impl FnMut(&TickRing, &TickBuffer) -> McapResult<()>,
    ) -> McapResult<()> {
        let mut failed = None;
        let (mut dropped, over) = (0, &mut self.over);
        self.now.retain(|ring| {
            let drained = ring.drain(|tick| each(ring, tick));
            let is_over = drained.unwrap_or_else(|error: McapError| {
                failed.get_or_insert(error);
                false
            });
            if is_over {
                dropped += ring.dropped();
                over.push(ring.session);
            }
            !is_over
        });
        self.dropped += dropped;
        failed.map_or(Ok(()), Err)
    }

    fn dropped(&self) -> u64 {
        self.dropped + self.now.iter().map(|ring| ring.dropped()).sum::<u64>()
    }
}

impl Write for CountedSink {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let n = self.sink.write(data)?;
        self.own.fetch_add(n as u64, Relaxed);
        self.all.fetch_add(n as u64, Relaxed);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use crossbeam::channel::unbounded;

    use super::*;
    use crate::{
        proto::{RecordedSession, Tick, TickOutcome, TrackResponse, TrackStart},
        scene::{Limits, Scene},
        service::recording::{
            recorded::Recording, recorders::FORMAT, shared_file::SharedFile,
            tick_recorder::TickRecorder,
        },
        store::scenes::file_head,
    };

    #[test]
    fn a_place_is_one_session_s_at_a_time() {
        let mut places = TopicPlaces::default();
        assert_eq!([1, 2, 3].map(|session| places.take(session)), [1, 2, 3]);
        places.leave(2);
        assert_eq!([4, 5].map(|session| places.take(session)), [2, 4]);
        places.leave(1);
        places.leave(5);
        places.leave(4);
        assert_eq!([6, 7, 8, 9].map(|session| places.take(session)), [1, 2, 4, 5]);
    }

    /// More loops than a file can have topics for, if each had its own.
    #[test]
    fn any_number_of_loops_is_recorded_one_after_the_other() {
        const SESSIONS: u32 = u16::MAX as u32 / TickPart::ALL.len() as u32 + 100;
        let scene = Arc::new(Scene::new("s".to_owned(), Limits::default()));
        let (entries, queue) = unbounded();
        let (file, metrics) = (SharedFile::default(), Arc::new(RecordMetrics::default()));
        let state = Arc::new(RecorderState::default());
        let sink = file.clone();
        let job = RecordingJob {
            scene: "s".to_owned(),
            head: RecordingHead {
                format: FORMAT,
                scene_id: "s".to_owned(),
                scene: postcard::to_stdvec(&scene.saved()).expect("plain data"),
                store_format: file_head::VERSION,
                ..RecordingHead::default()
            },
            open: Box::new(|| Ok(Box::new(sink))),
            pictures: Pictures::of(&scene),
            queue,
            state: Arc::clone(&state),
            metrics: Arc::clone(&metrics),
            bytes_max: u64::MAX,
        };
        let writer = std::thread::spawn(move || work(job));
        // Waits now and then, so that not all rings wait together.
        for session in 1..=SESSIONS {
            let (mut recorder, ring) = TickRecorder::new(session, Arc::default());
            let start = Some(TrackStart::default());
            let begins = RecordedSession { session, start, ..RecordedSession::default() };
            let watched = Arc::downgrade(&ring);
            entries.send(Entry::Session(begins, ring)).expect("it goes on");
            recorder.begin(7, 9);
            let tick = Tick { sequence: session.into(), ..Tick::default() };
            let answer = TrackResponse::default();
            recorder.answered(TickOutcome::Answered, &tick, &answer, [].into_iter());
            drop(recorder);
            while session % 512 == 0 && watched.strong_count() > 0 {
                std::thread::yield_now();
            }
        }
        drop(entries);
        writer.join().expect("no panic");
        assert_eq!(metrics.ended_early.load(Relaxed), 0);
        assert!(state.is_over());
        let recording = Recording::read(Cursor::new(file.bytes())).expect("whole");
        assert_eq!(recording.sessions.len(), SESSIONS as usize);
        for (session, recorded) in &recording.sessions {
            let ticks: Vec<&[u8]> = recorded.ticks.values().map(|tick| &*tick.tick).collect();
            let [tick] = ticks[..] else { panic!("{} ticks of {session}", ticks.len()) };
            assert_eq!(Tick::decode(tick).expect("whole").sequence, u64::from(*session));
        }
        assert_eq!(recording.end.expect("in order").reason, "");
    }
}
