//! A deformable tissue: an immutable published revision for ticks, a writer that makes the next one.

use std::sync::Arc;

use arc_swap::ArcSwap;
use glam::DVec3;

use super::{
    deform::{DeformError, Deformation, Deformed},
    edit::{EditError, Edited, TopologyEdit},
    limits::Limits,
};
use crate::{
    geometry::{TriangleMesh, mesh_report::MeshReport},
    index::Surface,
};

/// Names a tissue of a scene; never used again there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TissueId(pub u32);

/// How a tissue is indexed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TissueOptions {
    /// Direction of latitude, scene frame; `None`: the longest principal axis.
    pub latitude_axis: Option<DVec3>,
    /// Height of a band in mean edge lengths; `None`: the index's own.
    pub band_edges: Option<f64>,
}

/// One state of a tissue, never changed after it is published.
#[derive(Clone)]
pub struct Revision {
    /// Mesh, index and sign rule.
    pub surface: Surface,
    /// Deformations so far.
    pub geometry_revision: u64,
    /// Cuts so far.
    pub topology_revision: u64,
    /// When it was published: nanoseconds of the caller's monotonic clock.
    pub published_ns: u64,
}

/// A deformable triangle mesh in scene frame.
pub struct Tissue {
    id: TissueId,
    name: String,
    report: MeshReport,
    published: ArcSwap<Revision>,
}

impl Revision {
    pub(super) fn first(
        mesh: TriangleMesh,
        report: &MeshReport,
        options: TissueOptions,
        now_ns: u64,
    ) -> Revision {
        let surface = Surface::new(mesh, report, options);
        Revision { surface, geometry_revision: 0, topology_revision: 0, published_ns: now_ns }
    }
}

impl Tissue {
    pub(super) fn new(id: TissueId, name: String, report: MeshReport, first: Revision) -> Tissue {
        Tissue { id, name, report, published: ArcSwap::from_pointee(first) }
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

    /// The newest revision; wait-free.
    pub fn current(&self) -> arc_swap::Guard<Arc<Revision>> {
        self.published.load()
    }

    /// Moves vertices and publishes the result. Waits for another writer, never for a reader.
    ///
    /// # Errors
    /// Nothing has moved then.
    pub fn deform(&self, deformation: &Deformation, now_ns: u64) -> Result<Deformed, DeformError> {
        let _ = (deformation, now_ns);
        todo!()
    }

    /// Cuts and publishes the result. Waits for another writer, never for a reader.
    ///
    /// # Errors
    /// Nothing has changed then.
    pub fn edit(
        &self,
        edit: &TopologyEdit,
        limits: &Limits,
        now_ns: u64,
    ) -> Result<Edited, EditError> {
        let _ = (edit, limits, now_ns);
        todo!()
    }

    /// Brings the writer's spare copy up to date: for the writer's idle time, so that the next
    /// deformation starts at once. Also rebuilds an index whose quality has fallen.
    pub fn catch_up(&self, now_ns: u64) {
        let _ = now_ns;
        todo!()
    }
}
