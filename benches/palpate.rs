//! The engine's speed with a peer beside it: `cargo bench -- P4`, all measures without a name, `--save` to
//! keep the lines under `benches/results`, and `--smoke` for a run of seconds that compares checksums.
//!
//! Every case compares answers first, then times both by turns in the same run, and ends with one line that
//! a script can read.

#[path = "../tests/allocation/counting.rs"]
mod counting;
#[path = "palpate/cubic.rs"]
mod cubic;
#[path = "palpate/guigue_devillers.rs"]
mod guigue_devillers;
#[path = "palpate/inputs.rs"]
mod inputs;
#[path = "palpate/moller.rs"]
mod moller;
#[path = "palpate/p1.rs"]
mod p1;
#[path = "palpate/p10.rs"]
mod p10;
#[path = "palpate/p12.rs"]
mod p12;
#[path = "palpate/p2.rs"]
mod p2;
#[path = "palpate/p3.rs"]
mod p3;
#[path = "palpate/p4.rs"]
mod p4;
#[path = "palpate/p5.rs"]
mod p5;
#[path = "palpate/p6.rs"]
mod p6;
#[path = "palpate/p7.rs"]
mod p7;
#[path = "palpate/p8.rs"]
mod p8;
#[path = "palpate/p9.rs"]
mod p9;
#[path = "palpate/patch.rs"]
mod patch;
#[path = "palpate/run.rs"]
mod run;
#[path = "palpate/served.rs"]
mod served;
#[path = "palpate/served_check.rs"]
mod served_check;
#[path = "palpate/turns.rs"]
mod turns;

use std::{env, process::ExitCode};

use counting::Counting;
use run::Run;
use turns::Effort;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What is measured, by its name in the targets.
type Measure = (&'static str, fn(&mut Run));

const MEASURES: &[Measure] = &[
    ("P1", p1::run),
    ("P2", p2::run),
    ("P3", p3::run),
    ("P4", p4::run),
    ("P5", p5::run),
    ("P6", p6::run),
    ("P7", p7::run),
    ("P8", p8::run),
    ("P9", p9::run),
    ("P10", p10::run),
    ("P11", p9::run_cpu),
    ("P12", p12::run),
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
    let (mut effort, mut save, mut names) = (Effort::Full, false, Vec::new());
    let known: Vec<&'static str> = MEASURES.iter().map(|(name, _)| *name).collect();
    for argument in env::args().skip(1) {
        match argument.as_str() {
            // Cargo's own.
            "--bench" => {}
            "--smoke" => effort = Effort::Smoke,
            "--save" => save = true,
            name => {
                let found = known.iter().find(|n| **n == name);
                let expected = || format!("got {name:?}, expected --smoke, --save or {known:?}");
                names.push(*found.ok_or_else(expected)?);
            }
        }
    }
    if names.is_empty() {
        names = known;
    }
    let mut run = Run::new(effort);
    for (_, measure) in MEASURES.iter().filter(|(name, _)| names.contains(name)) {
        measure(&mut run);
    }
    match (effort, save) {
        (_, true) => run.save(&names).map_err(|e| format!("cannot save: {e}")),
        (Effort::Smoke, false) => run.check(&names),
        (Effort::Full, false) => Ok(()),
    }
}
