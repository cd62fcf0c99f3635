//! P9: the round trip of a tick against an echo of answers of the same size, at 1, 8 and 32 streams; and P11:
//! the server's processor time for each tick at 32 streams against the echo's and the engine's together, at a rate
//! that this machine holds too. And the same round trip over a Unix socket against that over TCP.
//!
//! With clients and server on two cores the floor is theirs: 8 clients at 1 kHz keep both busy, and a tick waits for the
//! ticks before it, each of which takes the engine's time that an echo does not take.

use crate::{
    run::{Figures, Run},
    served::{Served, Side, bead, bead_plan, start},
};

const RATE_HZ: f64 = 1000.0;
/// At which two cores answer each tick of 32 streams, clients included.
const SLOW_HZ: f64 = 100.0;
const PEER: &str = "tonic-echo";

/// Prints a line for each number of streams.
pub fn run(run: &mut Run) {
    for n in run.effort.of(&[1, 8, 32][..], &[1]) {
        let Sides { ours, unix, echo, checksum } = alternate(run, *n, RATE_HZ);
        let both = |percent| echo.round_trip_us(percent) + ours.compute_us(percent);
        let (low, high) = ours.range_us();
        let (echo_low, echo_high) = echo.range_us();
        let tally = &ours.all.tally;
        let figures = |us: f64| Figures(us).to_string();
        let text = format!(
            "ours_us={} ours_range={}..{} ours_p99_us={} peer={PEER} peer_us={} peer_range={}..{} \
             peer_p99_us={} compute_us={} compute_p99_us={} over_sum_p50={:.3} over_sum_p99={:.3} \
             answer_bytes={} missed={:.2}% peer_missed={:.2}% hiccup_p99_us={}",
            figures(ours.round_trip_us(50.0)),
            figures(low),
            figures(high),
            figures(ours.round_trip_us(99.0)),
            figures(echo.round_trip_us(50.0)),
            figures(echo_low),
            figures(echo_high),
            figures(echo.round_trip_us(99.0)),
            figures(ours.compute_us(50.0)),
            figures(ours.compute_us(99.0)),
            ours.round_trip_us(50.0) / both(50.0),
            ours.round_trip_us(99.0) / both(99.0),
            tally.answer_bytes / tally.answers.max(1),
            100.0 * tally.missed as f64 / tally.sent as f64,
            100.0 * echo.all.tally.missed as f64 / echo.all.tally.sent as f64,
            figures(ours.all.hiccups.percentile_us(99.0).unwrap_or(0.0)),
        );
        run.line("P9", &format!("{n}x{RATE_HZ}Hz"), checksum, text);
        run.line("P9", &format!("{n}x{RATE_HZ}Hz/unix"), checksum, against_tcp(&unix, &ours));
    }
}

/// The server's Unix socket beside its TCP port.
fn against_tcp(unix: &Side, tcp: &Side) -> String {
    let ((low, high), (tcp_low, tcp_high)) = (unix.range_us(), tcp.range_us());
    format!(
        "ours_us={} ours_range={}..{} ours_p99_us={} peer=tcp peer_us={} peer_range={}..{} \
         peer_p99_us={} ratio={:.3} cpu_us={} peer_cpu_us={}",
        Figures(unix.round_trip_us(50.0)),
        Figures(low),
        Figures(high),
        Figures(unix.round_trip_us(99.0)),
        Figures(tcp.round_trip_us(50.0)),
        Figures(tcp_low),
        Figures(tcp_high),
        Figures(tcp.round_trip_us(99.0)),
        tcp.round_trip_us(50.0) / unix.round_trip_us(50.0),
        Figures(unix.cpu_us_per_tick()),
        Figures(tcp.cpu_us_per_tick()),
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
    let Sides { ours, echo, checksum, .. } = alternate(run, n, rate_hz);
    let compute = &ours.all.tally.compute;
    let per_tick = ours.all.tally.answers as f64 / ours.all.tally.sent as f64;
    let compute_us = compute.mean_us() * per_tick;
    let both = echo.cpu_us_per_tick() + compute_us;
    let text = format!(
        "ours_us={} peer={PEER} peer_us={} compute_us={} ratio={:.2} answers_per_tick={per_tick:.2}",
        Figures(ours.cpu_us_per_tick()),
        Figures(echo.cpu_us_per_tick()),
        Figures(compute_us),
        both / ours.cpu_us_per_tick(),
    );
    run.line("P11", &format!("{n}x{rate_hz}Hz"), checksum, text);
}

/// What was measured by turns.
struct Sides {
    ours: Side,
    unix: Side,
    echo: Side,
    checksum: f64,
}

fn alternate(run: &Run, n_clients: u32, rate_hz: f64) -> Sides {
    let plan = bead_plan(n_clients, rate_hz, run.effort.of(1.0, 0.2));
    let mut served = Served::start();
    let checksum = served.check(&plan, &bead());
    let session = served.set_up(&plan);
    let mut sides = Sides { ours: Side::new(), unix: Side::new(), echo: Side::new(), checksum };
    served.round((&session, &plan), None, &mut sides.ours);
    let bytes = sides.ours.all.tally.answer_bytes / sides.ours.all.tally.answers.max(1);
    let echo = start(&["load", "--echo-server", &bytes.to_string()]);
    sides.ours = Side::new();
    let unix = served.unix_address();
    for _ in 0..run.effort.of(9, 1) {
        served.round((&session, &plan), None, &mut sides.ours);
        served.round_at((&session, &plan), &unix, None, &mut sides.unix);
        served.round((&session, &plan), Some(&echo), &mut sides.echo);
    }
    sides
}
