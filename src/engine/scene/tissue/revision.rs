//! One state of a tissue, never changed after it is published.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use glam::{DVec3, Vec3};

use super::{
    driven::Driven,
    edit::TopologyEdit,
    feel::Feel,
    vertex_history::{MotionSince, VertexHistory},
};
use crate::{
    coupling::contact_law::ContactLaw, geometry::TriangleId, index::Updated, surface::Surface,
};

/// One state of a tissue, never changed after it is published.
#[derive(Clone)]
pub struct Revision {
    /// Mesh, index and sign rule.
    pub surface: Surface,
    /// Number of deformations so far.
    pub geometry_revision: u64,
    /// Number of cuts so far.
    pub topology_revision: u64,
    /// Number of deformations that parted or joined edges along seams since the tissue was loaded.
    pub seams_revision: u64,
    /// For each triangle that an edit added, the triangle it was cut from, if the edit said so.
    parents: HashMap<TriangleId, TriangleId>,
    /// Controls that carry the vertices, if any do.
    pub driven: Option<Arc<Driven>>,
    /// Materials of the triangles, if they were given.
    pub feel: Option<Arc<Feel>>,
    pub(super) history: VertexHistory,
    /// Organ of the tissue, shared by all revisions: see [`Revision::organ`].
    organ: Arc<AtomicU32>,
    /// Time of publication, nanoseconds of the caller's monotonic clock.
    pub published_ns: u64,
}

impl Revision {
    pub(in crate::scene) fn first(surface: Surface, now_ns: u64) -> Revision {
        Revision {
            surface,
            geometry_revision: 0,
            topology_revision: 0,
            seams_revision: 0,
            parents: HashMap::new(),
            driven: None,
            feel: None,
            history: VertexHistory::default(),
            organ: Arc::default(),
            published_ns: now_ns,
        }
    }

    /// Returns the organ: equal for all open tissues that are parts of one organ, the id of one of them.
    pub(in crate::scene) fn organ(&self) -> u32 {
        self.organ.load(Relaxed)
    }

    /// Makes the tissue a part of an organ.
    pub(in crate::scene) fn set_organ(&self, organ: u32) {
        self.organ.store(organ, Relaxed);
    }

    /// Restores a saved revision.
    pub(in crate::scene) fn restored(
        first: Revision,
        (geometry_revision, topology_revision): (u64, u64),
        parents: impl IntoIterator<Item = (TriangleId, TriangleId)>,
        driven: Option<Driven>,
        feel: Option<Feel>,
    ) -> Revision {
        let parents = parents.into_iter().collect();
        let (driven, feel) = (driven.map(Arc::new), feel.map(Arc::new));
        Revision { geometry_revision, topology_revision, parents, driven, feel, ..first }
    }

    /// Returns, for each triangle that a cut added, the triangle it was cut from, by child.
    pub(in crate::scene) fn parents(&self) -> Vec<(TriangleId, TriangleId)> {
        let mut parents: Vec<_> = self.parents.iter().map(|(t, parent)| (*t, *parent)).collect();
        parents.sort_unstable();
        parents
    }

    /// Returns the allocated memory without that remembered in `history`: revisions share it.
    pub(super) fn heap_bytes_beside(&self, history: &VertexHistory) -> usize {
        let parents = size_of::<(TriangleId, TriangleId)>() * self.parents.capacity();
        let own_history = self.history.heap_bytes_beside(history);
        size_of::<Revision>() + self.surface.heap_bytes() + parents + own_history
    }

