//! Hands a scene's entries to its recording, except ticks: changes that were made, and loops that begin.
//!
//! An entry is never left out, and nobody waits for the disk with it: it waits in memory. If more entries wait than
//! there is room for, the recording ends where it is, and reports that: nothing after a missing change could be
//! replayed.
//!
//! Queries, exports and refused calls are not recorded. They change nothing, so that no answer of a loop depends on
//! them, and their answers follow from a recorded revision: an answer in doubt can be checked by asking the scene again
//! as it was then. Their requests and answers may be as large as a scene, as often as a client likes. Refused ticks are
//! recorded, since they are part of a loop.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
};

use crossbeam::channel::Sender;
use prost::Message;

use super::{
    tick_recorder::{TickRecorder, TickRing},
    timeless,
};
use crate::{
    geometry::MeshData,
    proto::{
        DeformRequest, DeformResponse, EditTopologyResponse, HoldTissueRequest, HoldTissueResponse,
        RecordedChange, RecordedSession, SetFeelResponse, TrackStart, recorded_change::Answer,
        recorded_change::Change,
    },
    scene::saved::SceneChange,
};

/// Maximum memory of waiting entries: a second of the deformations of 300,000 vertices.
const QUEUED_BYTES_MAX: u64 = 256 << 20;

/// Hands entries of a scene to the thread that writes them.
#[derive(Clone)]
pub struct SceneRecorder {
    entries: Sender<Entry>,
    state: Arc<RecorderState>,
}

/// State shared by the callers that hand in entries and the thread that writes them.
#[derive(Default)]
pub struct RecorderState {
    last_session: AtomicU32,
    /// Bytes of waiting entries.
    queued_bytes: AtomicU64,
    /// Nothing more is written.
    is_over: AtomicBool,
    /// Entries came faster than the disk took them.
    has_overflown: AtomicBool,
    /// The server ends.
    is_ending: AtomicBool,
    /// Number of ticks that were left out, of all scenes.
    dropped_ticks: Arc<AtomicU64>,
}

/// An entry, with the bytes that it counts for.
pub enum Entry {
    /// A surface moved, was cut or was held.
    Changed(Box<RecordedChange>, u64),
    /// A tissue or tool was added or removed, at this time in nanoseconds of the server's clock.
    Saved(u64, SceneChange, u64),
    /// A loop begins.
    Session(RecordedSession, Arc<TickRing>),
}

impl SceneRecorder {
    /// Creates the recorder of a new recording.
    pub fn new(entries: Sender<Entry>, state: Arc<RecorderState>) -> SceneRecorder {
        SceneRecorder { entries, state }
    }

    /// Records that a loop begins; returns `None` if the recording is over.
    pub fn session(&self, start: &TrackStart, at_ns: u64) -> Option<TickRecorder> {
        if self.state.is_over() {
            return None;
        }
        let session = self.state.last_session.fetch_add(1, Relaxed) + 1;
        let dropped = Arc::clone(&self.state.dropped_ticks);
        let (recorder, ring) = TickRecorder::new(session, dropped);
        let start = Some(start.clone());
        // The writer sets its place in the file.
        let begins = RecordedSession { session, at_ns, start, place: 0 };
        self.hand_in(Entry::Session(begins, ring), 0);
        Some(recorder)
    }

    /// Records that a tissue or tool was added or removed.
    pub fn saved(&self, at_ns: u64, change: impl FnOnce() -> SceneChange) {
        if !self.state.is_over() {
            let change = change();
            let bytes = bytes(&change);
            self.hand_in(Entry::Saved(at_ns, change, bytes), bytes);
        }
    }

    /// Records that a tissue was deformed.
    pub fn deformed(&self, at_ns: u64, deform: DeformRequest, mut answer: DeformResponse) {
        timeless::deformed(&mut answer);
        self.changed(at_ns, Change::Deform(deform), Answer::Deformed(answer));
    }

    /// Records that a tissue was cut, as the request says or [`SceneRecorder::kept`].
    pub fn edited(&self, at_ns: u64, cut: Change, mut answer: EditTopologyResponse) {
        timeless::edited(&mut answer);
        self.changed(at_ns, cut, Answer::Edited(answer));
    }

    /// Returns the record of a change that is made as it was kept.
    pub fn kept(change: &SceneChange) -> Change {
        Change::Saved(postcard::to_stdvec(change).expect("plain data"))
    }

    /// Records that a revision of a tissue was held.
    pub fn held(&self, at_ns: u64, hold: HoldTissueRequest, answer: HoldTissueResponse) {
        self.changed(at_ns, Change::Hold(hold), Answer::Held(answer));
    }

    /// Records that a tissue got other materials.
    pub fn felt(&self, at_ns: u64, change: &SceneChange, answer: SetFeelResponse) {
        self.changed(at_ns, SceneRecorder::kept(change), Answer::Felt(answer));
    }

    fn changed(&self, at_ns: u64, change: Change, answer: Answer) {
        let (change, answer) = (Some(change), Some(answer));
        let change = RecordedChange { at_ns, change, answer };
        let bytes = change.encoded_len() as u64;
        self.hand_in(Entry::Changed(Box::new(change), bytes), bytes);
    }

    fn hand_in(&self, entry: Entry, bytes: u64) {
        if self.state.is_over() {
            return;
        }
        if self.state.queued_bytes.fetch_add(bytes, Relaxed) + bytes > QUEUED_BYTES_MAX {
            self.state.has_overflown.store(true, Relaxed);
            self.state.end();
            return;
        }
        // An error means that the thread has ended, after logging the reason.
        let _ = self.entries.send(entry);
    }
}

/// Returns the memory of a waiting change: its meshes and its binding.
fn bytes(change: &SceneChange) -> u64 {
    let of = |mesh: &MeshData| size_of_val(&*mesh.positions) + size_of_val(&*mesh.triangles);
    let bytes = match change {
        SceneChange::TissueAdded(tissue) => {
            of(&tissue.mesh) + tissue.driven.as_ref().map_or(0, |driven| driven.heap_bytes())
        }
        SceneChange::ToolAdded(tool) => tool.links.iter().map(|link| of(&link.mesh)).sum(),
        _ => 0,
    };
    bytes as u64
}

impl RecorderState {
    /// Creates the state of a recording that has begun.
    pub fn new(dropped_ticks: Arc<AtomicU64>) -> RecorderState {
        RecorderState { dropped_ticks, ..RecorderState::default() }
    }

    /// Records that an entry was taken out of the queue.
    pub fn taken(&self, bytes: u64) {
        self.queued_bytes.fetch_sub(bytes, Relaxed);
    }

    /// Ends the recording: nothing more is handed in.
    pub fn end(&self) {
        self.is_over.store(true, Relaxed);
    }

    /// Returns true if nothing more will be handed in.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Relaxed)
    }

    /// Returns true if entries came faster than the disk took them.
    pub fn has_overflown(&self) -> bool {
        self.has_overflown.load(Relaxed)
    }

    /// Asks the recording to end with the server: waiting entries are written, and no more are awaited.
    pub fn ask_to_end(&self) {
        self.is_ending.store(true, Relaxed);
    }

    /// Returns true if the server ends.
    pub fn is_asked_to_end(&self) -> bool {
        self.is_ending.load(Relaxed)
    }
}
