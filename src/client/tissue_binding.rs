//! The binding of a tissue to upload, and its chunks on the wire.

use crate::{
    proto::{BindingChunk, BindingHeader, ControlKind},
    scene::tissue::{binding::Controls, tube::Tube},
};

/// Controls that carry the vertices of a tissue, such as the nodes of a solver's mesh.
#[derive(Clone, Debug)]
pub struct TissueBinding {
    /// Points, or frames.
    pub kind: ControlKind,
    /// The controls at rest, and the weights of all vertices, or the cells that give the weights.
    pub data: BindingChunk,
}

/// Weights in one message: a quarter of its greatest size.
const CHUNK_WEIGHTS: usize = (256 << 10) / 17;

impl TissueBinding {
    /// Lets the server bind each vertex to the cell around it, or else to the nearest: [`BindingHeader`] says how.
    /// `nodes`: the volume mesh at rest, metres, scene frame.
    pub fn to_cells(
        nodes: &[[f32; 3]],
        tetrahedra: &[[u32; 4]],
        hexahedra: &[[u32; 8]],
    ) -> TissueBinding {
        let data = BindingChunk {
            rest: nodes.as_flattened().to_vec(),
            tetrahedra: tetrahedra.as_flattened().to_vec(),
            hexahedra: hexahedra.as_flattened().to_vec(),
            ..BindingChunk::default()
        };
        TissueBinding { kind: ControlKind::Points, data }
    }

    /// Binds the vertices of a tube to the frames of its line.
    pub fn to_line(tube: &Tube) -> TissueBinding {
        let data = BindingChunk {
            rest: Controls::Frames(tube.rest.clone()).numbers(),
            weights_per_vertex: vec![1; tube.frame_of.len()],
            controls: tube.frame_of.clone(),
            weights: vec![1.0; tube.frame_of.len()],
            ..BindingChunk::default()
        };
        TissueBinding { kind: ControlKind::Frames, data }
    }

    /// Returns true if cells give the weights.
    pub fn has_cells(&self) -> bool {
        !self.data.tetrahedra.is_empty() || !self.data.hexahedra.is_empty()
    }

    pub(super) fn header(&self) -> BindingHeader {
        let each = if self.kind == ControlKind::Frames { 7 } else { 3 };
        BindingHeader {
            kind: self.kind.into(),
            controls: (self.data.rest.len() / each) as u32,
            weights: self.data.weights.len() as u32,
            tetrahedra: (self.data.tetrahedra.len() / 4) as u32,
            hexahedra: (self.data.hexahedra.len() / 8) as u32,
        }
    }

    pub(super) fn chunks(&self) -> Vec<BindingChunk> {
        let of = &self.data;
        let integers = [&of.weights_per_vertex, &of.controls, &of.tetrahedra, &of.hexahedra];
        let longest = integers.iter().map(|list| list.len()).max().unwrap_or(0);
        let longest = longest.max(of.rest.len()).max(of.weights.len());
        fn part<T: Clone>(list: &[T], at: usize) -> Vec<T> {
            list.chunks(CHUNK_WEIGHTS).nth(at).unwrap_or_default().to_vec()
        }
        let chunk = |at: usize| BindingChunk {
            rest: part(&of.rest, at),
            weights_per_vertex: part(&of.weights_per_vertex, at),
            controls: part(&of.controls, at),
            weights: part(&of.weights, at),
            tetrahedra: part(&of.tetrahedra, at),
            hexahedra: part(&of.hexahedra, at),
        };
        (0..longest.div_ceil(CHUNK_WEIGHTS)).map(chunk).collect()
    }
}
