//! Links of tools as bodies that other tools meet: driven tissues of one frame.

use glam::Vec3;

use super::{
    Tissue, TissueKind, Tool,
    tissue::{
        binding::{Binding, ControlFrame, ControlMove, Controls},
        deform::DeformError,
        vertex_weights::VertexWeights,
    },
};
use crate::{
    geometry::{LoadedMesh, Pose},
    index::LatLonOptions,
};

impl Tissue {
    /// Makes a body of a tool's link at `pose`, scene frame from link frame. `now_ns`: the caller's monotonic clock.
    ///
    /// # Errors
    /// Returns an error if the pose carries a vertex out of the world.
    ///
    /// # Panics
    /// Panics if the tool has no such link.
    pub fn of_link(
        name: String,
        (tool, link): (&Tool, usize),
        pose: &Pose,
        now_ns: u64,
    ) -> Result<Tissue, DeformError> {
        let kind = TissueKind::Instrument { tool: tool.id, link: link as u32 };
        let link = &tool.links[link];
        let mesh = link.surface.mesh().clone();
        let mut weights = VertexWeights::default();
        mesh.positions().iter().for_each(|_| weights.push([(0, 1.0)]));
        let frame =
            |position: Vec3, rotation| Controls::Frames(vec![ControlFrame { position, rotation }]);
        let rest = frame(Vec3::ZERO, glam::Quat::IDENTITY);
        let binding = Binding::new(rest, weights, mesh.positions()).expect("one frame carries all");
        let loaded = LoadedMesh { mesh, report: link.report.clone() };
        let mut body = Tissue::new((name, kind), loaded, LatLonOptions::default(), now_ns);
        body.bind(binding);
        let rotation = glam::DQuat::from_mat3(&pose.rotation).as_quat();
        let to = frame(pose.translation.as_vec3(), rotation);
        body.drive(&ControlMove { controls: None, to }, now_ns)?;
        Ok(body)
    }
}
