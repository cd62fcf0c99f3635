//! What the server counts. A tick writes into its stream's own metrics, which nobody else writes: no lock, no
//! contended cache line. They are put together when somebody asks.

pub mod cluster;
pub mod exposition;
pub mod histogram;
pub mod page;
pub mod recent;
pub mod record;
pub mod store;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tonic::Code;

use super::{
    access::caller::Caller,
    host::{
        live_view::last_tick::LastTick,
        quota::{self, OverQuota},
    },
};
use cluster::ClusterMetrics;
use histogram::Histogram;
use record::RecordMetrics;
use store::StoreMetrics;

/// All metrics of a server.
pub struct Metrics {
    /// A tick that took longer is missed.
    pub objective: Duration,
    /// Connections that speak HTTP/2 now.
    pub connections: AtomicU64,
    /// Connections that were not let in, by reason.
    pub connections_refused: [AtomicU64; REFUSAL_REASONS.len()],
    /// Connections that were closed after they had been let in, by reason.
    pub connections_closed: [AtomicU64; CLOSE_REASONS.len()],
    /// Fields that are built now.
    pub field_builds: AtomicU64,
    /// From handing a write in to its start.
    pub writer_wait: Histogram,
    /// From the start of a write to its end.
    pub writer_update: Histogram,
    /// Writes that panicked.
    pub writer_panics: AtomicU64,
    /// Scenes on disk.
    pub store: Arc<StoreMetrics>,
    /// Recordings.
    pub record: Arc<RecordMetrics>,
    /// Whose they are.
    pub cluster: ClusterMetrics,
    /// Streams now, by number, and what the ended ones counted.
    // Locked when a stream begins or ends and by a scrape, never in a tick.
    streams: Mutex<Streams>,
    calls: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
}

/// Why connections are not let in; the place is that in [`Metrics::connections_refused`].
pub const REFUSAL_REASONS: [&str; 7] =
    ["not_http2", "full", "address_full", "silent", "left", "tls", "io"];

/// Why connections are closed that had been let in; the place is that in [`Metrics::connections_closed`].
pub const CLOSE_REASONS: [&str; 5] = ["no_call", "headers", "unread", "made_room", "refused"];

#[derive(Default)]
struct Streams {
    last_number: u64,
    now: BTreeMap<u64, Arc<StreamMetrics>>,
    /// The keys of live views, by number.
    watchers: BTreeMap<u64, Option<String>>,
    ended: TickMetrics,
}

/// A live view, while it is open.
pub struct OpenWatch {
    metrics: Arc<Metrics>,
    number: u64,
}

/// Live views of a server: each takes some tens of microseconds of a core for a frame.
pub const WATCHERS_MAX: usize = 16;

/// Why there is no further live view.
#[derive(Debug, thiserror::Error)]
pub enum WatchRefused {
    /// The key has as many streams as it may.
    #[error(transparent)]
    Quota(#[from] OverQuota),
    /// The server has as many as it may.
    #[error("there are {WATCHERS_MAX} live views already, the limit")]
    Full,
}

/// What one haptic loop counts; written by the thread that computes its ticks only.
pub struct StreamMetrics {
    /// Its scene.
    pub scene: String,
    /// Its client's key.
    pub key: Option<String>,
    /// In the order in which streams began, from 1.
    pub number: u64,
    /// Its ticks.
    pub ticks: TickMetrics,
    /// The newest of them, for those who watch.
    pub last_tick: LastTick,
}

/// Ticks, as counts and times.
#[derive(Debug, Default)]
pub struct TickMetrics {
    /// Answered.
    pub answered: Count,
    /// Coalesced into a newer one.
    pub coalesced: Count,
    /// Refused.
    pub refused: Count,
    /// Panicked.
    pub panicked: Count,
    /// Cut short by the client's deadline.
    pub degraded: Count,
    /// Slower than the objective.
    pub missed: Count,
    /// Renderings of tools by the state of their proxy, one for each of [`RENDER_STATES`].
    pub renderings: [Count; RENDER_STATES.len()],
    /// One for each of [`STAGES`].
    pub stages: [Histogram; STAGES.len()],
}

/// From bytes to the engine, in the engine, the part of that in which proxies are drawn, to the wire's form, and all of
/// it. A tick without rendered tools has no part of the third kind.
pub const STAGES: [&str; 5] = ["wait", "engine", "render", "convert", "total"];

/// The states of a proxy, in the order of [`crate::proxy::RenderState`].
pub const RENDER_STATES: [&str; 5] = ["free", "touching", "embedded", "squeezed", "late"];

/// SessionCounts by one thread, read by others.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// One writer, so no read-modify-write.
    pub fn add(&self, n: u64) {
        // A reader may miss the newest tick, and never sees half of one.
        self.0.store(self.get() + n, Relaxed);
    }

    /// So far.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// When the parts of a tick began and ended: nanoseconds of the process's clock.
pub struct TickTimes {
    /// Its bytes were read.
    pub received_ns: u64,
    /// The engine began.
    pub started_ns: u64,
    /// The proxies of rendered tools were drawn; `None` without any.
    pub drawn_ns: Option<u64>,
    /// The engine was done.
    pub computed_ns: u64,
    /// The answer was there.
    pub done_ns: u64,
}

impl TickMetrics {
    /// A tick that was answered.
    pub fn note(&self, times: &TickTimes, objective: Duration) {
        let TickTimes { received_ns, started_ns, drawn_ns, computed_ns, done_ns } = *times;
        let total_ns = done_ns - received_ns;
        let stages = [
            Some(started_ns - received_ns),
            Some(computed_ns - started_ns),
            drawn_ns.map(|drawn_ns| drawn_ns - started_ns),
            Some(done_ns - computed_ns),
            Some(total_ns),
        ];
        for (stage, ns) in self.stages.iter().zip(stages) {
            if let Some(ns) = ns {
                stage.note_alone(ns);
            }
        }
        self.answered.add(1);
        self.missed.add(u64::from(u128::from(total_ns) > objective.as_nanos()));
    }

