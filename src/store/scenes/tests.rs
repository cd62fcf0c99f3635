//! Tests of every kind of damage throughout the files: a read returns a scene that existed, and never an older one
//! without reporting it.

mod away;
#[cfg(feature = "objects")]
mod objects;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

use glam::Vec3;

use super::{
    file_head::FileError,
    folder::{FoundScene, SceneFolder, Unreadable},
    generations::first_generation,
    journal::{JournalReader, JournalRecord},
    scene_store::{LEASES, SceneStore, StoreError},
    snapshot::SceneSnapshot,
};
use crate::store::{
    lease::{
        claim::{ClaimHolder, ClaimState, SceneClaim},
        claim_folder::ClaimFolder,
        server_beat::{BeatFolder, ServerBeat},
    },
    place::folder_place::FolderPlace,
};
use crate::{
    geometry::{LoadOptions, TriangleId, mesh::load::load},
    oracle::{Random, shapes},
    scene::{
        Limits, Scene, TissueOptions,
        saved::{NotAScene, SavedScene, SceneChange},
        tissue::{deform::Deformation, edit::TopologyEdit},
    },
    sdf::{Field, FieldOptions},
    surface::Surface,
};

/// Temporary folder, removed when the test ends.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        // Error ignored: the folder is gone already.
        let _ = fs::remove_dir_all(&self.0);
    }
}

const ID: &str = "liver";
/// First records of snapshot 2, of journal 3, and after all records.
const NEWEST: usize = 20;
const LAST: usize = 30;
const END: usize = 36;

