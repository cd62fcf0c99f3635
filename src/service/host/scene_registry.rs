//! The scenes of a server, by id.

mod delete;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, OnceLock},
    time::Duration,
};

use parking_lot::RwLock;
use tracing::{Span, error, info};

use super::{
    cluster::{
        claim_new::{check_unclaimed, claim_new},
        membership::Membership,
        scene_lease::{NewOwner, SceneLease},
    },
    durable::scene_journal::{ChangeTurn, CommitThread, DurableRevisions, SceneJournal},
    field_builds::FieldBuilds,
    live_view::device_wishes::DeviceWishes,
    memory_limit::MemoryLimit,
    moved_scenes::MovedScenes,
    opening_turns::OpeningTurns,
    quota::{self, Ledger, Reservation, RoomRefused, Share},
    scene_error::SceneRegistryError,
    scene_life::{Ended, SceneLife, ServerLife},
    stream_table::StreamTable,
    tick_budget::TickBudgets,
    unread_scenes::UnreadScenes,
    writer::SceneWriter,
};
use crate::{
    config::Config,
    scene::{Limits, Scene, Tissue, saved::SavedScene},
    service::{
        access::caller::Caller,
        convert::FieldError,
        metrics::Metrics,
        recording::{recorders::Recorders, scene_recorder::SceneRecorder},
        refused::Refused,
        request_field::scene_id,
    },
    store::{lease::claim::ClaimFrom, scenes::scene_store::SceneStore},
};

