//! A hostile client and a server, over gRPC: each answer is checked against what the client itself knows of the scene.
//!
//! The client makes random tissues and instruments, dents tissues until they cross themselves, cuts them, moves,
//! teleports and coalesces, sets deadlines that are too short, and compares each answer with brute force in `f64`:
//! winding numbers by solid angles, distances triangle by triangle, crossings of edges and faces. The client has all
//! positions because it sent them, and asks the engine for nothing. A fault is printed at once, with its episode:
//!
//! `PALPATE_TEST_SCALE=720 cargo test --release --test it -- --nocapture hostile` takes an hour; `PALPATE_SEED=N`
//! begins with the episode of that number. A failed run leaves a recording for `palpate replay`.

mod client;
mod fault;
mod instruments;
mod judge;
mod organs;
mod placed;
mod soup;
mod tally;
mod tissue;

use std::time::Duration;

use palpate::oracle::Random;
use tokio::time::Instant;

use crate::{
    seed::{Seed, scaled},
    support::{
        kept_recordings::KeptRecordings,
        server::{TestServer, with_kept_fields},
    },
};
use client::Episode;
use fault::Fault;
use tally::Tally;

/// Duration of a run at scale 1, and its least number of episodes.
const RUN: Duration = Duration::from_secs(5);
const EPISODES_MIN: u64 = 3;
/// Episodes that once found a fault: a blade and a ring that cross a sheet at the start of their path, reported beside
/// it.
const FOUND: [u64; 2] = [40_000_801, 40_001_558];
/// Episodes between two progress reports.
const TOLD_EVERY: u64 = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_to_a_hostile_client_is_wrong() {
    let seed = Seed::or(1_801);
    let recordings = KeptRecordings::new("hostile");
    let mut config = with_kept_fields();
    config.record.dir = Some(recordings.folder().to_owned());
    let mut server = TestServer::configured(config).await;
    let until = Instant::now() + RUN.mul_f64(scaled(1_000) as f64 / 1_000.0);
    let mut tally = Tally::default();
    for (n, number) in FOUND.into_iter().chain(seed.number()..).enumerate() {
        let n = n as u64;
        if n >= EPISODES_MIN && Instant::now() >= until {
            break;
        }
        let random = Random::new(number);
        Episode::begin(&mut server, number, random).await.run(&mut tally).await;
        if n % TOLD_EVERY == TOLD_EVERY - 1 {
            println!("{} episodes: {tally}", n + 1);
        }
    }
    println!("{tally}");
    assert!(tally.contacts_due > 100 && tally.met > 10 && tally.signs > 100, "{tally}");
    assert_eq!(tally.n_found(), 0, "{tally}");
}

/// A fault of each kind, put into some answers between the server and the judge, is found for what it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_in_an_answer_is_found() {
    let mut server = TestServer::configured(with_kept_fields()).await;
    for fault in Fault::ALL {
        let mut tally = Tally::default();
        // Bodies and a ball, slivers and a ring, an organ and a needle: few faults need more than the first episode.
        for number in [3, 5, 0] {
            let mut episode = Episode::begin(&mut server, number, Random::new(number)).await;
            episode.spoil(fault);
            episode.run(&mut tally).await;
            if tally.has(fault.found_as()) {
                break;
            }
        }
        assert!(tally.has(fault.found_as()), "{fault:?}: {tally}");
    }
}
