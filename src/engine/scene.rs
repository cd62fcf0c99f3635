//! Layer 2: scenes of tissues and tools, and the answers of ticks about them.
//!
//! A [`Scene`] holds deformable tissues ([`tissue`]) and rigid tools ([`tool`]). A haptic loop asks it a thousand times
//! a second what its tools touch ([`tick`]); `coherence` keeps results of one tick for the next. Apart from ticks, the
//! scene measures distances of many points at once ([`query`]) and finds contacts of tissues with themselves
//! ([`self_collision`]). [`saved`] holds the parts of a scene that can outlive its process.
//!
//! All mutable state of the engine is here, and no clock, socket or thread: time is an argument, in nanoseconds of the
//! caller's monotonic clock. Ticks read published revisions and never wait for a writer.

mod coherence;
pub mod distance;
mod instrument;
pub mod limits;
pub mod memory;
pub(crate) mod organ;
pub mod query;
pub mod saved;
pub mod self_collision;
pub mod tick;
pub mod tissue;
pub mod tool;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

pub use crate::index::LatLonOptions as TissueOptions;
pub use distance::{Distance, NearestSurface, SurfacePoint};
pub use limits::Limits;
pub use tick::answer::{Contact, ContactState, ContactStatus, LinkAnswer, ProbeAnswer, TickAnswer};
pub use tissue::{
    RevisionGuard, Tissue, TissueId, TissueKind, held::HeldPositions, revision::Revision,
};
pub use tool::{Link, Probe, Tool, ToolId, ToolParts};

use crate::geometry::mesh::load::LoadedMesh;

/// Tissues and tools that can meet.
///
/// Readers take the current tables of tissues and tools without waiting; changes to them are made one at a time.
pub struct Scene {
    id: String,
    limits: Limits,
    tissues: ArcSwap<Vec<Arc<Tissue>>>,
    tools: ArcSwap<Vec<Arc<Tool>>>,
    ids: Mutex<NextIds>,
    /// See [`Scene::make_repeatable`].
    is_repeatable: AtomicBool,
}

struct NextIds {
    tissue: u32,
    tool: u32,
}

/// Errors of adding, removing and looking up tissues and tools.
#[derive(Debug, thiserror::Error)]
pub enum SceneError {
    /// The name is taken.
    #[error("the scene has a {kind} named {name:?} already")]
    NameTaken {
        /// "tissue" or "tool".
        kind: &'static str,
        /// Requested name.
        name: String,
    },
    /// The scene is full.
    #[error("the scene has {limit} {kind}s already, its limit")]
    Full {
        /// "tissue" or "tool".
        kind: &'static str,
        /// Configured limit.
        limit: usize,
    },
    /// The tissue or tool does not exist, or no longer exists.
    #[error("the scene has no {kind} {id}")]
    Unknown {
        /// "tissue" or "tool".
        kind: &'static str,
        /// Requested id.
        id: u32,
    },
}

impl Scene {
    /// Creates an empty scene.
    pub fn new(id: String, limits: Limits) -> Scene {
        Scene {
            id,
            limits,
            tissues: ArcSwap::default(),
            tools: ArcSwap::default(),
            ids: Mutex::new(NextIds { tissue: 1, tool: 1 }),
            is_repeatable: AtomicBool::new(false),
        }
    }

    /// Makes the indices of all tissues, also of later ones, depend on their changes alone, and not on the time between
    /// the changes: a tick that a deadline cuts short is then cut at the same point in a copy of the scene that gets
    /// the same changes and clock readings. For a scene whose tissues have not changed yet.
    ///
    /// An index is then rebuilt when it is worn and not when its writer is idle, a change is applied to both copies of
    /// a tissue, and after its first change no tissue is searched for crossings: winding numbers tell its inside, in a
    /// third more time.
    pub fn make_repeatable(&self) {
        let _one_at_a_time = self.ids.lock();
        self.is_repeatable.store(true, Relaxed);
        self.tissues().iter().for_each(|tissue| tissue.make_repeatable());
    }

