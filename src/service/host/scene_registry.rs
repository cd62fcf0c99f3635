//! The scenes of a server, by id.

mod delete;
#[cfg(test)]
mod tests;

use std::{
    io,
    sync::{Arc, OnceLock},
    time::Duration,
};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tracing::{Span, error, info};

use super::{
    cluster::{
        claim_new::{check_unclaimed, claim_new},
        membership::Membership,
        scene_lease::NewOwner,
    },
    durable::scene_journal::{CommitThread, SceneJournal},
    field_builds::FieldBuilds,
    live_view::{device_wishes::DeviceWishes, playback::Playback},
    memory_limit::MemoryLimit,
    opening_turns::OpeningTurns,
    quota::{self, Ledger, Reservation, RoomRefused, Share},
    scene_entries::SceneEntries,
    scene_error::SceneRegistryError,
    scene_host::SceneHost,
    scene_life::{Ended, ServerLife},
    scene_state::{End, Hold, SceneEvent},
    stream_table::StreamTable,
    tick_budget::TickBudgets,
    writer::SceneWriter,
};
use crate::{
    config::Config,
    scene::{Limits, Scene, saved::SavedScene},
    service::{
        access::caller::Caller, convert::FieldError, metrics::Metrics,
        recording::recorders::Recorders, refused::Refused, request_field::scene_id,
    },
    store::{lease::claim::ClaimFrom, scenes::scene_store::SceneStore},
};

/// All scenes of a server.
pub struct SceneRegistry {
    limits: Limits,
    tick_time_max: Duration,
    tick_budgets: TickBudgets,
    scenes: RwLock<SceneEntries>,
    server: ServerLife,
    metrics: Arc<Metrics>,
    streams: Arc<StreamTable>,
    ledger: Arc<Ledger>,
    /// Unset if no scene is persisted.
    keeping: OnceLock<Keeping>,
    /// Unset if no scene is recorded.
    recorders: OnceLock<Recorders>,
    /// Unset if no other server has scenes of the same folder.
    membership: OnceLock<Arc<Membership>>,
    /// Unset if no scene is persisted.
    opening: OnceLock<OpenByName>,
    /// Unset if no recording is played.
    playback: OnceLock<Arc<Playback>>,
}

/// Store of the durable scenes, and the thread that commits to it.
struct Keeping {
    store: SceneStore,
    commits: CommitThread,
}

type Opener =
    dyn Fn(&SceneRegistry, &str, ClaimFrom) -> Result<(), SceneRegistryError> + Send + Sync;

/// Opens scenes that clients ask for and that are in the store but not here.
struct OpenByName {
    /// A function of a higher layer: it reads scenes and their fields.
    opener: Arc<Opener>,
    turns: OpeningTurns,
}

impl SceneRegistry {
    /// Creates a registry without scenes.
    pub fn new(config: &Config) -> SceneRegistry {
        SceneRegistry {
            limits: config.limits.clone(),
            tick_time_max: config.ticks.time_max,
            tick_budgets: TickBudgets::new(config),
            scenes: RwLock::default(),
            server: ServerLife::default(),
            metrics: Arc::new(Metrics::new(config.sessions.objective)),
            streams: Arc::default(),
            ledger: Arc::new(Ledger::new(MemoryLimit::new(config.limits.memory_bytes))),
            keeping: OnceLock::new(),
            recorders: OnceLock::new(),
            membership: OnceLock::new(),
            opening: OnceLock::new(),
            playback: OnceLock::new(),
        }
    }

    /// Persists scenes in `store` from now on.
    ///
    /// # Errors
    /// Returns an error if the system has no thread for the commits.
    pub fn keep_in(&self, store: SceneStore) -> io::Result<()> {
        let commits = CommitThread::start(store.writes_at_once(), &self.metrics.store)?;
        let is_first = self.keeping.set(Keeping { store, commits }).is_ok();
        debug_assert!(is_first, "there is one store");
        Ok(())
    }

    /// Returns the store of durable scenes, and its commit thread.
    pub fn keeping(&self) -> Option<(&SceneStore, &CommitThread)> {
        self.keeping.get().map(|Keeping { store, commits }| (store, commits))
    }

    /// Records scenes that are created or read from now on.
    pub fn record_in(&self, recorders: Recorders) {
        let is_first = self.recorders.set(recorders).is_ok();
        debug_assert!(is_first, "there is one folder of recordings");
    }

    /// Waits up to `at_most` until all recordings are written. Must not run on the runtime's threads.
    pub fn end_recordings(&self, at_most: Duration) {
        if let Some(recorders) = self.recorders.get() {
            recorders.end(at_most);
        }
    }

