use super::*;
use crate::proto::{Contacts, LinkAnswer, Refusal};

const DEADLINE: Duration = Duration::from_micros(1000);

/// A client that sends a tick each millisecond.
struct Bench {
    started: Instant,
    tally: Tally,
}

impl Bench {
    fn sent(n: u64) -> Bench {
        let started = Instant::now();
        let mut tally = Tally::new(DEADLINE);
        for sequence in 0..n {
            let intended = started + Duration::from_millis(sequence);
            tally.sent(sequence, intended, intended);
        }
        Bench { started, tally }
    }

    /// Delivers `answer` `late_us` after the intended instant of its tick.
    fn answer(&mut self, answer: TrackResponse, late_us: u64) {
        let at = Duration::from_millis(answer.sequence) + Duration::from_micros(late_us);
        self.tally.answered(&answer, self.started + at);
    }
}

fn plain(sequence: u64) -> TrackResponse {
    TrackResponse { sequence, ..TrackResponse::default() }
}

#[test]
fn runs_of_misses_are_counted_over_late_and_lost_ticks() {
    let mut bench = Bench::sent(10);
    // Ticks: in time, exactly in time, two late, in time; 5 and 6 never; 7 late; 8 in time; 9 never.
    for (sequence, late_us) in [(0, 200), (1, 1000), (2, 1001), (3, 5000), (4, 10)] {
        bench.answer(plain(sequence), late_us);
    }
    bench.answer(plain(7), 1500);
    bench.answer(plain(8), 100);
    assert_eq!(bench.tally.n_pending(), 1);
    bench.tally.finish();
    let t = &bench.tally;
    assert_eq!((t.sent, t.answered, t.coalesced), (10, 7, 0));
    assert_eq!((t.missed, t.longest_miss_run), (6, 3));
}

#[test]
fn a_coalesced_tick_waits_for_the_answer_that_stands_for_it() {
    let mut bench = Bench::sent(4);
    // 0 was lost; 1 and 2 were coalesced into 3, which is 300 us late: 1 waited 2.3 ms, 2 1.3 ms.
    bench.answer(TrackResponse { coalesced: 2, ..plain(3) }, 300);
    let t = &bench.tally;
    assert_eq!((t.sent, t.answered, t.coalesced), (4, 3, 2));
    assert_eq!((t.missed, t.longest_miss_run), (3, 3));
    let p = t.round_trip.percentiles().expect("three");
    assert!((p.p50 / 1300.0 - 1.0).abs() < 1e-3 && (p.max / 2300.0 - 1.0).abs() < 1e-3, "{p:?}");
}

#[test]
fn a_refused_tick_is_not_answered() {
    let mut bench = Bench::sent(2);
    let refusal = Refusal { code: 3, field: "tick.tools".into(), message: "none".into() };
    bench.answer(TrackResponse { refusal: Some(refusal), ..plain(0) }, 100);
    bench.answer(plain(1), 100);
    let t = &bench.tally;
    assert_eq!((t.answered, t.missed, t.longest_miss_run), (1, 1, 1));
    assert_eq!(t.refusal.as_deref(), Some("tick.tools: none"));
}

#[test]
fn what_answers_say_is_summed_over_clients() {
    let link = |distance_m: f64, total| LinkAnswer {
        signed_distance_m: distance_m,
        contacts: Some(Contacts { total, ..Contacts::default() }),
        ..LinkAnswer::default()
    };
    let far = LinkAnswer { signed_distance_m: -9.0, is_lower_bound: true, ..link(0.0, 0) };
    let mut bench = Bench::sent(2);
    bench.answer(TrackResponse { links: vec![link(0.004, 3), far], ..plain(0) }, 100);
    assert_eq!(bench.tally.min_signed_distance_m, Some(0.004));
    bench.answer(TrackResponse { links: vec![link(-0.002, 5), link(0.1, 1)], ..plain(1) }, 100);
    let mut all = Bench::sent(3).tally;
    all.finish();
    all.add(&bench.tally);
    assert_eq!((all.contacts, all.contacts_max), (9, 6));
    assert_eq!(all.min_signed_distance_m, Some(-0.002));
    assert_eq!((all.sent, all.answered, all.missed, all.longest_miss_run), (5, 2, 3, 3));
    assert_eq!(Tally::default().round_trip.percentiles(), None);
}