    /// Returns the id that the client chose.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the limits of the scene.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns all tissues, ordered by id.
    pub fn tissues(&self) -> arc_swap::Guard<Arc<Vec<Arc<Tissue>>>> {
        self.tissues.load()
    }

    /// Writes the tissues that are forbidden regions, ordered by id, to a buffer that keeps its capacity.
    pub fn forbidden_regions(&self, into: &mut Vec<TissueId>) {
        into.clear();
        let tissues = self.tissues();
        let forbidden = tissues.iter().filter(|t| t.kind() == TissueKind::ForbiddenRegion);
        into.extend(forbidden.map(|tissue| tissue.id()));
    }

    /// Returns all tools, ordered by id.
    pub fn tools(&self) -> arc_swap::Guard<Arc<Vec<Arc<Tool>>>> {
        self.tools.load()
    }

    /// # Errors
    /// Returns [`SceneError::Unknown`] if the scene has no such tissue.
    pub fn tissue(&self, id: TissueId) -> Result<Arc<Tissue>, SceneError> {
        let unknown = SceneError::Unknown { kind: "tissue", id: id.0 };
        self.tissues().iter().find(|t| t.id() == id).cloned().ok_or(unknown)
    }

    /// # Errors
    /// Returns [`SceneError::Unknown`] if the scene has no such tool.
    pub fn tool(&self, id: ToolId) -> Result<Arc<Tool>, SceneError> {
        let unknown = SceneError::Unknown { kind: "tool", id: id.0 };
        self.tools().iter().find(|t| t.id == id).cloned().ok_or(unknown)
    }

    /// Indexes a mesh and adds it. `now_ns`: the caller's monotonic clock.
    ///
    /// # Errors
    /// Returns an error if the name is taken or the scene is full; nothing is added then.
    pub fn add_tissue(
        &self,
        name: &str,
        mesh: LoadedMesh,
        options: TissueOptions,
        now_ns: u64,
    ) -> Result<Arc<Tissue>, SceneError> {
        self.add_tissue_of_kind((name, TissueKind::Tissue), mesh, options, now_ns)
    }

    /// Adds a tissue of any kind, as [`Scene::add_tissue`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Scene::add_tissue`].
    pub fn add_tissue_of_kind(
        &self,
        (name, kind): (&str, TissueKind),
        mesh: LoadedMesh,
        options: TissueOptions,
        now_ns: u64,
    ) -> Result<Arc<Tissue>, SceneError> {
        // Indexing takes long, so it is done before the lock is taken.
        self.put_tissue(Tissue::new((name.to_owned(), kind), mesh, options, now_ns))
    }

