//! Recordings are answered as they were: those of the conversations, and those that are kept in `tests/golden`.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use palpate::service::recording::replay::{ReplayOptions, replay};

use super::configuration::Started;
use crate::{
    recordings::{
        equal::{ended, file_of, recording_server},
        performance::{Instrument, TICKS, end, furnish, play},
    },
    support::folder::Folder,
};

/// A few ticks of a conversation come while its scene is not there any more.
const TICKS_MIN: u64 = 2_000;

/// Replays what a server has recorded of so many conversations.
pub fn replay_all(server: &Started, conversations: usize) {
    let files = fs::read_dir(server.recordings()).expect("it records");
    let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("there").path()).collect();
    files.sort();
    assert!(files.len() >= conversations, "{} of {conversations} are recorded", files.len());
    let options = ReplayOptions { until: None, dump: None, speed: None, threads: 1, show_in: None };
    let (mut n_equal, mut n_changes) = (0, 0);
    for file in &files {
        ended(file);
        let report = replay(file, &options, Some(&server.fields()));
        let report = report.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let name = file.display();
        assert!(report.is_equal() && report.changes_stopped.is_none(), "{name}: {report:#?}");
        for session in &report.sessions {
            assert_eq!(session.not_comparable, 0, "{name}: {session:#?}");
            n_equal += session.equal;
        }
        n_changes += report.equal_changes;
    }
    println!("{n_equal} answers and {n_changes} changes of {} recordings replayed", files.len());
    assert!(n_equal > TICKS_MIN, "{n_equal} answers");
}

fn kept(instrument: Instrument) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    folder.join(format!("{}.mcap", instrument.name()))
}

/// Of this build, into the place of the kept ones.
async fn write_anew(instrument: Instrument) {
    let folder = Folder::new("golden-recordings");
    let mut server = recording_server(&folder.0).await;
    furnish(&mut server, instrument).await;
    play(&mut server).await;
    end(&mut server).await;
    ended(&file_of(&folder.0));
    fs::copy(file_of(&folder.0), kept(instrument)).expect("room");
}

/// With one thread and several, narrow instructions and wide ones, in whatever build `PALPATE_SERVER_BIN` names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recordings_of_earlier_builds_are_answered_as_they_were() {
    let is_writing = env::var("PALPATE_GOLDEN").is_ok_and(|what| what == "write");
    let program = env::var_os("PALPATE_SERVER_BIN")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_palpate")), PathBuf::from);
    for instrument in Instrument::ALL {
        if is_writing {
            write_anew(instrument).await;
        }
        for arguments in [&["--threads", "1"][..], &["--threads", "4"], &["--narrow"]] {
            let mut command = Command::new(&program);
            command.arg("replay").arg(kept(instrument)).args(arguments);
            command.env("PALPATE_DATA_DIR", env!("CARGO_TARGET_TMPDIR"));
            let done = command.output().expect("it was built");
            let said = String::from_utf8_lossy(&done.stdout);
            // The refused ticks too.
            let all = format!("session 1: {} answers equal bit for bit", TICKS + 2);
            assert!(done.status.success() && said.contains(&all), "{instrument:?}: {said}");
        }
    }
}
