//! Recordings are answered as they were recorded: those of the conversations, and those that `tests/golden` keeps.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use palpate::service::replay::{ReplayOptions, ReplayReport, replay};

use super::configuration::Started;
use crate::{
    recordings::{
        equal::{ended, file_of, recording_server},
        performance::{Instrument, TICKS, end, furnish, play},
    },
    support::{folder::Folder, program::under_test},
};

/// Number of equal answers to exceed. A few ticks of a conversation come when its scene is gone. Generated meshes alone
/// give 850.
const TICKS_MIN: u64 = 800;
/// Loops that are replayed at a time.
const REPLAY_THREADS: usize = 4;

/// Replays the recordings of a server, which has recorded so many `conversations`.
pub fn replay_all(server: &Started, conversations: usize) {
    let files = fs::read_dir(server.recordings()).expect("it records");
    let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("there").path()).collect();
    files.sort();
    assert!(files.len() >= conversations, "{} of {conversations} are recorded", files.len());
    let (mut n_equal, mut n_changes, mut n_together) = (0, 0, 0);
    for file in &files {
        ended(file);
        let report = replayed(file, server, 1);
        n_equal += report.sessions.iter().map(|session| session.equal).sum::<u64>();
        n_changes += report.equal_changes;
        if report.sessions.len() > 1 {
            let together = replayed(file, server, REPLAY_THREADS);
            // Equal reports have equal text, loop by loop.
            let [one, several] = [&report, &together].map(|report| format!("{report:?}"));
            assert_eq!(one, several, "{}", file.display());
            n_together += 1;
        }
    }
    println!(
        "{n_equal} answers and {n_changes} changes of {} recordings replayed, {n_together} of which have several loops \
         also on {REPLAY_THREADS} threads",
        files.len()
    );
    assert!(n_equal > TICKS_MIN, "{n_equal} answers");
    assert!(n_together > 0, "no conversation has several loops");
}

fn replayed(file: &Path, server: &Started, threads: usize) -> ReplayReport {
    let options = ReplayOptions { until: None, dump: None, threads };
    let report = replay(file, &options, Some(&server.fields()));
    let name = file.display();
    let report = report.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(report.is_equal() && report.changes_stopped.is_none(), "{name}: {report:#?}");
    for session in &report.sessions {
        assert_eq!(session.not_comparable, 0, "{name}: {session:#?}");
    }
    report
}

fn kept(instrument: Instrument) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    folder.join(format!("{}.mcap", instrument.name()))
}

/// Replaces the kept recording by one of this build.
async fn write_anew(instrument: Instrument) {
    let folder = Folder::new("golden-recordings");
    let mut server = recording_server(&folder.0).await;
    furnish(&mut server, instrument).await;
    play(&mut server).await;
    end(&mut server).await;
    ended(&file_of(&folder.0));
    fs::copy(file_of(&folder.0), kept(instrument)).expect("room");
}

/// Replays with narrow instructions and wide ones, in the build that `PALPATE_SERVER_BIN` names. Each recording has one
/// loop, so that threads do not matter: [`replay_all`] has several loops.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recordings_of_earlier_builds_are_answered_as_they_were() {
    let is_writing = env::var("PALPATE_GOLDEN").is_ok_and(|what| what == "write");
    let program = under_test();
    for instrument in Instrument::ALL {
        if is_writing {
            write_anew(instrument).await;
        }
        for arguments in [&[][..], &["--narrow"]] {
            let mut command = Command::new(&program);
            command.arg("replay").arg(kept(instrument)).args(arguments);
            command.env("PALPATE_DATA_DIR", env!("CARGO_TARGET_TMPDIR"));
            let done = command.output().expect("it was built");
            let said = String::from_utf8_lossy(&done.stdout);
            // The count includes the refused ticks.
            let all = format!("session 1: {} answers equal bit for bit", TICKS + 2);
            assert!(done.status.success() && said.contains(&all), "{instrument:?}: {said}");
        }
    }
}
