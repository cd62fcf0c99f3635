//! Slow reference results for tests and benchmarks, and generated shapes.
//!
//! References are computed in `f64` or exactly, by formulas that the engine does not use. [`shapes`] and [`Random`]
//! serve more than tests: the demo, its load and its pictures generate their meshes with them, so they are part of the
//! product.

pub mod brute_force;
pub mod ccd_queries;
pub mod lattice;
pub mod random;
pub mod rational;
pub mod separating_axis;
pub mod shapes;
pub mod shared_data;
pub mod solid_angle;
pub mod triangle;
pub mod triangle_cloud;

pub use random::Random;
pub use shared_data::shared_data;