    /// Returns the triangle, the one that it was cut from, the one that that was cut from, and so on.
    pub(in crate::scene) fn ancestors(
        &self,
        t: TriangleId,
    ) -> impl Iterator<Item = TriangleId> + '_ {
        // The cut that added a child removed its parent, so ids fall and the line ends.
        std::iter::successors(Some(t), |t| {
            let parent = self.parents.get(t).copied();
            debug_assert!(parent.is_none_or(|p| p < *t), "{parent:?} is no ancestor of {t:?}");
            parent
        })
    }

    /// Returns the law of a contact at a point of a triangle; `None` if the tissue has no materials. `of_tool`: the
    /// tool's coefficient of friction, for materials without their own.
    pub fn contact_law(&self, t: TriangleId, weights: DVec3, of_tool: f64) -> Option<ContactLaw> {
        let feel = self.feel.as_deref()?;
        Some(feel.law(self.surface.mesh(), (t, weights), of_tool))
    }

    /// Returns the stiffness of the materials at a vertex, N/m; 0 if it is rigid.
    pub fn stiffness_at(&self, v: u32) -> f64 {
        let mesh = self.surface.mesh();
        let Some((t, corner)) = mesh.around(v).next() else { return 0.0 };
        let law = self.contact_law(t, DVec3::AXES[corner], 0.0);
        let compliance = law.map_or(0.0, |law| law.compliance_m_per_n);
        if compliance > 0.0 { compliance.recip() } else { 0.0 }
    }

    /// Returns the motion of the vertices since an older geometry revision; `None` if that is too long ago.
    pub(in crate::scene) fn since(&self, geometry_revision: u64) -> Option<MotionSince<'_>> {
        debug_assert!(
            geometry_revision <= self.geometry_revision,
            "{geometry_revision} is to come"
        );
        self.history.since(geometry_revision, self.geometry_revision)
    }

    /// Returns the motion of a vertex since an older geometry revision, metres; `None` if that is too long ago.
    pub fn moved_since(&self, geometry_revision: u64, v: u32) -> Option<DVec3> {
        let now = self.surface.mesh().position(v);
        Some(now - self.since(geometry_revision)?.position(v, now, 0.0))
    }

    /// Upper bound of any vertex's motion since an older geometry revision, metres; `None` if that is too long ago.
    pub fn displacement_since(&self, geometry_revision: u64) -> Option<f64> {
        Some(self.since(geometry_revision)?.displacement_max())
    }

    /// Bound of motion, metres: no vertex has moved farther since an older revision than this has grown.
    pub(in crate::scene) fn travel_m(&self) -> f64 {
        self.history.travel_m()
    }

    /// Moves some vertices.
    pub(super) fn move_vertices(&mut self, vertices: &[u32], positions: &[Vec3]) -> Updated {
        self.geometry_revision += 1;
        self.surface.move_vertices(vertices, positions)
    }

    /// Moves all vertices.
    pub(super) fn move_all(&mut self, positions: Vec<Vec3>) -> Updated {
        self.geometry_revision += 1;
        self.surface.move_all(positions)
    }

    /// Counts a deformation if it parted or joined edges of the revision that was published before.
    pub(super) fn count_seams(&mut self, before: &Revision, is_dense: bool) {
        // With all vertices moved, a copy may have missed the deformation before this one.
        let is_changed = match is_dense {
            true => !self.surface.mesh().has_seams_of(before.surface.mesh()),
            false => self.surface.has_moved_seams(),
        };
        self.seams_revision = before.seams_revision + u64::from(is_changed);
    }

    /// Cuts and returns the first new triangle.
    pub(super) fn cut(&mut self, edit: &TopologyEdit) -> TriangleId {
        self.topology_revision += 1;
        let first = self.surface.edit(&edit.removed, &edit.added_positions, &edit.added);
        // Kept for good: a contact may come back to a triangle that was cut several times since.
        self.parents.extend((first.0..).map(TriangleId).zip(edit.parents.iter().copied()));
        first
    }

    /// Gives a copy with the published positions and triangles the same revision numbers.
    pub(super) fn take_counts_of(&mut self, current: &Revision) {
        self.history.clone_from(&current.history);
        self.surface.take_findings_of(&current.surface);
        self.geometry_revision = current.geometry_revision;
        self.topology_revision = current.topology_revision;
        self.seams_revision = current.seams_revision;
        self.published_ns = current.published_ns;
        self.driven.clone_from(&current.driven);
        self.feel.clone_from(&current.feel);
    }
}
