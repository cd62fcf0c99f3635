//! The journal of a durable scene: writes the scene's changes to the disk, one after the other, and knows which are
//! there.
//!
//! A change is checked, persisted and then applied, within its turn: a change that cannot be persisted is refused and
//! changes nothing. Deformations take no turn and wait for nothing: their newest positions are persisted from time to
//! time.

mod journal_files;

use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use crossbeam::channel::{Receiver, Sender, unbounded};
use parking_lot::Mutex;
use tokio::sync::{Mutex as TurnMutex, OwnedMutexGuard, oneshot};
use tracing::error;

use journal_files::{JournalFiles, Removal, failed};

use crate::{
    config::StoreSettings,
    os::thread_priority::lower_priority,
    scene::{
        TissueId,
        saved::{SavedScene, SceneChange},
    },
    service::{
        clock::now_ns,
        host::{
            cluster::scene_lease::SceneLease,
            durable::{last_snapshot::LastSnapshot, not_kept::NotKept},
        },
        metrics::store::StoreMetrics,
    },
    store::scenes::{
        folder::{FoundScene, SceneFolder},
        generations::first_generation,
        journal::{JournalFile, JournalRecord},
        snapshot::SceneSnapshot,
    },
};

/// Revisions of a tissue that are on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurableRevisions {
    /// Geometry revision of the newest positions on the disk.
    pub geometry: u64,
    /// Topology revision: all cuts until this one are on the disk.
    pub topology: u64,
}

/// The journal of one scene.
pub struct SceneJournal {
    owner: Option<String>,
    /// The holder may change the scene.
    turn: Arc<TurnMutex<()>>,
    files: Mutex<JournalFiles>,
    snapshot: Mutex<LastSnapshot>,
    durable: Mutex<BTreeMap<TissueId, DurableRevisions>>,
    commits: Sender<Commit>,
}

/// Number of journals after which a snapshot is due, however short they are: each server that changes the scene begins
/// a journal, and so does each write that fails. A reader of the scene opens all journals since the older of two
/// snapshots.
const JOURNALS_MAX: u64 = 16;

/// Changes on their way to the disk.
pub struct HandedIn(oneshot::Receiver<Result<u64, NotKept>>);

/// The right to change a scene; if the scene is not durable, there is nothing to wait for.
pub struct ChangeTurn(Option<(Arc<SceneJournal>, OwnedMutexGuard<()>)>);

/// Hands changes to the threads that wait for the disk or the network; the threads end with the last clone.
#[derive(Clone)]
pub struct CommitThread {
    /// Queues of the threads.
    queues: Arc<[Sender<Commit>]>,
    next: Arc<AtomicUsize>,
}

struct Commit {
    journal: Arc<SceneJournal>,
    records: Vec<JournalRecord>,
    reply: oneshot::Sender<Result<u64, NotKept>>,
}

impl CommitThread {
    /// Starts `n` threads: a wait on one thread does not delay the scenes of another.
    ///
    /// # Errors
    /// Returns an error if the system has no thread.
    pub fn start(n: usize, metrics: &Arc<StoreMetrics>) -> io::Result<CommitThread> {
        let mut queues = Vec::new();
        for _ in 0..n {
            let (commits, queue) = unbounded();
            let metrics = Arc::clone(metrics);
            thread::Builder::new().name("journal".to_owned()).spawn(move || {
                // Positions of a large tissue take milliseconds to encode and checksum: ticks go first.
                lower_priority();
                work(&queue, &metrics);
            })?;
            queues.push(commits);
        }
        Ok(CommitThread { queues: queues.into(), next: Arc::default() })
    }

    /// Returns the queue for one scene: its changes are written in their order.
    fn queue(&self) -> Sender<Commit> {
        self.queues[self.next.fetch_add(1, Relaxed) % self.queues.len()].clone()
    }

    /// Number of scenes whose changes are written at once.
    pub fn at_once(&self) -> usize {
        self.queues.len()
    }
}

/// Group commit: changes that came while the disk was busy are written together, with one wait for each scene.
fn work(queue: &Receiver<Commit>, metrics: &StoreMetrics) {
    while let Ok(first) = queue.recv() {
        let mut batch: Vec<Vec<Commit>> = vec![vec![first]];
        for commit in queue.try_iter() {
            match batch.iter_mut().find(|of| Arc::ptr_eq(&of[0].journal, &commit.journal)) {
                Some(of_scene) => of_scene.push(commit),
                None => batch.push(vec![commit]),
            }
        }
        for of_scene in batch {
            let started_ns = now_ns();
            let journal = Arc::clone(&of_scene[0].journal);
            let mut records = Vec::new();
            let mut replies = Vec::new();
            for commit in of_scene {
                replies.push((records.len() as u64, commit.reply));
                records.extend(commit.records);
            }
            let done = journal.append(records);
            metrics.commit.note(now_ns() - started_ns);
            let is_failure = matches!(done, Err(NotKept::Disk(_) | NotKept::Unknown(_)));
            metrics.failures.fetch_add(u64::from(is_failure), Relaxed);
            for (at, reply) in replies {
                // An error means that nobody waits for the reply any more.
                let _ = reply.send(done.clone().map(|first| first + at));
            }
        }
    }
}

