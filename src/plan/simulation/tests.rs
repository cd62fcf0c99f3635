//! Tests of the simulation against its invariants and against closed forms.

use proptest::prelude::*;

use super::*;
use crate::plan::queueing::erlang_b;

/// Returns the defaults of the command line.
pub fn faults() -> Faults {
    Faults {
        scene_minutes: 45.0,
        mtbf_hours: 720.0,
        cut_off: 0.2,
        replace_s: 120.0,
        upgrade_hours: 168.0,
        lease_s: 3.0,
        lease_margin: 0.125,
        clock_error_ms: 100.0,
        edit_hz: 1.0,
        recover_ms: 1000.0,
        move_ms: 500.0,
        retry_ms: 250.0,
    }
}

fn calm() -> Faults {
    Faults { mtbf_hours: 1e12, upgrade_hours: 0.0, ..faults() }
}

fn workload(scenes: u64) -> Workload {
    Workload {
        scenes,
        loops: scenes,
        tick_us: 324.0,
        rate_hz: 1000.0,
        answer_bytes: 1600.0,
        triangles: 70_000,
        deform_hz: 60.0,
        moved: 0.1,
        field_mb: 32.0,
        links: 3,
    }
}

fn outcome(scenes: u64, faults: &Faults, machines: u64, each: u64, seed: u64) -> Outcome {
    Simulation::new(&workload(scenes), faults, machines, each).run(3000, seed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_scene_is_accounted_for(
        (scenes, machines, each) in (1u64..60, 1u64..8, 1u64..20),
        (mtbf_hours, upgrade_hours, cut_off) in (0.05f64..50.0, 0.2f64..50.0, 0.0f64..1.0),
        seed: u64,
    ) {
        let faults = Faults { mtbf_hours, upgrade_hours, cut_off, ..faults() };
        let done = outcome(scenes, &faults, machines, each, seed);
        prop_assert_eq!(done.asked_for, 3000);
        prop_assert_eq!(done.asked_for, done.unplaced + done.closed + done.open);
        prop_assert_eq!(done.open, 0);
        prop_assert!(done.gap_hours <= done.scene_hours + 1e-9, "{:?}", done);
        prop_assert_eq!(done.edits_lost, 0, "a margin of three times what clocks are off");
        let gaps = [done.after_failures, done.after_moves];
        for gap in gaps {
            prop_assert!(gap.p50_s <= gap.p99_s && gap.p99_s <= gap.max_s, "{:?}", gap);
        }
        // A gap after a failure is counted once, however often the scene failed within it.
        prop_assert!(done.after_failures.count <= done.taken_over + done.closed_in_a_gap);
    }

    #[test]
    fn a_seed_gives_one_course_of_events(seed: u64) {
        let faults = Faults { mtbf_hours: 5.0, ..faults() };
        let twice = [(); 2].map(|()| format!("{:?}", outcome(40, &faults, 4, 16, seed)));
        prop_assert_eq!(&twice[0], &twice[1]);
    }
}

#[test]
fn without_a_margin_edits_are_lost() {
    let faults = Faults {
        mtbf_hours: 1.0,
        cut_off: 1.0,
        clock_error_ms: 500.0,
        lease_margin: 0.0,
        retry_ms: 0.0,
        ..faults()
    };
    assert!(outcome(40, &faults, 4, 16, 1).edits_lost > 0, "clocks that are half a second off");
    let kept = Faults { lease_margin: 0.34, ..faults };
    let kept = outcome(40, &kept, 4, 16, 1);
    assert_eq!(kept.edits_lost, 0);
    assert!(
        kept.edits_by_cut_off_owners > 0,
        "owners that were cut off acknowledge until their lease ends"
    );
}

/// Scenes that arrive at random and are turned away when all places are taken: Erlang's loss system, independently of
/// the machines that have the places.
#[test]
fn as_many_are_turned_away_as_erlang_says() {
    const RUNS: u64 = 30;
    for (scenes, machines, each) in [(4, 1, 5), (12, 3, 5), (40, 4, 12)] {
        let shares: Vec<f64> = (0..RUNS)
            .map(|seed| {
                let run =
                    Simulation::new(&workload(scenes), &calm(), machines, each).run(20_000, seed);
                run.unplaced as f64 / run.asked_for as f64
            })
            .collect();
        let mean = shares.iter().sum::<f64>() / RUNS as f64;
        let variance = shares.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (RUNS - 1) as f64;
        let expected = erlang_b(machines * each, scenes as f64);
        // Five standard errors of the runs' mean. The runs begin empty, which hides fewer arrivals than there are
        // places to fill first.
        let start = (machines * each) as f64 / 20_000.0 * expected;
        let tolerance = 5.0 * (variance / RUNS as f64).sqrt() + start;
        assert!((mean - expected).abs() <= tolerance, "{mean} {expected} {tolerance}");
    }
}

/// A machine is away for a known time after each failure: its failures are a renewal process with that mean.
#[test]
fn machines_fail_as_often_as_they_are_told_to() {
    let faults = Faults { mtbf_hours: 2.0, upgrade_hours: 0.0, replace_s: 600.0, ..faults() };
    let done = Simulation::new(&workload(20), &faults, 10, 4).run(50_000, 3);
    let expected = 10.0 * done.hours / (faults.mtbf_hours + faults.replace_s / 3600.0);
    // The time to a failure has a standard deviation equal to its mean, so the count spreads no more than a Poisson
    // count.
    assert!(
        (done.failures as f64 - expected).abs() <= 5.0 * expected.sqrt(),
        "{} {expected}",
        done.failures
    );
}

/// With places for all, a scene of a crashed machine waits for the lease, a client's question and its turn to be read.
#[test]
fn gaps_are_those_of_lease_question_and_reading() {
    let faults = Faults {
        cut_off: 0.0,
        mtbf_hours: 10.0,
        upgrade_hours: 0.0,
        scene_minutes: 1e6,
        ..faults()
    };
    let done = Simulation::new(&workload(12), &faults, 24, 1).run(12, 5);
    let gaps = done.after_failures;
    // Each machine has one scene: no scene waits for another to be read. The wait is at least three quarters of a
    // lease, because of the interval of heartbeats, and at most a whole lease and a quarter until the last heartbeat
    // was seen; 0.1 s for a clock. A few machines fail while they read.
    assert!(gaps.count > 100, "{gaps:?}");
    assert!(
        gaps.p50_s >= 3.0 * 0.75 - 0.1 + 1.0 && gaps.p99_s <= 3.0 * 1.25 + 0.1 + 0.25 + 1.0,
        "{gaps:?}"
    );
}

#[test]
fn an_upgrade_moves_scenes_and_loses_none() {
    let faults = Faults { mtbf_hours: 1e12, upgrade_hours: 1.0, ..faults() };
    let done = Simulation::new(&workload(40), &faults, 5, 16).run(5000, 9);
    assert!(done.upgrades > 10 && done.moved > 100, "{done:?}");
    assert_eq!((done.edits_lost, done.closed_in_a_gap, done.taken_over), (0, 0, 0));
    assert!(done.after_moves.max_s <= 0.75 + 1e-9, "{:?}", done.after_moves);
    assert!(done.after_moves.count <= done.moved);
}