    /// Shares the scenes with other servers from now on.
    pub fn share(&self, membership: Arc<Membership>) {
        let is_first = self.membership.set(membership).is_ok();
        debug_assert!(is_first, "it is shared once");
    }

    /// Sets the opener of scenes that clients ask for and that are in the store but not here.
    pub fn open_by(&self, opener: Arc<Opener>) {
        let turns = OpeningTurns::default();
        let is_first = self.opening.set(OpenByName { opener, turns }).is_ok();
        debug_assert!(is_first, "there is one way to open scenes");
    }

    /// Shows viewers this playback of a recording, and lets them control it.
    pub fn show_playback(&self, playback: Arc<Playback>) {
        let is_first = self.playback.set(playback).is_ok();
        debug_assert!(is_first, "one recording is played");
    }

    /// Returns the playback of the recording that the server plays; `None` if it plays none.
    pub fn playback(&self) -> Option<&Arc<Playback>> {
        self.playback.get()
    }

    /// Returns this server's membership among the servers that share scenes; `None` if it shares none.
    pub fn membership(&self) -> Option<&Arc<Membership>> {
        self.membership.get()
    }

    /// Returns true if a scene may be in the store but not here; [`SceneRegistry::open`] finds out.
    pub fn may_open(&self, id: &str) -> bool {
        // If servers share scenes, a scene that was found damaged may be there too: another server may have read it
        // since.
        let scenes = self.scenes.read();
        let may_be_there = || self.membership().is_some() || scenes.may_be_read(id);
        scene_id(id).is_ok() && !scenes.has(id) && may_be_there()
    }

    /// Takes in a scene that nobody owns (if servers share scenes) or for which there was no room before. The later
    /// look-up reports whether the scene is here.
    ///
    /// # Errors
    /// Names the server that owns the scene, or the reason why it cannot be taken in.
    pub async fn open(self: &Arc<Self>, id: &str) -> Result<(), Refused> {
        self.open_from(id, ClaimFrom::Silent).await
    }

    /// Opens a scene as [`SceneRegistry::open`] does. If `from` is [`ClaimFrom::Anyone`], also takes a scene that
    /// another server owns, after waiting for the end of its lease.
    ///
    /// # Errors
    /// See [`SceneRegistry::open`].
    pub async fn open_from(self: &Arc<Self>, id: &str, from: ClaimFrom) -> Result<(), Refused> {
        let Some(opening) = self.opening.get().filter(|_| self.may_open(id)) else {
            return Ok(());
        };
        self.server.check_served()?;
        let (opener, registry) = (Arc::clone(&opening.opener), Arc::clone(self));
        let of = id.to_owned();
        let open = move || -> Result<(), SceneRegistryError> {
            if registry.has(&of) {
                return Ok(());
            }
            opener(&registry, &of, from)?;
            // Not before: a call that found the scene here a moment ago must not get "unknown" while another looks.
            registry.scenes.write().end_redirect(&of);
            Ok(())
        };
        Ok(opening.turns.run(id, open).await??)
    }

    /// Maximum engine time of one tick.
    pub fn tick_time_max(&self) -> Duration {
        self.tick_time_max
    }

    /// Tick time budgets per key.
    pub fn tick_budgets(&self) -> &TickBudgets {
        &self.tick_budgets
    }

    /// Metrics of the server.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Returns the open haptic loops and live views.
    pub fn streams(&self) -> &Arc<StreamTable> {
        &self.streams
    }

    /// Limits on client requests.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Creates an empty scene that belongs to the caller and ends with the server. No other server knows of it. Waits
    /// for the disk if servers share scenes.
    pub fn create(&self, id: &str, caller: &Caller) -> Result<Arc<SceneHost>, SceneRegistryError> {
        check_id(id)?;
        if let (Some(own), Some((store, _))) = (self.membership(), self.keeping()) {
            check_unclaimed(own, &store.folder(id), id)?;
        }
        self.insert_new(id, caller, None)
    }

