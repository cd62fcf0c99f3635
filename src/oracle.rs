//! The slow truth in `f64`, for tests and benchmarks, and the shapes they run on.

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

pub use random::Random;
pub use shared_data::shared_data;
