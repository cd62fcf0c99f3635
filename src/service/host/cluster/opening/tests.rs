//! Scenes that cannot be read: by one server, or by none while their files are away.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use super::*;
use crate::{
    config::Config,
    scene::{TissueId, saved::SceneChange},
    service::access::caller::Caller,
    store::{lease::claim::ClaimHolder, scenes::scene_store::SceneStore},
};

const LEASE: Duration = Duration::from_secs(60);

/// Returns a server at `address` that shares `folder`, and its opener.
fn server(folder: &Path, address: &str) -> (SceneRegistry, SceneOpener) {
    server_for(folder, address, LEASE)
}

fn server_for(folder: &Path, address: &str, lease: Duration) -> (SceneRegistry, SceneOpener) {
    let registry = SceneRegistry::new(&Config::default());
    let store = SceneStore::open_shared(folder).expect("a folder");
    let joined = Membership::join(&store, address.to_owned(), lease).expect("a folder");
    registry.keep_in(store).expect("a thread");
    let fields = Fields::new(None, LEASE, registry.metrics());
    let opener = SceneOpener::new(&fields, &Arc::new(joined));
    registry.share(Arc::clone(&opener.membership));
    (registry, opener)
}

#[test]
fn what_one_server_cannot_read_is_another_s_that_can() {
    let folder = std::env::temp_dir().join(format!("palpate-unread-{}", std::process::id()));
    let (first, first_opener) = server(&folder, "first:1");
    let (second, second_opener) = server(&folder, "second:1");
    let made = first.create_durable("s", &Caller::ANYBODY).expect("room");
    let owner = made.lease().expect("shared").give_up(None).expect("nobody else's");
    first.forget(&made, owner);

    // Simulates a snapshot of a later version, which the first server cannot read.
    let files =
        fs::read_dir(folder.join("scenes/s")).expect("a scene").map(|file| file.expect("one"));
    let is_snapshot = |path: &std::path::PathBuf| path.extension().is_some_and(|e| e == "snapshot");
    let snapshot = files.map(|file| file.path()).find(is_snapshot).expect("its first");
    let good = fs::read(&snapshot).expect("its own");
    fs::write(&snapshot, "of a later version").expect("its own");
    let open = |registry: &SceneRegistry, opener: &SceneOpener| {
        opener.open(registry, "s", ClaimFrom::Silent)
    };
    let unread = open(&first, &first_opener).expect_err("it cannot be read");
    assert!(matches!(unread, SceneRegistryError::Unreadable { .. }), "{unread:?}");
    let epoch = || first_opener.membership.newest("s").expect("claims").expect("one").epoch;
    let before = epoch();
    open(&first, &first_opener).expect("the look-up says what is wrong");
    assert_eq!(epoch(), before, "it is not claimed and read again and again");
    assert!(matches!(first.get("s"), Err(SceneRegistryError::Unreadable { .. })));

    fs::write(&snapshot, good).expect("its own");
    open(&second, &second_opener).expect("it can be read");
    second.served("s").expect("it is served");
    let is_named = |refused: &SceneRegistryError| refused.to_string().contains("second:1");
    // Nobody has asked the first server again before.
    let deleted = first.delete("s", &Caller::ANYBODY).expect_err("it is another's");
    assert!(is_named(&deleted), "{deleted:?}");
    let elsewhere = open(&first, &first_opener).expect_err("it is another's");
    assert!(is_named(&elsewhere), "{elsewhere:?}");
    assert!(
        second
            .served("s")
            .expect("it is served")
            .lease()
            .expect("shared")
            .new_owner()
            .is_ok_and(|o| o.is_none())
    );
    // Nobody owns the scene again: a server that is asked takes it.
    let host = second.served("s").expect("it is served");
    let owner = host.lease().expect("shared").give_up(None).expect("its own");
    second.forget(&host, owner);
    open(&first, &first_opener).expect("it can be read");
    first.served("s").expect("it is served");
    // May fail: the registries have the folder open.
    let _ = fs::remove_dir_all(&folder);
}

/// A call that found a scene here a moment ago is redirected while another call looks for it in the store.
#[test]
fn a_scene_that_went_elsewhere_is_not_unknown_while_it_is_looked_for() {
    let folder = std::env::temp_dir().join(format!("palpate-moved-{}", std::process::id()));
    let registry = Arc::new(server(&folder, "first:1").0);
    let host = registry.create("s", &Caller::ANYBODY).expect("room");
    registry.forget(&host, NewOwner { address: Some("b:1".to_owned()), epoch: 2 });
    registry.open_by(Arc::new(|registry, id, _| {
        let elsewhere = registry.get(id).map(drop);
        assert!(matches!(elsewhere, Err(SceneRegistryError::Ended(Ended::Elsewhere { .. }))));
        Ok(())
    }));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(registry.open("s")).expect("looked for");
    assert!(matches!(registry.get("s"), Err(SceneRegistryError::Unknown { .. })));
    // May fail: the registry has the folder open.
    let _ = fs::remove_dir_all(&folder);
}

/// Creates a folder with scenes whose only owner, `first:1`, has lost them from its memory: nobody has given them up.
fn lost(name: &str, ids: &[&str]) -> (PathBuf, SceneRegistry, SceneOpener) {
    let folder = std::env::temp_dir().join(format!("palpate-{name}-{}", std::process::id()));
    // Left by an earlier process with the same number.
    let _ = fs::remove_dir_all(&folder);
    let (registry, opener) = server(&folder, "first:1");
    for id in ids {
        let host = registry.create_durable(id, &Caller::ANYBODY).expect("room");
        let turn = host.turn_blocking().expect("served");
        let moved = SceneChange::Moved {
            tissue: TissueId(0),
            geometry_revision: 1,
            positions: Vec::new(),
            controls: None,
        };
        turn.keep_blocking(|| moved).expect("room");
        registry.forget(&host, NewOwner { address: None, epoch: 1 });
    }
    (folder, registry, opener)
}

