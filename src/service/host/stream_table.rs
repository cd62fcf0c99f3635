//! Open haptic loops and live views of a server, with the counts of loops that have ended.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;

use super::{
    live_view::last_tick::LastTick,
    quota::{self, OverQuota},
};
use crate::service::{
    access::caller::Caller,
    metrics::{TickMetrics, recent::RecentTicks},
};

/// Maximum live views of a server: each takes some tens of microseconds of a core for a frame.
pub const WATCHERS_MAX: usize = 16;

/// Open streams by number.
// Locked when a stream begins or ends and by a scrape, never in a tick.
#[derive(Default)]
pub struct StreamTable(Mutex<Streams>);

#[derive(Default)]
struct Streams {
    last_number: u64,
    now: BTreeMap<u64, Arc<StreamMetrics>>,
    /// Keys of live views, by number.
    watchers: BTreeMap<u64, Option<String>>,
    ended: TickMetrics,
}

/// Metrics of one haptic loop; written only by the thread that computes its ticks.
pub struct StreamMetrics {
    /// Id of its scene.
    pub scene: String,
    /// Name of its client's key.
    pub key: Option<String>,
    /// Number of the stream, in order of their begin, from 1; in a replay, of the session in the recording.
    pub number: u64,
    /// Metrics of its ticks.
    pub ticks: TickMetrics,
    /// Its newest tick, for live views.
    pub last_tick: LastTick,
    /// In a replay: its recent ticks, by the recording's time.
    pub recorded: Option<Mutex<RecentTicks>>,
}

/// An open live view.
pub struct OpenWatch {
    streams: Arc<StreamTable>,
    number: u64,
}

/// Reasons why a live view is refused.
#[derive(Debug, thiserror::Error)]
pub enum WatchRefused {
    /// The key has its maximum number of streams.
    #[error(transparent)]
    Quota(#[from] OverQuota),
    /// The server has its maximum number of live views.
    #[error("there are {WATCHERS_MAX} live views already, the limit")]
    Full,
}

impl StreamTable {
    /// Registers a haptic loop.
    ///
    /// # Errors
    /// Returns an error if the caller's key has its maximum number of streams.
    pub fn loop_begins(
        &self,
        scene: &str,
        caller: &Caller,
        last_tick: LastTick,
    ) -> Result<Arc<StreamMetrics>, OverQuota> {
        let mut streams = self.0.lock();
        streams.check_quota(caller)?;
        streams.last_number += 1;
        let number = streams.last_number;
        let ticks = TickMetrics::default();
        let (scene, key) = (scene.to_owned(), caller.name().map(str::to_owned));
        let stream =
            Arc::new(StreamMetrics { scene, key, number, ticks, last_tick, recorded: None });
        streams.now.insert(number, Arc::clone(&stream));
        Ok(stream)
    }

    /// Removes a haptic loop; its counts stay in the totals.
    pub fn loop_ends(&self, stream: &StreamMetrics) {
        let mut streams = self.0.lock();
        if streams.now.remove(&stream.number).is_some() {
            streams.ended.add(&stream.ticks);
        }
    }

    /// Registers a live view.
    ///
    /// # Errors
    /// Returns an error if the caller's key, or the server, has its maximum number of them.
    pub fn watch_begins(self: &Arc<Self>, caller: &Caller) -> Result<OpenWatch, WatchRefused> {
        let mut streams = self.0.lock();
        streams.check_quota(caller)?;
        if streams.watchers.len() >= WATCHERS_MAX {
            return Err(WatchRefused::Full);
        }
        streams.last_number += 1;
        let number = streams.last_number;
        streams.watchers.insert(number, caller.name().map(str::to_owned));
        Ok(OpenWatch { streams: Arc::clone(self), number })
    }

    /// Replaces all open loops by those of a replay.
    pub fn show_only(&self, loops: impl Iterator<Item = Arc<StreamMetrics>>) {
        self.0.lock().now = loops.map(|stream| (stream.number, stream)).collect();
    }

    /// Returns the number of open live views.
    pub fn n_watchers(&self) -> usize {
        self.0.lock().watchers.len()
    }

    /// Returns the open loops.
    pub fn loops(&self) -> Vec<Arc<StreamMetrics>> {
        self.0.lock().now.values().cloned().collect()
    }

    /// Returns the ticks of all loops, open and ended.
    pub fn ticks(&self) -> TickMetrics {
        let all = TickMetrics::default();
        let streams = self.0.lock();
        all.add(&streams.ended);
        streams.now.values().for_each(|stream| all.add(&stream.ticks));
        all
    }
}

impl Streams {
    /// Checks the quota of streams; live views count like haptic loops.
    fn check_quota(&self, caller: &Caller) -> Result<(), OverQuota> {
        let Some(key) = caller.name() else { return Ok(()) };
        let keys = self.now.values().map(|s| &s.key).chain(self.watchers.values());
        let used = keys.filter(|k| k.as_deref() == Some(key)).count();
        quota::check(key, "streams", used as u64, 1, caller.quotas().streams)
    }
}

impl Drop for OpenWatch {
    fn drop(&mut self) {
        self.streams.0.lock().watchers.remove(&self.number);
    }
}
