//! P10: ticks while all of a tissue of 70 k triangles deforms at 60 Hz, compared with ticks at rest, and with ticks
//! while a tissue on another server deforms likewise.
//!
//! A tick waits for no deformation, but on two cores it shares them with the writer (1.6 ms a frame), with the threads
//! that decode 420 kB in the background, and with the client that makes and sends them. The other server takes as much
//! of the cores and nothing else from these ticks: any further loss is due to the deformation of their own tissue.

use palpate::load::{
    report::picture::{Curve, Picture},
    run::plan::Plan,
    stage::Stage,
};

use crate::{
    run::{Figures, Run},
    served::{DEADLINE, Served, Side, liver_plan, stylus},
};

const DEFORM_HZ: f64 = 60.0;
/// Rate of the client on the other server, which is there because a run has one.
const BESIDE_HZ: f64 = 10.0;

/// A scene and the plan that runs in it.
type Staged = (Stage, Plan);

/// Prints two lines for each number of streams, and draws the distributions of one.
pub fn run(run: &mut Run) {
    let seconds = run.effort.of(2.0, 0.3);
    let (name, deforming) = liver_plan(run.effort, DEFORM_HZ, seconds);
    let (_, resting) = liver_plan(run.effort, 0.0, seconds);
    let [mut served, mut other] = [(); 2].map(|()| Served::start());
    let checksum = served.check(&resting, &stylus());
    let stage = |served: &mut Served, plan: Plan| (served.set_up(&plan), plan);
    let beside = |plan: &Plan| Plan { rate_hz: BESIDE_HZ, ..plan.clone() };
    let there = [beside(&resting), beside(&deforming)].map(|plan| stage(&mut other, plan));
    let mut here = [resting, deforming].map(|plan| stage(&mut served, plan));
    for n_clients in run.effort.of(&[1, 8, 32][..], &[1]) {
        here.iter_mut().for_each(|(_, plan)| plan.n_clients = *n_clients);
        let rounds = run.effort.of(9, 1);
        let sides = by_turns(rounds, (&mut served, &here), (&mut other, &there));
        let [resting, deforming, elsewhere] = &sides;
        let case = match n_clients {
            1 => format!("{name}/100%-at-{DEFORM_HZ}Hz"),
            n => format!("{name}/100%-at-{DEFORM_HZ}Hz/{n}-streams"),
        };
        run.line("P10", &case, checksum, against("at-rest", deforming, resting));
        let against_other = against("another-server-deforms", deforming, elsewhere);
        run.line("P10", &format!("{case}/elsewhere"), checksum, against_other);
        if *n_clients == 1 {
            run.picture("P10", picture(&sides));
        }
    }
}

/// Measures ticks at rest, while their tissue deforms, and while one on the other server does. The stages are at rest
/// and deforming.
fn by_turns(
    rounds: usize,
    (served, here): (&mut Served, &[Staged; 2]),
    (other, there): (&mut Served, &[Staged; 2]),
) -> [Side; 3] {
    let mut sides = [(); 3].map(|()| Side::new());
    for _ in 0..rounds {
        for (side, (at, beside)) in sides.iter_mut().zip([(0, 0), (1, 0), (0, 1)]) {
            let [(session, plan), (there, its_plan)] = [&here[at], &there[beside]];
            served.round_beside((session, plan), other, (there, its_plan), side);
        }
    }
    sides
}

fn picture([resting, deforming, elsewhere]: &[Side; 3]) -> String {
    let curve = |name, latencies| Curve { name, latencies };
    let curves = [
        curve("at rest", &resting.all.tally.round_trip),
        curve("deforming", &deforming.all.tally.round_trip),
        curve("another deforms", &elsewhere.all.tally.round_trip),
        curve("hiccups, at rest", &resting.all.hiccups),
        curve("hiccups, deforming", &deforming.all.hiccups),
    ];
    let picture = Picture {
        title: "Round trips of ticks, P10",
        curves: &curves,
        timeline: None,
        felt: &[],
        at_device: &[],
        has_materials: false,
        deadline_us: DEADLINE.as_secs_f64() * 1e6,
    };
    picture.svg().expect("a picture")
}

fn against(name: &str, ours: &Side, peer: &Side) -> String {
    let of_both = |what: &str, figure: &dyn Fn(&Side) -> f64| {
        let (ours, peer) = (figure(ours), figure(peer));
        format!("ours_{what}={} peer_{what}={}", Figures(ours), Figures(peer))
    };
    let times = |figure: &dyn Fn(&Side) -> f64| figure(ours) / figure(peer);
    let (round_trip, compute) = (|s: &Side| s.round_trip_us(99.0), |s: &Side| s.compute_us(99.0));
    let hiccup = |s: &Side| s.all.hiccups.percentile_us(99.0).unwrap_or(0.0);
    format!(
        "peer={name} {} times={:.2} {} compute_times={:.2} {} ours_missed={:.2}% peer_missed={:.2}% {} update_us={}",
        of_both("p99_us", &round_trip),
        times(&round_trip),
        of_both("compute_p99_us", &compute),
        times(&compute),
        of_both("us", &|s| s.round_trip_us(50.0)),
        ours.missed_percent(),
        peer.missed_percent(),
        of_both("hiccup_p99_us", &hiccup),
        Figures(ours.all.deformations.update.percentile_us(50.0).unwrap_or(0.0)),
    )
}
