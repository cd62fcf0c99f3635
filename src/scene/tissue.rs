//! A deformable tissue: an immutable published revision for ticks, a writer that makes the next one.

pub mod deform;
pub mod edit;
pub(super) mod held;
pub(super) mod vertex_history;

use std::{collections::HashMap, sync::Arc};

use arc_swap::{ArcSwap, Guard};
use glam::Vec3;
use parking_lot::Mutex;

use super::limits::Limits;
use crate::{
    geometry::{MeshReport, TriangleId, TriangleMesh},
    index::{LatLonOptions, Updated},
    surface::Surface,
};
use deform::{DeformError, Deformation, Deformed};
use edit::{EditError, Edited, TopologyEdit};
use held::{HeldPositions, HeldRevisions};
use vertex_history::{Motion, Past};

/// Names a tissue of a scene; never used again there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TissueId(pub u32);

/// One state of a tissue, never changed after it is published.
#[derive(Clone)]
pub struct Revision {
    /// Mesh, index and sign rule.
    pub surface: Surface,
    /// Deformations so far.
    pub geometry_revision: u64,
    /// Cuts so far.
    pub topology_revision: u64,
    /// What each triangle that an edit added was cut from, where the edit said so.
    parents: HashMap<TriangleId, TriangleId>,
    motion: Motion,
    /// When it was published: nanoseconds of the caller's monotonic clock.
    pub published_ns: u64,
}

/// A published revision that a reader looks at.
pub type Held = Guard<Arc<Revision>>;

/// A deformable triangle mesh in scene frame.
///
/// Left-right: readers take the published revision, the writer brings a spare copy up to date, changes it
/// and swaps the two. Neither waits for the other; while a reader still holds the spare, the writer works
/// on a fresh copy instead.
pub struct Tissue {
    id: TissueId,
    name: String,
    report: MeshReport,
    published: ArcSwap<Revision>,
    writer: Mutex<Writer>,
    /// Locked only to look up and to add: whoever reads takes an `Arc` away.
    held: Mutex<HeldRevisions>,
}

#[derive(Default)]
struct Writer {
    /// The revision before the published one.
    spare: Option<Arc<Revision>>,
    /// What the published revision has and the spare has not.
    missed: Option<Change>,
    /// Old revisions that readers still held: kept so that they are freed here and not in a tick.
    retired: Vec<Arc<Revision>>,
}

enum Change {
    Moved(Deformation),
    Cut(TopologyEdit),
}

impl Change {
    fn heap_bytes(&self) -> usize {
        match self {
            Change::Moved(Deformation::Sparse { vertices, positions }) => {
                size_of::<u32>() * vertices.capacity() + size_of::<Vec3>() * positions.capacity()
            }
            Change::Moved(Deformation::Dense(positions)) => {
                size_of::<Vec3>() * positions.capacity()
            }
            Change::Cut(edit) => {
                size_of::<TriangleId>() * (edit.removed.capacity() + edit.parents.capacity())
                    + size_of::<Vec3>() * edit.added_positions.capacity()
                    + size_of::<[u32; 3]>() * edit.added.capacity()
            }
        }
    }
}

impl Revision {
    pub(super) fn first(mesh: TriangleMesh, options: LatLonOptions, now_ns: u64) -> Revision {
        let surface = Surface::new(mesh, options);
        Revision {
            surface,
            geometry_revision: 0,
            topology_revision: 0,
            parents: HashMap::new(),
            motion: Motion::default(),
            published_ns: now_ns,
        }
    }

    /// What is remembered in `motion` too is left out: revisions share it.
    fn heap_bytes_beside(&self, motion: &Motion) -> usize {
        let parents = size_of::<(TriangleId, TriangleId)>() * self.parents.capacity();
        let own_motion = self.motion.heap_bytes_beside(motion);
        size_of::<Revision>() + self.surface.heap_bytes() + parents + own_motion
    }

    /// The triangle, the one that it was cut from, the one that that was cut from, and so on.
    pub(super) fn line_of(&self, t: TriangleId) -> impl Iterator<Item = TriangleId> + '_ {
        std::iter::successors(Some(t), |t| self.parents.get(t).copied())
    }

    /// How the vertices moved since an older geometry revision; `None` when that is too long ago.
    pub(super) fn since(&self, geometry_revision: u64) -> Option<Past<'_>> {
        self.motion.since(geometry_revision, self.geometry_revision)
    }

    fn move_vertices(&mut self, deformation: &Deformation) -> Updated {
        self.geometry_revision += 1;
        match deformation {
            Deformation::Sparse { vertices, positions } => {
                self.surface.move_vertices(vertices, positions)
            }
            Deformation::Dense(positions) => self.surface.move_all(positions),
        }
    }

    fn cut(&mut self, edit: &TopologyEdit) -> TriangleId {
        self.topology_revision += 1;
        let first = self.surface.edit(&edit.removed, &edit.added_positions, &edit.added);
        self.parents.extend((first.0..).map(TriangleId).zip(edit.parents.iter().copied()));
        first
    }
}

impl Tissue {
    pub(super) fn new(id: TissueId, name: String, report: MeshReport, first: Revision) -> Tissue {
        let published = ArcSwap::from_pointee(first);
        let (writer, held) = Default::default();
        Tissue { id, name, report, published, writer, held }
    }

    /// Names it in its scene.
    pub fn id(&self) -> TissueId {
        self.id
    }

    /// As the client chose it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// As loaded.
    pub fn report(&self) -> &MeshReport {
        &self.report
    }

