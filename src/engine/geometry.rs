//! Layer 0: shapes, frames and the exact small computations on them.
//!
//! Depends on no indices, scenes or servers. Stored coordinates are `f32` metres; every computation on them is `f64`,
//! so a stored mesh is exact input and only results are rounded.

pub mod aabb;
pub mod clipped_triangle;
pub mod direction;
pub mod distance;
pub(crate) mod four_lanes;
pub mod kdop;
pub mod lanes;
pub mod mesh;
pub mod obb;
pub mod pose;
pub mod principal_axes;
pub mod short_number;
pub mod side;
pub mod tolerance;
pub mod triangle_box;
pub mod triangle_triangle;
pub mod winding;

pub use aabb::Aabb;
pub use kdop::Dop16;
pub use mesh::load::{Basis, LoadOptions, LoadedMesh, MeshError};
pub use mesh::orientation::Orientation;
pub use mesh::report::MeshReport;
pub use mesh::topology::{SignRule, Topology};
pub use mesh::{MeshData, TriangleId, TriangleMesh};
pub use obb::Obb;
pub use pose::Pose;