fn place(name: &str) -> Place {
    let folder = std::env::temp_dir().join(format!("palpate-store-{name}-{}", process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a temporary folder");
    Place(folder)
}

/// Adds a tissue, then cuts and moves it in turn.
fn changes() -> Vec<SceneChange> {
    let scene = Scene::new(ID.to_owned(), Limits::default());
    let mesh = load(shapes::organ(60, 1), &LoadOptions::default()).expect("a mesh");
    let tissue = scene.add_tissue("organ", mesh, TissueOptions::default(), 0).expect("room");
    let mut changes = vec![SceneChange::TissueAdded(Box::new(tissue.saved()))];
    let (limits, id) = (Limits::default(), tissue.id());
    while changes.len() < END {
        let n = changes.len() as u32;
        if n.is_multiple_of(3) {
            let mut positions = tissue.saved().mesh.positions;
            positions.iter_mut().for_each(|p| *p *= 1.01);
            tissue.deform(Deformation::Dense(positions), 0).expect("good");
            changes.push(tissue.moved());
            continue;
        }
        let edit = TopologyEdit {
            base_revision: Some(tissue.current().topology_revision),
            removed: vec![TriangleId(n)],
            added_positions: vec![Vec3::splat(0.001 * n as f32)],
            added: vec![[0, 1, n], [1, 2, n]],
            parents: vec![TriangleId(n); 2],
            ..TopologyEdit::default()
        };
        tissue.edit(edit.clone(), &limits, 0).expect("good");
        changes.push(SceneChange::Edited { tissue: id, edit });
    }
    changes
}

/// Writes two snapshots with journals, and one more journal as after a restart. Returns the scene after each number of
/// changes.
fn keep(folder: &SceneFolder) -> Vec<SavedScene> {
    let changes = changes();
    let mut states = vec![SavedScene::new(ID.to_owned())];
    let kept =
        |scene: &SavedScene| SceneSnapshot { owner: Some("or-3".to_owned()), scene: scene.clone() };
    let mut journal = folder.create(&kept(&states[0]), 0).expect("room");
    for (at, change) in changes.into_iter().enumerate() {
        if at > 0 && at % 10 == 0 {
            let generation = at as u64 / 10;
            journal = folder.begin_journal(generation, at as u64).expect("room");
            if at <= NEWEST {
                folder.write_snapshot(&kept(&states[at]), generation, at as u64).expect("room");
            }
        }
        let first = journal.append(&[JournalRecord::Change(change.clone())]).expect("room");
        assert_eq!(first, at as u64);
        let mut next = states[at].clone();
        next.apply(change).expect("it fits");
        states.push(next);
    }
    states
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).expect("there").map(|e| e.expect("an entry").path());
    let named = |path: PathBuf| {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        (name, fs::read(path).expect("readable"))
    };
    let mut files: Vec<_> = entries.map(named).collect();
    files.sort();
    files
}

#[test]
fn a_scene_is_read_as_it_was_kept() {
    let place = place("whole");
    let store = SceneStore::open(&place.0).expect("a new store");
    let states = keep(&store.folder(ID));
    assert_eq!(store.ids().expect("a list"), [ID]);
    let found = store.folder(ID).read().expect("whole");
    assert_eq!((found.next_sequence, found.generation), (END as u64, 3));
    assert_eq!((found.damage.len(), found.kept.owner.as_deref()), (0, Some("or-3")));
    assert!(store.folder(ID).damage().expect("whole").is_empty());
    assert_eq!(found.kept.scene, states[END]);
    let no_tools = |_: &str, _: &Surface, _: &FieldOptions| unreachable!("it has none");
    let scene =
        Scene::restored::<Field, NotAScene>(found.kept.scene, Limits::default(), 0, no_tools);
    let tissues = scene.expect("a scene").tissues();
    tissues.iter().for_each(|tissue| tissue.current().surface.assert_well_formed());
    let names: Vec<_> = files(&place.0.join("scenes").join(ID)).into_iter().map(|f| f.0).collect();
    let kept = ["1.journal", "1.snapshot", "2.journal", "2.snapshot", "3.journal"];
    assert_eq!(names, kept, "what the two newest snapshots need");
}

/// Two snapshots later, the files that the oldest read needs are gone.
#[test]
fn a_scene_is_read_whole_while_its_owner_removes_files_under_the_reader() {
    const ROUNDS: usize = 200;
    let place = place("live");
    let folder = SceneStore::open(&place.0).expect("a new store").folder(ID);
    let expected = keep(&folder).remove(END);
    // The owner continues once something was read since: no read is affected more than twice.
    let (n_read, is_over, mut n_broken) = (AtomicUsize::new(0), AtomicBool::new(false), 0);
    let owns = || {
        for round in 0..ROUNDS {
            for _ in 0..2 {
                folder.take_over(&folder.read().expect("its own"), 0).expect("room");
            }
            while n_read.load(Relaxed) <= round {
                std::hint::spin_loop();
            }
        }
        is_over.store(true, Relaxed);
    };
    let reads = || {
        // Store of another process.
        let reader = SceneStore::to_read(&place.0).folder(ID);
        while !is_over.load(Relaxed) {
            n_broken += usize::from(!reader.read().is_ok_and(|found| found.damage.is_empty()));
            let found = reader.read_live().expect("there");
            n_read.fetch_add(1, Relaxed);
            assert_eq!((found.kept.scene, found.damage), (expected.clone(), Vec::new()));
        }
    };
    let both = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two of them");
    both.join(owns, reads);
    println!("{n_broken} of {n_read:?} reads without a second try were broken");
}

/// The owner was writing the second record when the journal was opened, and has since written that record and a third.
#[test]
fn a_journal_that_grows_under_its_reader_ends_where_it_did() {
    let place = place("grows");
    let folder = SceneStore::open(&place.0).expect("a new store").folder(ID);
    let first = SceneSnapshot { owner: None, scene: SavedScene::new(ID.to_owned()) };
    let mut journal = folder.create(&first, 0).expect("room");
    let mut ends = Vec::new();
    for change in changes().into_iter().take(3) {
        journal.append(&[JournalRecord::Change(change)]).expect("room");
        ends.push(journal.bytes() as usize);
    }
    let scene = place.0.join("scenes").join(ID);
    let whole = fs::read(scene.join("0.journal")).expect("readable");
    for end in ends[0] + 1..ends[1] {
        fs::write(scene.join("0.journal"), &whole[..end]).expect("room");
        let folder = FolderPlace::new(scene.clone(), "");
        let mut reader = JournalReader::open(&folder, "0.journal").expect("a journal");
        fs::write(scene.join("0.journal"), &whole).expect("room");
        reader.read().expect("whole").expect("there");
        let torn = reader.read().expect_err("it was not whole");
        assert!(matches!(torn, FileError::Torn { .. }), "{torn} at byte {end}");
    }
}

#[test]
fn no_scene_has_an_id_that_clients_could_not_name() {
    let is_scene = |id: &str| SavedScene::new(id.to_owned()).check().is_ok();
    assert!(is_scene(&"x".repeat(64)));
    assert!(!is_scene(&"x".repeat(65)) && !is_scene("") && !is_scene("X"));
}

#[test]
fn a_void_record_and_one_that_was_written_anew_do_not_count() {
    let place = place("void");
    let folder = SceneStore::open(&place.0).expect("a new store").folder(ID);
    let changes = changes();
    let first = SceneSnapshot { owner: None, scene: SavedScene::new(ID.to_owned()) };
    let mut journal = folder.create(&first, 0).expect("room");
    let record = |at: usize| JournalRecord::Change(changes[at].clone());
    journal.append(&[record(0), record(1)]).expect("room");
    let cut = journal.append(&[record(2)]).expect("room");
    journal.append(&[JournalRecord::Void(cut)]).expect("room");
    journal.append(&[record(2)]).expect("room");
    // Written, but never acknowledged: the next journal begins before it.
    journal.append(&[record(4)]).expect("room");
    let mut next = folder.begin_journal(1, cut + 3).expect("room");
    next.append(&[record(3)]).expect("room");
    let found = folder.read().expect("whole");
    let mut expected = first.scene;
    for at in [0, 1, 2, 3] {
        expected.apply(changes[at].clone()).expect("it fits");
    }
    assert_eq!((found.kept.scene, found.damage.len()), (expected, 0));
}

/// Saving positions does not take the edit lock: between a cut in which the engine fails and the record that voids it
/// there may be positions of the scene without the cut.
#[test]
fn positions_behind_a_cut_count_whether_or_not_it_is_taken_back() {
    let changes = changes();
    let SceneChange::TissueAdded(added) = &changes[0] else { panic!("the first adds a tissue") };
    let moved = |geometry_revision: u64| {
        let positions = added.mesh.positions.iter().map(|p| *p * (1.0 + geometry_revision as f32));
        let positions = positions.collect();
        SceneChange::Moved { tissue: added.id, geometry_revision, positions, controls: None }
    };
    let record = |change: &SceneChange| JournalRecord::Change(change.clone());
    // The cut has number 1. Older positions come last now and then.
    let behind = [moved(1), moved(3), moved(2)];
    for is_void in [false, true] {
        let place = place(if is_void { "taken-back" } else { "made" });
        let folder = SceneStore::open(&place.0).expect("a new store").folder(ID);
        let first = SceneSnapshot { owner: None, scene: SavedScene::new(ID.to_owned()) };
        let mut journal = folder.create(&first, 0).expect("room");
        let mut records = vec![record(&changes[0]), record(&changes[1])];
        records.extend(behind.iter().map(record));
        records.extend(is_void.then_some(JournalRecord::Void(1)));
        records.extend([record(&moved(4)), record(&changes[if is_void { 1 } else { 2 }])]);
        journal.append(&records).expect("room");
        let mut made = vec![changes[0].clone()];
        made.extend((!is_void).then(|| changes[1].clone()));
        made.extend(behind.iter().cloned().chain([moved(4)]));
        made.push(changes[if is_void { 1 } else { 2 }].clone());
        let mut expected = first.scene;
        made.into_iter().for_each(|change| expected.apply(change).expect("it fits"));
        let found = folder.read().expect("whole");
        assert_eq!((found.kept.scene, found.damage), (expected, Vec::new()), "{is_void}");
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Harm {
    Flipped,
    CutOff,
    /// The end of the file exists, but was never written.
    Zeroed,
}

#[test]
fn damage_at_each_hundredth_of_each_file_is_found_and_told() {
    let place = place("harm");
    let store = SceneStore::open(&place.0).expect("a new store");
    let states = keep(&store.folder(ID));
    let folder = place.0.join("scenes").join(ID);
    let whole = files(&folder);
    let mut n = 0;
    for (name, bytes) in &whole {
        for percent in 0..100 {
            for harm in [Harm::Flipped, Harm::CutOff, Harm::Zeroed] {
                let at = bytes.len() * percent / 100;
                let mut harmed = bytes.clone();
                match harm {
                    Harm::Flipped => harmed[at] ^= 1 << (percent % 8),
                    Harm::CutOff => harmed.truncate(at),
                    Harm::Zeroed => harmed[at..].fill(0),
                }
                fs::remove_dir_all(&folder).expect("there");
                fs::create_dir(&folder).expect("room");
                whole.iter().for_each(|(n, b)| fs::write(folder.join(n), b).expect("room"));
                fs::write(folder.join(name), &harmed).expect("room");
                let case = format!("{name} {harm:?} at byte {at} of {}", bytes.len());
                let found = store.folder(ID).read().unwrap_or_else(|e| panic!("{case}: {e}"));
                check(&case, name, harm, &found, &states);
                // Also damage of files that are kept in case newer files are damaged, except for the unacknowledged
                // end.
                let all = store.folder(ID).damage().unwrap_or_else(|e| panic!("{case}: {e}"));
                let is_end = name == "3.journal" && harm == Harm::CutOff;
                assert!(!all.is_empty() || is_end, "{case}");
                n += 1;
            }
        }
    }
    println!("{n} files harmed");
}

fn check(case: &str, name: &str, harm: Harm, found: &FoundScene, states: &[SavedScene]) {
    let at = found.next_sequence as usize;
    assert_eq!(found.kept.scene, states[at], "{case}: the scene after {at} changes");
    match name {
        // The older snapshot and its journal are not needed.
        "1.snapshot" | "1.journal" => assert_eq!((at, found.damage.len()), (END, 0), "{case}"),
        "2.snapshot" => assert_eq!((at, found.damage.len()), (END, 1), "{case}"),
        "2.journal" => {
            assert!((NEWEST..=LAST).contains(&at) && !found.damage.is_empty(), "{case}: {at}");
        }
        // A killed server leaves a file that ends early: nothing after its end was acknowledged.
        _ => {
            let is_told = !found.damage.is_empty();
            assert!((LAST..END).contains(&at) && (is_told || harm == Harm::CutOff), "{case}: {at}");
        }
    }
}

#[test]
fn a_journal_that_is_missing_beside_its_snapshot_is_told() {
    let place = place("no-journal");
    let folder = SceneStore::open(&place.0).expect("a new store").folder(ID);
    let first = SceneSnapshot { owner: None, scene: SavedScene::new(ID.to_owned()) };
    let mut journal = folder.create(&first, 0).expect("room");
    journal.append(&[JournalRecord::Change(changes().remove(0))]).expect("room");
    drop(journal);
    fs::remove_file(place.0.join("scenes").join(ID).join("0.journal")).expect("there");
    let found = folder.read().expect("its snapshot is there");
    assert_eq!(
        (found.kept.scene, found.damage),
        (first.scene, vec!["journal 0 is missing".into()])
    );
}

#[test]
fn a_scene_without_a_good_snapshot_is_refused_and_left_as_it_is() {
    let place = place("no-snapshot");
    let store = SceneStore::open(&place.0).expect("a new store");
    keep(&store.folder(ID));
    let folder = place.0.join("scenes").join(ID);
    for name in ["1.snapshot", "2.snapshot"] {
        let mut bytes = fs::read(folder.join(name)).expect("there");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        fs::write(folder.join(name), bytes).expect("room");
    }
    let before = files(&folder);
    let refused = store.folder(ID).read().expect_err("damaged");
    assert!(matches!(refused, Unreadable::NoSnapshot(_)), "{refused}");
    assert!(refused.to_string().contains("checksum"), "{refused}");
    assert_eq!(files(&folder), before);
}

/// Late writes of an owner that was stopped while another took the scene over: records, a journal and a snapshot.
#[test]
fn what_a_stale_owner_writes_later_is_not_read() {
    let place = place("stale");
    let folder = SceneStore::open_shared(&place.0).expect("a new store").folder(ID);
    let changes = changes();
    let first = SceneSnapshot { owner: None, scene: SavedScene::new(ID.to_owned()) };
    let record = |at: usize| JournalRecord::Change(changes[at].clone());
    let after = |taken: &[usize]| {
        let mut scene = first.scene.clone();
        taken.iter().for_each(|at| scene.apply(changes[*at].clone()).expect("it fits"));
        scene
    };
    let mut stale = folder.create(&first, first_generation(1)).expect("room");
    stale.append(&[record(0), record(1)]).expect("room");
    let found = folder.read().expect("whole");
    let (mut next, _) = folder.take_over(&found, 2).expect("room");
    assert_eq!(folder.newest_epoch().expect("a folder"), 2);
    // Late: a record, a journal and a snapshot with it, of the greatest generation that the stale owner has.
    stale.append(&[record(2)]).expect("room");
    let late = first_generation(1) + 5;
    let mut again = folder.begin_journal(late, 3).expect("room");
    again.append(&[record(3)]).expect("room");
    let beyond = SceneSnapshot { owner: None, scene: after(&[0, 1, 2]) };
    folder.write_snapshot(&beyond, late, 3).expect("room");
    let found = folder.read().expect("whole");
    assert_eq!((&found.kept.scene, found.damage.len()), (&after(&[0, 1]), 0));
    next.append(&[record(2), record(3)]).expect("room");
    let found = folder.read().expect("whole");
    assert_eq!((&found.kept.scene, found.next_sequence), (&after(&[0, 1, 2, 3]), 4));
    // Now with the new owner's snapshot lost, as after a crash before it was written.
    let path = place.0.join("scenes").join(ID);
    fs::remove_file(path.join(format!("{}.snapshot", first_generation(2)))).expect("there");
    let found = folder.read().expect("whole");
    assert_eq!((&found.kept.scene, found.damage.len()), (&after(&[0, 1, 2, 3]), 0));
    // A stale owner that deletes the scene removes nothing that was written later.
    folder.remove_before(2).expect("there");
    assert!(folder.read().is_err(), "without its snapshot there is no scene");
    // On Windows an open file may keep its name, and with it the folder.
    drop([stale, again, next]);
    folder.remove_before(3).expect("there");
    assert!(!path.exists());
}

/// An owner that was stopped between its claim and its look at the files sees those of a later owner.
#[test]
fn a_folder_with_files_of_a_later_owner_refuses_an_older_one() {
    let place = place("later-owner");
    let folder = SceneStore::open_shared(&place.0).expect("a new store").folder(ID);
    let first = SceneSnapshot { owner: None, scene: SavedScene::new(ID.to_owned()) };
    let mut journal = folder.create(&first, first_generation(1)).expect("room");
    journal.append(&[JournalRecord::Change(changes().remove(0))]).expect("room");
    let (_next, generation) = folder.take_over(&folder.read().expect("whole"), 3).expect("room");
    assert_eq!(generation, first_generation(3));
    let scene = place.0.join("scenes").join(ID);
    let before = files(&scene);
    let found = folder.read().expect("whole");
    let refused = folder.take_over(&found, 2).map(drop).expect_err("epoch 3 has it");
    assert!(refused.to_string().contains("epoch 3"), "{refused}");
    assert_eq!(files(&scene), before);
    // The owner itself continues, as after a failed first try.
    let (_again, generation) = folder.take_over(&found, 3).expect("its own");
    assert_eq!(generation, first_generation(3) + 1);
}

/// Two servers both acted as the owner: one wrote into the generations of the other.
#[test]
fn two_histories_are_told_and_a_change_that_was_never_acknowledged_is_none() {
    let changes = changes();
    let record = |at: usize| JournalRecord::Change(changes[at].clone());
    for n_late in 0..=4 {
        let place = place(&format!("histories-{n_late}"));
        let folder = SceneStore::open_shared(&place.0).expect("a new store").folder(ID);
        let mut scene = SavedScene::new(ID.to_owned());
        let first = SceneSnapshot { owner: None, scene: scene.clone() };
        let mut journal = folder.create(&first, first_generation(3)).expect("room");
        journal.append(&[record(0), record(1)]).expect("room");
        (0..2).for_each(|at| scene.apply(changes[at].clone()).expect("it fits"));
        let between = first_generation(3) + 1;
        folder.begin_journal(between, 2).expect("room");
        folder.write_snapshot(&SceneSnapshot { owner: None, scene }, between, 2).expect("room");
        for at in 2..2 + n_late {
            journal.append(&[record(at)]).expect("room");
        }
        let found = folder.damage_live().expect("readable");
        // Records 2 and 4 are cuts, and 3 has positions, which are saved without the lock.
        let is_told = found.iter().any(|what| what.contains("two servers wrote"));
        assert_eq!(is_told, n_late > 2, "{n_late} records late: {found:?}");
    }
}

#[test]
fn a_folder_is_shared_or_one_store_s_and_claims_end_with_sharing() {
    let place = place("sharing");
    let one = SceneStore::open_shared(&place.0).expect("a new store");
    let other = SceneStore::open_shared(&place.0).expect("shared");
    assert!(matches!(SceneStore::open(&place.0), Err(StoreError::InUse { .. })));
    let leases = place.0.join(LEASES);
    fs::create_dir(&leases).expect("room");
    let claims = ClaimFolder::open(&leases, "a").expect("room");
    let first = |id: &str| SceneSnapshot { owner: None, scene: SavedScene::new(id.to_owned()) };
    for (id, state) in [("liver", ClaimState::Free), ("spleen", ClaimState::Deleted)] {
        one.folder(id).create(&first(id), first_generation(1)).expect("room");
        assert!(claims.put(id, &SceneClaim { epoch: 2, state }).expect("room"));
    }
    drop((one, other));
    let store = SceneStore::open(&place.0).expect("free");
    assert!(matches!(SceneStore::open_shared(&place.0), Err(StoreError::InUse { .. })));
    assert_eq!(store.ids().expect("a list"), ["liver"], "the other was being deleted");
    assert!(!leases.exists());
}

/// Servers come and go, claim scenes, release and delete them, in any order. Each epoch of an id belongs to one claim
/// as long as a server is running that was running then, and only claims of deleted scenes are removed.
#[test]
fn claims_of_deleted_scenes_go_when_all_servers_have_and_no_epoch_is_had_twice_before() {
    let place = place("forgotten");
    let seed = std::env::var("PALPATE_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(3);
    println!("PALPATE_SEED={seed}");
    let mut random = Random::new(seed);
    let mut servers: [Option<(SceneStore, ClaimFolder)>; 3] = Default::default();
    // By id: all epochs since a server has been running without a break, and the newest claim.
    let mut model: [(BTreeSet<u64>, Option<SceneClaim>); 3] = Default::default();
    let mut n_forgotten = 0;
    // Heartbeat of a server that was killed, or whose machine has locks of its own: while it exists nothing is removed.
    fs::create_dir(place.0.join(LEASES)).expect("room");
    let beats = BeatFolder::open(&place.0.join(LEASES)).expect("room");
    let killed = ClaimHolder { server: "x".to_owned(), address: String::new() };
    let mut has_killed = false;
    for _ in 0..2_000 {
        let (n, name) = (random.below(3), random.below(3));
        let Some((_, claims)) = &servers[n] else {
            let is_alone = servers.iter().all(Option::is_none) && !has_killed;
            let store = SceneStore::open_shared(&place.0).expect("shared");
            let (claims, _) = store.leases(&n.to_string()).expect("room");
            if is_alone {
                for (epochs, newest) in &mut model {
                    if newest.as_ref().is_some_and(|claim| claim.state == ClaimState::Deleted) {
                        *newest = None;
                        n_forgotten += 1;
                    }
                    // No running server knows these epochs any more.
                    epochs.clear();
                }
            }
            servers[n] = Some((store, claims));
            continue;
        };
        let id = ["liver", "spleen", "gut"][name];
        let (epochs, newest) = &mut model[name];
        assert_eq!(&claims.newest(id).expect("readable"), newest, "{id}");
        if random.below(4) == 0 {
            servers[n] = None;
            continue;
        }
        if random.below(20) == 0 {
            has_killed = !has_killed;
            let beat = ServerBeat { count: 1, term_ms: 1_000, server: killed.clone() };
            let done = if has_killed { beats.put(&beat) } else { beats.remove("x") };
            done.expect("room");
        }
        let epoch = newest.as_ref().map_or(0, |claim| claim.epoch) + 1;
        let owner = ClaimHolder { server: n.to_string(), address: String::new() };
        let state = [ClaimState::Owned(owner), ClaimState::Free, ClaimState::Deleted];
        let claim = SceneClaim { epoch, state: state[random.below(3)].clone() };
        assert!(claims.put(id, &claim).expect("room"));
        assert!(epochs.insert(epoch), "epoch {epoch} of {id} twice");
        *newest = Some(claim);
    }
    assert!(n_forgotten > 10, "{n_forgotten} times");
}

#[test]
fn one_folder_is_one_store_s_and_unfinished_scenes_go() {
    let place = place("lock");
    let store = SceneStore::open(&place.0).expect("a new store");
    assert!(matches!(SceneStore::open(&place.0), Err(StoreError::InUse { .. })));
    keep(&store.folder(ID));
    drop(store);
    fs::create_dir(place.0.join("scenes/.new-spleen")).expect("room");
    let store = SceneStore::open(&place.0).expect("free again");
    assert!(!place.0.join("scenes/.new-spleen").exists());
    store.folder(ID).remove().expect("there");
    assert_eq!(store.ids().expect("a list"), [""; 0]);
}
