//! Reads a recording from its file: the changes of the scene, and the ticks of each loop.

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    ops::RangeInclusive,
    path::Path,
};

use mcap::{
    McapError, parse_record,
    records::Record,
    sans_io::linear_reader::{LinearReadEvent, LinearReader, LinearReaderOptions},
};
use prost::Message;

use super::{
    recorders::FORMAT,
    topics::{CHANGES, RECORDING, SESSIONS, TickPart},
};
use crate::{
    proto::{RecordedChange, RecordedSession, RecordingEnd, RecordingHead, TrackStart},
    scene::{
        Limits,
        saved::{ADDED_IN_FORMAT_4, NotAScene, SavedScene, UndrivenScene},
    },
    store::scenes::file_head,
};

/// Maximum size of one record or chunk: a deformation of the largest mesh, and a chunk around it. A file that declares
/// more is refused.
const RECORD_BYTES_MAX: usize = 512 << 20;
const READ_BYTES: usize = 256 << 10;

/// Content of a recording.
#[derive(Debug)]
pub struct Recording {
    /// Version of the server that recorded.
    pub version: String,
    /// The scene when the recording began, checked.
    pub scene: SavedScene,
    /// Time when its tissues were published, nanoseconds of the server's clock.
    pub published_ns: u64,
    /// Limits of the server that recorded.
    pub limits: Limits,
    /// Changes, in the order in which they were made.
    pub changes: Vec<RecordedChange>,
    /// Haptic loops by number.
    pub sessions: BTreeMap<u32, RecordedLoop>,
    /// End of the recording; `None` if the file breaks off after the content here.
    pub end: Option<RecordingEnd>,
}

/// The ticks of a loop.
#[derive(Debug, Default)]
pub struct RecordedLoop {
    /// First message of the loop; `None` if it is missing.
    pub start: Option<TrackStart>,
    /// Ticks by number, from 1.
    pub ticks: BTreeMap<u32, TickMessages>,
}

/// The messages of a tick, encoded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TickMessages {
    /// A `RecordedTick`.
    pub note: Vec<u8>,
    /// A `Tick`.
    pub tick: Vec<u8>,
    /// A `TrackResponse`; empty if there was none.
    pub answer: Vec<u8>,
}

/// Reason why a file cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The file is no MCAP file, or a damaged one.
    #[error("it is damaged, or no MCAP file, at message {at}: {source}")]
    Mcap {
        /// Number of messages before.
        at: u64,
        /// Cause.
        source: McapError,
    },
    /// The file is an MCAP file with other content, or cut off at its beginning.
    #[error("it has no {what}, expected a recording of Palpate")]
    Missing {
        /// Name of the missing message.
        what: &'static str,
    },
    /// The file is of a later version.
    #[error("its {what} have format {got}, this program reads {expected}")]
    Newer {
        /// "messages" or "scenes".
        what: &'static str,
        /// Format in the file.
        got: u32,
        /// Greatest known format.
        expected: u32,
    },
    /// A message does not match its schema.
    #[error("message {at} of {topic} cannot be decoded: {reason}")]
    Message {
        /// Index of the message in the file, from 0.
        at: u64,
        /// Topic of the message.
        topic: String,
        /// Cause.
        reason: String,
    },
    /// The recorded scene is not valid.
    #[error("its scene is none: {0}")]
    Scene(#[from] NotAScene),
}

/// State of reading a file.
#[derive(Default)]
struct RecordingReader {
    topics: BTreeMap<u16, (String, u16)>,
    schemas: BTreeMap<u16, String>,
    head: Option<RecordingHead>,
    changes: Vec<RecordedChange>,
    sessions: BTreeMap<u32, RecordedLoop>,
    /// Current session of each topic place.
    places: BTreeMap<u32, u32>,
    end: Option<RecordingEnd>,
    n_messages: u64,
}

impl Recording {
    /// Reads a file.
    ///
    /// # Errors
    /// Returns an error if the file is no recording, or a damaged one. A file that breaks off is read up to its last
    /// whole chunk.
    pub fn open(path: &Path) -> Result<Recording, RecordingError> {
        Recording::read(File::open(path)?)
    }

