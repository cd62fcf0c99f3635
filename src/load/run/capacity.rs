//! How many clients an objective holds for.

use super::args::CLIENTS_MAX;
use super::load_run::{Ending, Interrupt};
use crate::load::{LoadError, Run};

impl Run {
    /// Twice as many clients each time until the objective breaks, then between the last two; prints a line
    /// for each run and the most clients that held.
    #[tokio::main(flavor = "current_thread")]
    pub(in crate::load) async fn find_capacity(&mut self) -> Result<(), LoadError> {
        let mut interrupt = Interrupt::catch()?;
        let (mut held, mut broke) = (0, CLIENTS_MAX + 1);
        while broke - held > 1 {
            let doubled = if held == 0 { 1 } else { (2 * held).min(CLIENTS_MAX) };
            let n = if broke > CLIENTS_MAX { doubled } else { held.midpoint(broke) };
            if self.holds_for(n, &mut interrupt).await? {
                held = n;
            } else {
                broke = n;
            }
        }
        let objective = self.objective.as_ref().map(ToString::to_string).unwrap_or_default();
        println!("\ncapacity: {held} clients at {} Hz hold {objective}", self.plan.rate_hz);
        if held == 0 { Err(LoadError::Objective { asked: objective }) } else { Ok(()) }
    }

    async fn holds_for(&mut self, n: u32, interrupt: &mut Interrupt) -> Result<bool, LoadError> {
        self.plan.n_clients = n;
        let outcome = self.measure(interrupt).await?;
        if outcome.ending == Ending::Interrupted {
            return Err(LoadError::Interrupted);
        }
        let tally = &outcome.measured.tally;
        let Some(objective) = &self.objective else { return Ok(true) };
        println!("{n:>4} clients: {}", objective.verdict(tally));
        Ok(objective.is_met(tally))
    }
}
