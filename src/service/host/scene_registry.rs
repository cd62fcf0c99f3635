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
    tick_budget::TickBudgets,
    unread_scenes::UnreadScenes,
    writer::SceneWriter,
};
use crate::service::{
    access::caller::Caller,
    convert::{FieldError, scene_id},
    metrics::Metrics,
    recording::{recorders::Recorders, scene_recorder::SceneRecorder},
    refused::Refused,
};
use crate::{
    config::Config,
    scene::{Limits, Scene, Tissue, saved::SavedScene},
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
    ledger: Arc<Ledger>,
    /// Never set where no scene is kept.
    keeping: OnceLock<Keeping>,
    /// Never set where no scene is recorded.
    recorders: OnceLock<Recorders>,
    /// Never set where no other server has scenes of the same folder.
    membership: OnceLock<Arc<Membership>>,
    /// Never set where no scene is kept.
    opening: OnceLock<OpenByName>,
    unread: UnreadScenes,
    moved: MovedScenes,
}

/// Where durable scenes are kept, and by what thread.
struct Keeping {
    store: SceneStore,
    commits: CommitThread,
}

type Opener =
    dyn Fn(&SceneRegistry, &str, ClaimFrom) -> Result<(), SceneRegistryError> + Send + Sync;

/// How a scene is taken in that is asked for, in the store and not here.
struct OpenByName {
    /// Above this file, as it reads scenes and their fields.
    opener: Arc<Opener>,
    turns: OpeningTurns,
}

/// A scene and its writer.
pub struct SceneHost {
    /// What ticks read.
    pub scene: Arc<Scene>,
    /// Where deformations and cuts go.
    pub writer: SceneWriter,
    /// Where viewers would have its devices.
    pub wishes: DeviceWishes,
    /// Of tools that are uploaded now.
    pub field_builds: FieldBuilds,
    /// The key that made it.
    owner: Option<String>,
    life: SceneLife,
    /// `None`: it is gone with the server.
    journal: Option<Arc<SceneJournal>>,
    /// `None`: it is not recorded.
    recorder: Option<SceneRecorder>,
}

impl SceneRegistry {
    /// No scenes yet.
    pub fn new(config: &Config) -> SceneRegistry {
        SceneRegistry {
            limits: config.limits.clone(),
            tick_time_max: config.ticks.time_max,
            tick_budgets: TickBudgets::new(config),
            hosts: RwLock::default(),
            server: ServerLife::default(),
            metrics: Arc::new(Metrics::new(config.sessions.objective)),
            ledger: Arc::new(Ledger::new(MemoryLimit::new(config.limits.memory_bytes))),
            keeping: OnceLock::new(),
            recorders: OnceLock::new(),
            membership: OnceLock::new(),
            opening: OnceLock::new(),
            unread: UnreadScenes::default(),
            moved: MovedScenes::default(),
        }
    }

    /// Keeps scenes in a store from now on.
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub fn keep_in(&self, store: SceneStore) -> io::Result<()> {
        let commits = CommitThread::start(store.writes_at_once(), &self.metrics.store)?;
        let is_first = self.keeping.set(Keeping { store, commits }).is_ok();
        debug_assert!(is_first, "there is one store");
        Ok(())
    }

    /// Where scenes are kept, and by whom.
    pub fn keeping(&self) -> Option<(&SceneStore, &CommitThread)> {
        self.keeping.get().map(|Keeping { store, commits }| (store, commits))
    }

    /// Records scenes that are made or read from now on.
    pub fn record_in(&self, recorders: Recorders) {
        let is_first = self.recorders.set(recorders).is_ok();
        debug_assert!(is_first, "there is one folder of recordings");
    }

    /// Waits until all that was recorded is written, for a bounded time. Not on the runtime's threads.
    pub fn end_recordings(&self, at_most: Duration) {
        if let Some(recorders) = self.recorders.get() {
            recorders.end(at_most);
        }
    }

    /// Shares its scenes with other servers from now on.
    pub fn share(&self, membership: Arc<Membership>) {
        let is_first = self.membership.set(membership).is_ok();
        debug_assert!(is_first, "it is shared once");
    }

