//! Layer 4: `palpate plan` computes how many machines a number of scenes needs, and simulates the scenes on them.
//!
//! `sizing` counts machines from measured figures (`figure`) and a given workload; `queueing` has the closed forms.
//! `simulation` runs scenes on that many machines through failures and upgrades. This module measures nothing, waits
//! for nothing and connects to nothing: equal arguments give equal text.

mod arguments;
mod figure;
mod queueing;
mod report;
mod simulation;
mod sizing;
mod text;
mod workload;

pub use arguments::PlanArgs;
pub use figure::{FIGURES, Figure};
pub use sizing::SizingError;

use report::PlanReport;
use simulation::Simulation;
use sizing::Sizing;

/// Runs `palpate plan` and returns the text to print.
///
/// # Errors
/// Returns an error if one scene exceeds the capacity of one machine.
pub fn run(args: &PlanArgs) -> Result<String, SizingError> {
    let sizing = Sizing::of(&args.workload, &args.machine)?;
    let simulation = args.simulate.map(|scenes| {
        let machines = args.machines.unwrap_or(sizing.machines);
        Simulation::new(&args.workload, &args.faults, machines, sizing.scenes_per_machine)
            .run(scenes, args.seed)
    });
    let mut assumptions = sizing::assumptions(&args.workload, &args.machine);
    if args.simulate.is_some() {
        assumptions.extend(simulation::assumptions(&args.faults));
    }
    let report = PlanReport { sizing, simulation, figures: FIGURES.to_vec(), assumptions };
    Ok(if args.json {
        serde_json::to_string_pretty(&report).expect("numbers and text") + "\n"
    } else {
        text::of(&report)
    })
}
