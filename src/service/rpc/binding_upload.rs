//! Assembles the binding of a tissue from its pieces, as `mesh_upload` does its mesh.

use glam::Vec3;

use super::mesh_upload::within_declared;
use crate::{
    proto,
    scene::tissue::binding::{Binding, Controls},
    service::{
        convert::{
            FieldError, Problem,
            deform::{controls, vertex_weights},
            upload::BindingDeclared,
        },
        request_field::within_limit,
    },
};

/// A binding that is being uploaded.
pub struct BindingPieces {
    declared: BindingDeclared,
    vertices_max: usize,
    sent: proto::BindingChunk,
}

impl BindingPieces {
    /// Starts an upload for a mesh of at most `vertices_max` vertices.
    pub fn new(declared: BindingDeclared, vertices_max: u32) -> BindingPieces {
        let vertices_max = vertices_max as usize;
        BindingPieces { declared, vertices_max, sent: proto::BindingChunk::default() }
    }

    /// Adds the next piece. After an error the upload is unusable.
    pub fn push(&mut self, chunk: &proto::BindingChunk) -> Result<(), FieldError> {
        let (sent, of) = (&mut self.sent, &self.declared);
        let n_rest = of.controls as usize * Controls::numbers_each(of.are_frames);
        within_declared("numbers", sent.rest.len() + chunk.rest.len(), n_rest, "rest")?;
        let n_vertices = sent.weights_per_vertex.len() + chunk.weights_per_vertex.len();
        let limit = "vertices_per_mesh";
        within_limit(n_vertices, self.vertices_max, limit, "weights_per_vertex")?;
        let n_weights = of.weights as usize;
        within_declared("weights", sent.weights.len() + chunk.weights.len(), n_weights, "weights")?;
        let n_controls = sent.controls.len() + chunk.controls.len();
        within_declared("controls of weights", n_controls, n_weights, "controls")?;
        sent.rest.extend(&chunk.rest);
        sent.weights_per_vertex.extend(&chunk.weights_per_vertex);
        sent.controls.extend(&chunk.controls);
        sent.weights.extend(&chunk.weights);
        Ok(())
    }

    /// Binds the vertices of the mesh, at these positions. O(weights), for the blocking pool.
    pub fn bind(self, positions: &[Vec3]) -> Result<Binding, FieldError> {
        let BindingPieces {
            declared: BindingDeclared { are_frames, controls: n, weights }, ..
        } = self;
        let proto::BindingChunk { rest, weights_per_vertex, controls: ids, weights: of } =
            self.sent;
        let binding = || -> Result<Binding, FieldError> {
            let rest = controls(are_frames, &rest, "rest")?;
            let complete = |what, got: usize, declared: u32, field: &str| {
                let problem =
                    Problem::NotAsDeclared { what, got: got as u64, declared: declared.into() };
                if got == declared as usize { Ok(()) } else { Err(problem.of(field)) }
            };
            complete("controls", rest.len(), n, "rest")?;
            complete("weights", of.len(), weights, "weights")?;
            let weights = vertex_weights(&weights_per_vertex, ids, of, "weights")?;
            let bound = Binding::new(rest, weights, positions);
            bound.map_err(|error| Problem::Binding(error).of("weights"))
        };
        binding().map_err(|error| error.within("binding"))
    }
}
