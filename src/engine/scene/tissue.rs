//! A deformable tissue: an immutable published revision for ticks, and a writer that makes the next one.
//!
//! Left-right: there are two copies of the mesh and its index. Readers take the published one; the writer brings the
//! spare up to date, changes it and swaps the two. A deformation therefore costs as much as it moves, twice, and never
//! a copy of the mesh. Neither side waits for the other: while a reader still has the spare, the writer works on a
//! fresh copy.

pub mod binding;
pub mod cells;
mod control_runs;
pub mod deform;
pub mod driven;
pub mod edit;
pub mod feel;
pub(super) mod held;
mod id_set;
pub mod incision;
pub(super) mod revision;
pub mod tube;
pub(super) mod vertex_history;
pub mod vertex_weights;
mod writer;

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::{limits::Limits, tool::ToolId};
use crate::{
    geometry::{LoadedMesh, MeshReport},
    index::{LatLonOptions, Updated},
    surface::Surface,
};
use binding::{Binding, ControlMove};
use deform::{DeformError, Deformation, Deformed};
use driven::Driven;
use edit::{EditError, Edited, TopologyEdit};
use feel::{Feel, FeelError};
use held::{HeldPositions, HeldRevisions};
use incision::{Incised, Incision, IncisionError};
use revision::Revision;
use vertex_history::VertexHistory;
use writer::{Change, TissueWriter};

/// Id of a tissue in a scene; never used again there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TissueId(pub u32);

/// Role of a tissue for an instrument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TissueKind {
    /// Tissue that carries loads.
    #[default]
    Tissue,
    /// A region that an instrument must not enter: it holds a rendered one back, and carries no load.
    ForbiddenRegion,
    /// A link of a tool, which a frame carries: an obstacle to all tools but its own.
    Instrument {
        /// The tool.
        tool: ToolId,
        /// The link, from 0.
        link: u32,
    },
}

impl TissueKind {
    /// Returns true if a tool does not meet the tissue: its own links.
    pub fn is_of(self, tool: ToolId) -> bool {
        matches!(self, TissueKind::Instrument { tool: own, .. } if own == tool)
    }
}

/// A published revision in use by a reader.
pub type RevisionGuard = Guard<Arc<Revision>>;

/// A deformable triangle mesh in scene frame.
pub struct Tissue {
    id: TissueId,
    name: String,
    kind: TissueKind,
    report: MeshReport,
    published: ArcSwap<Revision>,
    writer: Mutex<TissueWriter>,
    /// Locked only for lookups and additions: readers take an `Arc` away.
    held: Mutex<HeldRevisions>,
}

impl Tissue {
    /// Indexes a mesh. A scene gives the id. `now_ns`: the caller's monotonic clock.
    pub fn new(
        (name, kind): (String, TissueKind),
        mesh: LoadedMesh,
        options: LatLonOptions,
        now_ns: u64,
    ) -> Tissue {
        let surface = Surface::of(mesh.mesh, options, mesh.report.is_lumen());
        let first = Revision::first(surface, now_ns);
        Tissue::of_revision(TissueId(0), (name, kind), mesh.report, first)
    }

    /// Lets controls carry the vertices, which move to where the controls at rest carry them. For a tissue that has
    /// neither moved nor been cut. Returns the farthest way of a vertex, metres.
    ///
    /// # Panics
    /// Panics if the binding is of another number of vertices.
    pub fn bind(&mut self, binding: Binding) -> f64 {
        let driven = Driven::at_rest(binding);
        let mut bound = Revision::clone(&self.current());
        debug_assert_eq!((bound.geometry_revision, bound.topology_revision), (0, 0));
        let (uploaded, carried) = (bound.surface.mesh().positions(), driven.positions());
        assert_eq!(uploaded.len(), carried.len(), "vertices of the binding");
        let ways = uploaded.iter().zip(&carried).map(|(a, b)| a.as_dvec3().distance(b.as_dvec3()));
        let farthest = ways.fold(0.0, f64::max);
        if farthest > 0.0 {
            bound.surface.move_all(carried);
            self.report.welded_edges = bound.surface.welded_edges();
        }
        bound.driven = Some(Arc::new(driven));
        self.published.store(Arc::new(bound));
        farthest
    }