    /// Reads a recording from any source, as [`Recording::open`] does.
    ///
    /// # Errors
    /// See [`Recording::open`].
    pub fn read(mut from: impl Read) -> Result<Recording, RecordingError> {
        let options = LinearReaderOptions::default()
            .with_prevalidate_chunk_crcs(true)
            .with_record_length_limit(RECORD_BYTES_MAX);
        let mut reader = LinearReader::new_with_options(options);
        let mut reading = RecordingReader::default();
        while let Some(event) = reader.next_event() {
            let at = reading.n_messages;
            match event {
                Ok(LinearReadEvent::ReadRequest(n)) => {
                    let n = from.read(reader.insert(n.min(READ_BYTES)))?;
                    reader.notify_read(n);
                }
                Ok(LinearReadEvent::Record { data, opcode }) => {
                    let record = parse_record(opcode, data);
                    reading
                        .record(record.map_err(|source| RecordingError::Mcap { at, source })?)?;
                }
                // A killed process has left whole chunks, and perhaps a part of one.
                Err(McapError::UnexpectedEof) if reading.head.is_some() => {
                    reading.end = None;
                    break;
                }
                Err(source) => return Err(RecordingError::Mcap { at, source }),
            }
        }
        reading.whole()
    }
}

impl RecordingReader {
    fn record(&mut self, record: Record) -> Result<(), RecordingError> {
        match record {
            Record::Schema { header, .. } => drop(self.schemas.insert(header.id, header.name)),
            Record::Channel(channel) => {
                self.topics.insert(channel.id, (channel.topic, channel.schema_id));
            }
            Record::Message { header, data } => {
                let at = self.n_messages;
                self.n_messages += 1;
                let channel = self.topics.get(&header.channel_id).cloned();
                let Some((topic, schema)) = channel else {
                    let source = McapError::UnknownChannel(header.sequence, header.channel_id);
                    return Err(RecordingError::Mcap { at, source });
                };
                let schema = self.schemas.get(&schema).cloned().unwrap_or_default();
                self.message(&topic, &schema, header.sequence, &data)
                    .map_err(|reason| RecordingError::Message { at, topic, reason })?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Skips pictures, and topics of later versions.
    fn message(
        &mut self,
        topic: &str,
        schema: &str,
        number: u32,
        data: &[u8],
    ) -> Result<(), String> {
        fn decoded<M: Message + Default>(data: &[u8]) -> Result<M, String> {
            M::decode(data).map_err(|error| error.to_string())
        }
        match (topic, schema) {
            (RECORDING, "palpate.v1.RecordingHead") => self.head = Some(decoded(data)?),
            (RECORDING, "palpate.v1.RecordingEnd") => self.end = Some(decoded(data)?),
            (CHANGES, _) => self.changes.push(decoded(data)?),
            (SESSIONS, _) => {
                let RecordedSession { session, start, place, .. } = decoded(data)?;
                let start = start.ok_or("it has no start")?;
                let place = if place == 0 { session } else { place };
                self.places.insert(place, session);
                self.sessions.entry(session).or_default().start = Some(start);
            }
            _ => {
                let Some((place, part)) = TickPart::of_topic(topic) else { return Ok(()) };
                let session = self.places.get(&place).copied().unwrap_or(place);
                let ticks = &mut self.sessions.entry(session).or_default().ticks;
                let messages = ticks.entry(number).or_default();
                *match part {
                    TickPart::Tick => &mut messages.tick,
                    TickPart::Answer => &mut messages.answer,
                    TickPart::Replay => &mut messages.note,
                } = data.to_vec();
            }
        }
        Ok(())
    }

    fn whole(self) -> Result<Recording, RecordingError> {
        let RecordingReader { head, changes, sessions, end, .. } = self;
        let head = head.ok_or(RecordingError::Missing { what: "RecordingHead" })?;
        let known = |what, got, formats: RangeInclusive<u32>| {
            let newer = RecordingError::Newer { what, got, expected: *formats.end() };
            formats.contains(&got).then_some(()).ok_or(newer)
        };
        known("messages", head.format, 1..=FORMAT)?;
        known("scenes", head.store_format, file_head::VERSION_MIN..=file_head::VERSION)?;
        let of_head = |reason: String| {
            let topic = RECORDING.to_owned();
            RecordingError::Message { at: 0, topic, reason }
        };
        let scene = match head.store_format.cmp(&file_head::DRIVEN_SINCE) {
            Ordering::Greater => postcard::from_bytes::<SavedScene>(&head.scene),
            Ordering::Equal => postcard::from_bytes(&[&*head.scene, &ADDED_IN_FORMAT_4].concat()),
            Ordering::Less => {
                postcard::from_bytes::<UndrivenScene>(&head.scene).map(SavedScene::from)
            }
        };
        let scene = scene.map_err(|error| of_head(format!("scene: {error}")))?;
        scene.check()?;
        let limits = toml::from_str(&head.limits);
        let limits = limits.map_err(|error| of_head(format!("limits: {}", error.message())))?;
        let RecordingHead { version, published_ns, .. } = head;
        Ok(Recording { version, scene, published_ns, limits, changes, sessions, end })
    }
}
