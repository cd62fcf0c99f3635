//! Tests of damage in an object store, with each file an object and each journal a row of objects.

use std::{
    collections::BTreeSet,
    sync::{Arc, Barrier},
    thread,
    time::Duration,
};

use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload, memory::InMemory, path::Path};
use tokio::runtime;
use tokio_stream::StreamExt as _;

use super::{END, ID, LAST, NEWEST, changes, keep};
use crate::{
    scene::saved::{SavedScene, SceneChange},
    store::{
        lease::{
            claim::{ClaimHolder, ClaimState, SceneClaim},
            claim_folder::ClaimFolder,
            server_beat::{BeatFolder, ServerBeat},
        },
        place::{StorePlace, object_address::ObjectAddress, object_place::ObjectPlace},
        scenes::{
            folder::SceneFolder, generations::first_generation, journal::JournalRecord,
            snapshot::SceneSnapshot,
        },
    },
};

/// Store in memory, with the guarantees of an object store.
struct Bucket(Arc<InMemory>);

impl Bucket {
    fn new() -> Bucket {
        Bucket(Arc::new(InMemory::new()))
    }

    fn place(&self) -> ObjectPlace {
        let url = "s3://tests/or".to_owned();
        let request_max = Duration::from_secs(60);
        let address = ObjectAddress { url, allow_http: false, request_max, of_thread: || {} };
        let store: Arc<dyn ObjectStore> = Arc::clone(&self.0) as _;
        ObjectPlace::of(store, "or", &address).expect("threads")
    }

    fn folder(&self) -> SceneFolder {
        let scenes: Arc<dyn StorePlace> = Arc::new(self.place().below("scenes"));
        SceneFolder::new(&scenes, ID)
    }

    fn all(&self) -> Vec<(String, Vec<u8>)> {
        block_on(async {
            let mut all = Vec::new();
            let mut objects = self.0.list(None);
            while let Some(object) = objects.next().await {
                let at = object.expect("in memory").location;
                let bytes = self.0.get(&at).await.expect("there").bytes().await.expect("whole");
                all.push((at.to_string(), bytes.to_vec()));
            }
            all.sort();
            all
        })
    }

    fn put(&self, at: &str, bytes: &[u8]) {
        let (at, payload) = (Path::from(at), PutPayload::from(bytes.to_vec()));
        drop(block_on(self.0.put(&at, payload)).expect("room"));
    }

