//! Stub: the real one is being written elsewhere and replaces this file.
#![allow(missing_docs)]
use crate::{
    geometry::{TriangleMesh, mesh_report::MeshReport, topology::SignRule},
    scene::TissueOptions,
};
#[derive(Clone)]
pub struct Surface {
    mesh: TriangleMesh,
}
impl Surface {
    pub fn new(mesh: TriangleMesh, _report: &MeshReport, _options: TissueOptions) -> Surface {
        Surface { mesh }
    }
    pub fn mesh(&self) -> &TriangleMesh {
        &self.mesh
    }
    pub fn sign_rule(&self) -> SignRule {
        SignRule::Pseudonormal
    }
}
