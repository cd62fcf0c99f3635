//! P9: the round trip of a tick compared with an echo of answers of equal size, at 1, 8 and 32 streams; and P11: the
//! server's processor time for each tick at 32 streams compared with the sum of the echo's and the engine's, also at a
//! rate that this machine sustains. P9 also compares the round trip over a Unix socket with that over TCP.
//!
//! With clients and server on two cores the floor is theirs: 8 clients at 1 kHz keep both busy, and a tick waits for
//! the ticks before it, each of which takes the engine's time that an echo does not take. So there is also an echo that
//! keeps a core busy as long.
//!
//! P11 exceeds its sum by 2 us that make the message of an answer, and by the kernel: 33 us a tick at 32 streams of 100
//! Hz, and 19 us of an echo, by `perf record`. Answers that come at once are one wake-up for many clients, and answers
//! that come a tick apart each wake a core that has gone idle. So P11 too measures an echo that keeps a core as busy:
//! it takes some 5 us more than the sum.

use palpate::load::run::plan::Plan;

use crate::{
    run::{Figures, Run},
    served::{Served, Side, bead, bead_plan, start},
};

const RATE_HZ: f64 = 1000.0;
/// Rate at which two cores answer each tick of 32 streams, clients included.
const SLOW_HZ: f64 = 100.0;
const PEER: &str = "tonic-echo";

/// Server that answers.
#[derive(Clone, Copy)]
enum By {
    Ours,
    OursByUnixSocket,
    Echo,
    /// An echo that keeps a core busy as long as the engine does in the mean of a round: each tick waits for equal work
    /// before it, but no answer takes particularly little or much.
    BusyEcho,
}

/// Prints lines for each number of streams.
pub fn run(run: &mut Run) {
    for n in run.effort.of(&[1, 8, 32][..], &[1]) {
        let contestants = [By::Ours, By::OursByUnixSocket, By::Echo, By::BusyEcho];
        let plan = bead_plan(*n, RATE_HZ, run.effort.of(1.0, 0.2));
        let one = Plan { n_clients: 1, ..plan.clone() };
        let ([ours, unix, echo, busy], checksum) = alternate(run, &plan, &one, contestants);
        let case = format!("{n}x{RATE_HZ}Hz");
        run.line("P9", &case, checksum, against(&ours, PEER, &echo) + &over_sum(&ours, &echo));
        run.line("P9", &format!("{case}/busy"), checksum, against(&ours, "busy-echo", &busy));
        run.line("P9", &format!("{case}/unix"), checksum, against(&unix, "tcp", &ours));
    }
}

fn against(ours: &Side, name: &str, peer: &Side) -> String {
    let of = |whose: &str, side: &Side| {
        let ((low, high), figures) = (side.range_us(), |us: f64| Figures(us).to_string());
        format!(
            "{whose}_us={} {whose}_range={}..{} {whose}_p99_us={} {whose}_missed={:.2}% \
             {whose}_cpu_us={}",
            figures(side.round_trip_us(50.0)),
            figures(low),
            figures(high),
            figures(side.round_trip_us(99.0)),
            side.missed_percent(),
            figures(side.cpu_us_per_tick()),
        )
    };
    let ratio = |percent| peer.round_trip_us(percent) / ours.round_trip_us(percent);
    format!(
        "{} peer={name} {} ratio={:.3} ratio_p99={:.3}",
        of("ours", ours),
        of("peer", peer),
        ratio(50.0),
        ratio(99.0),
    )
}

/// Compares with the target's reference: the echo's time and the engine's, as if no tick waited for another.
fn over_sum(ours: &Side, echo: &Side) -> String {
    let over = |percent| {
        ours.round_trip_us(percent) / (echo.round_trip_us(percent) + ours.compute_us(percent))
    };
    format!(
        " compute_us={} compute_p99_us={} over_sum_p50={:.3} over_sum_p99={:.3} answer_bytes={} \
         hiccup_p99_us={}",
        Figures(ours.compute_us(50.0)),
        Figures(ours.compute_us(99.0)),
        over(50.0),
        over(99.0),
        ours.answer_bytes(),
        Figures(ours.all.hiccups.percentile_us(99.0).unwrap_or(0.0)),
    )
}

/// Prints the line of P11.
pub fn run_cpu(run: &mut Run) {
    let n = run.effort.of(32, 1);
    for rate_hz in run.effort.of(&[SLOW_HZ, RATE_HZ][..], &[RATE_HZ]) {
        print_cpu(run, n, *rate_hz);
    }
}

fn print_cpu(run: &mut Run, n: u32, rate_hz: f64) {
    let plan = bead_plan(n, rate_hz, run.effort.of(1.0, 0.2));
    let contestants = [By::Ours, By::Echo, By::BusyEcho];
    let ([ours, echo, busy], checksum) = alternate(run, &plan, &plan, contestants);
    let compute = &ours.all.tally.compute;
    let per_tick = ours.all.tally.answers as f64 / ours.all.tally.sent as f64;
    let compute_us = compute.mean_us() * per_tick;
    let both = echo.cpu_us_per_tick() + compute_us;
    let text = format!(
        "ours_us={} peer={PEER} peer_us={} compute_us={} ratio={:.2} busy_echo_us={} ratio_busy={:.2} \
         answers_per_tick={per_tick:.2}",
        Figures(ours.cpu_us_per_tick()),
        Figures(echo.cpu_us_per_tick()),
        Figures(compute_us),
        both / ours.cpu_us_per_tick(),
        Figures(busy.cpu_us_per_tick()),
        busy.cpu_us_per_tick() / ours.cpu_us_per_tick(),
    );
    run.line("P11", &format!("{n}x{rate_hz}Hz"), checksum, text);
}

/// Runs rounds alternately; returns a sum over the compared answers. A busy echo takes as long as `timed` in the
/// engine.
fn alternate<const N: usize>(
    run: &Run,
    plan: &Plan,
    timed: &Plan,
    contestants: [By; N],
) -> ([Side; N], f64) {
    let mut served = Served::start();
    let checksum = served.check(plan, &bead());
    let session = served.set_up(plan);
    let mut first = Side::new();
    served.round((&session, timed), None, &mut first);
    let (bytes, takes) = (first.answer_bytes(), first.all.tally.compute.mean_us());
    let echo_of = |takes: f64| {
        let [bytes, takes] = [bytes.to_string(), (takes as u64).to_string()];
        start(&["load", "--echo-server", &bytes, "--echo-takes-us", &takes])
    };
    let (echo, busy) = (echo_of(0.0), echo_of(takes));
    let mut sides = [(); N].map(|()| Side::new());
    let unix = served.unix_address();
    for _ in 0..run.effort.of(9, 1) {
        for (by, side) in contestants.iter().zip(&mut sides) {
            match by {
                By::Ours => served.round((&session, plan), None, side),
                By::OursByUnixSocket => served.round_at((&session, plan), &unix, None, side),
                By::Echo => served.round((&session, plan), Some(&echo), side),
                By::BusyEcho => served.round((&session, plan), Some(&busy), side),
            }
        }
    }
    (sides, checksum)
}
