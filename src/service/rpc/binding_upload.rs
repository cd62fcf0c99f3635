//! Assembles the binding of a tissue from its pieces, as `mesh_upload` does its mesh.

use glam::Vec3;

use super::mesh_upload::within_declared;
use crate::{
    geometry::MeshData,
    mesh_io, proto,
    scene::tissue::{
        binding::{Binding, BindingError, Controls},
        cells::{CellTree, VolumeBinding, tetrahedra_of},
        vertex_weights::VertexWeights,
    },
    service::{
        convert::{
            FieldError, Problem,
            deform::{controls, vertex_weights},
            upload::BindingDeclared,
        },
        refused::Refused,
        request_field::within_limit,
    },
};

/// A binding that is being uploaded.
pub struct BindingPieces {
    declared: BindingDeclared,
    vertices_max: usize,
    sent: proto::BindingChunk,
}

/// A whole binding as it was sent.
pub struct SentBinding {
    rest: Controls,
    weights: SentWeights,
}

enum SentWeights {
    OfVertices(VertexWeights),
    /// Cells that give the weights.
    Cells {
        tetrahedra: Vec<[u32; 4]>,
        hexahedra: Vec<[u32; 8]>,
    },
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
        let n_vertices = sent.weights_per_vertex.len() + chunk.weights_per_vertex.len();
        let vertices_max = if of.has_cells() { 0 } else { self.vertices_max };
        within_limit(n_vertices, vertices_max, "vertices_per_mesh", "weights_per_vertex")?;
        let fits = |what, sent: usize, chunk: usize, declared: usize, field| {
            within_declared(what, sent + chunk, declared, field)
        };
        let n_weights = of.weights as usize;
        fits("numbers", sent.rest.len(), chunk.rest.len(), n_rest, "rest")?;
        fits("weights", sent.weights.len(), chunk.weights.len(), n_weights, "weights")?;
        let what = "controls of weights";
        fits(what, sent.controls.len(), chunk.controls.len(), n_weights, "controls")?;
        let n_corners = 4 * of.tetrahedra as usize;
        fits("corners", sent.tetrahedra.len(), chunk.tetrahedra.len(), n_corners, "tetrahedra")?;
        let n_corners = 8 * of.hexahedra as usize;
        fits("corners", sent.hexahedra.len(), chunk.hexahedra.len(), n_corners, "hexahedra")?;
        sent.rest.extend(&chunk.rest);
        sent.weights_per_vertex.extend(&chunk.weights_per_vertex);
        sent.controls.extend(&chunk.controls);
        sent.weights.extend(&chunk.weights);
        sent.tetrahedra.extend(&chunk.tetrahedra);
        sent.hexahedra.extend(&chunk.hexahedra);
        Ok(())
    }

    /// Checks that the whole declared binding has arrived.
    pub fn complete(self) -> Result<SentBinding, FieldError> {
        let BindingPieces { declared: of, sent, .. } = self;
        let complete = |what, got: usize, declared: u32, field: &str| {
            let problem =
                Problem::NotAsDeclared { what, got: got as u64, declared: declared.into() };
            if got == declared as usize { Ok(()) } else { Err(problem.of(field)) }
        };
        let rest = controls(of.are_frames, &sent.rest, "rest")?;
        complete("controls", rest.len(), of.controls, "rest")?;
        let weights = if of.has_cells() {
            let (tetrahedra, hexahedra) = (sent.tetrahedra.as_chunks(), sent.hexahedra.as_chunks());
            complete("tetrahedra", tetrahedra.0.len(), of.tetrahedra, "tetrahedra")?;
            complete("hexahedra", hexahedra.0.len(), of.hexahedra, "hexahedra")?;
            SentWeights::Cells {
                tetrahedra: tetrahedra.0.to_vec(),
                hexahedra: hexahedra.0.to_vec(),
            }
        } else {
            complete("weights", sent.weights.len(), of.weights, "weights")?;
            let (counts, ids) = (&sent.weights_per_vertex, sent.controls);
            SentWeights::OfVertices(vertex_weights(counts, ids, sent.weights, "weights")?)
        };
        Ok(SentBinding { rest, weights })
    }
}

impl SentBinding {
    /// Returns the boundary of the cells. Each of its vertices is a node and will be carried by this node alone.
    pub fn take_boundary(&mut self) -> Result<MeshData, FieldError> {
        let (Controls::Points(nodes), SentWeights::Cells { tetrahedra, hexahedra }) =
            (&self.rest, &self.weights)
        else {
            unreachable!("a binding without cells has a mesh");
        };
        let made = mesh_io::boundary(nodes.clone(), tetrahedra, hexahedra);
        let made = made.map_err(|error| Problem::File(error).of("binding.tetrahedra"))?;
        self.weights = SentWeights::OfVertices(VertexWeights::each_alone(nodes.len() as u32));
        Ok(made)
    }

    /// Binds the vertices of the mesh, at these positions, for the blocking pool. O(weights), or O(vertices log cells).
    /// `check` is asked now and then whether the tissue is still wanted.
    pub fn bind(
        self,
        positions: &[Vec3],
        check: impl Fn() -> Result<(), Refused>,
    ) -> Result<(Binding, VolumeBinding), Refused> {
        let refused = |error: BindingError, field| Problem::Binding(error).of(field);
        let (weights, report, field) = match (self.weights, &self.rest) {
            (SentWeights::OfVertices(weights), _) => {
                (weights, VolumeBinding::default(), "binding.weights")
            }
            (SentWeights::Cells { tetrahedra, hexahedra }, Controls::Points(nodes)) => {
                let cells = tetrahedra.into_iter().chain(tetrahedra_of(&hexahedra)).collect();
                let tree = CellTree::build(nodes, cells);
                let tree = tree.map_err(|error| match error {
                    BindingError::Control { .. } => refused(error, "binding.rest"),
                    _ => refused(error, "binding.tetrahedra"),
                })?;
                let mut bound = VolumeBinding::of(positions, &tree, check)?;
                (std::mem::take(&mut bound.weights), bound, "binding.rest")
            }
            (SentWeights::Cells { .. }, Controls::Frames(_)) => unreachable!("it was refused"),
        };
        let bound = Binding::new(self.rest, weights, positions);
        Ok((bound.map_err(|error| refused(error, field))?, report))
    }
}
