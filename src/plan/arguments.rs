//! Arguments of `palpate plan`.

use super::workload::{Faults, Machine, Workload};

/// Workload, machines, and faults of the simulation.
#[derive(Clone, Debug, clap::Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub(super) workload: Workload,
    #[command(flatten)]
    pub(super) machine: Machine,
    /// Also simulate this many scenes, one after the other opened and closed, through failures and upgrades.
    #[arg(long, value_name = "SCENES", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(super) simulate: Option<u64>,
    /// Simulate this many machines instead of those that are needed.
    #[arg(long, value_name = "N", requires = "simulate", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) machines: Option<u64>,
    #[command(flatten)]
    pub(super) faults: Faults,
    /// Seed of the simulation; equal seeds give equal courses of events.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Print the report as JSON.
    #[arg(long)]
    pub(super) json: bool,
}