    pub(super) fn of_revision(
        id: TissueId,
        (name, kind): (String, TissueKind),
        report: MeshReport,
        first: Revision,
    ) -> Tissue {
        first.set_organ(id.0);
        let published = ArcSwap::from_pointee(first);
        let (writer, held) = Default::default();
        Tissue { id, name, kind, report, published, writer, held }
    }

    /// Returns the tissue with the id that its scene gives it.
    pub(super) fn with_id(self, id: TissueId) -> Tissue {
        self.current().set_organ(id.0);
        Tissue { id, ..self }
    }

    /// Returns the id in its scene.
    pub fn id(&self) -> TissueId {
        self.id
    }

    /// Returns the name that the client chose.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the role of the tissue for an instrument.
    pub fn kind(&self) -> TissueKind {
        self.kind
    }

    /// Returns the report of the mesh as loaded.
    pub fn report(&self) -> &MeshReport {
        &self.report
    }

    /// Returns the memory of the tissue, bytes: the published revision and the writer's spare, former vertex positions
    /// before the last deformations, and the held positions. Waits for a writer. Within a percent of the allocated
    /// memory.
    pub fn heap_bytes(&self) -> usize {
        let writer = self.writer.lock();
        let current = self.published.load();
        let held = self.held.lock().heap_bytes();
        current.heap_bytes_beside(&VertexHistory::default())
            + current.driven.as_ref().map_or(0, |driven| driven.heap_bytes())
            + current.feel.as_ref().map_or(0, |feel| feel.heap_bytes())
            + writer.heap_bytes_beside(&current.history)
            + held
    }

    /// Returns [`Tissue::heap_bytes`] for any time: with the writer's spare and a change of all vertices, whether they
    /// exist yet or not. Waits only for a lookup of held positions.
    pub fn heap_bytes_expected(&self) -> u64 {
        self.unheld_bytes_expected() + self.held.lock().heap_bytes() as u64
    }

    /// Returns [`Tissue::heap_bytes_expected`] without held positions.
    pub(super) fn unheld_bytes_expected(&self) -> u64 {
        let current = self.current();
        let missed = size_of_val(current.surface.mesh().positions());
        let published = current.heap_bytes_beside(&VertexHistory::default());
        // The spare shares most of the history; its lists may have more capacity to grow than the published one's.
        let spare = published + published / 4;
        let driven = current.driven.as_ref().map_or(0, |driven| driven.heap_bytes());
        let feel = current.feel.as_ref().map_or(0, |feel| feel.heap_bytes());
        (published + spare + missed + driven + feel) as u64
    }

    /// Returns the newest revision; wait-free.
    pub fn current(&self) -> RevisionGuard {
        self.published.load()
    }

    /// Moves vertices and publishes the result. Waits for another writer, never for a reader.
    ///
    /// # Errors
    /// Returns an error for an invalid deformation; nothing has moved then.
    pub fn deform(&self, deformation: Deformation, now_ns: u64) -> Result<Deformed, DeformError> {
        let mut writer = self.writer.lock();
        let current = self.published.load_full();
        if current.driven.is_some() {
            return Err(DeformError::Driven);
        }
        deformation.check(current.surface.mesh().positions().len())?;
        let deformation = deformation.of_all_if_many(current.surface.mesh());
        let with = (None, current.feel.clone());
        Ok(self.publish_moved(&mut writer, current, deformation, with, now_ns))
    }

    /// Moves controls and the vertices that they carry, and publishes the result, as [`Tissue::deform`] does.
    ///
    /// # Errors
    /// Returns an error for an invalid move, or if the tissue has no controls; nothing has moved then.
    pub fn drive(&self, moved: &ControlMove, now_ns: u64) -> Result<Deformed, DeformError> {
        let mut writer = self.writer.lock();
        let current = self.published.load_full();
        let driven = current.driven.as_ref().ok_or(DeformError::NotDriven)?;
        let (driven, deformation) = driven.after(moved, current.surface.mesh())?;
        let with = (Some(Arc::new(driven)), current.feel.clone());
        Ok(self.publish_moved(&mut writer, current, deformation, with, now_ns))
    }

