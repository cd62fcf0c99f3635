//! Counters of the server. A tick writes into its stream's own metrics, which no other thread writes: no lock, no
//! contended cache line. Readers add them up on request.

pub mod cluster;
pub mod histogram;
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

use cluster::ClusterMetrics;
use histogram::Histogram;
use record::RecordMetrics;
use store::StoreMetrics;

/// All metrics of a server.
pub struct Metrics {
    /// Time above which a tick counts as missed.
    pub objective: Duration,
    /// Number of HTTP/2 connections now.
    pub connections: AtomicU64,
    /// Refused connections, by reason.
    pub connections_refused: [AtomicU64; REFUSAL_REASONS.len()],
    /// Connections that were closed after they had been let in, by reason.
    pub connections_closed: [AtomicU64; CLOSE_REASONS.len()],
    /// Number of fields that are being built.
    pub field_builds: AtomicU64,
    /// Time from the submission of a write to its start.
    pub writer_wait: Histogram,
    /// Time from the start of a write to its end.
    pub writer_update: Histogram,
    /// Number of writes that panicked.
    pub writer_panics: AtomicU64,
    /// Metrics of scenes on disk.
    pub store: Arc<StoreMetrics>,
    /// Metrics of recordings.
    pub record: Arc<RecordMetrics>,
    /// Metrics of sharing scenes with other servers.
    pub cluster: ClusterMetrics,
    calls: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
}

/// Reasons why connections are refused; indices of [`Metrics::connections_refused`].
pub const REFUSAL_REASONS: [&str; 7] =
    ["not_http2", "full", "address_full", "silent", "left", "tls", "io"];

/// Reasons why admitted connections are closed; indices of [`Metrics::connections_closed`].
pub const CLOSE_REASONS: [&str; 5] = ["no_call", "headers", "unread", "made_room", "refused"];

/// Counts and times of ticks.
#[derive(Debug, Default)]
pub struct TickMetrics {
    /// Ticks answered.
    pub answered: Count,
    /// Ticks coalesced into a newer one.
    pub coalesced: Count,
    /// Ticks refused.
    pub refused: Count,
    /// Ticks that panicked.
    pub panicked: Count,
    /// Ticks cut short by a deadline.
    pub degraded: Count,
    /// Ticks slower than the objective.
    pub missed: Count,
    /// Missed ticks that would have met it if the engine's thread had had a processor all the time.
    pub missed_by_machine: Count,
    /// Renderings of tools by the state of their proxy, one for each of [`RENDER_STATES`].
    pub renderings: [Count; RENDER_STATES.len()],
    /// Times of the stages, one for each of [`STAGES`].
    pub stages: [Histogram; STAGES.len()],
}

/// Stages of a tick: from its bytes to the engine, in the engine, the part of that in which proxies are moved, the
/// conversion to a message, and the total. A tick without rendered tools has no third stage.
pub const STAGES: [&str; 5] = ["wait", "engine", "render", "convert", "total"];

/// States of a proxy, in the order of [`crate::proxy::RenderState`].
pub const RENDER_STATES: [&str; 5] = ["free", "touching", "embedded", "squeezed", "late"];

/// Counter that one thread writes, and others read.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds `n`. One writer, so no read-modify-write.
    pub fn add(&self, n: u64) {
        // A reader may miss the newest tick, but never sees a half-written count.
        self.0.store(self.get() + n, Relaxed);
    }

    /// Returns the present count.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Times at which the parts of a tick began and ended: nanoseconds of the process's clock.
pub struct TickTimes {
    /// The tick's bytes were read.
    pub received_ns: u64,
    /// The engine began.
    pub started_ns: u64,
    /// The proxies of rendered tools were moved; `None` without rendered tools.
    pub drawn_ns: Option<u64>,
    /// The engine was done.
    pub computed_ns: u64,
    /// The answer was complete.
    pub done_ns: u64,
    /// Time in the engine in which its thread had no processor; 0 on Windows, where it is unknown.
    pub stopped_ns: u64,
}

impl TickMetrics {
    /// Records an answered tick.
    pub fn note(&self, times: &TickTimes, objective: Duration) {
        let TickTimes { received_ns, started_ns, drawn_ns, computed_ns, done_ns, stopped_ns } =
            *times;
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
        let is_missed = |ns: u64| u128::from(ns) > objective.as_nanos();
        self.missed.add(u64::from(is_missed(total_ns)));
        let is_by_machine = is_missed(total_ns) && !is_missed(total_ns.saturating_sub(stopped_ns));
        self.missed_by_machine.add(u64::from(is_by_machine));
    }

    /// Returns the share of answered ticks that missed the objective.
    pub fn missed_ratio(&self) -> f64 {
        self.missed.get() as f64 / self.answered.get().max(1) as f64
    }

    /// Adds the counts and times of other ticks.
    pub fn add(&self, other: &TickMetrics) {
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

    fn counts(&self) -> [&Count; 7] {
        let TickMetrics { answered, coalesced, refused, panicked, degraded, .. } = self;
        let TickMetrics { missed, missed_by_machine, .. } = self;
        [answered, coalesced, refused, panicked, degraded, missed, missed_by_machine]
    }
}

impl Metrics {
    /// Creates metrics with all counts at zero.
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
            calls: Mutex::default(),
        }
    }

    /// Counts a call that was answered, or whose stream of answers has begun.
    pub fn note_call(&self, method: &'static str, code: Code) {
        *self.calls.lock().entry((method, code_name(code))).or_default() += 1;
    }

    /// Returns the number of calls by method and code.
    pub fn calls(&self) -> Vec<((&'static str, &'static str), u64)> {
        self.calls.lock().iter().map(|(key, n)| (*key, *n)).collect()
    }
}

/// Returns the code's name as gRPC spells it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_tick_is_the_machines_if_it_would_have_been_in_time_without_its_stop() {
        let ticks = TickMetrics::default();
        let objective = Duration::from_millis(1);
        // Took, of which the thread was stopped for, microseconds.
        for (took, stopped) in [(900, 0), (900, 800), (1_500, 0), (1_500, 400), (1_500, 600)] {
            ticks.note(
                &TickTimes {
                    received_ns: 0,
                    started_ns: 0,
                    drawn_ns: None,
                    computed_ns: 1_000 * took,
                    done_ns: 1_000 * took,
                    stopped_ns: 1_000 * stopped,
                },
                objective,
            );
        }
        assert_eq!((ticks.missed.get(), ticks.missed_by_machine.get()), (3, 1));
    }
}