impl SceneJournal {
    /// Creates the journal of a new scene, whose files do not exist yet.
    pub fn new(
        folder: SceneFolder,
        owner: Option<&str>,
        commits: &CommitThread,
        lease: Option<Arc<SceneLease>>,
    ) -> SceneJournal {
        let generation = lease.as_ref().map_or(0, |lease| first_generation(lease.epoch()));
        let files = JournalFiles {
            folder,
            lease,
            file: None,
            is_torn: false,
            is_gone: false,
            removal: Removal::NotBegun,
            is_closed: false,
            generation,
            n_journals: 0,
            next_sequence: 0,
            open_voids: Vec::new(),
        };
        SceneJournal {
            owner: owner.map(str::to_owned),
            turn: Arc::default(),
            files: Mutex::new(files),
            snapshot: Mutex::new(LastSnapshot::new(0, now_ns())),
            durable: Mutex::default(),
            commits: commits.queue(),
        }
    }

    /// Creates the journal of a scene that was read from its files.
    pub fn of_found(
        folder: SceneFolder,
        found: &FoundScene,
        commits: &CommitThread,
        lease: Option<Arc<SceneLease>>,
    ) -> SceneJournal {
        let journal = SceneJournal::new(folder, found.kept.owner.as_deref(), commits, lease);
        let mut files = journal.files.lock();
        // The first change begins a new journal: the end of the last one stays as it is.
        files.generation = files.generation.max(found.generation);
        files.n_journals = found.n_journals;
        files.next_sequence = found.next_sequence;
        drop(files);
        *journal.snapshot.lock() = LastSnapshot::of_found(found, now_ns());
        let tissues = found.kept.scene.tissues.iter();
        let revisions = tissues.map(|t| (t.id, (t.geometry_revision, t.topology_revision)));
        let durable = revisions
            .map(|(id, (geometry, topology))| (id, DurableRevisions { geometry, topology }));
        journal.durable.lock().extend(durable);
        journal
    }

    /// Creates the journal of a scene that was another server's, with [`SceneFolder::take_over`].
    ///
    /// # Errors
    /// I/O errors of the store, or when there are files of a later owner; nothing has then changed for readers of the
    /// files.
    pub fn of_taken(
        folder: SceneFolder,
        found: &FoundScene,
        commits: &CommitThread,
        lease: &Arc<SceneLease>,
    ) -> io::Result<SceneJournal> {
        let (file, generation) = folder.take_over(found, lease.epoch())?;
        let journal = SceneJournal::of_found(folder, found, commits, Some(Arc::clone(lease)));
        let mut files = journal.files.lock();
        (files.file, files.generation, files.n_journals) = (Some(file), generation, 1);
        drop(files);
        journal.snapshot.lock().begin(now_ns());
        Ok(journal)
    }

    /// Creates the files of a new scene.
    ///
    /// # Errors
    /// Errors of the store; no files exist then, unless the error is [`NotKept::Unknown`].
    pub fn create(&self, scene: SavedScene) -> Result<(), NotKept> {
        let mut files = self.files.lock();
        let first = SceneSnapshot { owner: self.owner.clone(), scene };
        files.file =
            Some(files.folder.create(&first, files.generation).map_err(NotKept::of_write)?);
        if let Some(lease) = &files.lease {
            lease.note_made().map_err(NotKept::of_write)?;
        }
        files.check_written()
    }

    /// Removes the files: from then on nothing is persisted.
    ///
    /// # Errors
    /// Errors of the store; the files still exist then, and changes are persisted. After [`NotKept::Unknown`] no change
    /// is persisted, and the files must be removed again.
    pub fn remove(&self) -> Result<(), NotKept> {
        let mut files = self.files.lock();
        if files.removal == Removal::Done {
            return Ok(());
        }
        // Closed before the removal, for Windows: if the files stay, the next change begins another journal.
        files.file = None;
        let removed = match files.remove() {
            // Concerns this attempt alone: the removals of the attempt before, and the files it put back, may not last.
            Err(NotKept::Disk(error)) if files.removal == Removal::Unknown => {
                Err(NotKept::Unknown(error.to_string()))
            }
            removed => removed,
        };
        files.removal = match removed {
            Ok(()) => Removal::Done,
            Err(NotKept::Unknown(_)) => Removal::Unknown,
            Err(_) => files.removal,
        };
        removed
    }

