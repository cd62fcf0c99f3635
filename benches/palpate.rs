//! The engine's speed, compared with peers. `cargo bench -- P4` or `-- tissue_update` runs one measure, no name runs
//! all; `--save` writes the lines under `benches/results`, and `--smoke` runs for seconds and compares checksums.
//!
//! Every case compares answers first, then times both contestants alternately in one run, and ends with one line that a
//! script can read.

#[path = "palpate/attack.rs"]
mod attack;
#[path = "palpate/attacks.rs"]
mod attacks;
#[path = "palpate/continuous_test.rs"]
mod continuous_test;
#[path = "../tests/allocation/counting.rs"]
mod counting;
#[path = "palpate/cubic.rs"]
mod cubic;
#[path = "palpate/driven_update.rs"]
mod driven_update;
#[path = "palpate/grasper_tick.rs"]
mod grasper_tick;
#[path = "palpate/growth.rs"]
mod growth;
#[path = "palpate/guigue_devillers.rs"]
mod guigue_devillers;
#[path = "palpate/in_process.rs"]
mod in_process;
#[path = "palpate/inputs.rs"]
mod inputs;
#[path = "palpate/late_ticks.rs"]
mod late_ticks;
#[path = "palpate/memory_given_back.rs"]
mod memory_given_back;
#[path = "palpate/moller.rs"]
mod moller;
#[path = "palpate/patch.rs"]
mod patch;
#[path = "../tests/it/support/raw_http2.rs"]
#[allow(dead_code, reason = "tests do more by it")]
mod raw_http2;
#[path = "palpate/rendered_tick.rs"]
mod rendered_tick;
#[path = "palpate/round_trip.rs"]
mod round_trip;
#[path = "palpate/run.rs"]
mod run;
#[path = "palpate/served.rs"]
mod served;
#[path = "palpate/served_check.rs"]
mod served_check;
#[path = "palpate/servo_step.rs"]
mod servo_step;
#[path = "palpate/tick.rs"]
mod tick;
#[path = "palpate/ticks_under_deformation.rs"]
mod ticks_under_deformation;
#[path = "palpate/tissue_distance.rs"]
mod tissue_distance;
#[path = "palpate/tissue_memory.rs"]
mod tissue_memory;
#[path = "palpate/tissue_update.rs"]
mod tissue_update;
#[path = "palpate/tool_field.rs"]
mod tool_field;
#[path = "palpate/triangle_pairs.rs"]
mod triangle_pairs;
#[path = "palpate/triangle_test.rs"]
mod triangle_test;
#[path = "palpate/turns.rs"]
mod turns;

use std::{env, process::ExitCode};

use counting::Counting;
use run::Run;
use turns::Effort;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A measure: its id in the targets, its name, and its function.
type Measure = (&'static str, &'static str, fn(&mut Run));

const MEASURES: [Measure; 20] = [
    ("P1", "triangle_pairs", triangle_pairs::run),
    ("P2", "tissue_distance", tissue_distance::run),
    ("P3", "tool_field", tool_field::run),
    ("P4", "tissue_update", tissue_update::run),
    ("P5", "growth", growth::run),
    ("P6", "continuous_test", continuous_test::run),
    ("P7", "triangle_test", triangle_test::run),
    ("P8", "tick", tick::run),
    ("P8b", "grasper_tick", grasper_tick::run),
    ("P9", "round_trip", round_trip::run),
    ("P10", "ticks_under_deformation", ticks_under_deformation::run),
    ("P11", "server_cpu", round_trip::run_cpu),
    ("P12", "tissue_memory", tissue_memory::run),
    ("P13", "rendered_tick", rendered_tick::run),
    ("P14", "in_process", in_process::run),
    ("P15", "servo_step", servo_step::run),
    ("P16", "driven_update", driven_update::run),
    ("A1", "attacks", attacks::run),
    ("A2", "memory_given_back", memory_given_back::run),
    ("A3", "late_ticks", late_ticks::run),
];

fn main() -> ExitCode {
    match bench() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn bench() -> Result<(), String> {
    let (mut effort, mut save, mut ids) = (Effort::Full, false, Vec::new());
    let known: Vec<&'static str> = MEASURES.iter().map(|(id, ..)| *id).collect();
    for argument in env::args().skip(1) {
        match argument.as_str() {
            // Cargo passes this argument.
            "--bench" => {}
            "--smoke" => effort = Effort::Smoke,
            "--save" => save = true,
            asked => {
                let found = MEASURES.iter().find(|(id, name, _)| [*id, *name].contains(&asked));
                let names_known = MEASURES.map(|(id, name, _)| format!("{id} {name}")).join(", ");
                let expected =
                    || format!("got {asked:?}, expected --smoke, --save or {names_known}");
                ids.push(found.ok_or_else(expected)?.0);
            }
        }
    }
    if ids.is_empty() {
        ids = known;
    }
    let mut run = Run::new(effort);
    for (.., measure) in MEASURES.iter().filter(|(id, ..)| ids.contains(id)) {
        measure(&mut run);
    }
    match (effort, save) {
        (_, true) => run.save(&ids).map_err(|e| format!("cannot save: {e}")),
        (Effort::Smoke, false) => run.check(&ids),
        (Effort::Full, false) => Ok(()),
    }
}
