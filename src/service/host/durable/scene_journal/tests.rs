//! Errors that a scene's journal returns when the disk fails, and the files on the disk then.

use std::{path::PathBuf, process, sync::Arc};

use glam::Vec3;

use super::*;
use crate::{
    config::Config,
    geometry::{
        MeshData, TriangleId,
        mesh::load::{LoadOptions, load},
    },
    scene::{
        Limits, Tissue, TissueKind, TissueOptions, saved::SavedTissue, tissue::edit::TopologyEdit,
    },
    service::{
        access::caller::Caller,
        host::{scene_error::SceneRegistryError, scene_life::Ended, scene_registry::SceneRegistry},
    },
    store::{place::Append, scenes::scene_store::SceneStore},
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
        // Left by an earlier process with the same number.
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

/// The end of a journal on a full disk.
#[derive(Debug)]
struct FullDisk;

impl Append for FullDisk {
    fn append(&mut self, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // May fail: the registry has its lock file open, and Windows keeps its name until it is closed.
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
    // Persists a change without effect, so that it can be made in any scene.
    let keep = |journal: &Arc<SceneJournal>| {
        let turn = SceneJournal::turn_blocking(Some(journal));
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
    let host = kept.registry.served("s").expect("it goes on");
    keep(&kept.journal()).expect("the scene goes on");
    assert_eq!(kept.ids(), ["s"]);
    kept.registry.delete_again(&host);
    assert_eq!(kept.ids(), ["s"], "it was not deleted");
    failing_syncs(&scenes, 2);
    let refused = delete().expect_err("it does not last");
    assert!(matches!(refused, SceneRegistryError::NotKept(NotKept::Unknown(_))), "{refused}");
    // The scene is refused as a whole, and not in part.
    let refused = keep(host.journal().expect("durable")).expect_err("it might be gone");
    assert!(matches!(refused, NotKept::Gone), "{refused}");
    assert!(matches!(host.check_served(), Err(Ended::Deleting { .. })));
    let refused = kept.registry.get("s").map(drop).expect_err("it might be gone");
    assert!(matches!(refused, SceneRegistryError::Ended(Ended::Deleting { .. })), "{refused}");
    // Whatever the result of a later attempt, the state of the disk is unknown before one succeeds.
    for n in [1, 2] {
        failing_syncs(&scenes, n);
        let refused = delete().expect_err("it does not last");
        assert!(matches!(refused, SceneRegistryError::NotKept(NotKept::Unknown(_))), "{refused}");
        assert!(matches!(host.check_served(), Err(Ended::Deleting { .. })));
    }
    // Done by the keeper thread, unless somebody deletes the scene again before.
    kept.registry.delete_again(&host);
    assert_eq!(kept.ids(), [""; 0]);
    assert!(matches!(host.check_served(), Err(Ended::Deleted { .. })));
    create().expect("the id is free");
    failing_syncs(&scenes, 2);
    delete().expect_err("it does not last");
    delete().expect("the second try goes on");
    assert_eq!(kept.ids(), [""; 0]);
}

fn tissue() -> Tissue {
    let positions = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::ONE];
    let mesh = MeshData { positions, triangles: vec![[0, 1, 2], [1, 2, 3]] };
    let mesh = load(mesh, &LoadOptions::default()).expect("two triangles");
    let named = ("patch".to_owned(), TissueKind::Tissue);
    Tissue::new(named, mesh, TissueOptions::default(), 0)
}

fn cut(base: u64, removed: u32) -> Vec<SceneChange> {
    let edit = TopologyEdit {
        base_revision: Some(base),
        removed: vec![TriangleId(removed)],
        ..TopologyEdit::default()
    };
    vec![SceneChange::Edited { tissue: TissueId(1), edit }]
}

/// A cut is on the disk, the engine fails to apply it, and the disk is full when the cut is to be taken back: later
/// acknowledged changes are there after a restart.
#[tokio::test]
async fn a_cut_that_cannot_be_taken_back_is_before_any_other_change_is_kept() {
    let kept = Kept::new("void");
    kept.registry.create_durable("s", &Caller::ANYBODY).expect("room");
    let journal = kept.journal();
    let turn = SceneJournal::turn(Some(&journal)).await;
    let tissue = tissue();
    let added = SavedTissue { id: TissueId(1), ..tissue.saved() };
    turn.keep(vec![SceneChange::TissueAdded(Box::new(added))]).await.expect("room");
    let failed = turn.keep(cut(0, 0)).await.expect("room");
    let fill_disk = || {
        let mut files = journal.files.lock();
        let sequence = files.next_sequence;
        let head = JournalFile::head(files.generation, sequence);
        files.file = Some(JournalFile::begun(Box::new(FullDisk), head, sequence));
    };
    fill_disk();
    turn.take_back(failed, TissueId(1), 0).await;
    assert_eq!(journal.durable(TissueId(1)).topology, 0, "the cut was not made");
    fill_disk();
    let refused = turn.keep(cut(0, 1)).await.expect_err("no room");
    assert!(matches!(refused, NotKept::Disk(_)), "{refused}");
    turn.keep(cut(0, 1)).await.expect("room");
    let (store, _) = kept.registry.keeping().expect("set");
    let found = store.folder("s").read().expect("there");
    assert_eq!(found.damage, [""; 0]);
    let expected = {
        tissue.edit(edit_of(cut(0, 1)), &Limits::default(), 0).expect("good");
        SavedTissue { id: TissueId(1), ..tissue.saved() }
    };
    assert_eq!(found.kept.scene.tissues, [expected]);
    // If no change follows, the keeper thread, which runs from time to time, takes the cut back.
    let failed = turn.keep(cut(1, 0)).await.expect("room");
    fill_disk();
    turn.take_back(failed, TissueId(1), 1).await;
    journal.settle().expect("room");
    let found = store.folder("s").read().expect("there");
    assert_eq!((found.kept.scene.tissues[0].topology_revision, found.damage.len()), (1, 0));
}

/// The file exists in spite of the error, like an object that was put and not answered.
#[test]
fn after_a_journal_that_could_not_be_begun_the_last_one_does_not_go_on() {
    let kept = Kept::new("begun");
    let host = kept.registry.create_durable("s", &Caller::ANYBODY).expect("room");
    let journal = kept.journal();
    let next = journal.files.lock().generation + 1;
    let (store, _) = kept.registry.keeping().expect("set");
    store.folder("s").begin_journal(next, 0).expect("room");
    journal.keep_snapshot(|| host.scene.saved()).expect_err("there is one of that name");
    let turn = SceneJournal::turn_blocking(Some(&journal));
    let added = || Box::new(SavedTissue { id: TissueId(1), ..tissue().saved() });
    turn.keep_blocking(|| SceneChange::TissueAdded(added())).expect("room");
    let found = store.folder("s").read().expect("there");
    assert_eq!((found.kept.scene.tissues, found.damage.len()), (vec![*added()], 0));
}

fn edit_of(mut changes: Vec<SceneChange>) -> TopologyEdit {
    match changes.remove(0) {
        SceneChange::Edited { edit, .. } => edit,
        other => panic!("{other:?} is no cut"),
    }
}
