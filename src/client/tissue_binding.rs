//! The binding of a tissue to upload, and its chunks on the wire.

use crate::proto::{BindingChunk, BindingHeader, ControlKind};

/// Controls that carry the vertices of a tissue, such as the nodes of a solver's mesh.
#[derive(Clone, Debug)]
pub struct TissueBinding {
    /// Points, or frames.
    pub kind: ControlKind,
    /// The controls at rest, and the weights of all vertices.
    pub data: BindingChunk,
}

/// Weights in one message: a quarter of its greatest size.
const CHUNK_WEIGHTS: usize = (256 << 10) / 17;

impl TissueBinding {
    pub(super) fn header(&self) -> BindingHeader {
        let each = if self.kind == ControlKind::Frames { 7 } else { 3 };
        BindingHeader {
            kind: self.kind.into(),
            controls: (self.data.rest.len() / each) as u32,
            weights: self.data.weights.len() as u32,
        }
    }

    pub(super) fn chunks(&self) -> Vec<BindingChunk> {
        let BindingChunk { rest, weights_per_vertex, controls, weights } = &self.data;
        let n = CHUNK_WEIGHTS;
        let longest =
            rest.len().max(weights_per_vertex.len()).max(weights.len()).max(controls.len());
        let part = |at: usize| BindingChunk {
            rest: rest.chunks(n).nth(at).unwrap_or_default().to_vec(),
            weights_per_vertex: weights_per_vertex.chunks(n).nth(at).unwrap_or_default().to_vec(),
            controls: controls.chunks(n).nth(at).unwrap_or_default().to_vec(),
            weights: weights.chunks(n).nth(at).unwrap_or_default().to_vec(),
        };
        (0..longest.div_ceil(n)).map(part).collect()
    }
}