    /// Leaves the files to another instance: from then on nothing is persisted. Returns false if the files are removed
    /// already, or may be.
    pub fn close(&self) -> bool {
        let mut files = self.files.lock();
        files.is_closed = true;
        files.file = None;
        files.removal == Removal::NotBegun
    }

    /// Waits for the turn to change the scene; without a journal there is no wait.
    pub async fn turn(journal: Option<&Arc<SceneJournal>>) -> ChangeTurn {
        let Some(journal) = journal else { return ChangeTurn(None) };
        let turn = Arc::clone(&journal.turn).lock_owned().await;
        ChangeTurn(Some((Arc::clone(journal), turn)))
    }

    /// Blocking form of [`SceneJournal::turn`], for threads outside the runtime.
    pub fn turn_blocking(journal: Option<&Arc<SceneJournal>>) -> ChangeTurn {
        let Some(journal) = journal else { return ChangeTurn(None) };
        let turn = Arc::clone(&journal.turn).blocking_lock_owned();
        ChangeTurn(Some((Arc::clone(journal), turn)))
    }

    /// Takes the first turn of a scene that nobody else knows yet.
    pub fn first_turn(self: &Arc<Self>) -> ChangeTurn {
        let turn = Arc::clone(&self.turn).try_lock_owned().expect("nobody else knows it");
        ChangeTurn(Some((Arc::clone(self), turn)))
    }

    /// Returns the revisions of a tissue that are on the disk.
    pub fn durable(&self, tissue: TissueId) -> DurableRevisions {
        self.durable.lock().get(&tissue).copied().unwrap_or_default()
    }

    /// Lease of the scene, if servers share the folder.
    pub fn lease(&self) -> Option<Arc<SceneLease>> {
        self.files.lock().lease.clone()
    }

    /// Returns true if the journal is gone from the disk, so that a snapshot must be written at once. Asks the system.
    pub fn is_gone(&self) -> bool {
        let mut files = self.files.lock();
        files.is_gone |= files.file.as_ref().is_some_and(JournalFile::is_gone);
        files.is_gone
    }

    /// Returns true if another snapshot is due.
    pub fn is_snapshot_due(&self, settings: &StoreSettings) -> bool {
        let files = self.files.lock();
        let (n_journals, appends_max) = (files.n_journals, files.folder.appends_max());
        drop(files);
        n_journals >= JOURNALS_MAX || self.last_snapshot().is_due(settings, appends_max, now_ns())
    }

    /// Returns the state of the newest snapshot.
    pub fn last_snapshot(&self) -> LastSnapshot {
        *self.snapshot.lock()
    }

    /// Hands positions in without a turn: no other change depends on what they change.
    pub fn keep_positions(self: &Arc<Self>, positions: Vec<SceneChange>) -> HandedIn {
        HandedIn(self.hand_in(positions.into_iter().map(JournalRecord::Change).collect()))
    }

    /// Begins the next journal if a write has failed, and takes back cuts that were not applied: from then on it is
    /// certain that the failed records do not count.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be begun: readers of the files may then find the failed records.
    pub fn settle(&self) -> Result<(), NotKept> {
        let mut files = self.files.lock();
        let is_open = files.is_torn || files.file.as_ref().is_some_and(JournalFile::is_broken);
        let has_voids = !files.open_voids.is_empty();
        if !(is_open || has_voids) || files.check_own().is_err() {
            return Ok(());
        }
        if is_open {
            files.begin_journal()?;
        }
        drop(files);
        if has_voids { self.append(Vec::new()).map(drop) } else { Ok(()) }
    }

    /// Writes a snapshot of the scene as it is now; the turn is given back before the write. Must not run on the
    /// runtime's threads.
    ///
    /// # Errors
    /// Returns an error if the snapshot is not written: the older snapshot and the journals since then still exist.
    pub fn keep_snapshot(
        self: &Arc<Self>,
        saved: impl FnOnce() -> SavedScene,
    ) -> Result<(), NotKept> {
        // Within a turn, every change in the journal has been applied: the saved scene has all of them.
        let turn = SceneJournal::turn_blocking(Some(self));
        let (folder, generation, sequence) = {
            let mut files = self.files.lock();
            files.check_own()?;
            // Set first, so that a failed snapshot is not tried again at once.
            self.snapshot.lock().begin(now_ns());
            files.n_journals = 0;
            files.begin_journal()?;
            (files.folder.clone(), files.generation, files.next_sequence)
        };
        let kept = SceneSnapshot { owner: self.owner.clone(), scene: saved() };
        drop(turn);
        let written = folder.write_snapshot(&kept, generation, sequence).map_err(failed);
        let mut files = self.files.lock();
        files.check_own()?;
        self.snapshot.lock().bytes = written?;
        files.is_gone = false;
        drop(files);
        for tissue in &kept.scene.tissues {
            let mut durable = self.durable.lock();
            if let Some(of_tissue) = durable.get_mut(&tissue.id) {
                of_tissue.geometry = of_tissue.geometry.max(tissue.geometry_revision);
            }
        }
        Ok(())
    }

