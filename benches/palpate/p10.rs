//! P10: ticks while all of a tissue of 70 k triangles deforms at 60 Hz, against the same without.
//!
//! A tick waits for no deformation, but on two cores it shares them with the writer (1.6 ms a frame), with the threads that
//! decode 420 kB in the background, and with the client that makes and sends them. The hiccup meter, which takes part in
//! nothing, is later then too.

use palpate::load::{
    picture::{Curve, draw},
    session::Plan,
};

use crate::{
    run::{Figures, Run},
    served::{DEADLINE, Served, Side, liver_plan, stylus},
};

const DEFORM_HZ: f64 = 60.0;

/// Prints a line and draws both distributions.
pub fn run(run: &mut Run) {
    let seconds = run.effort.of(2.0, 0.3);
    let (name, deforming) = liver_plan(run.effort, DEFORM_HZ, seconds);
    let (_, resting) = liver_plan(run.effort, 0.0, seconds);
    let mut served = Served::start();
    let checksum = served.check(&resting, &stylus());
    let mut sides = [resting, deforming].map(|plan: Plan| {
        let session = served.set_up(&plan);
        (session, plan, Side::new())
    });
    for _ in 0..run.effort.of(9, 1) {
        for (session, plan, side) in &mut sides {
            served.round((session, plan), None, side);
        }
    }
    let [(_, _, resting), (_, _, deforming)] = sides;
    let text = format!(
        "ours_p99_us={} peer=at-rest peer_p99_us={} times={:.2} compute_p99_us={} \
         peer_compute_p99_us={} compute_times={:.2} ours_us={} peer_us={} update_us={} \
         hiccup_p99_us={} peer_hiccup_p99_us={}",
        Figures(deforming.round_trip_us(99.0)),
        Figures(resting.round_trip_us(99.0)),
        deforming.round_trip_us(99.0) / resting.round_trip_us(99.0),
        Figures(deforming.compute_us(99.0)),
        Figures(resting.compute_us(99.0)),
        deforming.compute_us(99.0) / resting.compute_us(99.0),
        Figures(deforming.round_trip_us(50.0)),
        Figures(resting.round_trip_us(50.0)),
        Figures(deforming.all.deformations.update.percentile_us(50.0).unwrap_or(0.0)),
        Figures(deforming.all.hiccups.percentile_us(99.0).unwrap_or(0.0)),
        Figures(resting.all.hiccups.percentile_us(99.0).unwrap_or(0.0)),
    );
    run.line("P10", &format!("{name}/100%-at-{DEFORM_HZ}Hz"), checksum, text);
    let curve = |name, latencies| Curve { name, latencies };
    let curves = [
        curve("at rest", &resting.all.tally.round_trip),
        curve("deforming", &deforming.all.tally.round_trip),
        curve("hiccups, at rest", &resting.all.hiccups),
        curve("hiccups, deforming", &deforming.all.hiccups),
    ];
    let deadline_us = DEADLINE.as_secs_f64() * 1e6;
    run.picture("P10", draw("Round trips of ticks, P10", &curves, None, deadline_us));
}
