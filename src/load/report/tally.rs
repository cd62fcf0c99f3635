//! Counts the outcome of each tick.

#[cfg(test)]
pub(in crate::load) mod tests;

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use prost::Message;

use super::{
    latencies::Latencies,
    lateness::{LateTick, LateTicks},
    renderings::Renderings,
    servo::ServoTally,
    soundness::Soundness,
    timeline::Timeline,
};
use crate::proto::TrackResponse;

/// Outcomes of the ticks of one client.
///
/// A tick counts as answered when its own answer comes, or the answer of a newer tick that it was coalesced into;
/// either way its time runs from its intended instant to that answer.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Ticks whose intended instant was reached, including those that did not fit in the transport's queue.
    pub sent: u64,
    /// Ticks answered, coalesced ones included.
    pub answered: u64,
    /// Answered ticks that were coalesced into a newer one.
    pub coalesced: u64,
    /// Ticks answered late, or never.
    pub missed: u64,
    /// Longest run of consecutive missed ticks.
    pub longest_miss_run: u64,
    /// Time from the intended instant to the answer.
    pub round_trip: Latencies,
    /// Time from the intended instant until the tick was handed to the transport.
    pub send_late: Latencies,
    /// Time in the engine, as reported by the server.
    pub compute: Latencies,
    /// Time from a tick's bytes to the engine, as reported by the server.
    pub wait: Latencies,
    /// Time from the engine's answer to the message, as reported by the server.
    pub convert: Latencies,
    /// Time from the intended instant to the answer, less the time in the engine.
    pub outside: Latencies,
    /// Age of the oldest deformed tissue that an answer was computed from.
    pub stale_age: Latencies,
    /// Encoded size of all answers.
    pub answer_bytes: u64,
    /// Answers; each also answers the ticks that were coalesced into its own.
    pub answers: u64,
    /// Outcomes over the run's time.
    pub timeline: Timeline,
    /// Contacts over all answers.
    pub contacts: u64,
    /// Most contacts of one answer.
    pub contacts_max: u32,
    /// Least signed distance of any link, metres; `None` when no tissue came near.
    pub min_signed_distance_m: Option<f64>,
    /// The server's message for the first refused tick.
    pub refusal: Option<String>,
    /// Ticks that the server refused.
    pub refused: u64,
    /// Ticks that did not fit in the transport's queue.
    pub not_sent: u64,
    /// Ticks that were sent and neither answered nor coalesced.
    pub never_answered: u64,
    /// Answers that match no pending tick.
    pub out_of_order: u64,
    /// Servo samples of the first client's device.
    pub servo: ServoTally,
    /// Answers that broke a promise of the contract.
    pub unsound: u64,
    /// Problem of the first unsound answer.
    pub problem: Option<String>,
    /// Ticks whose answer came too late.
    pub late: LateTicks,
    /// Time from a tick's bytes to the message of its answer, as reported by the server.
    pub server: Latencies,
    /// Forces and depths that a hand would have felt.
    pub renderings: Renderings,
    deadline: Duration,
    miss_run: u64,
    pending: VecDeque<Pending>,
    /// Arrival of the last answers, and the server's time for each.
    recent: VecDeque<(Instant, Duration)>,
    soundness: Soundness,
}

/// A tick that waits for its answer.
#[derive(Clone, Copy, Debug)]
struct Pending {
    sequence: u64,
    intended: Instant,
    /// Instant of sending; `None` if the tick did not fit in the transport's queue.
    sent: Option<Instant>,
}

/// Answers remembered as the server's work during a late tick: a slow answer also delays the answers behind it.
const RECENT_MAX: usize = 16;

impl Tally {
    /// Returns an empty tally; a tick answered later than `deadline` is missed.
    pub fn new(deadline: Duration) -> Tally {
        Tally { deadline, ..Tally::default() }
    }

    /// Records a tick that was sent; sequences rise.
    pub fn sent(&mut self, sequence: u64, intended: Instant, now: Instant) {
        self.timeline.begin(intended);
        self.sent += 1;
        self.send_late.record(now - intended);
        self.pending.push_back(Pending { sequence, intended, sent: Some(now) });
    }

    /// Records a tick that did not fit in the transport's queue.
    pub fn not_sent(&mut self, sequence: u64, intended: Instant, now: Instant) {
        self.sent(sequence, intended, now);
        self.not_sent += 1;
        self.pending.back_mut().expect("just put there").sent = None;
    }

