//! Counts what became of each tick.

#[cfg(test)]
pub(in crate::load) mod tests;

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use prost::Message;

use super::{latencies::Latencies, timeline::Timeline};
use crate::proto::TrackResponse;

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
    /// From a tick's bytes to the engine, as the server says.
    pub wait: Latencies,
    /// From the engine's answer to the message, as the server says.
    pub convert: Latencies,
    /// From the intended instant to the answer, less the time in the engine.
    pub outside: Latencies,
    /// How old the oldest tissue revision was that an answer was computed from.
    pub stale_age: Latencies,
    /// Encoded size of all answers.
    pub answer_bytes: u64,
    /// Answers, each for the ticks that it swallowed too.
    pub answers: u64,
    /// Over the run's time.
    pub timeline: Timeline,
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
        self.timeline.begin(intended);
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
                self.close(intended, None);
                continue;
            }
            self.coalesced += u64::from(number < older);
            self.close(intended, Some(now - intended));
            if number == older {
                let compute = Duration::from_secs_f64(1e-6 * answer.compute_us.max(0.0));
                self.outside.record((now - intended).saturating_sub(compute));
            }
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
        for (_, intended) in std::mem::take(&mut self.pending) {
            self.close(intended, None);
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
        self.wait.add(&other.wait);
        self.convert.add(&other.convert);
        self.outside.add(&other.outside);
        self.stale_age.add(&other.stale_age);
        self.answer_bytes += other.answer_bytes;
        self.answers += other.answers;
        self.timeline.add(&other.timeline);
        self.contacts += other.contacts;
        self.contacts_max = self.contacts_max.max(other.contacts_max);
        if let Some(distance_m) = other.min_signed_distance_m {
            self.came_within(distance_m);
        }
        self.refusal = self.refusal.take().or_else(|| other.refusal.clone());
    }

    /// The next tick in order has its outcome.
    fn close(&mut self, intended: Instant, round_trip: Option<Duration>) {
        if let Some(round_trip) = round_trip {
            self.answered += 1;
            self.round_trip.record(round_trip);
        }
        let is_in_time = round_trip.is_some_and(|r| r <= self.deadline);
        self.timeline.record(intended, round_trip, is_in_time);
        if is_in_time {
            self.miss_run = 0;
        } else {
            self.missed += 1;
            self.miss_run += 1;
            self.longest_miss_run = self.longest_miss_run.max(self.miss_run);
        }
    }

    fn take(&mut self, answer: &TrackResponse) {
        self.compute.record(Duration::from_nanos((answer.compute_us * 1e3) as u64));
        if let Some(stages) = &answer.stages {
            self.wait.record(Duration::from_nanos((stages.wait_us * 1e3) as u64));
            self.convert.record(Duration::from_nanos((stages.convert_us * 1e3) as u64));
        }
        self.answers += 1;
        self.answer_bytes += answer.encoded_len() as u64;
        if let Some(age_us) = answer.tissues.iter().map(|t| t.age_us).max() {
            self.stale_age.record(Duration::from_micros(age_us));
        }
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
