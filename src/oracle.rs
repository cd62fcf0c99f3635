//! The slow truth in `f64`, for tests and benchmarks, and the shapes they run on.
