//! `palpate demo` and `palpate load`: paced haptic clients over real gRPC, and a report of their measurements.
//!
//! A tick's time counts from the instant at which the tick should have been sent, however late it was sent (no
//! coordinated omission). Each client is one thread that paces, sends and reads. Another thread, with its own
//! connection, deforms the tissue; a third thread only measures how late this machine wakes it.
//!
//! This module knows the contract and the command line, not the server's code: its own server is a child process,
//! `palpate serve`.

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
/// Returns an error if something does not run, or if an answer was wrong or missing. Late ticks are no error, because
/// this machine may have caused them.
pub fn demo(args: &DemoArgs) -> Result<(), LoadError> {
    let run = LoadRun::of_demo(args)?;
    let report = match run_and_report(&run, &args.run) {
        // A guided run ends only by an interrupt.
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
/// Returns an error if something does not run, if fewer than 99 % of the ticks were answered, or if an objective is not
/// met.
pub fn load(args: &LoadArgs) -> Result<(), LoadError> {
    // The echo runs before anything is read or planned: it has no tissue and no tool.
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

/// Executes the run, prints the report and writes its files.
#[tokio::main(flavor = "current_thread")]
async fn run_and_report(
    run: &LoadRun,
    files: &RunArgs,
) -> Result<(RunReport, RunOutcome), LoadError> {
    // The clients pace on threads and runtimes of their own, so this runtime only waits and needs one thread.
    let mut interrupt = Interrupt::catch()?;
    let outcome = run.run(&mut interrupt).await?;
    let mut report = RunReport::of(&outcome.measured, run.plan.deadline, &run.plan.force_path());
    report.baseline = outcome.echo.as_ref().map(|e| Baseline::of(e, &outcome.measured.tally));
    let tally = &outcome.measured.tally;
    report.objective = run.objective.as_ref().map(|o| ObjectiveVerdict::of(o, tally));
    let verdict = report.said();
    print(&format!("{verdict}\n{}\n{}", heading(&run.plan, &outcome.server), report.table()))?;
    files::write(files, &report, &run.plan, &outcome)?;
    match outcome.ending {
        // An interrupted run prints a report too, but its exit code must differ from that of a complete run.
        Ending::Interrupted => Err(LoadError::Interrupted),
        Ending::Done => Ok((report, outcome)),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn capacity(run: &mut LoadRun) -> Result<(), LoadError> {
    find_capacity(run, &mut Interrupt::catch()?).await
}

#[tokio::main]
// The echo has one thread per core, the server's default: on one thread the echo itself would become the bottleneck of
// many clients.
async fn echo(answer_bytes: usize, takes: Duration) -> Result<(), LoadError> {
    Ok(clients::echo::serve(answer_bytes, takes).await?)
}

/// Returns the description of the run that is printed above its measurements.
fn heading(plan: &Plan, server: &str) -> String {
    let mut text = String::new();
    row(&mut text, "run", &plan.line());
    row(&mut text, "server", server);
    row(&mut text, "tissue", &plan.organ.line());
    row(&mut text, "tool", &plan.instrument.label);
    text
}
