//! Random schedules: servers stop and go on, admins take scenes from any owner, and clocks run unequally.
//!
//! `PALPATE_TEST_SCALE=25 cargo test --test it -- --nocapture cluster::schedules` makes 200 of them.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use palpate::oracle::Random;

use super::{
    editors::{Editors, PAUSE, scene_id},
    owners::{furnish, known},
    take_over::taking,
    theatre::Theatre,
};
use crate::{
    seed::{Seed, scaled},
    support::server::TestServer,
};

/// Rates of the servers' clocks: nearly as unequal as the margin of a lease allows.
const RATES: [&str; 3] = ["0.94", "1", "1.06"];
/// Shortest lease that servers on a busy machine can still renew now and then.
const LEASE: &str = "1s";
/// Schedules of one round: each scene has the same stops, and take-overs of its own.
const N_SCENES: usize = 8;
/// Take-overs of one round.
const N_EVENTS: usize = 24;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_schedule_of_stops_and_take_overs_loses_a_change_or_has_two_owners() {
    let seed = Seed::or(41);
    let mut n_cuts = 0;
    for round in 0..scaled(1) {
        n_cuts += disturb(&seed, round as u64).await;
    }
    println!("{} schedules, {n_cuts} cuts acknowledged", scaled(1) * N_SCENES);
}

async fn disturb(seed: &Seed, round: u64) -> usize {
    let mut random = seed.random(round);
    let mut theatre = Theatre::open(&format!("schedule-{round}"), 0);
    for rate in RATES {
        let own = [("PALPATE_TEST_CLOCK_RATE", rate), ("PALPATE_CLUSTER_LEASE", LEASE)];
        theatre.join(&own.map(|(name, value)| (name, value.to_owned())));
    }
    let mut connections = theatre.addresses.connections();
    for n in 0..N_SCENES {
        let mut scenes = connections.scenes(theatre.servers[n % RATES.len()].address);
        known(&mut scenes).await;
        furnish(&mut scenes, &scene_id(n)).await;
    }
    let editors = Editors::start(&theatre.addresses, N_SCENES, PAUSE, |n| {
        seed.random((round + 1) * 1_000 + n)
    });
    let (n_taken, n_stopped) = events(&theatre, &mut random).await;
    let (all, nobody) = ((0..N_SCENES).collect::<Vec<_>>(), SocketAddr::from(([0, 0, 0, 0], 0)));
    editors.gaps(&all, Instant::now(), nobody).await;
    // Restarted servers have what is on the disk, and nothing that was only in memory.
    for n in 0..RATES.len() {
        theatre.restart(n).await;
    }
    let n_cuts = editors.check().await;
    theatre.keeping.verify();
    println!("round {round}: {n_taken} take-overs, {n_stopped} stops, {n_cuts} cuts");
    n_cuts
}

/// Lets random servers take scenes over and stops half of these servers a moment later; each resumes after its stop.
async fn events(theatre: &Theatre, random: &mut Random) -> (usize, usize) {
    let ms = |random: &mut Random, from: usize, to: usize| {
        Duration::from_millis((from + random.below(to - from)) as u64)
    };
    let mut goes_on: [Option<Instant>; RATES.len()] = [None; RATES.len()];
    let (mut n_stopped, mut n) = (0, 0);
    while n < N_EVENTS || goes_on.iter().any(Option::is_some) {
        let now = Instant::now();
        for (server, until) in goes_on.iter_mut().enumerate() {
            if until.is_some_and(|until| until <= now) {
                theatre.servers[server].process.signal("CONT");
                *until = None;
            }
        }
        if n < N_EVENTS {
            n += 1;
            let by = random.below(RATES.len());
            let (id, to) = (scene_id(random.below(N_SCENES)), theatre.servers[by].address);
            if goes_on[by].is_none() {
                // Any outcome is allowed: the server may stop before it answers.
                tokio::spawn(async move {
                    TestServer::connect(to).await.scenes.move_scene(taking(&id, to)).await
                });
            }
            let n_now = goes_on.iter().flatten().count();
            tokio::time::sleep(ms(random, 0, 150)).await;
            if goes_on[by].is_none() && n_now + 1 < RATES.len() && random.below(2) == 0 {
                theatre.servers[by].process.signal("STOP");
                goes_on[by] = Some(Instant::now() + ms(random, 300, 2_500));
                n_stopped += 1;
            }
        }
        tokio::time::sleep(ms(random, 20, 150)).await;
    }
    (n, n_stopped)
}
