//! Layer 4: `palpate replay`, which plays a recording through the engine and says where an answer is another than then.

use std::{fmt::Write, num::NonZero, path::PathBuf, thread::available_parallelism};

use clap::Args;

use crate::{
    geometry::lanes::use_narrow,
    service::recording::replay::{
        ReplayError, ReplayOptions, ReplayReport, ReplayStop, SessionReplay, replay,
    },
    store::{FieldCache, default_data_dir},
};

/// The arguments of `palpate replay`.
#[derive(Args)]
pub struct ReplayArgs {
    /// A recording: of `palpate serve --record` or `palpate demo --record`.
    file: PathBuf,
    /// Stop each haptic loop behind this sequence.
    #[arg(long, value_name = "SEQ")]
    until: Option<u64>,
    /// Print the tick of this sequence, its recorded answer and the one that it gets now.
    #[arg(long, value_name = "SEQ")]
    dump: Option<u64>,
    /// Recorded seconds in one second; 1 is real time [default: as fast as it goes].
    #[arg(long, value_name = "X", value_parser = speed)]
    speed: Option<f64>,
    /// Haptic loops that are replayed at a time [default: one for each core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Only with the instructions that every processor has, as a server with runtime.wide_instructions = false.
    #[arg(long)]
    narrow: bool,
    /// Folder whose built distance fields are used and added to; the server's own default when it is left out.
    #[arg(long, env = "PALPATE_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

/// Why the exit code is none of success.
#[derive(Debug, thiserror::Error)]
pub enum ReplayFailed {
    /// It is no recording, or a damaged one.
    #[error("{}: {source}", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// Why not.
        source: ReplayError,
    },
    /// An answer is another than then.
    #[error("answers differ from the recorded ones")]
    Differs,
}

/// Of the cache of fields, should it have to be made: as a server's.
const FIELDS_BYTES_MAX: u64 = 4 << 30;
/// Slower or faster makes no sense, and could not be paced.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.001..=1000.0;

/// Replays a file and prints what that has shown.
///
/// # Errors
/// When it cannot be replayed, or an answer differs.
pub fn run(args: &ReplayArgs) -> Result<(), ReplayFailed> {
    if args.narrow {
        use_narrow();
    }
    let data_dir = args.data_dir.clone().or_else(default_data_dir);
    let cache = data_dir.map(|folder| FieldCache::new(&folder, FIELDS_BYTES_MAX));
    let cores = available_parallelism().map_or(1, NonZero::get);
    let options = ReplayOptions {
        until: args.until,
        dump: args.dump,
        speed: args.speed,
        threads: args.threads.map_or(cores, usize::from),
    };
    let report = replay(&args.file, &options, cache.as_ref());
    let report = report.map_err(|source| ReplayFailed::File { file: args.file.clone(), source })?;
    print!("{}", said(&report));
    if report.is_equal() { Ok(()) } else { Err(ReplayFailed::Differs) }
}

fn said(report: &ReplayReport) -> String {
    let mut text = String::new();
    let mut line =
        |text_of_line: String| writeln!(text, "{text_of_line}").expect("a String takes all");
    let ReplayReport { version, scene, n_changes, equal_changes, .. } = report;
    line(format!("scene {scene:?}, recorded by palpate {version}"));
    if let Some(reason) = &report.broken_off {
        line(format!("the recording ended early: {reason}"));
    }
    if report.dropped_ticks > 0 {
        line(format!("{} ticks are missing, as the disk did not keep up", report.dropped_ticks));
    }
    line(format!("changes: {equal_changes} of {n_changes} answered as then"));
    match &report.changes_stopped {
        Some(ReplayStop::Differs(difference)) => line(format!("  first difference: {difference}")),
        Some(ReplayStop::Lacks(what)) => line(format!("  not comparable: {what}")),
        None => {}
    }
    for session in &report.sessions {
        let SessionReplay { session: number, equal, cut_short, coalesced, .. } = session;
        line(format!(
            "session {number}: {equal} answers equal bit for bit ({cut_short} cut short by the clock), {coalesced} \
             coalesced, {} while not served, {} not comparable",
            session.not_served, session.not_comparable
        ));
        match &session.stopped {
            Some((sequence, ReplayStop::Differs(difference))) => {
                line(format!("  first difference, at sequence {sequence}: {difference}"));
            }
            Some((sequence, ReplayStop::Lacks(what))) => {
                line(format!(
                    "  not comparable from sequence {sequence} on: the recording lacks {what}"
                ));
            }
            None => {}
        }
        if let Some(dump) = &session.dump {
            line(dump.clone());
        }
    }
    text
}

fn speed(text: &str) -> Result<f64, String> {
    let got: f64 = text.parse().map_err(|e| format!("{e}"))?;
    let expected = || format!("got {got}, expected {} to {}", SPEEDS.start(), SPEEDS.end());
    SPEEDS.contains(&got).then_some(got).ok_or_else(expected)
}
