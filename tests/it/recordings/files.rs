//! Damage to a recording's file: the process is killed, the disk is full, bytes are lost or changed.

use std::{fs, io::Cursor, path::Path, time::Duration};

use palpate::service::{
    recording::recorded::{Recording, TickMessages},
    replay::replay_recording,
};

use super::{
    equal::{ALL, ended, file_of, recording_server},
    performance::{Instrument, at, dent, end, furnish, play, rendered},
};
use crate::support::{
    folder::Folder,
    messages::{SCENE, start_message, tick_message},
    metrics::{get, value},
    process::Process,
    server::{TestServer, free_address},
};

/// Files end after 16 blocks of 1 KiB, and the next write fails.
const SHORT_FILES: [&str; 3] = ["sh", "-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\""];

/// Environment variables of a server process that records.
fn variables(folder: &Path) -> [(&'static str, String); 3] {
    let folder = folder.to_str().expect("UTF-8").to_owned();
    [
        ("PALPATE_RECORD_DIR", folder),
        ("PALPATE_STORE_SCENES", "false".to_owned()),
        ("PALPATE_TICKS_TIME_MAX", "60s".to_owned()),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_kill_9_leaves_is_read_up_to_its_last_whole_chunk() {
    let folder = Folder::new("killed");
    let variables = variables(&folder.0);
    let variables = variables.each_ref().map(|(name, value)| (*name, &**value));
    let mut process = Process::serve_with("127.0.0.1:0", &[], &variables);
    let mut server = TestServer::connect(process.address()).await;
    server.create(SCENE).await.expect("a new scene");
    furnish(&mut server, Instrument::Probe).await;
    let mut track = server.hand_fed(start_message(rendered())).await;
    // Runs for longer than a chunk is held back.
    for i in 1..=500 {
        if i % 20 == 0 {
            assert!(server.deform(vec![dent(i, 1e-5 * i as f32)]).await[0].is_ok());
        }
        track.ask(tick_message(at(i, 0.004 - 1.5e-5 * i as f64))).await.expect("answered");
        tokio::time::sleep(Duration::from_millis(4)).await;
    }
    process.signal("KILL");
    process.end();
    let recording = Recording::open(&file_of(&folder.0)).expect("it has whole chunks");
    assert!(recording.end.is_none());
    let n = recording.sessions[&1].ticks.len() as u64;
    let report = replay_recording(recording, &ALL, None).expect("a recording");
    assert!(report.is_equal() && report.broken_off.is_some(), "{report:?}");
    let [session] = &report.sessions[..] else { panic!("{report:?}") };
    // The last chunk may hold a tick without the deformation before it.
    assert!(session.equal > 100 && session.equal + session.not_comparable == n, "{report:?}");
    println!("{} of 500 ticks are left and equal", session.equal);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_ends_the_recording_and_ticks_go_on() {
    let folder = Folder::new("short-recordings");
    let metrics = free_address();
    let record = folder.0.join("recordings");
    let mut variables = variables(&record).to_vec();
    variables.push(("PALPATE_METRICS_LISTEN", metrics.to_string()));
    let variables: Vec<_> = variables.iter().map(|(n, v)| (*n, &**v)).collect();
    let mut process = Process::serve_keeping(&folder.0, &SHORT_FILES, &variables);
    let mut server = TestServer::connect(process.address()).await;
    server.create(SCENE).await.expect("a new scene");
    furnish(&mut server, Instrument::Probe).await;
    let mut track = server.hand_fed(start_message(rendered())).await;
    let mut sequence = 0;
    loop {
        for _ in 0..50 {
            sequence += 1;
            let answer = track.ask(tick_message(at(sequence, 0.0))).await.expect("answered");
            assert_eq!(answer.refusal, None);
        }
        let (_, text) = get(metrics, "/metrics").await;
        if value(&text, "palpate_record_ended_early_total") == 1.0 {
            assert!(value(&text, "palpate_record_bytes_total") > 0.0);
            break;
        }
        assert!(sequence < 100_000, "{text}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let answer = track.ask(tick_message(at(sequence + 1, 0.0))).await.expect("answered");
    assert_eq!(answer.refusal, None);
    let recording = Recording::open(&file_of(&record)).expect("it has whole chunks");
    assert!(recording.end.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_is_told_in_words_and_nothing_damaged_is_replayed() {
    let folder = Folder::new("damaged");
    let mut server = recording_server(&folder.0).await;
    furnish(&mut server, Instrument::Probe).await;
    play(&mut server).await;
    end(&mut server).await;
    let whole = ended(&file_of(&folder.0));
    let bytes = fs::read(file_of(&folder.0)).expect("there");
    let ticks = |recording: &Recording| -> Vec<TickMessages> {
        recording.sessions.values().flat_map(|s| s.ticks.values().cloned()).collect()
    };
    let all = ticks(&whole);
    let (mut n_refused, mut n_read) = (0, 0);
    for percent in 0..100 {
        let at = bytes.len() * percent / 100;
        let mut turned = bytes.clone();
        turned[at] ^= 0x10;
        for (what, damaged) in [("torn", &bytes[..at]), ("turned", &turned[..])] {
            match Recording::read(Cursor::new(damaged)) {
                // Everything that was read is true. Besides chunks, a file holds only data that replay does not use.
                Ok(recording) => {
                    n_read += 1;
                    assert!(all.starts_with(&ticks(&recording)), "{what} at {percent} %");
                }
                Err(error) => {
                    n_refused += 1;
                    assert!(!error.to_string().is_empty(), "{what} at {percent} %");
                }
            }
        }
    }
    println!("{n_refused} refused, {n_read} read");
    assert!(n_refused > 20 && n_read > 20);
    let other = b"not a recording, and long enough to be taken for one".as_slice();
    let refused = Recording::read(Cursor::new(other)).expect_err("no MCAP file");
    assert!(refused.to_string().contains("no MCAP file"), "{refused}");
}