    /// Has scenes taken in by `opener` from now on that are asked for, in the store and not here.
    pub fn open_by(&self, opener: Arc<Opener>) {
        let turns = OpeningTurns::default();
        let is_first = self.opening.set(OpenByName { opener, turns }).is_ok();
        debug_assert!(is_first, "there is one way to open scenes");
    }

    /// This server among those that share scenes; `None` where it has them alone.
    pub fn membership(&self) -> Option<&Arc<Membership>> {
        self.membership.get()
    }

    /// Whether a scene may be in the store and not here: [`SceneRegistry::open`] looks.
    pub fn may_open(&self, id: &str) -> bool {
        // Where servers share scenes, also one that was found damaged: another may have read it since.
        let may_be_there = || self.membership().is_some() || self.unread.may_be_read(id);
        scene_id(id).is_ok() && !self.has(id) && may_be_there()
    }

    /// Takes a scene in that is nobody's, where servers share scenes, or that there was no room for before. Whether it is
    /// here then is for the look-up to say.
    ///
    /// # Errors
    /// Names the server that has it, or why it cannot be taken in.
    pub async fn open(self: &Arc<Self>, id: &str) -> Result<(), Refused> {
        self.open_from(id, ClaimFrom::Silent).await
    }

    /// The same, also of one that another server has where `from` is anyone: waits for the end of its lease then.
    ///
    /// # Errors
    /// As [`SceneRegistry::open`].
    pub async fn open_from(self: &Arc<Self>, id: &str, from: ClaimFrom) -> Result<(), Refused> {
        let Some(opening) = self.opening.get().filter(|_| self.may_open(id)) else {
            return Ok(());
        };
        self.server.check_served()?;
        self.moved.remove(id);
        let (opener, registry) = (Arc::clone(&opening.opener), Arc::clone(self));
        let of = id.to_owned();
        let open = move || if registry.has(&of) { Ok(()) } else { opener(&registry, &of, from) };
        Ok(opening.turns.run(id, open).await??)
    }

    /// What a tick may take in the engine.
    pub fn tick_time_max(&self) -> Duration {
        self.tick_time_max
    }

    /// What the ticks of one key may take.
    pub fn tick_budgets(&self) -> &TickBudgets {
        &self.tick_budgets
    }

    /// What the server counts.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// What clients may ask for.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Makes an empty scene, which is the caller's and is gone with the server. No other server knows of it. Waits for the
    /// disk where servers share scenes.
    pub fn create(&self, id: &str, caller: &Caller) -> Result<Arc<SceneHost>, SceneRegistryError> {
        check_id(id)?;
        if let (Some(own), Some((store, _))) = (self.membership(), self.keeping()) {
            check_unclaimed(own, &store.folder(id), id)?;
        }
        self.insert_new(id, caller, None)
    }

    /// Makes an empty scene, which is the caller's and outlives the server. Waits for the disk.
    pub fn create_durable(
        &self,
        id: &str,
        caller: &Caller,
    ) -> Result<Arc<SceneHost>, SceneRegistryError> {
        check_id(id)?;
        let (store, commits) = self.keeping().ok_or(SceneRegistryError::KeepsNone)?;
        // Before it is claimed: what is refused leaves no claim.
        self.check_new(&self.hosts.read(), id, caller)?;
        let claim = |own| claim_new(own, &store.folder(id), id);
        let lease = self.membership().map(claim).transpose()?;
        let owner = caller.name();
        let journal = Arc::new(SceneJournal::new(store.folder(id), owner, commits, lease.clone()));
        // Nobody changes it before its files are there, as nobody else has a turn.
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
            // An error: the claim is this server's as long as it runs, and there is no scene.
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
        // Held until the scene is there: two calls with one id, or for the last place, must not both find it free.
        let mut hosts = self.hosts.write();
        self.check_new(&hosts, id, caller)?;
        let scene = Scene::new(id.to_owned(), self.limits.clone());
        let host = self.host(scene, caller.name().map(str::to_owned), journal)?;
        hosts.insert(id.to_owned(), Arc::clone(&host));
        info!(scene = id, durable = host.is_durable(), "scene created");
        Ok(host)
    }