/// All scenes of a server.
pub struct SceneRegistry {
    limits: Limits,
    tick_time_max: Duration,
    tick_budgets: TickBudgets,
    hosts: RwLock<BTreeMap<String, Arc<SceneHost>>>,
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
    unread: UnreadScenes,
    moved: MovedScenes,
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

/// A scene and its writer.
pub struct SceneHost {
    /// State that ticks read.
    pub scene: Arc<Scene>,
    /// Applies deformations and cuts.
    pub writer: SceneWriter,
    /// Device positions that viewers request.
    pub wishes: DeviceWishes,
    /// Field builds of tools that are being uploaded.
    pub field_builds: FieldBuilds,
    /// Key that created the scene.
    owner: Option<String>,
    life: SceneLife,
    /// `None` if the scene ends with the server.
    journal: Option<Arc<SceneJournal>>,
    /// `None` if the scene is not recorded.
    recorder: Option<SceneRecorder>,
}

impl SceneRegistry {
    /// Creates a registry without scenes.
    pub fn new(config: &Config) -> SceneRegistry {
        SceneRegistry {
            limits: config.limits.clone(),
            tick_time_max: config.ticks.time_max,
            tick_budgets: TickBudgets::new(config),
            hosts: RwLock::default(),
            server: ServerLife::default(),
            metrics: Arc::new(Metrics::new(config.sessions.objective)),
            streams: Arc::default(),
            ledger: Arc::new(Ledger::new(MemoryLimit::new(config.limits.memory_bytes))),
            keeping: OnceLock::new(),
            recorders: OnceLock::new(),
            membership: OnceLock::new(),
            opening: OnceLock::new(),
            unread: UnreadScenes::default(),
            moved: MovedScenes::default(),
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

    /// Returns this server's membership among the servers that share scenes; `None` if it shares none.
    pub fn membership(&self) -> Option<&Arc<Membership>> {
        self.membership.get()
    }

    /// Returns true if a scene may be in the store but not here; [`SceneRegistry::open`] finds out.
    pub fn may_open(&self, id: &str) -> bool {
        // If servers share scenes, a scene that was found damaged may be there too: another server may have read it
        // since.
        let may_be_there = || self.membership().is_some() || self.unread.may_be_read(id);
        scene_id(id).is_ok() && !self.has(id) && may_be_there()
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
            registry.moved.remove(&of);
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
        self.check_new(&self.hosts.read(), id, caller)?;
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
                    host.life.set_deleted();
                    self.hosts.write().remove(id);
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
        self.check_readable(id)?;
        // Held until the scene is inserted: two calls with one id, or for the last free slot, must not both find it
        // free.
        let mut hosts = self.hosts.write();
        self.check_new(&hosts, id, caller)?;
        let scene = Scene::new(id.to_owned(), self.limits.clone());
        let host = self.host(scene, caller.name().map(str::to_owned), journal)?;
        hosts.insert(id.to_owned(), Arc::clone(&host));
        info!(scene = id, durable = host.is_durable(), "scene created");
        Ok(host)
    }

    /// Checks that the caller may have one more scene, and that `id` is free.
    fn check_new(
        &self,
        hosts: &BTreeMap<String, Arc<SceneHost>>,
        id: &str,
        caller: &Caller,
    ) -> Result<(), SceneRegistryError> {
        if hosts.contains_key(id) {
            return Err(SceneRegistryError::Taken { id: id.to_owned() });
        }
        if hosts.len() >= self.limits.scenes {
            return Err(SceneRegistryError::Full { limit: self.limits.scenes });
        }
        let Some(key) = caller.name() else { return Ok(()) };
        let used = hosts.values().filter(|host| host.owner.as_deref() == Some(key)).count();
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
        let host = self.host(scene, owner, Some(Arc::new(journal)))?;
        host.life.set_passing(host.lease().is_some());
        self.hosts.write().insert(host.scene.id().to_owned(), Arc::clone(&host));
        self.moved.remove(host.scene.id());
        // Removed after the insertion: nobody may create another scene of this id in between.
        self.unread.remove(host.scene.id());
        Ok(host)
    }

    /// Inserts a scene that is changed elsewhere, replacing a scene of the same id. The scene ends with the server.
    pub fn insert_shown(&self, scene: Arc<Scene>) -> Result<(), SceneRegistryError> {
        let host = self.host(scene, None, None)?;
        self.hosts.write().insert(host.scene.id().to_owned(), host);
        Ok(())
    }

    /// Returns true if the registry has the scene, in any state.
    pub fn has(&self, id: &str) -> bool {
        self.hosts.read().contains_key(id)
    }

    /// Checks that there may be one more scene.
    pub fn check_room(&self) -> Result<(), SceneRegistryError> {
        let limit = self.limits.scenes;
        let is_full = self.hosts.read().len() >= limit;
        if is_full { Err(SceneRegistryError::Full { limit }) } else { Ok(()) }
    }

    /// Drops a scene that another server owns, and notifies its streams.
    pub fn forget(&self, host: &Arc<SceneHost>, owner: NewOwner) {
        let mut hosts = self.hosts.write();
        if is_host_of(&hosts, host) {
            // Inserted before the removal: a caller that no longer finds the scene gets its new owner.
            self.moved.insert(host.scene.id(), owner.clone());
            hosts.remove(host.scene.id());
        }
        drop(hosts);
        host.life.set_elsewhere(owner);
    }

    /// Replaces a scene that cannot go on by its state on the disk. Does nothing if the lost scene is gone meanwhile.
    pub fn replace(
        &self,
        lost: &Arc<SceneHost>,
        scene: Scene,
        journal: SceneJournal,
    ) -> Result<(), SceneRegistryError> {
        let host = self.host(scene, lost.owner.clone(), Some(Arc::new(journal)))?;
        let mut hosts = self.hosts.write();
        if is_host_of(&hosts, lost) {
            hosts.insert(lost.scene.id().to_owned(), host);
            lost.life.set_replaced();
        }
        Ok(())
    }

    /// Scenes that are in the store but not here.
    pub fn unread(&self) -> &UnreadScenes {
        &self.unread
    }

    fn host(
        &self,
        scene: impl Into<Arc<Scene>>,
        owner: Option<String>,
        journal: Option<Arc<SceneJournal>>,
    ) -> Result<Arc<SceneHost>, SceneRegistryError> {
        let lease = journal.as_ref().and_then(|journal| journal.lease());
        let (scene, life) = (scene.into(), self.server.of_scene(lease));
        let writer = SceneWriter::spawn(&scene, &life, &self.metrics)
            .map_err(SceneRegistryError::NoThread)?;
        let wishes = DeviceWishes::default();
        let recorder = self.recorders.get().map(|recorders| recorders.begin(&scene)).transpose();
        let recorder = recorder.unwrap_or_else(|failed| {
            // A scene is served even if it cannot be recorded.
            error!(scene = scene.id(), "not recorded, there is no thread for it: {failed}");
            None
        });
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
        self.check_readable(id)?;
        let host = self.hosts.read().get(id).cloned();
        let host = host.ok_or_else(|| self.moved.not_here(id))?;
        host.life.check_lease(&host.scene)?;
        Ok(host)
    }

    /// Checks that all scenes were read, including this one.
    fn check_readable(&self, id: &str) -> Result<(), SceneRegistryError> {
        if let Err(ended @ Ended::Recovering) = self.server.check_served() {
            return Err(ended.into());
        }
        self.unread.check(id)
    }

    /// Returns all scenes, ordered by id.
    pub fn all(&self) -> Vec<Arc<SceneHost>> {
        self.hosts.read().values().cloned().collect()
    }

    /// Number of scenes.
    #[cfg(any(feature = "agones", test))]
    pub fn n_scenes(&self) -> usize {
        self.hosts.read().len()
    }

    fn is_registered(&self, host: &Arc<SceneHost>) -> bool {
        is_host_of(&self.hosts.read(), host)
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

/// Returns true if `host` is still the registered scene of its id.
fn is_host_of(hosts: &BTreeMap<String, Arc<SceneHost>>, host: &Arc<SceneHost>) -> bool {
    hosts.get(host.scene.id()).is_some_and(|now| Arc::ptr_eq(now, host))
}

/// Checks that `id` is a scene id, and records it in the call's span.
fn check_id(id: &str) -> Result<(), FieldError> {
    scene_id(id)?;
    Span::current().record("scene", id);
    Ok(())
}

impl SceneHost {
    /// Returns the scene's state, for streams that outlive one look-up.
    pub fn life(&self) -> SceneLife {
        self.life.clone()
    }

    /// Returns true if the scene outlives the server.
    pub fn is_durable(&self) -> bool {
        self.journal.is_some()
    }

    /// Journal of the scene on the disk.
    pub fn journal(&self) -> Option<&Arc<SceneJournal>> {
        self.journal.as_ref()
    }

    /// Recorder of the scene's changes and loops.
    pub fn recorder(&self) -> Option<&SceneRecorder> {
        self.recorder.as_ref()
    }

    /// Waits for the turn to change the scene, and checks that the scene is still served.
    pub async fn turn(&self) -> Result<ChangeTurn, Ended> {
        let turn = SceneJournal::turn(self.journal.as_ref()).await;
        self.check_served()?;
        Ok(turn)
    }

    /// Blocking form of [`SceneHost::turn`], for threads outside the runtime.
    pub fn turn_blocking(&self) -> Result<ChangeTurn, Ended> {
        let turn = SceneJournal::turn_blocking(self.journal.as_ref());
        self.check_served()?;
        Ok(turn)
    }

    /// Returns the revisions of a tissue that would survive the server now; `None` if nothing would.
    pub fn durable(&self, tissue: &Tissue) -> Option<DurableRevisions> {
        let DurableRevisions { geometry, topology } = self.journal.as_ref()?.durable(tissue.id());
        // A cut is on the disk before it is applied.
        let now = tissue.current();
        let topology = topology.min(now.topology_revision);
        Some(DurableRevisions { geometry: geometry.min(now.geometry_revision), topology })
    }

    /// Returns true, once, if the scene is due at `now_ns` to be read from the disk again.
    pub fn take_lost(&self, now_ns: u64) -> bool {
        self.life.take_lost(now_ns)
    }

    /// Records that the scene could not be read from the disk; the next attempt is due from `from_ns` on.
    pub fn set_lost(&self, from_ns: u64) {
        self.life.set_lost(from_ns);
    }

    /// Returns true if the scene's writer failed too often.
    pub fn is_quarantined(&self) -> bool {
        self.life.is_quarantined()
    }

    /// Lease of the scene, if servers share scenes.
    pub fn lease(&self) -> Option<&Arc<SceneLease>> {
        self.life.lease()
    }

    /// Refuses the scene while it comes from another server, or goes to one; its streams wait.
    pub fn set_passing(&self, passing: bool) {
        self.life.set_passing(passing);
    }

    /// Checks that this server certainly owns the scene. Succeeds if no other server has scenes of the same folder.
    pub fn check_lease(&self) -> Result<(), Ended> {
        self.life.check_lease(&self.scene)
    }

    /// Checks that the scene is still served.
    pub fn check_served(&self) -> Result<(), Ended> {
        self.life.check_served(&self.scene)
    }

    fn check_owner(&self, caller: &Caller) -> Result<(), SceneRegistryError> {
        let own = caller.may_change(self.owner.as_deref());
        own.then_some(())
            .ok_or_else(|| SceneRegistryError::NotOwner { id: self.scene.id().to_owned() })
    }
}