    fn hand_in(
        self: &Arc<Self>,
        records: Vec<JournalRecord>,
    ) -> oneshot::Receiver<Result<u64, NotKept>> {
        let (reply, done) = oneshot::channel();
        let commit = Commit { journal: Arc::clone(self), records, reply };
        // An error drops the reply, and its receiver learns that.
        let _ = self.commits.send(commit);
        done
    }

    /// Appends records behind the voids that are still open. Returns the number of the first of these records.
    fn append(&self, records: Vec<JournalRecord>) -> Result<u64, NotKept> {
        let mut files = self.files.lock();
        let mut all = std::mem::take(&mut files.open_voids);
        let n_voids = all.len() as u64;
        all.extend(records);
        let written = files.append(&all);
        if written.is_err() {
            let voids = all.iter().filter(|record| matches!(record, JournalRecord::Void(_)));
            files.open_voids = voids.cloned().collect();
        }
        drop(files);
        let (first, more) = written?;
        self.snapshot.lock().note_append(more);
        self.note(&all);
        Ok(first + n_voids)
    }

    fn note(&self, records: &[JournalRecord]) {
        let mut durable = self.durable.lock();
        for record in records {
            let JournalRecord::Change(change) = record else { continue };
            match change {
                SceneChange::TissueAdded(tissue) => {
                    let (geometry, topology) = (tissue.geometry_revision, tissue.topology_revision);
                    durable.insert(tissue.id, DurableRevisions { geometry, topology });
                }
                SceneChange::TissueRemoved(id) => drop(durable.remove(id)),
                SceneChange::Edited { tissue, edit } => {
                    if let Some(of_tissue) = durable.get_mut(tissue) {
                        of_tissue.topology =
                            edit.base_revision.map_or(of_tissue.topology, |r| r + 1);
                    }
                }
                SceneChange::Moved { tissue, geometry_revision, .. } => {
                    if let Some(of_tissue) = durable.get_mut(tissue) {
                        of_tissue.geometry = of_tissue.geometry.max(*geometry_revision);
                    }
                }
                SceneChange::ToolAdded(_)
                | SceneChange::ToolRemoved(_)
                | SceneChange::Felt { .. } => {}
            }
        }
    }
}

impl HandedIn {
    /// Waits until the changes are on the disk. Must not run on the runtime's threads.
    ///
    /// # Errors
    /// Returns an error if the changes are not persisted.
    pub fn wait(self) -> Result<(), NotKept> {
        self.0.blocking_recv().unwrap_or(Err(NotKept::Gone)).map(drop)
    }
}

impl ChangeTurn {
    /// Persists changes, which the caller then applies. Returns the number of the last change.
    ///
    /// # Errors
    /// Returns an error if the changes are not persisted: they must not be applied.
    pub async fn keep(&self, changes: Vec<SceneChange>) -> Result<u64, NotKept> {
        let Some((journal, _)) = &self.0 else { return Ok(0) };
        let behind = changes.len() as u64 - 1;
        let records = changes.into_iter().map(JournalRecord::Change).collect();
        let kept = journal.hand_in(records).await.unwrap_or(Err(NotKept::Gone))?;
        Ok(kept + behind)
    }

    /// Blocking form of [`ChangeTurn::keep`] for one change, for threads outside the runtime.
    ///
    /// # Errors
    /// See [`ChangeTurn::keep`].
    pub fn keep_blocking(&self, change: impl FnOnce() -> SceneChange) -> Result<(), NotKept> {
        let Some((journal, _)) = &self.0 else { return Ok(()) };
        let records = vec![JournalRecord::Change(change())];
        journal.hand_in(records).blocking_recv().unwrap_or(Err(NotKept::Gone)).map(drop)
    }

    /// Takes back a cut that is persisted and that the engine failed to apply. If this cannot be written, no change is
    /// persisted before it is.
    pub async fn take_back(&self, cut: u64, tissue: TissueId, topology_revision: u64) {
        let Some((journal, _)) = &self.0 else { return };
        if let Some(of_tissue) = journal.durable.lock().get_mut(&tissue) {
            of_tissue.topology = topology_revision;
        }
        let done = journal.hand_in(vec![JournalRecord::Void(cut)]).await;
        if let Err(error) = done.unwrap_or(Err(NotKept::Gone)) {
            error!("a cut that failed stays in the journal until it can be written to: {error}");
        }
    }
}

#[cfg(test)]
mod tests;
