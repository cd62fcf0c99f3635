//! The command line.

use std::{error::Error, fs, path::PathBuf, process::ExitCode, sync::LazyLock, time::Duration};

use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use palpate::{
    config::{ConfigArgs, LogFormat, LogSettings, SettingArgs},
    doctor::{self, DoctorArgs},
    inspect::{self, InspectArgs},
    load::{self, DemoArgs, LoadArgs, LoadError},
    os::{self, stdout::print},
    plan::{self, PlanArgs},
    replay::{self, ReplayArgs, ReplayFailed},
    scene_files::{self, ScenesArgs},
    service,
};
use tokio::runtime;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Haptic collision for virtual surgery: the contacts of instruments with soft tissue, a thousand times a second.
#[derive(Parser)]
#[command(version, long_version = VERSION.as_str(), arg_required_else_help = true)]
#[command(after_help = EXIT_CODES)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server.
    Serve(ServeArgs),
    /// Check settings and print them.
    Config(ConfigArgs),
    /// Show a demonstration: an instrument against an organ that deforms, at 1 kHz over gRPC, with measurements.
    Demo(DemoArgs),
    /// Drive a server with paced haptic clients and report the measurements.
    Load(Box<LoadArgs>),
    /// Check a mesh file and report what a scene would make of it.
    Inspect(InspectArgs),
    /// Report this machine's fitness for a 1 kHz loop.
    Doctor(DoctorArgs),
    /// List the scenes of a running server; look at the scenes that a server has kept, and carry them elsewhere.
    Scenes(ScenesArgs),
    /// Compute how many machines a number of scenes needs, and simulate failures and upgrades on them.
    Plan(Box<PlanArgs>),
    /// Replay a recording through the engine, and report where an answer differs.
    Replay(ReplayArgs),
    /// Print the licences of the third-party software that this program contains.
    Licenses,
    /// Print a script that completes the commands and options of this program in a shell.
    Completions { shell: Shell },
    /// Write the man pages of this program and its commands into a folder.
    Man { folder: PathBuf },
}

#[derive(Args)]
struct ServeArgs {
    #[command(flatten)]
    settings: SettingArgs,
    /// Stop as at SIGTERM when standard input closes, for a program whose server ends with it, however it ends.
    #[arg(long)]
    until_stdin_closes: bool,
}

/// Exit code of a run that was carried out and failed its check; clap exits with 2.
const CHECK_FAILED: u8 = 3;
const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  failure
  2  wrong usage
  3  load and demo: an objective was missed, or answers were wrong or missing; replay: an answer differs";

/// Written by `.ci/third_party`.
const THIRD_PARTY: &str = include_str!("../THIRD-PARTY.txt");

/// Time limit for work under way after the server has ended.
const ENDING_MAX: Duration = Duration::from_secs(1);

/// The version of this build, its optional features, and the page that it contains.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let features = [
        ("agones", cfg!(feature = "agones")),
        ("azure", cfg!(feature = "azure")),
        ("gcs", cfg!(feature = "gcs")),
        ("mimalloc", cfg!(feature = "mimalloc")),
        ("otlp", cfg!(feature = "otlp")),
        ("s3", cfg!(feature = "s3")),
    ];
    let built = features.iter().filter(|(_, is_built)| *is_built).map(|(name, _)| *name);
    let built = built.collect::<Vec<_>>().join(" ");
    let built = if built.is_empty() { "none" } else { &built };
    let page = if cfg!(has_page) { "included" } else { "not included" };
    format!("{}\nfeatures: {built}\nlive view: {page}", env!("CARGO_PKG_VERSION"))
});

fn main() -> ExitCode {
    match run(CommandLine::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("palpate: {error}");
            if is_failed_check(&*error) { CHECK_FAILED.into() } else { ExitCode::FAILURE }
        }
    }
}

/// Returns true if the run was carried out, and its measurements or answers are not the expected ones.
fn is_failed_check(error: &(dyn Error + 'static)) -> bool {
    let is_load = error.downcast_ref().is_some_and(LoadError::is_failed_check);
    is_load || matches!(error.downcast_ref(), Some(ReplayFailed::Differs))
}

fn run(command: Command) -> Result<(), Box<dyn Error>> {
    if !matches!(command, Command::Serve(_)) {
        service::log::start(&LogSettings { format: LogFormat::Text, ..LogSettings::default() });
    }
    match command {
        Command::Serve(args) => serve(&args),
        Command::Config(args) => {
            let config = args.load()?;
            service::check_files(&config)?;
            Ok(print(&(config.changes() + &config.to_toml()))?)
        }
        Command::Demo(args) => Ok(load::demo(&args)?),
        Command::Load(args) => Ok(load::load(&args)?),
        Command::Inspect(args) => Ok(inspect::run(&args)?),
        Command::Doctor(args) => Ok(print(&doctor::run(&args))?),
        Command::Scenes(args) => Ok(print(&scene_files::run(&args)?)?),
        Command::Plan(args) => Ok(print(&plan::run(&args)?)?),
        Command::Replay(args) => Ok(replay::run(&args)?),
        Command::Licenses => Ok(print(THIRD_PARTY)?),
        Command::Completions { shell } => {
            // Into memory first: the generator panics if a write fails.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut CommandLine::command(), "palpate", &mut script);
            Ok(print(&String::from_utf8(script)?)?)
        }
        Command::Man { folder } => {
            let written = fs::create_dir_all(&folder)
                .and_then(|()| clap_mangen::generate_to(CommandLine::command(), &folder));
            Ok(written.map_err(|error| format!("cannot write {}: {error}", folder.display()))?)
        }
    }
}

fn serve(args: &ServeArgs) -> Result<(), Box<dyn Error>> {
    let config = &args.settings.load()?;
    os::heap::share();
    // A single runtime serves all streams, a thread per core. A single thread gave p50 of eight clients 785 to 1,119 us
    // instead of 755 to 841. Two servers of one thread, each on a core of its own, had 1,067 to 1,224 us, one server of
    // two threads 759 to 908: work that waits for a busy core cannot go to the other.
    let mut runtime = runtime::Builder::new_multi_thread();
    if config.runtime.threads > 0 {
        runtime.worker_threads(config.runtime.threads);
    }
    // A worker that always has work looks at sockets after this many polls, one of which may be a tick of milliseconds;
    // at the default of 61 a client waited a quarter of a second next to two streams of such ticks.
    runtime.event_interval(4);
    let runtime = runtime.enable_all().build()?;
    // The log starts in the runtime: traces, if they are built in, are sent from it.
    let log = runtime.block_on(async { service::log::start(&config.log) });
    let served = runtime.block_on(service::run(config, args.until_stdin_closes));
    log.end();
    // An upload's field may take minutes to build; its client is gone.
    runtime.shutdown_timeout(ENDING_MAX);
    Ok(served?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn a_failed_check_is_told_from_a_failure() {
        let objective = LoadError::Objective { asked: "max=1ms".to_owned() };
        let checks: [Box<dyn Error>; 2] = [objective.into(), ReplayFailed::Differs.into()];
        assert!(checks.iter().all(|error| is_failed_check(&**error)));
        let failures: [Box<dyn Error>; 3] = [
            LoadError::Interrupted.into(),
            ReplayFailed::NoTick { sequence: 7 }.into(),
            std::io::Error::other("a disk").into(),
        ];
        assert!(!failures.iter().any(|error| is_failed_check(&**error)));
    }
}
