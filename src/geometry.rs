//! Layer 0: shapes, frames and the exact small computations on them.
//!
//! Knows nothing of indices, scenes or servers. Stored coordinates are `f32` metres; every computation
//! on them is `f64`, so a stored mesh is exact input and only results are rounded.

pub mod aabb;
pub mod mesh;
pub mod mesh_load;
pub mod mesh_report;
pub mod pose;
pub mod tolerance;
pub mod topology;

pub use aabb::Aabb;
pub use mesh::{MeshData, TriangleId, TriangleMesh};
pub use pose::Pose;
