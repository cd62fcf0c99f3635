//! Tests of claims as files, and of all orders of the steps of a few servers.

mod model;

use std::{
    fs,
    path::PathBuf,
    process,
    sync::{Arc, Barrier},
    thread,
    time::Duration,
};

use super::{
    claim::{ClaimFrom, ClaimHolder, ClaimState, Opening, SceneClaim},
    claim_folder::ClaimFolder,
    server_beat::{BeatFolder, ServerBeat},
    term::{LeaseTerm, SeenBeat},
};

/// Temporary folder, removed when the test ends.
struct Leases(PathBuf);

impl Leases {
    fn new(name: &str) -> Leases {
        let folder = std::env::temp_dir().join(format!("palpate-lease-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a temporary folder");
        Leases(folder)
    }
}

impl Drop for Leases {
    fn drop(&mut self) {
        // Error ignored: the folder is gone already.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn holder(server: &str) -> ClaimHolder {
    ClaimHolder { server: server.to_owned(), address: format!("{server}:7447") }
}

fn owned(epoch: u64, server: &str) -> SceneClaim {
    SceneClaim { epoch, state: ClaimState::Owned(holder(server)) }
}

#[test]
fn of_many_servers_one_gets_each_epoch() {
    let leases = Leases::new("race");
    let (servers, epochs) = (8, 20);
    let start = Arc::new(Barrier::new(servers));
    let threads: Vec<_> = (0..servers)
        .map(|n| {
            let (start, path) = (Arc::clone(&start), leases.0.clone());
            thread::spawn(move || {
                let name = format!("s{n}");
                let folder = ClaimFolder::open(&path, &name).expect("room");
                let mut got = Vec::new();
                for epoch in 1..=epochs {
                    start.wait();
                    if folder.put("liver", &owned(epoch, &name)).expect("room") {
                        got.push(epoch);
                    }
                }
                got
            })
        })
        .collect();
    let mut got: Vec<u64> = threads.into_iter().flat_map(|t| t.join().expect("no panic")).collect();
    got.sort_unstable();
    assert_eq!(got, (1..=epochs).collect::<Vec<_>>(), "each epoch once");
    let folder = ClaimFolder::open(&leases.0, "s0").expect("room");
    assert_eq!(folder.newest("liver").expect("readable").map(|c| c.epoch), Some(epochs));
    assert_eq!(folder.newest("spleen").expect("readable"), None);
}

#[test]
fn that_a_scene_was_made_is_known_until_it_is_deleted() {
    let leases = Leases::new("made");
    let folder = ClaimFolder::open(&leases.0, "a").expect("room");
    let was_made = || folder.was_made("liver").expect("readable");
    let put =
        |epoch, state| assert!(folder.put("liver", &SceneClaim { epoch, state }).expect("room"));
    assert!(!was_made());
    put(1, ClaimState::Owned(holder("a")));
    assert!(!was_made(), "its owner may be about to");
    folder.note_made("liver", 1).expect("room");
    assert!(was_made());
    put(2, ClaimState::Owned(holder("b")));
    assert!(was_made());
    put(3, ClaimState::Deleted);
    assert!(!was_made());
    put(4, ClaimState::Owned(holder("a")));
    assert!(!was_made(), "the note is of the one before");
    folder.note_made("liver", 4).expect("room");
    // Also when the server's own claim is long gone.
    (5..30).for_each(|epoch| put(epoch, ClaimState::Owned(holder("b"))));
    assert!(was_made());
    put(30, ClaimState::Deleted);
    put(31, ClaimState::Owned(holder("a")));
    put(32, ClaimState::Free);
    assert!(was_made(), "whoever gives one up has it");
    folder.forget("liver").expect("there");
    assert!(!was_made() && folder.ids().expect("a list").is_empty());
}

#[test]
fn an_old_claim_is_not_put_and_all_that_is_put_is_read() {
    let leases = Leases::new("old");
    let folder = ClaimFolder::open(&leases.0, "a").expect("room");
    let states = [ClaimState::Owned(holder("a")), ClaimState::Free, ClaimState::Deleted];
    for (epoch, state) in (1..).zip(states.into_iter().cycle().take(30)) {
        let claim = SceneClaim { epoch, state };
        assert!(folder.put("liver", &claim).expect("room"));
        assert_eq!(folder.newest("liver").expect("readable"), Some(claim));
    }
    // The file of this epoch is gone, and its name is free: the claim is still not valid.
    assert!(!folder.put("liver", &owned(1, "b")).expect("room"));
    assert!(!folder.put("liver", &owned(30, "b")).expect("room"));
    let beats = BeatFolder::open(&leases.0).expect("room");
    assert_eq!(beats.newest("a").expect("readable"), None);
    let beat = ServerBeat { count: 7, term_ms: 3_000, server: holder("a") };
    beats.put(&beat).expect("room");
    assert_eq!(beats.newest("a").expect("readable").as_ref(), Some(&beat));
    assert_eq!(beats.all().expect("readable"), [(beat.server.server.clone(), Some(beat))]);
}

#[test]
fn what_a_server_does_follows_from_the_newest_claim() {
    let (a, b) = (holder("a"), holder("b"));
    let free = SceneClaim { epoch: 4, state: ClaimState::Free };
    assert_eq!(
        free.opening(&a, ClaimFrom::Silent, |_| false),
        Opening::Claim { epoch: 5, before: None }
    );
    let gone = SceneClaim { epoch: 4, state: ClaimState::Deleted };
    assert_eq!(gone.opening(&a, ClaimFrom::Silent, |_| true), Opening::Unknown);
    let of_b = owned(4, "b");
    let elsewhere = Opening::Elsewhere { holder: b.clone(), epoch: 4 };
    assert_eq!(of_b.opening(&a, ClaimFrom::Silent, |_| false), elsewhere);
    assert_eq!(
        of_b.opening(&a, ClaimFrom::Silent, |_| true),
        Opening::Claim { epoch: 5, before: Some(b.clone()) }
    );
    let taken = of_b.opening(&a, ClaimFrom::Anyone, |_| false);
    assert_eq!(taken, Opening::Claim { epoch: 5, before: Some(b.clone()) });
    assert_eq!(gone.opening(&a, ClaimFrom::Anyone, |_| false), Opening::Unknown);
    assert_eq!(of_b.opening(&b, ClaimFrom::Silent, |_| true), Opening::Own { epoch: 4 });
}

#[test]
fn a_lease_is_over_for_its_owner_before_it_is_for_others() {
    let term = LeaseTerm::new(Duration::from_secs(3));
    assert_eq!(term.answers_until_ns(100), 100 + 2_625_000_000);
    assert_eq!(term.beat_interval(), Duration::from_millis(750));
    let mut seen = SeenBeat::new(Some(3), 100);
    seen.see(Some(3), 1_000_000_000);
    assert_eq!(seen.silent_from_ns(term), 100 + 3_000_000_000, "the same sign is no new one");
    seen.see(Some(4), 1_000_000_000);
    assert_eq!(seen.silent_from_ns(term), 4_000_000_000);
}
