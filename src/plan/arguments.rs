//! The arguments of `palpate plan`.

use super::workload::{Faults, Machine, Workload};

/// What is to be carried, by what machines, and what is to happen to them.
#[derive(Clone, Debug, clap::Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub(super) workload: Workload,
    #[command(flatten)]
    pub(super) machine: Machine,
    /// Also play this many scenes, one after the other opened and closed, through failures and upgrades.
    #[arg(long, value_name = "SCENES", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(super) simulate: Option<u64>,
    /// Simulate so many machines instead of those that are needed.
    #[arg(long, value_name = "N", requires = "simulate", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) machines: Option<u64>,
    #[command(flatten)]
    pub(super) faults: Faults,
    /// Another seed plays another course of events; the same one the same.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Print the report as JSON.
    #[arg(long)]
    pub(super) json: bool,
}
