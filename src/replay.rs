//! Layer 4: `palpate replay`, which replays a recording through the engine and reports where an answer differs.

mod summary;
mod watched;

use std::{io, num::NonZero, path::PathBuf, thread::available_parallelism};

use clap::Args;

use self::{
    summary::summary,
    watched::{WatchFailed, watch},
};
use crate::{
    config::{LiveViewArgs, LiveViewError},
    geometry::lanes::use_narrow,
    os::stdout::print,
    service::{
        recording::recorded::Recording,
        replay::{ReplayError, ReplayOptions, player::SPEEDS, replay},
    },
    store::{FieldCache, default_data_dir},
};

/// The arguments of `palpate replay`.
#[derive(Args)]
pub struct ReplayArgs {
    /// Recording of `palpate serve --record` or `palpate demo --record`.
    file: PathBuf,
    /// Stop each haptic loop after this sequence.
    #[arg(long, value_name = "SEQ")]
    until: Option<u64>,
    /// Print the tick of this sequence, its recorded answer and its answer now.
    #[arg(long, value_name = "SEQ", conflicts_with = "watch")]
    dump: Option<u64>,
    /// Recorded seconds in one second at which the live view begins; 1 is real time.
    #[arg(long, value_name = "X", value_parser = speed, default_value_t = 1.0, requires = "watch")]
    speed: f64,
    /// Haptic loops that are replayed at a time [default: one for each core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Use only instructions that every processor has, as a server with runtime.wide_instructions = false.
    #[arg(long)]
    narrow: bool,
    /// Folder whose built distance fields are used and added to [default: the server's own].
    #[arg(long, env = "PALPATE_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    live_view: LiveViewArgs,
}

impl ReplayArgs {
    fn failed(&self, source: ReplayError) -> ReplayFailed {
        ReplayFailed::File { file: self.file.clone(), source }
    }
}

/// A replay failed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayFailed {
    /// The file is no recording, or a damaged one.
    #[error("{}: {source}", file.display())]
    File {
        /// File as given.
        file: PathBuf,
        /// Reason.
        source: ReplayError,
    },
    /// There is no live view to show the recording in.
    #[error(transparent)]
    LiveView(#[from] LiveViewError),
    /// The recording could not be shown.
    #[error(transparent)]
    Watch(#[from] WatchFailed),
    /// The result cannot be printed.
    #[error("cannot print what was shown: {0}")]
    Print(#[from] io::Error),
    /// The tick to print was not played.
    #[error(
        "no haptic loop was played with a tick of sequence {sequence}, expected one of the recording (--dump)"
    )]
    NoTick {
        /// Sequence as given.
        sequence: u64,
    },
    /// An answer differs from the recording.
    #[error("answers differ from the recorded ones")]
    Differs,
}

/// Limit of the cache of fields if it has to be created: a server's default.
const FIELDS_BYTES_MAX: u64 = 4 << 30;

/// Replays a file and prints the result.
///
/// # Errors
/// Returns an error if the file cannot be replayed, or if an answer differs.
pub fn run(args: &ReplayArgs) -> Result<(), ReplayFailed> {
    if args.narrow {
        use_narrow();
    }
    let data_dir = args.data_dir.clone().or_else(default_data_dir);
    let cache = data_dir.map(|folder| FieldCache::new(&folder, FIELDS_BYTES_MAX));
    if let Some(place) = args.live_view.place()? {
        let recording = Recording::open(&args.file).map_err(|error| args.failed(error.into()))?;
        let until = args.until.unwrap_or(u64::MAX);
        return Ok(watch(recording, (until, args.speed), cache, place)?);
    }
    let cores = available_parallelism().map_or(1, NonZero::get);
    let threads = args.threads.map_or(cores, usize::from);
    let options = ReplayOptions { until: args.until, dump: args.dump, threads };
    let report = replay(&args.file, &options, cache.as_ref());
    let report = report.map_err(|source| args.failed(source))?;
    print(&summary(&report))?;
    if !report.is_equal() {
        return Err(ReplayFailed::Differs);
    }
    match args.dump {
        Some(sequence) if report.sessions.iter().all(|session| session.dump.is_none()) => {
            Err(ReplayFailed::NoTick { sequence })
        }
        _ => Ok(()),
    }
}

fn speed(text: &str) -> Result<f64, String> {
    let expected = || format!("expected a number from {} to {}", SPEEDS.start(), SPEEDS.end());
    text.parse().ok().filter(|speed| SPEEDS.contains(speed)).ok_or_else(expected)
}
