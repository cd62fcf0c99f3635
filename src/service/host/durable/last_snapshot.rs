//! The newest snapshot of a scene, and the rule when another one is due.

use std::time::Duration;

use crate::{config::StoreSettings, store::scenes::folder::FoundScene};

/// The newest snapshot of a scene, and the journals since.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastSnapshot {
    /// Size of the snapshot, bytes; if it could not be written, size of the one before.
    pub bytes: u64,
    /// Size of the journals since, bytes.
    pub journal_bytes: u64,
    /// Time when it was taken, or the scene was read, nanoseconds of the process's clock.
    taken_ns: u64,
    /// Age of the snapshot at that time, nanoseconds.
    older_ns: u64,
    /// Number of appends to the journals since, by this process.
    appends: u64,
}

/// Journals since a snapshot may have this many times its bytes: a start that reads them reads little more.
const JOURNALS_PER_SNAPSHOT: u64 = 4;

impl LastSnapshot {
    /// Creates the state of a snapshot that was taken just now.
    pub fn new(bytes: u64, now_ns: u64) -> LastSnapshot {
        LastSnapshot { bytes, taken_ns: now_ns, ..LastSnapshot::default() }
    }

    /// Creates the state of a scene that was read just now. Journals that earlier processes left count as if this
    /// process had written them: otherwise a server that is restarted again and again would never write a snapshot.
    pub fn of_found(found: &FoundScene, now_ns: u64) -> LastSnapshot {
        // If the store does not report the age, the snapshot counts as taken now.
        let older_ns = found.snapshot_age.map_or(0, |age| age.as_nanos() as u64);
        let journal_bytes = found.journal_bytes;
        let taken_now = LastSnapshot::new(found.snapshot_bytes, now_ns);
        LastSnapshot { journal_bytes, older_ns, ..taken_now }
    }

    /// Records that a snapshot is about to be written, even if it then fails: it is not tried again at once.
    pub fn begin(&mut self, now_ns: u64) {
        *self = LastSnapshot::new(self.bytes, now_ns);
    }

    /// Records that the journals since have grown by `bytes`.
    pub fn note_append(&mut self, bytes: u64) {
        self.journal_bytes += bytes;
        self.appends += 1;
    }

    /// Returns the time since the snapshot was taken, by any process.
    pub fn age(&self, now_ns: u64) -> Duration {
        Duration::from_nanos(now_ns.saturating_sub(self.taken_ns).saturating_add(self.older_ns))
    }

    /// Returns true if another snapshot is due: the journals since are too long or were appended to too often, or they
    /// were appended to and the snapshot is too old. A scene that nobody has changed since it was read gets no snapshot
    /// for its age: after a start, all scenes would get one at once.
    pub fn is_due(&self, settings: &StoreSettings, appends_max: u64, now_ns: u64) -> bool {
        let bytes_max = settings.snapshot_bytes.max(JOURNALS_PER_SNAPSHOT * self.bytes);
        let is_old = self.appends > 0 && self.age(now_ns) > settings.snapshot_interval;
        self.journal_bytes > bytes_max || self.appends >= appends_max || is_old
    }
}
