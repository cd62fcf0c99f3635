//! Counts what became of each tick.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::service::proto::TrackResponse;

/// Anything longer counts as this, which no run waits for.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Durations, kept to three digits.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

/// Of a set of durations, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentiles {
    /// Half of them are at most this.
    pub p50: f64,
    /// 90 % are.
    pub p90: f64,
    /// 99 % are.
    pub p99: f64,
    /// 99.9 % are.
    pub p999: f64,
    /// All are.
    pub max: f64,
}

impl Latencies {
    /// None yet.
    pub fn new() -> Latencies {
        Latencies(Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("sound bounds"))
    }

    /// Adds one.
    pub fn record(&mut self, duration: Duration) {
        self.0.saturating_record(duration.as_nanos() as u64);
    }

    /// Adds all of another's.
    pub fn add(&mut self, other: &Latencies) {
        self.0.add(&other.0).expect("equal bounds");
    }

    /// The duration that `percent` of them do not exceed; `None` when there are none.
    pub fn percentile_us(&self, percent: f64) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.value_at_percentile(percent) as f64 / 1e3)
    }

    /// The usual ones; `None` when there is none.
    pub fn percentiles(&self) -> Option<Percentiles> {
        Some(Percentiles {
            p50: self.percentile_us(50.0)?,
            p90: self.percentile_us(90.0)?,
            p99: self.percentile_us(99.0)?,
            p999: self.percentile_us(99.9)?,
            max: self.percentile_us(100.0)?,
        })
    }
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies::new()
    }
}

/// What became of the ticks of one client.
///
/// A tick counts as answered when its own answer comes or the answer of a newer one that swallowed it;
/// either way its time runs from its intended instant to that answer.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Ticks whose time came, those the transport had no room for included.
    pub sent: u64,
    /// Of those, answered; swallowed ones included.
    pub answered: u64,
    /// Of those, swallowed by a newer one.
    pub coalesced: u64,
    /// Not answered in time, or never.
    pub missed: u64,
    /// The most that were missed one after the other.
    pub longest_miss_run: u64,
    /// From the intended instant to the answer.
    pub round_trip: Latencies,
    /// From the intended instant until the tick was handed to the transport.
    pub send_late: Latencies,
    /// In the engine, as the server says.
    pub compute: Latencies,
    /// Contacts over all answers.
    pub contacts: u64,
    /// Most of one answer.
    pub contacts_max: u32,
    /// Least signed distance of any link, metres; `None` when no tissue came near.
    pub min_signed_distance_m: Option<f64>,
    /// What the server said when it first refused a tick.
    pub refusal: Option<String>,
    deadline: Duration,
    miss_run: u64,
    pending: VecDeque<(u64, Instant)>,
}

impl Tally {
    /// Nothing yet; a tick answered later than `deadline` is missed.
    pub fn new(deadline: Duration) -> Tally {
        Tally { deadline, ..Tally::default() }
    }

    /// A tick's time came; sequences rise.
    pub fn sent(&mut self, sequence: u64, intended: Instant, now: Instant) {
        self.sent += 1;
        self.send_late.record(now - intended);
        self.pending.push_back((sequence, intended));
    }

    /// An answer came: it closes its own tick and all older ones.
    pub fn answered(&mut self, answer: &TrackResponse, now: Instant) {
        let closed = self.pending.partition_point(|(sequence, _)| *sequence <= answer.sequence);
        let older = closed.saturating_sub(1);
        // The newest of the older ones were swallowed; what is before them was lost on the way.
        let lost = older.saturating_sub(answer.coalesced as usize);
        for number in 0..closed {
            let (_, intended) = self.pending.pop_front().expect("counted above");
            let is_refused = answer.refusal.is_some() && number + 1 == closed;
            if number < lost || is_refused {
                self.close(None);
                continue;
            }
            self.coalesced += u64::from(number < older);
            self.close(Some(now - intended));
        }
        match &answer.refusal {
            Some(refusal) => {
                let said = || format!("{}: {}", refusal.field, refusal.message);
                self.refusal.get_or_insert_with(said);
            }
            None => self.take(answer),
        }
    }

    /// Nothing more will come: what is open was never answered.
    pub fn finish(&mut self) {
        for _ in 0..std::mem::take(&mut self.pending).len() {
            self.close(None);
        }
    }

    /// Ticks that wait for their answer.
    pub fn n_pending(&self) -> usize {
        self.pending.len()
    }

    /// Adds what another client counted.
    pub fn add(&mut self, other: &Tally) {
        self.sent += other.sent;
        self.answered += other.answered;
        self.coalesced += other.coalesced;
        self.missed += other.missed;
        self.longest_miss_run = self.longest_miss_run.max(other.longest_miss_run);
        self.round_trip.add(&other.round_trip);
        self.send_late.add(&other.send_late);
        self.compute.add(&other.compute);
        self.contacts += other.contacts;
        self.contacts_max = self.contacts_max.max(other.contacts_max);
        if let Some(distance_m) = other.min_signed_distance_m {
            self.came_within(distance_m);
        }
        self.refusal = self.refusal.take().or_else(|| other.refusal.clone());
    }

    /// The next tick in order has its outcome.
    fn close(&mut self, round_trip: Option<Duration>) {
        if let Some(round_trip) = round_trip {
            self.answered += 1;
            self.round_trip.record(round_trip);
        }
        if round_trip.is_some_and(|r| r <= self.deadline) {
            self.miss_run = 0;
        } else {
            self.missed += 1;
            self.miss_run += 1;
            self.longest_miss_run = self.longest_miss_run.max(self.miss_run);
        }
    }

    fn take(&mut self, answer: &TrackResponse) {
        self.compute.record(Duration::from_nanos((answer.compute_us * 1e3) as u64));
        let contacts = n_contacts(answer);
        self.contacts += u64::from(contacts);
        self.contacts_max = self.contacts_max.max(contacts);
        if let Some(distance_m) = nearest_m(answer) {
            self.came_within(distance_m);
        }
    }

    fn came_within(&mut self, distance_m: f64) {
        let least = self.min_signed_distance_m.map_or(distance_m, |least| least.min(distance_m));
        self.min_signed_distance_m = Some(least);
    }
}

/// Contacts of all links, those not given included.
pub fn n_contacts(answer: &TrackResponse) -> u32 {
    answer.links.iter().filter_map(|link| link.contacts.as_ref()).map(|c| c.total).sum()
}

/// Least signed distance of any link, metres; `None` when no tissue is near.
pub fn nearest_m(answer: &TrackResponse) -> Option<f64> {
    let known = answer.links.iter().filter(|link| !link.is_lower_bound);
    known.map(|link| link.signed_distance_m).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests;
