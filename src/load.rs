//! `palpate demo` and `palpate load`: paced haptic clients over real gRPC, and what they saw.
//!
//! Times count from the instant at which a tick should have been sent, however late it was (no
//! coordinated omission). Each client is one thread that paces, sends and reads; the deformation has
//! another, with its own connection; a third only measures how late this machine wakes it.
//!
//! Of the server it knows the contract and the command line: its own server is a child process, `palpate serve`.

pub mod clients;
pub mod error;
pub mod report;
pub mod run;
pub mod stage;

use std::time::Duration;

pub use error::LoadError;
use report::{Baseline, RunReport, files, text::row};
pub use run::args::{DemoArgs, LoadArgs};
use run::{
    args::RunArgs,
    capacity::find_capacity,
    load_run::{LoadRun, RunOutcome},
    objective::ObjectiveVerdict,
    plan::Plan,
    workers::Ending,
};

use crate::os::{interrupt::Interrupt, stdout::print};

/// Runs `palpate demo`.
///
/// # Errors
/// When something does not run, or when an answer was wrong or missing. Not when ticks were late: that may be this
/// machine's doing.
pub fn demo(args: &DemoArgs) -> Result<(), LoadError> {
    let run = LoadRun::of_demo(args)?;
    let report = match run_and_report(&run, &args.run) {
        // It has no other end.
        Err(LoadError::Interrupted) if run.plan.is_guided => return Ok(()),
        reported => reported?.0,
    };
    match report.verdict.wrong() {
        Some(what) => Err(LoadError::Wrong { what }),
        None => Ok(()),
    }
}

/// Runs `palpate load`.
///
/// # Errors
/// When something does not run, when fewer than 99 % of the ticks were answered, or when an objective is not
/// met.
pub fn load(args: &LoadArgs) -> Result<(), LoadError> {
    // Before anything is read or planned: the echo has no tissue and no tool.
    if let Some(answer_bytes) = args.echo_server {
        return echo(answer_bytes, Duration::from_micros(args.echo_takes_us));
    }
    let mut run = LoadRun::of_load(args)?;
    if args.find_capacity {
        return capacity(&mut run);
    }
    let (report, outcome) = run_and_report(&run, &args.run)?;
    if !report.is_answered() {
        let (sent, answered) = (report.ticks_sent, report.ticks_answered);
        return Err(LoadError::Unanswered {
            sent,
            answered,
            refusal: outcome.measured.tally.refusal,
        });
    }
    match report.objective {
        Some(ObjectiveVerdict { met: false, asked, .. }) => Err(LoadError::Objective { asked }),
        _ => Ok(()),
    }
}

/// Runs it, prints the report and writes its files.
#[tokio::main(flavor = "current_thread")]
async fn run_and_report(
    run: &LoadRun,
    files: &RunArgs,
) -> Result<(RunReport, RunOutcome), LoadError> {
    // The clients pace on threads and runtimes of their own, so one thread is enough for what is only waited for
    // here.
    let mut interrupt = Interrupt::catch()?;
    let outcome = run.run(&mut interrupt).await?;
    let mut report = RunReport::of(&outcome.measured, run.plan.deadline, &run.plan.force_path());
    report.baseline = outcome.echo.as_ref().map(|e| Baseline::of(e, &outcome.measured.tally));
    let tally = &outcome.measured.tally;
    report.objective = run.objective.as_ref().map(|o| ObjectiveVerdict::of(o, tally));
    print(&(heading(&run.plan, &outcome.server) + "\n" + &report.table()))?;
    // Kept until the verdict is printed: a file that cannot be written must not hide what the run has shown.
    let written = files::write(files, &report, &run.plan, &outcome);
    print(&report.said())?;
    written?;
    match outcome.ending {
        // An interrupted run is reported too, but its exit code must not look like that of a whole one.
        Ending::Interrupted => Err(LoadError::Interrupted),
        Ending::Done => Ok((report, outcome)),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn capacity(run: &mut LoadRun) -> Result<(), LoadError> {
    find_capacity(run, &mut Interrupt::catch()?).await
}

#[tokio::main]
// A thread for each core, as the server has by default: on one thread the echo would itself be what many clients wait
// for.
async fn echo(answer_bytes: usize, takes: Duration) -> Result<(), LoadError> {
    Ok(clients::echo::serve(answer_bytes, takes).await?)
}

/// What was run, above what was measured.
fn heading(plan: &Plan, server: &str) -> String {
    let mut text = String::new();
    row(&mut text, "run", &plan.line(server));
    row(&mut text, "tissue", &plan.organ.line());
    row(&mut text, "tool", &plan.instrument.label);
    text
}
