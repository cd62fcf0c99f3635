//! Layer 0: shapes, frames and the exact small computations on them.
//!
//! Knows nothing of indices, scenes or servers. Stored coordinates are `f32` metres; every computation
//! on them is `f64`, so a stored mesh is exact input and only results are rounded.

pub mod aabb;
pub mod cap;
pub mod direction;
pub mod kdop;
pub mod lanes;
pub mod mesh;
pub mod mesh_load;
pub mod mesh_report;
pub mod obb;
pub mod orientation;
pub mod point_triangle;
pub mod point_triangles;
pub mod pose;
pub mod principal_axes;
pub mod pseudonormal;
pub mod rim;
pub mod segment_segment;
pub mod tolerance;
pub mod topology;
pub mod triangle_box;
pub mod triangle_distance;
pub mod triangle_triangle;
pub mod winding;

pub use aabb::Aabb;
pub use kdop::Dop16;
pub use mesh::{MeshData, TriangleId, TriangleMesh};
pub use mesh_load::{Basis, LoadOptions, LoadedMesh, MeshError};
pub use mesh_report::MeshReport;
pub use obb::Obb;
pub use pose::Pose;
pub use topology::{SignRule, Topology};