    /// Whether the caller may have one more scene, of that id.
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

    /// Takes in a scene that was read from the disk. Neither the limit of scenes nor a quota refuses it. One of a shared
    /// folder is refused to its clients before its claim was looked at once more.
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
        // After it is there: in between nobody may make another of its id.
        self.unread.remove(host.scene.id());
        Ok(host)
    }

    /// Takes in a scene that is changed elsewhere, in the place of one of the same id. It is gone with the server.
    pub fn insert_shown(&self, scene: Arc<Scene>) -> Result<(), SceneRegistryError> {
        let host = self.host(scene, None, None)?;
        self.hosts.write().insert(host.scene.id().to_owned(), host);
        Ok(())
    }

    /// Whether a scene is here, whatever its state.
    pub fn has(&self, id: &str) -> bool {
        self.hosts.read().contains_key(id)
    }

    /// Whether there may be one more scene.
    pub fn check_room(&self) -> Result<(), SceneRegistryError> {
        let limit = self.limits.scenes;
        let is_full = self.hosts.read().len() >= limit;
        if is_full { Err(SceneRegistryError::Full { limit }) } else { Ok(()) }
    }

    /// Drops a scene that is another server's, and tells its streams.
    pub fn forget(&self, host: &Arc<SceneHost>, owner: NewOwner) {
        let mut hosts = self.hosts.write();
        if is_host_of(&hosts, host) {
            // Before it is gone: whoever does not find it any more is told whose it is.
            self.moved.insert(host.scene.id(), owner.clone());
            hosts.remove(host.scene.id());
        }
        drop(hosts);
        host.life.set_elsewhere(owner);
    }

    /// Puts a scene as it was on the disk in the place of one that cannot go on. Not when that is gone meanwhile.
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

    /// Those that are in the store and not here.
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
            // A recording is worth no scene.
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

    /// Finds a scene to work with.
    pub fn served(&self, id: &str) -> Result<Arc<SceneHost>, SceneRegistryError> {
        let host = self.get(id)?;
        host.check_served()?;
        Ok(host)
    }

    /// Finds a scene to change.
    pub fn owned(&self, id: &str, caller: &Caller) -> Result<Arc<SceneHost>, SceneRegistryError> {
        let host = self.served(id)?;
        host.check_owner(caller)?;
        Ok(host)
    }

    /// Reserves room in what the caller's key may have, and in the server's memory.
    pub fn reserve(&self, caller: &Caller, more: Share) -> Result<Reservation, RoomRefused> {
        // Dropped after the ledger's lock: of a scene that is deleted meanwhile this may be the last.
        let mut all = Vec::new();
        let used = || {
            // Added up anew each time, over a few scenes: a sum that is kept would have to follow every cut.
            let mut used = Share::default();
            all = self.all();
            let own =
                all.iter().filter(|h| h.owner.is_some() && h.owner.as_deref() == caller.name());
            own.for_each(|host| used.add(Share::of_scene(&host.scene)));
            used
        };
        self.ledger.reserve(caller, used, more)
    }

    /// Finds a scene, even when it is not served now.
    pub fn get(&self, id: &str) -> Result<Arc<SceneHost>, SceneRegistryError> {
        let host = self.find(id)?;
        host.life.check_deleting(&host.scene)?;
        Ok(host)
    }

    /// Also one of which it is not known whether its files are gone.
    fn find(&self, id: &str) -> Result<Arc<SceneHost>, SceneRegistryError> {
        check_id(id)?;
        self.check_readable(id)?;
        let host = self.hosts.read().get(id).cloned();
        let host = host.ok_or_else(|| self.moved.not_here(id))?;
        host.life.check_lease(&host.scene)?;
        Ok(host)
    }

    /// Whether all scenes were read, this one too.
    fn check_readable(&self, id: &str) -> Result<(), SceneRegistryError> {
        if let Err(ended @ Ended::Recovering) = self.server.check_served() {
            return Err(ended.into());
        }
        self.unread.check(id)
    }

    /// All scenes, ordered by id.
    pub fn all(&self) -> Vec<Arc<SceneHost>> {
        self.hosts.read().values().cloned().collect()
    }

    /// How many there are.
    #[cfg(any(feature = "agones", test))]
    pub fn n_scenes(&self) -> usize {
        self.hosts.read().len()
    }

    fn is_registered(&self, host: &Arc<SceneHost>) -> bool {
        is_host_of(&self.hosts.read(), host)
    }

    /// Ends every stream, those that wait for their client too.
    pub fn shut_down(&self) {
        self.server.shut_down();
    }

    /// For streams that have no scene.
    pub fn life(&self) -> ServerLife {
        self.server.clone()
    }
}