#[test]
fn a_scene_whose_files_are_away_is_never_deleted_and_is_there_when_they_are_back() {
    let (folder, first, first_opener) = lost("files-away", &["s"]);
    let (second, second_opener) = server(&folder, "second:1");
    let (scene, aside) = (folder.join("scenes/s"), folder.join("aside"));
    fs::rename(&scene, &aside).expect("there");
    for (registry, opener) in [(&first, &first_opener), (&second, &second_opener)] {
        let away = opener.open(registry, "s", ClaimFrom::Silent).expect_err("it is away");
        assert!(matches!(away, SceneRegistryError::Unreadable { .. }), "{away:?}");
        let newest = opener.membership.newest("s").expect("claims").expect("one");
        assert_eq!(newest.state, ClaimState::Free);
        assert!(matches!(registry.get("s"), Err(SceneRegistryError::Unreadable { .. })));
        let created = registry.create_durable("s", &Caller::ANYBODY).map(drop);
        let created = created.expect_err("it is there");
        assert!(matches!(created, SceneRegistryError::Taken { .. }), "{created:?}");
    }
    fs::rename(&aside, &scene).expect("away");
    let own = second_opener.membership.own();
    let newest = second_opener.membership.newest("s").expect("claims");
    let holds = |now_ns| second.entries_mut().is_still_unread("s", newest.as_ref(), own, now_ns);
    assert!(holds(0) && !holds(u64::MAX), "it is read again, and not at once");
    let (third, third_opener) = server(&folder, "third:1");
    third_opener.open(&third, "s", ClaimFrom::Silent).expect("it can be read");
    third.served("s").expect("it is served");
    // May fail: the registries have the folder open.
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_scene_that_has_lost_its_files_is_refused_until_it_is_deleted() {
    let (folder, first, opener) = lost("files-gone", &["empty", "journal"]);
    let files = |id: &str| fs::read_dir(folder.join("scenes").join(id)).expect("a scene");
    for file in files("empty").chain(files("journal")) {
        let path = file.expect("an entry").path();
        let is_snapshot = path.extension().is_some_and(|e| e == "snapshot");
        if is_snapshot || path.parent().is_some_and(|of| of.ends_with("empty")) {
            fs::remove_file(path).expect("there");
        }
    }
    assert_eq!((files("empty").count(), files("journal").count()), (0, 1));
    for id in ["empty", "journal"] {
        let refused = opener.open(&first, id, ClaimFrom::Silent).expect_err("there is no snapshot");
        assert!(matches!(refused, SceneRegistryError::Unreadable { .. }), "{id}: {refused:?}");
        first.delete(id, &Caller::ANYBODY).expect("it cannot be read");
        first.create_durable(id, &Caller::ANYBODY).expect("the id is free");
    }
    // May fail: the registry has the folder open.
    let _ = fs::remove_dir_all(&folder);
}

/// The server's claim is stored, and it is stopped before it reads the files; others have claimed the scene since.
#[test]
fn a_server_that_goes_on_after_others_have_claimed_writes_nothing_and_names_the_owner() {
    let (folder, first, first_opener) = lost("stale-taker", &["s"]);
    let (second, second_opener) = server(&folder, "second:1");
    let put = |opener: &SceneOpener, epoch, state| {
        assert!(opener.membership.put("s", &SceneClaim { epoch, state }).expect("room"));
    };
    put(&second_opener, 2, ClaimState::Owned(second_opener.membership.own().clone()));
    put(&first_opener, 3, ClaimState::Free);
    first_opener.open(&first, "s", ClaimFrom::Silent).expect("nobody's");
    let files = || {
        let all = fs::read_dir(folder.join("scenes/s")).expect("a scene");
        let mut all: Vec<_> = all.map(|file| file.expect("an entry").path()).collect();
        all.sort();
        all.into_iter().map(|path| (fs::read(&path).expect("readable"), path)).collect::<Vec<_>>()
    };
    let before = files();
    let lease = Arc::new(SceneLease::new(&second_opener.membership, "s", 2));
    let refused = take_in(&second, &second_opener.fields, "s", &lease).expect_err("epoch 4 has it");
    assert!(refused.to_string().contains("first:1 since epoch 4"), "{refused}");
    assert_eq!(files(), before);
    first.served("s").expect("it goes on");
    // May fail: the registries have the folder open.
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn an_id_is_free_again_whose_claimer_was_killed_before_it_had_made_the_scene() {
    let (folder, ..) = lost("never-made", &[]);
    let (registry, opener) = server_for(&folder, "second:1", Duration::from_millis(20));
    let killed = ClaimHolder { server: "killed".to_owned(), address: "gone:1".to_owned() };
    let claim = SceneClaim { epoch: 1, state: ClaimState::Owned(killed) };
    assert!(opener.membership.put("s", &claim).expect("room"));
    // Refused until the lease of the killed server is over.
    while let Err(refused) = opener.open(&registry, "s", ClaimFrom::Silent) {
        assert!(refused.to_string().contains("gone:1"), "{refused:?}");
    }
    let newest = opener.membership.newest("s").expect("claims").expect("one");
    assert_eq!(newest, SceneClaim { epoch: 3, state: ClaimState::Deleted });
    registry.create_durable("s", &Caller::ANYBODY).expect("the id is free");
    // May fail: the registry has the folder open.
    let _ = fs::remove_dir_all(&folder);
}