    /// Memory of all that is kept of it: the published revision and the writer's spare, the way of the last
    /// deformations and the held positions. Waits for a writer. Within a percent of what is allocated.
    pub fn heap_bytes(&self) -> usize {
        let writer = self.writer.lock();
        let current = self.published.load();
        let others = writer.spare.iter().chain(&writer.retired);
        let held = self.held.lock().heap_bytes();
        current.heap_bytes_beside(&Motion::default())
            + others.map(|r| r.heap_bytes_beside(&current.motion)).sum::<usize>()
            + writer.missed.as_ref().map_or(0, Change::heap_bytes)
            + held
    }

    /// The newest revision; wait-free.
    pub fn current(&self) -> Held {
        self.published.load()
    }

    /// Moves vertices and publishes the result. Waits for another writer, never for a reader.
    ///
    /// # Errors
    /// Nothing has moved then.
    pub fn deform(&self, deformation: Deformation, now_ns: u64) -> Result<Deformed, DeformError> {
        let mut writer = self.writer.lock();
        let current = self.published.load_full();
        deformation.check(current.surface.mesh().positions().len())?;
        let superseded = matches!(deformation, Deformation::Dense(_));
        let mut next = writer.next_revision(&current, superseded);
        let geometry_revision = current.geometry_revision + 1;
        // The copy may be behind where all of it is about to be moved.
        next.motion.note(current.surface.mesh(), &deformation, geometry_revision);
        drop(current);
        let Updated { touched, relocated } = next.move_vertices(&deformation);
        self.publish(&mut writer, next, Change::Moved(deformation), now_ns);
        Ok(Deformed {
            geometry_revision,
            triangles_touched: touched,
            triangles_relocated: relocated,
        })
    }

    /// Keeps the newest revision's positions, and names the revisions that are held then. O(vertices).
    pub fn hold(&self) -> Vec<u64> {
        let newest = HeldPositions::of(&self.current());
        let mut held = self.held.lock();
        held.push(newest);
        held.all().iter().map(|h| h.geometry_revision).collect()
    }

    /// The revisions that are held, oldest first.
    pub fn held(&self) -> Vec<HeldPositions> {
        self.held.lock().all().to_vec()
    }

    /// Cuts and publishes the result. Waits for another writer, never for a reader.
    ///
    /// # Errors
    /// Nothing has changed then.
    pub fn edit(
        &self,
        edit: TopologyEdit,
        limits: &Limits,
        now_ns: u64,
    ) -> Result<Edited, EditError> {
        let mut writer = self.writer.lock();
        let current = self.published.load_full();
        edit.check(&current, limits)?;
        let first_vertex = current.surface.mesh().positions().len() as u32;
        let mut next = writer.next_revision(&current, false);
        drop(current);
        let first_triangle = next.cut(&edit);
        let topology_revision = next.topology_revision;
        let sign_rule = next.surface.sign_rule();
        self.publish(&mut writer, next, Change::Cut(edit), now_ns);
        Ok(Edited { topology_revision, first_vertex, first_triangle, sign_rule })
    }

    /// For the writer's idle time: brings the spare copy up to date, so that the next deformation starts at
    /// once, and rebuilds an index that has worn.
    pub fn catch_up(&self) {
        let mut writer = self.writer.lock();
        let current = self.published.load_full();
        if current.surface.is_worn() {
            let mut next = writer.next_revision(&current, false);
            next.surface.rebuild();
            let spare = Arc::new(next.clone());
            writer.retired.push(self.published.swap(Arc::new(next)));
            writer.spare = Some(spare);
        } else if writer.missed.is_some() {
            let next = writer.next_revision(&current, false);
            writer.spare = Some(Arc::new(next));
        }
        drop(current);
        writer.retired.retain(|r| Arc::strong_count(r) > 1);
    }

    /// For a writer that failed in its work: makes the index of the published revision anew and forgets what
    /// was under way.
    pub fn recover(&self) {
        let mut writer = self.writer.lock();
        let mut next = Revision::clone(&self.published.load());
        next.surface.rebuild();
        (writer.spare, writer.missed) = (None, None);
        writer.retired.push(self.published.swap(Arc::new(next)));
    }

    fn publish(&self, writer: &mut Writer, mut next: Revision, change: Change, now_ns: u64) {
        next.published_ns = now_ns;
        writer.spare = Some(self.published.swap(Arc::new(next)));
        writer.missed = Some(change);
    }
}

impl Writer {
    /// A copy of the current revision that nobody else sees. `superseded`: all vertices are about to be
    /// moved, so a missed deformation need not be made up for.
    fn next_revision(&mut self, current: &Arc<Revision>, superseded: bool) -> Revision {
        let missed = self.missed.take();
        let mut next = match self.spare.take().map(Arc::try_unwrap) {
            Some(Ok(spare)) => spare,
            Some(Err(held)) => {
                self.retired.push(held);
                return Revision::clone(current);
            }
            None => return Revision::clone(current),
        };
        match missed {
            Some(Change::Moved(_)) if superseded => {}
            Some(Change::Moved(deformation)) => drop(next.move_vertices(&deformation)),
            Some(Change::Cut(edit)) => drop(next.cut(&edit)),
            None => {}
        }
        next.motion.clone_from(&current.motion);
        next.geometry_revision = current.geometry_revision;
        next.topology_revision = current.topology_revision;
        next.published_ns = current.published_ns;
        next
    }
}
