//! Scenes that are in their files, but for which there is no room or no time.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tonic::{Code, Status};

use super::*;
use crate::service::host::scene_entries::SceneEntries;
use crate::{
    config::Config,
    scene::{Limits, TissueId, saved::SceneChange},
    service::{catch_panic::injected, host::scene_life::Ended},
    store::scenes::scene_store::SceneStore,
};

/// State of one server, which is gone with it.
struct Server {
    registry: Arc<SceneRegistry>,
    fields: Fields,
}

fn server(folder: &Path, memory_bytes: u64) -> Server {
    let limits = Limits { memory_bytes, ..Limits::default() };
    let registry = Arc::new(SceneRegistry::new(&Config { limits, ..Config::default() }));
    registry.keep_in(SceneStore::open(folder).expect("nobody else's")).expect("a thread");
    let fields = Fields::new(None, Duration::from_secs(9), registry.metrics());
    Server { registry, fields }
}

/// Creates a folder with the scene "s".
fn kept(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("palpate-{name}-{}", std::process::id()));
    server(&folder, 0).registry.create_durable("s", &Caller::ANYBODY).expect("room");
    folder
}

fn refused(registry: &SceneRegistry) -> Status {
    registry.served("s").map(drop).expect_err("it is refused").into()
}

#[test]
fn at_most_ten_scenes_are_named() {
    let ids: Vec<_> = (1..=12).map(|n| format!("s{n}")).collect();
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    assert_eq!(number_and_names(&[]), "none");
    assert_eq!(number_and_names(&ids[..2]), "2 (s1, s2)");
    let ten = "s1, s2, s3, s4, s5, s6, s7, s8, s9, s10";
    assert_eq!(number_and_names(&ids[..10]), format!("10 ({ten})"));
    assert_eq!(number_and_names(&ids), format!("12 ({ten} and 2 more)"));
}

#[test]
fn a_scene_without_room_is_not_unreadable_and_is_there_for_who_has_room() {
    let folder = kept("no-room");
    let small = server(&folder, 1);
    recover(&small.registry, &small.fields).expect("the store can be read");
    let status = refused(&small.registry);
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    assert!(status.message().contains("its limit is 1"), "{status:?}");
    let counts = |entries: &SceneEntries| (entries.n_unreadable(), entries.n_not_loaded());
    assert_eq!(counts(&small.registry.entries()), (0, 1));
    // Nobody creates another scene in its place, and nobody deletes a scene that nobody has read.
    let made = small.registry.create_durable("s", &Caller::ANYBODY);
    assert!(matches!(made, Err(SceneRegistryError::NotLoaded { .. })));
    let deleted = small.registry.delete("s", &Caller::ANYBODY);
    assert!(matches!(deleted, Err(SceneRegistryError::NotLoaded { .. })), "{deleted:?}");
    drop(small);
    let large = server(&folder, 0);
    recover(&large.registry, &large.fields).expect("the store can be read");
    large.registry.served("s").expect("it is there");
    drop(large);
    // May fail: the system may still have the lock file open.
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_scene_that_failed_once_is_read_when_it_is_asked_for_again_and_not_at_once() {
    let folder = kept("once");
    let Server { registry, fields } = server(&folder, 0);
    injected::panics(1);
    recover(&registry, &fields).expect("the store can be read");
    assert_eq!(refused(&registry).code(), Code::Unavailable);
    assert!(registry.may_open("s"));
    load_again(&registry, &fields, "s", now_ns());
    assert_eq!(refused(&registry).code(), Code::Unavailable, "it was tried a moment ago");
    load_again(&registry, &fields, "s", now_ns() + AGAIN_AFTER_NS);
    registry.served("s").expect("it is there");
    assert_eq!(registry.entries().n_not_loaded(), 0);
    drop(registry);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_lost_scene_that_could_not_be_read_is_tried_again_and_can_be_deleted() {
    let folder = kept("lost");
    let Server { registry, fields } = server(&folder, 0);
    recover(&registry, &fields).expect("the store can be read");
    let lost = registry.served("s").expect("it is there");
    let revive = |panics| {
        injected::panics(panics);
        revive(&registry, &fields, &lost)
    };
    revive(1).expect_err("it panics");
    let is_due = |now_ns| lost.note(&SceneEvent::ReadAgain { now_ns });
    assert!(!is_due(now_ns()), "not at once");
    assert!(is_due(now_ns() + AGAIN_AFTER_NS));
    revive(0).expect("it is on the disk");
    assert!(matches!(lost.check_served(), Err(Ended::Replaced { .. })));
    let lost = registry.served("s").expect("served again");
    injected::panics(1);
    super::revive(&registry, &fields, &lost).expect_err("it panics");
    registry.delete("s", &Caller::ANYBODY).expect("its files are nobody else's");
    assert_eq!(registry.keeping().expect("set").0.ids().expect("a list"), [""; 0]);
    drop((registry, lost));
    let _ = fs::remove_dir_all(&folder);
}

/// Persists a change without effect, so that it can be made in any scene.
fn change(host: &SceneHost) {
    let positions = Vec::new();
    let moved =
        SceneChange::Moved { tissue: TissueId(0), geometry_revision: 1, positions, controls: None };
    let turn = SceneJournal::turn_blocking(host.journal());
    turn.keep_blocking(|| moved).expect("room");
}

/// Each server changes the scene once, and ends long before its age or its journal's length makes a snapshot due.
#[test]
fn journals_of_many_servers_that_end_soon_do_not_add_up() {
    let folder = kept("soon");
    let settings = Config::default().store;
    let mut most = 0;
    for n in 0..50 {
        let Server { registry, fields } = server(&folder, 0);
        recover(&registry, &fields).expect("the store can be read");
        let host = registry.served("s").expect("it is there");
        let journal = host.journal().expect("durable");
        if journal.is_snapshot_due(&settings) {
            journal.keep_snapshot(|| host.scene.saved()).expect("room");
        }
        change(&host);
        let found = registry.keeping().expect("set").0.folder("s").read().expect("whole");
        assert_eq!((found.next_sequence, found.damage.len()), (n + 1, 0));
        most = most.max(fs::read_dir(folder.join("scenes/s")).expect("there").count());
    }
    // Two snapshots, and the journals since the older one.
    assert!(most < 40, "{most} files");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn what_earlier_servers_have_left_since_the_last_snapshot_counts() {
    let folder = kept("left");
    let settings = Config::default().store;
    let bytes_after = |n: usize| {
        let Server { registry, fields } = server(&folder, 0);
        recover(&registry, &fields).expect("the store can be read");
        let host = registry.served("s").expect("it is there");
        let journal = host.journal().expect("durable");
        assert!(!journal.is_snapshot_due(&settings));
        (0..n).for_each(|_| change(&host));
        let is_due = journal.is_snapshot_due(&settings);
        (journal.last_snapshot().journal_bytes, is_due)
    };
    let (two, _) = bytes_after(2);
    assert_eq!(bytes_after(0), (two, false), "as the server before has left it");
    assert_eq!(bytes_after(1), (two / 2 * 3, false));
    let snapshot = fs::File::options().write(true).open(folder.join("scenes/s/0.snapshot"));
    let an_hour_ago = SystemTime::now() - Duration::from_secs(3_600);
    snapshot.expect("its first").set_modified(an_hour_ago).expect("its own");
    assert_eq!(bytes_after(0), (two / 2 * 3, false), "nobody has changed it since");
    assert_eq!(bytes_after(1), (two * 2, true), "it is old");
    let _ = fs::remove_dir_all(&folder);
}