/// Whether a scene is still the one of its id.
fn is_host_of(hosts: &BTreeMap<String, Arc<SceneHost>>, host: &Arc<SceneHost>) -> bool {
    hosts.get(host.scene.id()).is_some_and(|now| Arc::ptr_eq(now, host))
}

/// Whether it is an id; the call's span has it from now on.
fn check_id(id: &str) -> Result<(), FieldError> {
    scene_id(id)?;
    Span::current().record("scene", id);
    Ok(())
}

impl SceneHost {
    /// For streams that outlive one lookup.
    pub fn life(&self) -> SceneLife {
        self.life.clone()
    }

    /// Whether it outlives the server.
    pub fn is_durable(&self) -> bool {
        self.journal.is_some()
    }

    /// What of it is on the disk.
    pub fn journal(&self) -> Option<&Arc<SceneJournal>> {
        self.journal.as_ref()
    }

    /// Where its changes and loops are recorded.
    pub fn recorder(&self) -> Option<&SceneRecorder> {
        self.recorder.as_ref()
    }

    /// Waits for the turn of a change, in which the scene is still served.
    pub async fn turn(&self) -> Result<ChangeTurn, Ended> {
        let turn = SceneJournal::turn(self.journal.as_ref()).await;
        self.check_served()?;
        Ok(turn)
    }

    /// The same off the runtime's threads.
    pub fn turn_blocking(&self) -> Result<ChangeTurn, Ended> {
        let turn = SceneJournal::turn_blocking(self.journal.as_ref());
        self.check_served()?;
        Ok(turn)
    }

    /// What of a tissue would survive the server now; `None` when nothing would.
    pub fn durable(&self, tissue: &Tissue) -> Option<DurableRevisions> {
        let DurableRevisions { geometry, topology } = self.journal.as_ref()?.durable(tissue.id());
        // A cut is on the disk before it is made.
        let now = tissue.current();
        let topology = topology.min(now.topology_revision);
        Some(DurableRevisions { geometry: geometry.min(now.geometry_revision), topology })
    }

    /// Whether it is worth reading from the disk again at `now_ns`; asked once.
    pub fn take_lost(&self, now_ns: u64) -> bool {
        self.life.take_lost(now_ns)
    }

    /// It could not be read from the disk; that is tried again from `from_ns` on.
    pub fn set_lost(&self, from_ns: u64) {
        self.life.set_lost(from_ns);
    }

    /// Whether its writer failed too often.
    pub fn is_quarantined(&self) -> bool {
        self.life.is_quarantined()
    }

    /// That it is this server's, where servers share scenes.
    pub fn lease(&self) -> Option<&Arc<SceneLease>> {
        self.life.lease()
    }

    /// Refuses it while it comes from another server, or goes to one; its streams wait.
    pub fn set_passing(&self, passing: bool) {
        self.life.set_passing(passing);
    }

    /// Whether the scene is this server's for sure; it is where no other has scenes of the same folder.
    pub fn check_lease(&self) -> Result<(), Ended> {
        self.life.check_lease(&self.scene)
    }

    /// Whether the scene is still served.
    pub fn check_served(&self) -> Result<(), Ended> {
        self.life.check_served(&self.scene)
    }

    fn check_owner(&self, caller: &Caller) -> Result<(), SceneRegistryError> {
        let own = caller.may_change(self.owner.as_deref());
        own.then_some(())
            .ok_or_else(|| SceneRegistryError::NotOwner { id: self.scene.id().to_owned() })
    }
}
