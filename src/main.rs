//! The command line.

use std::{error::Error, io, process::ExitCode, time::Duration};

use clap::{Parser, Subcommand};
use palpate::{
    inspect::{self, InspectArgs},
    load::{self, DemoArgs, LoadArgs},
    service::{self, ServeArgs},
};
use tracing_subscriber::EnvFilter;

/// Haptic collision for virtual surgery: where instruments touch soft tissue, a thousand times a second.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server.
    Serve(ServeArgs),
    /// See it work: an instrument against an organ that deforms, at 1 kHz over gRPC, and the figures.
    Demo(DemoArgs),
    /// Drive a server with paced haptic clients and report what they saw.
    Load(LoadArgs),
    /// Check a mesh file and report what a scene would make of it.
    Inspect(InspectArgs),
}

/// How long work off the runtime's threads may go on after the server has ended.
const BLOCKING_WORK_MAX: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
    match run(CommandLine::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("palpate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Serve(args) => serve(&args),
        Command::Demo(args) => Ok(load::demo(&args)?),
        Command::Load(args) => Ok(load::load(&args)?),
        Command::Inspect(args) => Ok(inspect::run(&args)?),
    }
}

fn serve(args: &ServeArgs) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(service::run(args));
    runtime.shutdown_timeout(BLOCKING_WORK_MAX);
    Ok(served?)
}
