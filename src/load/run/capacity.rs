//! Search for the number of clients for which an objective holds.

use super::{args::CLIENTS_MAX, load_run::LoadRun, workers::Ending};
use crate::{
    load::error::LoadError,
    os::{interrupt::Interrupt, stdout::print},
};

/// Doubles the clients until the objective breaks, then bisects between the last two counts; prints a line for each run
/// and the most clients that met the objective.
///
/// # Errors
/// Returns an error if a run fails, or if the objective holds for no client at all.
pub async fn find_capacity(run: &mut LoadRun, interrupt: &mut Interrupt) -> Result<(), LoadError> {
    // Any number of clients above the maximum counts as broken without a run. The search thus ends after at most 9 runs
    // of doubling and 7 of halving.
    let (mut held, mut broke) = (0, CLIENTS_MAX + 1);
    while broke - held > 1 {
        let doubled = if held == 0 { 1 } else { (2 * held).min(CLIENTS_MAX) };
        // More clients are assumed never to be easier. The search starts from below, because a run far beyond the
        // capacity measures only overload.
        let n = if broke > CLIENTS_MAX { doubled } else { held.midpoint(broke) };
        if holds_for(run, n, interrupt).await? {
            held = n;
        } else {
            broke = n;
        }
    }
    let objective = run.objective.as_ref().map(ToString::to_string).unwrap_or_default();
    let rate_hz = run.plan.rate_hz;
    print(&format!("\ncapacity: {held} clients at {rate_hz} Hz hold {objective}\n"))?;
    if held == 0 { Err(LoadError::Objective { asked: objective }) } else { Ok(()) }
}

async fn holds_for(
    run: &mut LoadRun,
    n: u32,
    interrupt: &mut Interrupt,
) -> Result<bool, LoadError> {
    run.plan.n_clients = n;
    let outcome = run.run(interrupt).await?;
    if outcome.ending == Ending::Interrupted {
        return Err(LoadError::Interrupted);
    }
    let tally = &outcome.measured.tally;
    let Some(objective) = &run.objective else { return Ok(true) };
    print(&format!("{n:>4} clients: {}\n", objective.verdict(tally)))?;
    Ok(objective.is_met(tally))
}