    /// Checks that the tissue could get these materials now. Deformations do not change that.
    ///
    /// # Errors
    /// Returns the errors of [`Tissue::set_feel`].
    pub fn check_feel(&self, feel: Option<&Feel>) -> Result<(), FeelError> {
        let n_triangles = self.current().surface.mesh().triangle_id_end() as usize;
        feel.map_or(Ok(()), |feel| feel.check_triangles(n_triangles))
    }

    /// Gives the tissue other materials, or none, and publishes the result as a deformation that moves nothing: a tick
    /// that names its revision names its materials too. Returns that revision.
    ///
    /// # Errors
    /// Returns an error if the materials are not one for each triangle; nothing has changed then.
    pub fn set_feel(&self, feel: Option<Feel>, now_ns: u64) -> Result<u64, FeelError> {
        let mut writer = self.writer.lock();
        self.check_feel(feel.as_ref())?;
        let current = self.published.load_full();
        let moves_nothing = Deformation::Sparse { vertices: Vec::new(), positions: Vec::new() };
        let with = (current.driven.clone(), feel.map(Arc::new));
        let done = self.publish_moved(&mut writer, current, (moves_nothing, None), with, now_ns);
        Ok(done.geometry_revision)
    }

    fn publish_moved(
        &self,
        writer: &mut TissueWriter,
        current: Arc<Revision>,
        (deformation, n_touched): (Deformation, Option<usize>),
        (driven, feel): (Option<Arc<Driven>>, Option<Arc<Feel>>),
        now_ns: u64,
    ) -> Deformed {
        writer.begin_search(&current);
        let is_dense = matches!(deformation, Deformation::Dense(_));
        // From here on nothing is refused, so the spare may be taken.
        let mut next = writer.next_revision(&current, is_dense);
        (next.driven, next.feel) = (driven, feel);
        let geometry_revision = current.geometry_revision + 1;
        // Noted from the published mesh: the copy may be outdated if all of it is about to be moved.
        next.history.note(current.surface.mesh(), &deformation, geometry_revision);
        let (Updated { touched, relocated }, change) = match deformation {
            Deformation::Sparse { vertices, positions } => {
                let updated = next.move_vertices(&vertices, &positions);
                (updated, Change::Moved { vertices, positions })
            }
            Deformation::Dense(positions) => (next.move_all(positions), Change::MovedAll),
        };
        next.count_seams(&current, is_dense);
        drop(current);
        debug_assert_eq!(next.geometry_revision, geometry_revision);
        let welded_edges = next.surface.welded_edges();
        self.publish(writer, next, change, now_ns);
        Deformed {
            geometry_revision,
            triangles_touched: n_touched.unwrap_or(touched),
            triangles_relocated: relocated,
            welded_edges,
        }
    }

    /// Keeps the newest revision's positions, and returns the revisions that are then held. O(vertices).
    pub fn hold(&self) -> Vec<u64> {
        let newest = HeldPositions::of(&self.current());
        let mut held = self.held.lock();
        held.push(newest);
        held.all().iter().map(|h| h.geometry_revision).collect()
    }

    /// Returns the held revisions, oldest first.
    pub fn held(&self) -> Vec<HeldPositions> {
        self.held.lock().all().to_vec()
    }

    /// Computes an incision of the newest revision, as a cut to be made.
    ///
    /// # Errors
    /// Returns an error if there is no such incision.
    pub fn incised(&self, incision: &Incision) -> Result<Incised, IncisionError> {
        let current = self.current();
        let driven = current.driven.as_deref();
        if incision.depth_m > 0.0 && driven.is_some_and(|d| !d.controls.are_frames()) {
            return Err(IncisionError::CarriedByPoints);
        }
        let mut made = incision.on(&current.surface)?;
        made.edit.base_revision = Some(current.topology_revision);
        Ok(made)
    }