    fn remove(&self, at: &str) {
        block_on(self.0.delete(&Path::from(at))).expect("there");
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    runtime::Builder::new_current_thread().build().expect("a runtime").block_on(work)
}

fn record(change: &SceneChange) -> JournalRecord {
    JournalRecord::Change(change.clone())
}

#[test]
fn a_journal_is_a_row_of_objects_and_reads_as_the_file_would() {
    let bucket = Bucket::new();
    let folder = bucket.folder();
    let states = keep(&folder);
    let found = folder.read().expect("whole");
    assert_eq!((found.next_sequence, found.generation), (END as u64, 3));
    assert_eq!((found.damage.len(), &found.kept.scene), (0, &states[END]));
    let names: BTreeSet<String> = bucket
        .all()
        .into_iter()
        .map(|(at, _)| at.strip_prefix("or/scenes/liver/").expect("below").to_owned())
        .collect();
    // Two journals with a head and ten records, one with a head and six records, and two snapshots.
    assert_eq!(names.len(), 11 + 11 + 7 + 2, "{names:?}");
    for name in ["1.snapshot", "2.snapshot", "1.journal/0000000000", "3.journal/0000000006"] {
        assert!(names.contains(name), "{name} among {names:?}");
    }
    folder.remove().expect("there");
    assert!(bucket.all().is_empty() && !folder.is_there().expect("in memory"));
}

#[test]
fn an_object_that_is_missing_or_damaged_is_found_and_told() {
    let bucket = Bucket::new();
    let states = keep(&bucket.folder());
    let whole = bucket.all();
    for (at, bytes) in &whole {
        for harmed in [None, Some(0), Some(bytes.len() / 2), Some(bytes.len() - 1)] {
            match harmed {
                None => bucket.remove(at),
                Some(byte) => {
                    let mut bytes = bytes.clone();
                    bytes[byte] ^= 1;
                    bucket.put(at, &bytes);
                }
            }
            let found = bucket.folder().read().unwrap_or_else(|e| panic!("{at} {harmed:?}: {e}"));
            let (n, is_told) = (found.next_sequence as usize, !found.damage.is_empty());
            let case = format!("{at} {harmed:?}: {n} changes, {:?}", found.damage);
            assert_eq!(found.kept.scene, states[n], "{case}");
            let name = at.strip_prefix("or/scenes/liver/").expect("below");
            match name.split_once('/').map_or((name, "0"), |(row, piece)| (row, piece)) {
                // The older snapshot and its journal are not needed.
                ("1.snapshot" | "1.journal", _) => assert_eq!((n, is_told), (END, false), "{case}"),
                // A missing newest snapshot is not noticed, and nothing is lost.
                ("2.snapshot", _) => assert_eq!((n, is_told), (END, harmed.is_some()), "{case}"),
                ("2.journal", _) => assert!((NEWEST..LAST).contains(&n) && is_told, "{case}"),
                // A killed writer did not put the object.
                ("3.journal", "0000000006") if harmed.is_none() => {
                    assert_eq!((n, is_told), (END - 1, false), "{case}");
                }
                ("3.journal", _) => assert!((LAST..END).contains(&n) && is_told, "{case}"),
                _ => panic!("{case}"),
            }
            bucket.put(at, bytes);
        }
    }
}

#[test]
fn foreign_objects_are_left_alone_and_one_in_the_way_breaks_its_journal() {
    let bucket = Bucket::new();
    let (folder, changes) = (bucket.folder(), changes());
    let first = SceneSnapshot { owner: None, scene: SavedScene::new(ID.to_owned()) };
    let mut journal = folder.create(&first, 0).expect("room");
    journal.append(&[record(&changes[0])]).expect("room");
    let below = "or/scenes/liver";
    for name in ["notes.txt", "x.snapshot", "0.journal/notes", "0.journal/00000000zz", "7/8/9"] {
        bucket.put(&format!("{below}/{name}"), b"of somebody else");
    }
    journal.append(&[record(&changes[1])]).expect("room");
    bucket.put(&format!("{below}/0.journal/0000000003"), b"in the way");
    let refused = journal.append(&[record(&changes[2])]).expect_err("not its own");
    assert_eq!(refused.kind(), std::io::ErrorKind::AlreadyExists, "{refused}");
    assert!(journal.is_broken());
    let mut next = folder.begin_journal(1, 2).expect("room");
    next.append(&[record(&changes[2])]).expect("room");
    let found = folder.read().expect("whole");
    assert_eq!((found.next_sequence, found.damage), (3, vec![]));
    folder.keep_damaged(&folder.read().expect("whole"));
}

/// Late writes, as in a folder, of an owner that was stopped while another took the scene over.
#[test]
fn what_a_stale_owner_puts_later_is_not_read() {
    let bucket = Bucket::new();
    let (folder, changes) = (bucket.folder(), changes());
    let first = SceneSnapshot { owner: None, scene: SavedScene::new(ID.to_owned()) };
    let after = |n: usize| {
        let mut scene = first.scene.clone();
        changes[..n].iter().for_each(|change| scene.apply(change.clone()).expect("it fits"));
        scene
    };
    let mut stale = folder.create(&first, first_generation(1)).expect("room");
    stale.append(&[record(&changes[0]), record(&changes[1])]).expect("room");
    let found = folder.read().expect("whole");
    let (mut next, _) = folder.take_over(&found, 2).expect("room");
    assert_eq!(folder.newest_epoch().expect("there"), 2);
    stale.append(&[record(&changes[2])]).expect("room");
    let late = first_generation(1) + 5;
    folder.begin_journal(late, 3).expect("room").append(&[record(&changes[3])]).expect("room");
    let beyond = SceneSnapshot { owner: None, scene: after(3) };
    folder.write_snapshot(&beyond, late, 3).expect("room");
    let found = folder.read().expect("whole");
    assert_eq!((&found.kept.scene, found.damage.len()), (&after(2), 0));
    next.append(&[record(&changes[2]), record(&changes[3])]).expect("room");
    let found = folder.read().expect("whole");
    assert_eq!((&found.kept.scene, found.next_sequence), (&after(4), 4));
    folder.remove_before(2).expect("there");
    assert_eq!(folder.read().expect("the snapshot of the taker").kept.scene, after(4));
    folder.remove_before(3).expect("there");
    assert!(bucket.all().is_empty());
}

#[test]
fn a_scene_that_was_not_made_to_its_end_is_known_as_none() {
    let bucket = Bucket::new();
    let folder = bucket.folder();
    assert!(folder.has_nothing().expect("in memory"), "nothing is there");
    let first = SceneSnapshot { owner: None, scene: SavedScene::new(ID.to_owned()) };
    let mut journal = folder.create(&first, 0).expect("room");
    assert!(!folder.has_nothing().expect("in memory"));
    bucket.remove("or/scenes/liver/0.snapshot");
    assert!(folder.has_nothing().expect("in memory"), "the snapshot comes last");
    journal.append(&[record(&changes()[0])]).expect("room");
    assert!(!folder.has_nothing().expect("in memory"), "what was acknowledged is missed");
    assert!(folder.create(&first, 0).is_err(), "it is not put over another");
}

#[test]
fn of_many_servers_one_gets_each_epoch() {
    let bucket = Bucket::new();
    bucket.place().check("a").expect("it keeps what S3 promises");
    let (servers, epochs) = (6, 20);
    let start = Arc::new(Barrier::new(servers));
    let holder =
        |server: &str| ClaimHolder { server: server.to_owned(), address: "a:1".to_owned() };
    let threads: Vec<_> = (0..servers)
        .map(|n| {
            let (start, place) = (Arc::clone(&start), bucket.place().below("claims"));
            thread::spawn(move || {
                let claims = ClaimFolder::of(Box::new(place));
                let own = ClaimState::Owned(holder(&format!("s{n}")));
                let mut got = Vec::new();
                for epoch in 1..=epochs {
                    start.wait();
                    let claim = SceneClaim { epoch, state: own.clone() };
                    if claims.put(ID, &claim).expect("room") {
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
    let claims = ClaimFolder::of(Box::new(bucket.place().below("claims")));
    let asked = [ID.to_owned(), "spleen".to_owned()];
    assert_eq!(claims.newest_epochs(&asked).expect("readable"), [Some(epochs), None]);
    assert_eq!(bucket.all().len(), 9, "old claims go");
    let beats = BeatFolder::of(Box::new(bucket.place().below("servers")));
    let beat = ServerBeat { count: 7, term_ms: 3_000, server: holder("a") };
    beats.put(&beat).expect("room");
    bucket.put("or/servers/readme.txt", b"of somebody else");
    assert_eq!(beats.all().expect("readable"), [(beat.server.server.clone(), Some(beat))]);
    beats.remove("a").expect("there");
    assert_eq!(beats.newest("a").expect("readable"), None);
}