    /// Ticks that missed the objective, as a share of the answered ones.
    pub fn missed_ratio(&self) -> f64 {
        self.missed.get() as f64 / self.answered.get().max(1) as f64
    }

    fn add(&self, other: &TickMetrics) {
        for (into, from) in self.counts().into_iter().zip(other.counts()) {
            into.add(from.get());
        }
        for (into, from) in self.renderings.iter().zip(&other.renderings) {
            into.add(from.get());
        }
        for (into, from) in self.stages.iter().zip(&other.stages) {
            into.add(from);
        }
    }

    fn counts(&self) -> [&Count; 6] {
        let TickMetrics { answered, coalesced, refused, panicked, degraded, missed, .. } = self;
        [answered, coalesced, refused, panicked, degraded, missed]
    }
}

impl Metrics {
    /// Nothing has happened yet.
    pub fn new(objective: Duration) -> Metrics {
        Metrics {
            objective,
            connections: AtomicU64::new(0),
            connections_refused: Default::default(),
            connections_closed: Default::default(),
            field_builds: AtomicU64::new(0),
            writer_wait: Histogram::default(),
            writer_update: Histogram::default(),
            writer_panics: AtomicU64::new(0),
            store: Arc::default(),
            record: Arc::default(),
            cluster: ClusterMetrics::default(),
            streams: Mutex::default(),
            calls: Mutex::default(),
        }
    }

    /// A haptic loop begins.
    ///
    /// # Errors
    /// When the caller's key has as many as it may.
    pub fn stream_begins(
        &self,
        scene: &str,
        caller: &Caller,
        last_tick: LastTick,
    ) -> Result<Arc<StreamMetrics>, OverQuota> {
        let mut streams = self.streams.lock();
        streams.check_quota(caller)?;
        streams.last_number += 1;
        let number = streams.last_number;
        let ticks = TickMetrics::default();
        let (scene, key) = (scene.to_owned(), caller.name().map(str::to_owned));
        let stream = Arc::new(StreamMetrics { scene, key, number, ticks, last_tick });
        streams.now.insert(number, Arc::clone(&stream));
        Ok(stream)
    }

    /// A haptic loop is over; what it counted stays in the totals.
    pub fn stream_ends(&self, stream: &StreamMetrics) {
        let mut streams = self.streams.lock();
        if streams.now.remove(&stream.number).is_some() {
            streams.ended.add(&stream.ticks);
        }
    }

    /// A live view begins.
    ///
    /// # Errors
    /// When the caller's key, or the server, has as many as it may.
    pub fn watch_begins(self: &Arc<Self>, caller: &Caller) -> Result<OpenWatch, WatchRefused> {
        let mut streams = self.streams.lock();
        streams.check_quota(caller)?;
        if streams.watchers.len() >= WATCHERS_MAX {
            return Err(WatchRefused::Full);
        }
        streams.last_number += 1;
        let number = streams.last_number;
        streams.watchers.insert(number, caller.name().map(str::to_owned));
        Ok(OpenWatch { metrics: Arc::clone(self), number })
    }

    /// The number of the live view that began last, of those that are open. Numbers rise.
    pub fn newest_watcher(&self) -> Option<u64> {
        self.streams.lock().watchers.last_key_value().map(|(number, _)| *number)
    }

    /// Live views that are open.
    pub fn n_watchers(&self) -> usize {
        self.streams.lock().watchers.len()
    }

    /// The streams there are.
    pub fn streams(&self) -> Vec<Arc<StreamMetrics>> {
        self.streams.lock().now.values().cloned().collect()
    }

    /// Ticks of all streams that ever were.
    pub fn ticks(&self) -> TickMetrics {
        let all = TickMetrics::default();
        let streams = self.streams.lock();
        all.add(&streams.ended);
        streams.now.values().for_each(|stream| all.add(&stream.ticks));
        all
    }

    /// A call was answered, or its stream of answers has begun.
    pub fn note_call(&self, method: &'static str, code: Code) {
        *self.calls.lock().entry((method, code_name(code))).or_default() += 1;
    }

    /// CallMiddleware by method and code.
    pub fn calls(&self) -> Vec<((&'static str, &'static str), u64)> {
        self.calls.lock().iter().map(|(key, n)| (*key, *n)).collect()
    }
}

impl Streams {
    /// Live views count as haptic loops do.
    fn check_quota(&self, caller: &Caller) -> Result<(), OverQuota> {
        let Some(key) = caller.name() else { return Ok(()) };
        let keys = self.now.values().map(|s| &s.key).chain(self.watchers.values());
        let used = keys.filter(|k| k.as_deref() == Some(key)).count();
        quota::check(key, "streams", used as u64, 1, caller.quotas().streams)
    }
}

impl Drop for OpenWatch {
    fn drop(&mut self) {
        self.metrics.streams.lock().watchers.remove(&self.number);
    }
}

/// The code's name in gRPC's own words.
pub fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
