//! The newest snapshot of a scene, and whether another one is due.

use std::time::Duration;

use crate::{config::StoreSettings, store::scenes::folder::FoundScene};

/// The newest snapshot of a scene, and what came after.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastSnapshot {
    /// Its size; that of the one before when it could not be written.
    pub bytes: u64,
    /// Of the journals since.
    pub journal_bytes: u64,
    /// When it was taken, or the scene was read: nanoseconds of the process's clock.
    taken_ns: u64,
    /// How old it was then.
    older_ns: u64,
    /// How often the journals since were appended to in this process.
    appends: u64,
}

/// Journals since a snapshot may have this many times its bytes: whoever reads them at a start reads little more.
const JOURNALS_PER_SNAPSHOT: u64 = 4;

impl LastSnapshot {
    /// Taken just now.
    pub fn new(bytes: u64, now_ns: u64) -> LastSnapshot {
        LastSnapshot { bytes, taken_ns: now_ns, ..LastSnapshot::default() }
    }

    /// That of a scene which was read just now. What earlier processes have left counts as if this one had: a server that
    /// is started again and again would never write another.
    pub fn of_found(found: &FoundScene, now_ns: u64) -> LastSnapshot {
        // Where the place does not say it, as if taken now.
        let older_ns = found.snapshot_age.map_or(0, |age| age.as_nanos() as u64);
        let journal_bytes = found.journal_bytes;
        let taken_now = LastSnapshot::new(found.snapshot_bytes, now_ns);
        LastSnapshot { journal_bytes, older_ns, ..taken_now }
    }

    /// Another is about to be written. Also of one that fails: it is not tried again at once.
    pub fn begin(&mut self, now_ns: u64) {
        *self = LastSnapshot::new(self.bytes, now_ns);
    }

    /// The journals since have got longer by so much.
    pub fn note_append(&mut self, bytes: u64) {
        self.journal_bytes += bytes;
        self.appends += 1;
    }

    /// Since it was taken, by whatever process.
    pub fn age(&self, now_ns: u64) -> Duration {
        Duration::from_nanos(now_ns.saturating_sub(self.taken_ns).saturating_add(self.older_ns))
    }

    /// Whether the journals since are so long, or were appended to so often, or so long ago for the first time, that another
    /// is due. A scene that nobody has changed since it was read is not written anew for its age: after a start that would
    /// be all of them at once.
    pub fn is_due(&self, settings: &StoreSettings, appends_max: u64, now_ns: u64) -> bool {
        let bytes_max = settings.snapshot_bytes.max(JOURNALS_PER_SNAPSHOT * self.bytes);
        let is_old = self.appends > 0 && self.age(now_ns) > settings.snapshot_interval;
        self.journal_bytes > bytes_max || self.appends >= appends_max || is_old
    }
}
