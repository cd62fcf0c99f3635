//! The slow truth in `f64`, for tests and benchmarks, and the shapes they run on.

pub mod random;
pub mod shapes;
pub mod shared_data;

pub use random::Random;
pub use shared_data::shared_data;