    /// Adds a tissue that is indexed already.
    ///
    /// # Errors
    /// Returns the errors of [`Scene::add_tissue`].
    pub fn put_tissue(&self, tissue: Tissue) -> Result<Arc<Tissue>, SceneError> {
        let mut ids = self.ids.lock();
        let tissues = self.tissues.load_full();
        let names = tissues.iter().map(|t| t.name());
        check_room("tissue", tissue.name(), names, self.limits.tissues_per_scene)?;
        let tissue = Arc::new(tissue.with_id(TissueId(ids.tissue)));
        if self.is_repeatable.load(Relaxed) {
            tissue.make_repeatable();
        }
        // An id is never given twice: a reference to a removed tissue must not find another one.
        ids.tissue += 1;
        debug_assert!(tissues.is_sorted_by_key(|t| t.id()), "tissues are ordered by id");
        self.tissues.store(Arc::new(tissues.iter().chain([&tissue]).cloned().collect()));
        drop(ids);
        self.join_borders(&tissue);
        Ok(tissue)
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// Returns an error if the name is taken or the scene is full; nothing is added then.
    pub fn add_tool(&self, parts: ToolParts) -> Result<Arc<Tool>, SceneError> {
        self.put_tool(Tool::new(parts))
    }

    /// Adds a tool that was created before.
    ///
    /// # Errors
    /// Returns the errors of [`Scene::add_tool`].
    pub fn put_tool(&self, mut tool: Tool) -> Result<Arc<Tool>, SceneError> {
        let mut ids = self.ids.lock();
        let tools = self.tools.load_full();
        check_room(
            "tool",
            &tool.name,
            tools.iter().map(|t| &*t.name),
            self.limits.tools_per_scene,
        )?;
        tool.id = ToolId(ids.tool);
        ids.tool += 1;
        debug_assert!(tools.is_sorted_by_key(|t| t.id), "tools are ordered by id");
        let tool = Arc::new(tool);
        self.tools.store(Arc::new(tools.iter().chain([&tool]).cloned().collect()));
        Ok(tool)
    }

    /// Adds a tool of another copy of this scene, with its id there.
    pub fn share_tool(&self, tool: Arc<Tool>) {
        let mut ids = self.ids.lock();
        debug_assert!(tool.id.0 >= ids.tool, "{:?} was there before", tool.id);
        ids.tool = tool.id.0 + 1;
        let tools = self.tools.load_full();
        self.tools.store(Arc::new(tools.iter().chain([&tool]).cloned().collect()));
    }

    /// Returns the id that a tissue of that name would get now.
    ///
    /// # Errors
    /// Returns the errors of [`Scene::add_tissue`].
    pub fn next_tissue(&self, name: &str) -> Result<TissueId, SceneError> {
        let ids = self.ids.lock();
        let tissues = self.tissues();
        let names = tissues.iter().map(|t| t.name());
        check_room("tissue", name, names, self.limits.tissues_per_scene)?;
        Ok(TissueId(ids.tissue))
    }

    /// Returns the id that a tool of that name would get now.
    ///
    /// # Errors
    /// Returns the errors of [`Scene::add_tool`].
    pub fn next_tool(&self, name: &str) -> Result<ToolId, SceneError> {
        let ids = self.ids.lock();
        self.check_room_for_tool(name)?;
        Ok(ToolId(ids.tool))
    }

    /// Checks that a tool of that name could be added now, before much work is done for it.
    ///
    /// # Errors
    /// Returns the errors of [`Scene::add_tool`].
    pub fn check_room_for_tool(&self, name: &str) -> Result<(), SceneError> {
        let tools = self.tools();
        check_room("tool", name, tools.iter().map(|t| &*t.name), self.limits.tools_per_scene)
    }

    /// Removes a tissue from the scene. A tick that already has its revision still answers with it.
    ///
    /// # Errors
    /// Returns [`SceneError::Unknown`] if the scene has no such tissue.
    pub fn remove_tissue(&self, id: TissueId) -> Result<(), SceneError> {
        // A change copies the table, changes the copy and stores it: two concurrent changes would lose one.
        let _one_at_a_time = self.ids.lock();
        self.tissue(id)?;
        let rest = self.tissues().iter().filter(|t| t.id() != id).cloned().collect();
        self.tissues.store(Arc::new(rest));
        Ok(())
    }

    /// Removes a tool from the scene.
    ///
    /// # Errors
    /// Returns [`SceneError::Unknown`] if the scene has no such tool.
    pub fn remove_tool(&self, id: ToolId) -> Result<(), SceneError> {
        let _one_at_a_time = self.ids.lock();
        self.tool(id)?;
        let rest = self.tools().iter().filter(|t| t.id != id).cloned().collect();
        self.tools.store(Arc::new(rest));
        Ok(())
    }
}

fn check_room<'a>(
    kind: &'static str,
    name: &str,
    mut taken: impl ExactSizeIterator<Item = &'a str>,
    limit: usize,
) -> Result<(), SceneError> {
    if taken.len() >= limit {
        return Err(SceneError::Full { kind, limit });
    }
    if taken.any(|n| n == name) {
        return Err(SceneError::NameTaken { kind, name: name.to_owned() });
    }
    Ok(())
}
