//! Creation and deletion of scenes.

use super::*;

#[test]
fn deleted_scenes_are_gone_and_say_so() {
    let registry = SceneRegistry::new(&Config {
        limits: Limits { scenes: 1, ..Limits::default() },
        ..Config::default()
    });
    let host = registry.create("liver", &Caller::ANYBODY).expect("room");
    assert!(matches!(
        registry.create("liver", &Caller::ANYBODY),
        Err(SceneRegistryError::Taken { .. })
    ));
    assert!(matches!(
        registry.create("spleen", &Caller::ANYBODY),
        Err(SceneRegistryError::Full { limit: 1 })
    ));
    host.check_served().expect("served");
    registry.delete("liver", &Caller::ANYBODY).expect("there");
    assert!(matches!(host.check_served(), Err(Ended::Deleted { .. })));
    assert!(matches!(registry.get("liver"), Err(SceneRegistryError::Unknown { .. })));
    registry
        .create("liver", &Caller::ANYBODY)
        .expect("the id is free again")
        .check_served()
        .expect("a new scene");
}

/// The deletion has found the scene and waits for its turn when another scene replaces it.
#[test]
fn a_scene_that_is_put_in_another_s_place_is_not_left_without_files() {
    let folder = std::env::temp_dir().join(format!("palpate-replaced-{}", std::process::id()));
    let registry = SceneRegistry::new(&Config::default());
    registry.keep_in(SceneStore::open(&folder).expect("a new store")).expect("a thread");
    let (store, commits) = registry.keeping().expect("set");
    let lost = registry.create_durable("s", &Caller::ANYBODY).expect("room");
    let journal = Arc::clone(lost.journal().expect("durable"));
    std::thread::scope(|scope| {
        let turn = SceneJournal::turn_blocking(Some(&journal));
        let known = Arc::strong_count(&lost);
        let deleted = scope.spawn(|| registry.delete("s", &Caller::ANYBODY));
        while Arc::strong_count(&lost) == known {
            std::thread::yield_now();
        }
        assert!(journal.close(), "it is not deleted yet");
        let found = store.folder("s").read().expect("it was kept");
        let next = SceneJournal::of_found(store.folder("s"), &found, commits, None);
        let scene = Scene::new("s".to_owned(), registry.limits().clone());
        registry.replace(&lost, scene, next).expect("a thread");
        drop(turn);
        deleted.join().expect("no panic").expect("the one in its place is deleted");
    });
    assert!(matches!(registry.get("s"), Err(SceneRegistryError::Unknown { .. })));
    assert_eq!(store.ids().expect("a list"), [""; 0]);
    // May fail: the registry has its lock file open, and Windows keeps its name until it is closed.
    let _ = std::fs::remove_dir_all(&folder);
}
