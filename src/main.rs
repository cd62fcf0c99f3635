//! The command line.

use std::{error::Error, process::ExitCode};

use clap::{Parser, Subcommand};
use palpate::inspect::{self, InspectArgs};

/// Haptic collision for virtual surgery: where instruments touch soft tissue, a thousand times a second.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check a mesh file and report what a scene would make of it.
    Inspect(InspectArgs),
}

fn main() -> ExitCode {
    match run(Args::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Inspect(args) => Ok(inspect::run(&args)?),
    }
}