    /// Creates an empty scene that belongs to the caller and outlives the server. Waits for the disk.
    pub fn create_durable(
        &self,
        id: &str,
        caller: &Caller,
    ) -> Result<Arc<SceneHost>, SceneRegistryError> {
        check_id(id)?;
        let (store, commits) = self.keeping().ok_or(SceneRegistryError::KeepsNone)?;
        // Checked before the claim: a refused scene leaves no claim.
        self.check_new(&self.scenes.read(), id, caller)?;
        let claim = |own| claim_new(own, &store.folder(id), id);
        let lease = self.membership().map(claim).transpose()?;
        let owner = caller.name();
        let journal = Arc::new(SceneJournal::new(store.folder(id), owner, commits, lease.clone()));
        // Nobody changes the scene before its files exist, since nobody else has a turn.
        let _turn = journal.first_turn();
        let made =
            self.insert_new(id, caller, Some(Arc::clone(&journal))).and_then(|host| match journal
                .create(SavedScene::new(id.to_owned()))
            {
                Ok(()) => Ok(host),
                Err(error) => {
                    self.end(&host, End::Deleted);
                    Err(error.into())
                }
            });
        if let (Err(_), Some(lease)) = (&made, lease) {
            // On an error the claim stays this server's while it runs, and there is no scene.
            let _ = lease.delete();
        }
        made
    }

    fn insert_new(
        &self,
        id: &str,
        caller: &Caller,
        journal: Option<Arc<SceneJournal>>,
    ) -> Result<Arc<SceneHost>, SceneRegistryError> {
        check_id(id)?;
        self.check_recovered()?;
        // Held until the scene is inserted: two calls with one id, or for the last free slot, must not both find it
        // free.
        let mut scenes = self.scenes.write();
        scenes.check_unread(id)?;
        self.check_new(&scenes, id, caller)?;
        let scene = Scene::new(id.to_owned(), self.limits.clone());
        let host = self.host(scene, caller.name().map(str::to_owned), journal, Hold::Held)?;
        scenes.insert(Arc::clone(&host));
        info!(scene = id, durable = host.is_durable(), "scene created");
        Ok(host)
    }

    /// Checks that the caller may have one more scene, and that `id` is free.
    fn check_new(
        &self,
        scenes: &SceneEntries,
        id: &str,
        caller: &Caller,
    ) -> Result<(), SceneRegistryError> {
        if scenes.has(id) {
            return Err(SceneRegistryError::Taken { id: id.to_owned() });
        }
        if scenes.here().count() >= self.limits.scenes {
            return Err(SceneRegistryError::Full { limit: self.limits.scenes });
        }
        let Some(key) = caller.name() else { return Ok(()) };
        let used = scenes.here().filter(|host| host.owner.as_deref() == Some(key)).count();
        Ok(quota::check(key, "scenes", used as u64, 1, caller.quotas().scenes)?)
    }

    /// Takes in a scene that was read from the disk. Neither the scene limit nor a quota refuses it. Clients are
    /// refused a scene of a shared folder until its claim has been read once more.
    pub fn insert_recovered(
        &self,
        scene: Scene,
        owner: Option<String>,
        journal: SceneJournal,
    ) -> Result<Arc<SceneHost>, SceneRegistryError> {
        let hold = if journal.lease().is_some() { Hold::Opening } else { Hold::Held };
        let host = self.host(scene, owner, Some(Arc::new(journal)), hold)?;
        self.scenes.write().insert(Arc::clone(&host));
        Ok(host)
    }

    /// Inserts a scene that is changed elsewhere, replacing a scene of the same id. The scene ends with the server.
    pub fn insert_shown(&self, scene: Arc<Scene>) -> Result<(), SceneRegistryError> {
        let host = self.host(scene, None, None, Hold::Held)?;
        self.scenes.write().insert(host);
        Ok(())
    }

    /// Returns true if the registry has the scene, in any state.
    pub fn has(&self, id: &str) -> bool {
        self.scenes.read().has(id)
    }

    /// Checks that there may be one more scene.
    pub fn check_room(&self) -> Result<(), SceneRegistryError> {
        let limit = self.limits.scenes;
        let is_full = self.n_scenes() >= limit;
        if is_full { Err(SceneRegistryError::Full { limit }) } else { Ok(()) }
    }

    /// Drops a scene that another server owns, and notifies its streams.
    pub fn forget(&self, host: &Arc<SceneHost>, owner: NewOwner) {
        self.end(host, End::Elsewhere(owner));
    }

    /// Ends a scene that this server no longer has.
    fn end(&self, host: &Arc<SceneHost>, end: End) {
        let mut scenes = self.scenes.write();
        match &end {
            End::Elsewhere(owner) => scenes.redirect(host, owner.clone()),
            End::Deleted | End::Replaced => scenes.remove(host),
        }
        drop(scenes);
        host.life.note(&SceneEvent::Ended(end));
    }

    /// Replaces a scene that cannot go on by its state on the disk. Does nothing if the lost scene is gone meanwhile.
    pub fn replace(
        &self,
        lost: &Arc<SceneHost>,
        scene: Scene,
        journal: SceneJournal,
    ) -> Result<(), SceneRegistryError> {
        let host = self.host(scene, lost.owner.clone(), Some(Arc::new(journal)), Hold::Held)?;
        let mut scenes = self.scenes.write();
        if scenes.is_here(lost) {
            scenes.insert(host);
            lost.life.note(&SceneEvent::Ended(End::Replaced));
        }
        Ok(())
    }

