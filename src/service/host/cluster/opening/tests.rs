//! A scene that one server cannot read, and another can.

use std::{fs, path::Path, time::Duration};

use super::*;
use crate::{
    config::Config, service::access::caller::Caller, store::scenes::scene_store::SceneStore,
};

const LEASE: Duration = Duration::from_secs(60);

/// A server at `address` that shares `folder`, and what it opens scenes by.
fn server(folder: &Path, address: &str) -> (SceneRegistry, SceneOpener) {
    let registry = SceneRegistry::new(&Config::default());
    let store = SceneStore::open_shared(folder).expect("a folder");
    let joined = Membership::join(&store, address.to_owned(), LEASE).expect("a folder");
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

    // As a snapshot of a later version is to the first server: it cannot be read there.
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
    // Nobody has asked the first again before.
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
    // Once more nobody's: whoever is asked takes it.
    let host = second.served("s").expect("it is served");
    let owner = host.lease().expect("shared").give_up(None).expect("its own");
    second.forget(&host, owner);
    open(&first, &first_opener).expect("it can be read");
    first.served("s").expect("it is served");
    // An error: the registries have the folder open.
    let _ = fs::remove_dir_all(&folder);
}