    /// Records an answer: it closes its own tick and all older ones.
    pub fn answered(&mut self, answer: &TrackResponse, now: Instant) {
        // Pending ticks are in the order of their sequences, because they are added in the order of their instants.
        let closed = self.pending.partition_point(|tick| tick.sequence <= answer.sequence);
        let is_own = |tick: &Pending| tick.sequence == answer.sequence && tick.sent.is_some();
        let is_awaited = closed > 0 && is_own(&self.pending[closed - 1]);
        self.out_of_order += u64::from(!is_awaited);
        // The server's time is noted before ticks are closed: a late tick reads it, and its own answer is part of it.
        self.note_server(answer, now);
        let older = closed.saturating_sub(1);
        // The newest of the older ticks were coalesced; the server has not seen those before them.
        let n_sent = self.pending.range(..older).filter(|tick| tick.sent.is_some()).count();
        let mut lost = n_sent.saturating_sub(answer.coalesced as usize);
        for number in 0..closed {
            let tick = self.pending.pop_front().expect("counted above");
            if number < older && tick.sent.is_some() && lost > 0 {
                lost -= 1;
                self.never_answered += 1;
                self.close(&tick, None);
            // This tick is missed through no fault of the server, which never saw it.
            } else if tick.sent.is_none() {
                self.close(&tick, None);
            } else if number == older && answer.refusal.is_some() {
                self.refused += 1;
                self.close(&tick, None);
            } else {
                self.coalesced += u64::from(number < older);
                self.close(&tick, Some(now));
                if number == older {
                    let compute = Duration::from_secs_f64(1e-6 * answer.compute_us.max(0.0));
                    self.outside.record((now - tick.intended).saturating_sub(compute));
                }
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

    /// Ends the tally: ticks still pending were never answered.
    pub fn finish(&mut self) {
        for tick in std::mem::take(&mut self.pending) {
            self.never_answered += u64::from(tick.sent.is_some());
            self.close(&tick, None);
        }
    }

    /// Returns the number of ticks that wait for their answer.
    pub fn n_pending(&self) -> usize {
        self.pending.len()
    }

    /// Adds another client's counts.
    pub fn add(&mut self, other: &Tally) {
        self.sent += other.sent;
        self.answered += other.answered;
        self.coalesced += other.coalesced;
        self.missed += other.missed;
        // The longest run is per client: ticks that two clients miss are not consecutive.
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
        self.refused += other.refused;
        self.not_sent += other.not_sent;
        self.never_answered += other.never_answered;
        self.out_of_order += other.out_of_order;
        self.unsound += other.unsound;
        self.problem = self.problem.take().or_else(|| other.problem.clone());
        if self.servo.samples == 0 {
            self.servo = other.servo.clone();
        }
        self.late.add(&other.late);
        self.server.add(&other.server);
        self.renderings.add(&other.renderings);
    }

    /// Records the outcome of the next tick in order.
    fn close(&mut self, tick: &Pending, answered: Option<Instant>) {
        let intended = tick.intended;
        let round_trip = answered.map(|answered| answered - intended);
        if let Some(round_trip) = round_trip {
            self.answered += 1;
            self.round_trip.record(round_trip);
        }
        let is_in_time = round_trip.is_some_and(|r| r <= self.deadline);
        if let (false, Some(answered), Some(sent)) = (is_in_time, answered, tick.sent) {
            let server = self.server_since(intended);
            self.late.note(LateTick { intended, sent, answered, server });
        }
        self.timeline.record(intended, round_trip, is_in_time);
        if is_in_time {
            self.miss_run = 0;
        } else {
            self.missed += 1;
            self.miss_run += 1;
            self.longest_miss_run = self.longest_miss_run.max(self.miss_run);
        }
    }

    /// Notes the server's time for an answer, as reported by the answer.
    fn note_server(&mut self, answer: &TrackResponse, now: Instant) {
        let Some(stages) = &answer.stages else { return };
        let us = stages.wait_us + stages.engine_us + stages.convert_us;
        let took = Duration::from_nanos((us * 1e3) as u64);
        self.server.record(took);
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((now, took));
    }

    /// Returns the server's time for this stream since an instant, counting only answers that came since then.
    fn server_since(&self, intended: Instant) -> Duration {
        // Work that began before the tick's instant counts from that instant only.
        let since = self.recent.iter().rev().take_while(|(came, _)| *came > intended);
        since.map(|(came, took)| (*took).min(*came - intended)).sum()
    }

    fn take(&mut self, answer: &TrackResponse) {
        if let Some(problem) = self.soundness.problem(answer) {
            self.unsound += 1;
            self.problem.get_or_insert(problem);
        }
        self.compute.record(Duration::from_nanos((answer.compute_us * 1e3) as u64));
        if let Some(stages) = &answer.stages {
            self.wait.record(Duration::from_nanos((stages.wait_us * 1e3) as u64));
            self.convert.record(Duration::from_nanos((stages.convert_us * 1e3) as u64));
        }
        self.answers += 1;
        // The size is measured by encoding: the transport returns a message without its size.
        self.answer_bytes += answer.encoded_len() as u64;
        let deformed = answer.tissues.iter().filter(|tissue| tissue.geometry_revision > 0);
        if let Some(age_us) = deformed.map(|tissue| tissue.age_us).max() {
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

/// Returns the contacts of all links, including those omitted from the answer.
pub fn n_contacts(answer: &TrackResponse) -> u32 {
    answer.links.iter().filter_map(|link| link.contacts.as_ref()).map(|c| c.total).sum()
}

/// Returns the least signed distance of any link, metres; `None` when no tissue is near.
pub fn nearest_m(answer: &TrackResponse) -> Option<f64> {
    // A lower bound is no distance: the true one may be far greater.
    let known = answer.links.iter().filter(|link| !link.is_lower_bound);
    known.map(|link| link.signed_distance_m).min_by(f64::total_cmp)
}
