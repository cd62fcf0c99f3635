//! Sequential deformations: the moved vertices are sent, and the answer comes once ticks can see them.

use super::{address::ServerAddress, duplex::Duplex, error::ClientError};
use crate::proto::{
    ControlMove, DeformRequest, DeformResponse, DensePositions, SparsePositions,
    deform_request::Positions,
};

/// An open `Deform` stream that numbers its requests; [`Client::deformations`](super::Client::deformations) opens one.
///
/// A solver that does not wait for answers uses [`Client::deform`](super::Client::deform).
pub struct DeformStream {
    server: ServerAddress,
    scene_id: String,
    stream: Duplex<DeformRequest, DeformResponse>,
    sequence: u64,
}

impl DeformStream {
    pub(super) fn new(
        server: ServerAddress,
        scene_id: &str,
        stream: Duplex<DeformRequest, DeformResponse>,
    ) -> DeformStream {
        DeformStream { server, scene_id: scene_id.to_owned(), stream, sequence: 0 }
    }

    /// Moves all vertices of a tissue: `[3 * n_vertices]`, metres, scene frame.
    ///
    /// # Errors
    /// Returns an error if the server refuses the deformation, which ends the stream, or if the server is gone.
    pub async fn move_all(
        &mut self,
        tissue_id: u32,
        positions_m: Vec<f32>,
    ) -> Result<DeformResponse, ClientError> {
        self.apply(tissue_id, Positions::Dense(DensePositions { positions_m })).await
    }

    /// Moves some vertices: `[n]`, and `[3 * n]`, metres, scene frame.
    ///
    /// # Errors
    /// See [`DeformStream::move_all`].
    pub async fn move_some(
        &mut self,
        tissue_id: u32,
        vertices: Vec<u32>,
        positions_m: Vec<f32>,
    ) -> Result<DeformResponse, ClientError> {
        self.apply(tissue_id, Positions::Sparse(SparsePositions { vertices, positions_m })).await
    }

    /// Moves controls of a driven tissue, or all of them if `control_ids` is empty: three numbers for each point, seven
    /// for each frame, metres, scene frame.
    ///
    /// # Errors
    /// See [`DeformStream::move_all`].
    pub async fn drive(
        &mut self,
        tissue_id: u32,
        control_ids: Vec<u32>,
        state: Vec<f32>,
    ) -> Result<DeformResponse, ClientError> {
        self.apply(tissue_id, Positions::Controls(ControlMove { control_ids, state })).await
    }

    async fn apply(
        &mut self,
        tissue_id: u32,
        positions: Positions,
    ) -> Result<DeformResponse, ClientError> {
        self.sequence += 1;
        let request = DeformRequest {
            scene_id: self.scene_id.clone(),
            tissue_id,
            sequence: self.sequence,
            positions: Some(positions),
            hold: false,
        };
        // If the channel is closed the stream has ended, and its status gives the reason.
        let _ = self.stream.requests.send(request).await;
        let failed = |status| ClientError::of(&self.server, "Deform", &status);
        let answer = self.stream.answers.message().await.map_err(failed)?;
        answer.ok_or_else(|| ClientError::ended(&self.server, "Deform"))
    }
}