    /// Checks that the tissue could be cut like this now, and adds the weights of a driven tissue's new vertices to the
    /// cut. Deformations do not change whether it can be made.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Tissue::edit`].
    pub fn prepare_edit(&self, edit: &mut TopologyEdit, limits: &Limits) -> Result<(), EditError> {
        let current = self.current();
        edit.check(current.surface.mesh(), current.topology_revision, limits)?;
        edit.bind(current.surface.mesh(), current.driven.as_deref())
    }

    /// Cuts and publishes the result. Waits for another writer, never for a reader.
    ///
    /// # Errors
    /// Returns an error for an invalid cut; nothing has changed then.
    pub fn edit(
        &self,
        mut edit: TopologyEdit,
        limits: &Limits,
        now_ns: u64,
    ) -> Result<Edited, EditError> {
        let mut writer = self.writer.lock();
        let current = self.published.load_full();
        edit.check(current.surface.mesh(), current.topology_revision, limits)?;
        edit.bind(current.surface.mesh(), current.driven.as_deref())?;
        let driven = current.driven.as_ref().map(|driven| Arc::new(driven.with(&edit.weights)));
        let feel = current.feel.as_ref().map(|feel| Arc::new(feel.after(&edit)));
        writer.begin_search(&current);
        let first_vertex = current.surface.mesh().positions().len() as u32;
        let mut next = writer.next_revision(&current, false);
        drop(current);
        (next.driven, next.feel) = (driven, feel);
        let first_triangle = next.cut(&edit);
        let topology_revision = next.topology_revision;
        let sign_rule = next.surface.sign_rule();
        let welded_edges = next.surface.welded_edges();
        let added_positions = edit.added_positions.clone();
        self.publish(&mut writer, next, Change::Cut(edit), now_ns);
        Ok(Edited {
            topology_revision,
            first_vertex,
            first_triangle,
            sign_rule,
            welded_edges,
            added_positions,
        })
    }

    /// See [`Scene::make_repeatable`](crate::scene::Scene::make_repeatable).
    pub(super) fn make_repeatable(&self) {
        self.writer.lock().is_repeatable = true;
    }

    /// For the writer's idle time: brings the spare copy up to date, so that the next deformation starts at once, and
    /// rebuilds a worn index.
    pub fn catch_up(&self) {
        let mut writer = self.writer.lock();
        let current = self.published.load_full();
        if current.surface.is_worn() {
            let mut next = writer.next_revision(&current, false);
            next.surface.rebuild();
            let spare = Arc::new(next.clone());
            // The old index is no longer of use, and may only be freed when no tick waits for it.
            writer.retired.push(self.published.swap(Arc::new(next)));
            writer.spare = Some(spare);
        } else if writer.missed.is_some() {
            let next = writer.next_revision(&current, false);
            writer.spare = Some(Arc::new(next));
        }
        drop(current);
        writer.retired.retain(|r| Arc::strong_count(r) > 1);
    }

    /// For the writer's idle time, after [`Tissue::catch_up`]: continues to search for crossings of the published
    /// revision with itself. Returns true once the result is known. Until then, and about crossings, winding numbers
    /// decide inside from outside; elsewhere the nearest normal does, with the same answer and in three quarters of the
    /// time.
    pub fn search_crossings(&self) -> bool {
        let mut writer = self.writer.lock();
        let current = self.published.load_full();
        writer.search_crossings(&current)
    }

    /// For a writer that failed: rebuilds the index of the published revision and drops unfinished work.
    pub fn recover(&self) {
        let mut writer = self.writer.lock();
        let mut next = Revision::clone(&self.published.load());
        next.surface.rebuild();
        (writer.spare, writer.missed, writer.crossings) = (None, None, None);
        writer.retired.push(self.published.swap(Arc::new(next)));
    }

    fn publish(&self, writer: &mut TissueWriter, mut next: Revision, change: Change, now_ns: u64) {
        debug_assert!(writer.spare.is_none() && writer.missed.is_none(), "the spare is taken");
        writer.rebuild_if_repeatable(&mut next);
        next.published_ns = now_ns;
        writer.spare = Some(self.published.swap(Arc::new(next)));
        writer.missed = Some(change);
    }
}
