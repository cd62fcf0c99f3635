//! Golden digests: no answer has changed.
//!
//! A *conversation* is a fixed sequence of requests to the server's binary over real gRPC, each sent after the previous
//! one was answered. All its answers, without times and secrets ([`answer`]), make one digest; `golden/digests.txt`
//! lists the digest of each conversation. Servers with one thread and with several, with narrow instructions and with
//! wide ones, must give these digests; each builds its fields from scratch. `meshes` is not a conversation: it
//! distinguishes a machine that generates other meshes from a server that gives other answers.
//!
//! Each server records what it plays. The recordings of the server with narrow instructions are replayed here with wide
//! ones, and `tests/golden` has a few recordings of earlier builds ([`recordings`]).
//!
//! `PALPATE_SERVER_BIN` names the server of another build to test instead of this one's, such as
//! `target/release/palpate`. `PALPATE_GOLDEN=write` rewrites `digests.txt` and `tests/golden`, for a change that is
//! meant to change answers. `PALPATE_GOLDEN_DUMP=DIR` writes each conversation as text,
//! `DIR/CONFIGURATION/CONVERSATION.txt`: dump before and after a change, and `diff -r` shows the first answer that
//! differs.

mod answer;
mod configuration;
mod conversation;
mod digests;
mod path;
mod recordings;
mod script;
mod scripts;
mod stage;
mod surface;
mod tally;
mod transcript;

use std::{collections::BTreeMap, env, fs, path::PathBuf, thread, time::Instant};

use self::{
    configuration::{CONFIGURATIONS, Configuration},
    digests::Digests,
    script::play_all,
    stage::Stage,
};

/// Returns names and digests of one server's answers; writes the texts to their folder if one is requested.
fn digests_of(configuration: &Configuration, stages: &[Stage]) -> Digests {
    let server = configuration.start();
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    let transcripts = runtime.block_on(play_all(server.address, stages));
    if configuration.is_replayed() {
        recordings::replay_all(&server, transcripts.len());
    }
    if let Some(folder) = env::var_os("PALPATE_GOLDEN_DUMP") {
        let folder = PathBuf::from(folder).join(configuration.name);
        fs::create_dir_all(&folder).expect("a folder to dump to");
        for (name, transcript) in &transcripts {
            fs::write(folder.join(format!("{name}.txt")), transcript.text()).expect("room");
        }
    }
    let digests = transcripts.iter().map(|(name, t)| (name.clone(), t.digest()));
    Digests(digests.collect::<BTreeMap<_, _>>())
}

#[test]
fn no_answer_has_changed() {
    let started = Instant::now();
    let (stages, skipped) = Stage::all();
    let found: Vec<(&str, Digests)> = thread::scope(|scope| {
        let of = |c: &'static Configuration| {
            let stages = &stages;
            (c.name, scope.spawn(move || digests_of(c, stages)))
        };
        let running: Vec<_> = CONFIGURATIONS.iter().map(of).collect();
        running.into_iter().map(|(name, c)| (name, c.join().expect("no panic"))).collect()
    });
    let meshes = stage::digest_of_generated(&stages);
    let found = found.into_iter().map(|(name, d)| (name, d.with("meshes", meshes.clone())));
    let found: Vec<_> = found.collect();
    let n = found[0].1.0.len();
    println!("{n} digests of {} servers in {:.1?}", found.len(), started.elapsed());
    if !skipped.is_empty() {
        println!("without shared data, not checked: {}", skipped.join(", "));
    }
    let is_writing = env::var("PALPATE_GOLDEN").is_ok_and(|what| what == "write");
    let expected = if is_writing { found[0].1.clone() } else { Digests::read().without(&skipped) };
    let differences: Vec<String> = found
        .iter()
        .flat_map(|(configuration, got)| {
            let of = move |line: String| format!("{configuration}: {line}");
            expected.differences(got).into_iter().map(of)
        })
        .collect();
    assert!(differences.is_empty(), "answers have changed:\n{}", differences.join("\n"));
    if is_writing {
        assert!(skipped.is_empty(), "set PALPATE_DATA to write all digests");
        expected.write();
        println!("digests.txt is written");
    }
}
