//! What a scene's journal says of failures of the disk, and what is on the disk then.

use std::{path::PathBuf, process, sync::Arc};

use super::*;
use crate::{
    config::Config,
    service::{
        access::caller::Caller,
        host::{scene_error::SceneRegistryError, scene_registry::SceneRegistry},
    },
    store::scenes::scene_store::SceneStore,
};

/// A registry that keeps its scenes in a folder of this test.
struct Kept {
    registry: SceneRegistry,
    data_dir: PathBuf,
}

impl Kept {
    fn new(name: &str) -> Kept {
        let data_dir =
            std::env::temp_dir().join(format!("palpate-journal-{name}-{}", process::id()));
        // Of a process before this one with the same number.
        let _ = std::fs::remove_dir_all(&data_dir);
        let registry = SceneRegistry::new(&Config::default());
        let store = SceneStore::open(&data_dir).expect("a new store");
        registry.keep_in(store).expect("a thread");
        Kept { registry, data_dir }
    }

    fn journal(&self) -> Arc<SceneJournal> {
        let host = self.registry.served("s").expect("served");
        Arc::clone(host.journal().expect("durable"))
    }

    fn ids(&self) -> Vec<String> {
        self.registry.keeping().expect("set").0.ids().expect("a list")
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // An error: the registry has its lock open, whose name Windows keeps for as long.
        let _ = std::fs::remove_dir_all(&self.data_dir);
    }
}

#[cfg(unix)]
#[test]
fn a_scene_whose_creation_or_removal_fails_is_as_the_error_says() {
    use crate::os::lasting::injected::failing_syncs;

    let kept = Kept::new("fails");
    let scenes = kept.data_dir.join("scenes");
    let create = || kept.registry.create_durable("s", &Caller::ANYBODY).map(drop);
    let delete = || kept.registry.delete("s", &Caller::ANYBODY);
    // Of a change that is none, so that it can be made in any scene.
    let keep = || {
        let turn = SceneJournal::turn_blocking(Some(&kept.journal()));
        turn.keep_blocking(|| SceneChange::TissueRemoved(TissueId(0)))
    };
    failing_syncs(&scenes, 1);
    let refused = create().expect_err("it does not last");
    assert!(matches!(refused, SceneRegistryError::NotKept(NotKept::Disk(_))), "{refused}");
    assert_eq!(kept.ids(), [""; 0]);
    failing_syncs(&scenes, 2);
    let refused = create().expect_err("it does not last");
    assert!(matches!(refused, SceneRegistryError::NotKept(NotKept::Unknown(_))), "{refused}");
    create().expect("nothing is in its way");
    failing_syncs(&scenes, 1);
    let refused = delete().expect_err("it does not last");
    assert!(matches!(refused, SceneRegistryError::NotKept(NotKept::Disk(_))), "{refused}");
    keep().expect("the scene goes on");
    assert_eq!(kept.ids(), ["s"]);
    failing_syncs(&scenes, 2);
    let refused = delete().expect_err("it does not last");
    assert!(matches!(refused, SceneRegistryError::NotKept(NotKept::Unknown(_))), "{refused}");
    let refused = keep().expect_err("what is kept now might be gone");
    assert!(matches!(refused, NotKept::Gone), "{refused}");
    delete().expect("the second try goes on");
    assert_eq!(kept.ids(), [""; 0]);
    create().expect("the id is free");
}