    /// Entries of all scenes that this server knows of, to read.
    pub fn entries(&self) -> RwLockReadGuard<'_, SceneEntries> {
        self.scenes.read()
    }

    /// Entries of all scenes that this server knows of, to change.
    pub fn entries_mut(&self) -> RwLockWriteGuard<'_, SceneEntries> {
        self.scenes.write()
    }

    fn host(
        &self,
        scene: impl Into<Arc<Scene>>,
        owner: Option<String>,
        journal: Option<Arc<SceneJournal>>,
        hold: Hold,
    ) -> Result<Arc<SceneHost>, SceneRegistryError> {
        let lease = journal.as_ref().and_then(|journal| journal.lease());
        let (scene, life) = (scene.into(), self.server.of_scene(hold, lease));
        let writer = SceneWriter::spawn(&scene, &life, &self.metrics)
            .map_err(SceneRegistryError::NoThread)?;
        let wishes = DeviceWishes::default();
        let recorder = self.recorders.get().map(|recorders| recorders.begin(&scene)).transpose();
        let recorder = recorder.unwrap_or_else(|failed| {
            // A scene is served even if it cannot be recorded.
            error!(scene = scene.id(), "not recorded, there is no thread for it: {failed}");
            None
        });
        if recorder.is_some() {
            // So that a replay cuts ticks short where they were cut.
            scene.make_repeatable();
        }
        Ok(Arc::new(SceneHost {
            scene,
            writer,
            wishes,
            field_builds: FieldBuilds::default(),
            owner,
            life,
            journal,
            recorder,
        }))
    }

    /// Returns a scene if it is served now.
    pub fn served(&self, id: &str) -> Result<Arc<SceneHost>, SceneRegistryError> {
        let host = self.get(id)?;
        host.check_served()?;
        Ok(host)
    }

    /// Returns a served scene if the caller may change it.
    pub fn owned(&self, id: &str, caller: &Caller) -> Result<Arc<SceneHost>, SceneRegistryError> {
        let host = self.served(id)?;
        host.check_owner(caller)?;
        Ok(host)
    }

    /// Reserves room in what the caller's key may have, and in the server's memory.
    pub fn reserve(&self, caller: &Caller, more: Share) -> Result<Reservation, RoomRefused> {
        // Dropped after the ledger's lock: this may be the last reference to a scene that is deleted meanwhile.
        let mut all = Vec::new();
        let used = || {
            // Summed at each call, over a few scenes: a stored sum would have to follow every cut.
            let mut used = Share::default();
            all = self.all();
            let own =
                all.iter().filter(|h| h.owner.is_some() && h.owner.as_deref() == caller.name());
            own.for_each(|host| used.add(Share::of_scene(&host.scene)));
            used
        };
        self.ledger.reserve(caller, used, more)
    }

    /// Finds a scene, even if it is not served now.
    pub fn get(&self, id: &str) -> Result<Arc<SceneHost>, SceneRegistryError> {
        let host = self.find(id)?;
        host.life.check_deleting(&host.scene)?;
        Ok(host)
    }

    /// Finds a scene, even if it is unknown whether its files are gone.
    fn find(&self, id: &str) -> Result<Arc<SceneHost>, SceneRegistryError> {
        check_id(id)?;
        self.check_recovered()?;
        let host = self.scenes.read().get(id)?;
        host.life.check_lease(&host.scene)?;
        Ok(host)
    }

    /// Checks that the scenes of the store were read.
    fn check_recovered(&self) -> Result<(), Ended> {
        match self.server.check_served() {
            Err(ended @ Ended::Recovering) => Err(ended),
            _ => Ok(()),
        }
    }

    /// Returns all scenes, ordered by id.
    pub fn all(&self) -> Vec<Arc<SceneHost>> {
        self.scenes.read().here().cloned().collect()
    }

    /// Number of scenes.
    pub fn n_scenes(&self) -> usize {
        self.scenes.read().here().count()
    }

    /// Ends every stream, including those that wait for their client.
    pub fn shut_down(&self) {
        self.server.shut_down();
    }

    /// Returns the server's state, for streams without a scene.
    pub fn life(&self) -> ServerLife {
        self.server.clone()
    }
}

/// Checks that `id` is a scene id, and records it in the call's span.
fn check_id(id: &str) -> Result<(), FieldError> {
    scene_id(id)?;
    Span::current().record("scene", id);
    Ok(())
}
