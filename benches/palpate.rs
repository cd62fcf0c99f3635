//! The engine's speed with a peer beside it: `cargo bench -- P1`, all cases without a name, and
//! `-- --smoke` for a run of seconds that shows only that it works.
//!
//! Every case compares answers first, then times both by turns in the same run, and ends with one line that
//! a script can read.

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
#[path = "palpate/p3.rs"]
mod p3;
#[path = "palpate/p6.rs"]
mod p6;
#[path = "palpate/p7.rs"]
mod p7;
#[path = "palpate/turns.rs"]
mod turns;

use std::{env, process::ExitCode};

use turns::Effort;

/// What is measured, by its name in the targets.
type Case = (&'static str, fn(Effort));

const CASES: &[Case] = &[("P1", p1::run), ("P3", p3::run), ("P6", p6::run), ("P7", p7::run)];

fn main() -> ExitCode {
    let (mut effort, mut names) = (Effort::Full, Vec::new());
    for argument in env::args().skip(1) {
        match argument.as_str() {
            // Cargo's own.
            "--bench" => {}
            "--smoke" => effort = Effort::Smoke,
            name if CASES.iter().any(|(n, _)| *n == name) => names.push(name.to_owned()),
            other => {
                let known: Vec<&str> = CASES.iter().map(|(name, _)| *name).collect();
                eprintln!("there is no case {other:?}; expected --smoke or one of {known:?}");
                return ExitCode::FAILURE;
            }
        }
    }
    for (name, run) in CASES {
        if names.is_empty() || names.iter().any(|n| n == name) {
            run(effort);
        }
    }
    ExitCode::SUCCESS
}
