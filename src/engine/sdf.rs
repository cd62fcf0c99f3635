//! Source 002: the signed distance of a rigid link as a tree of grids; every result has an interval.
//!
//! Patent publication of Shenzhen Huaquejing Medical (Wang, Wu), 2023-11: an octree by vertex count, empty exterior
//! leaves deleted, neighbouring leaves of similar complexity merged into subspaces, one grid each. Differences from the
//! source: a leaf is empty only if no triangle meets its box; a deleted leaf keeps the distances of its corners, so
//! that it still gives a result; a cell interpolates only if a bound proves that to be good enough, and near the
//! surface its result is exact, from the few triangles that can be nearest.
//!
//! The interval rests on three facts: distance is 1-Lipschitz; outside a ball of radius r around every surface point
//! its second derivatives are at most 1/r, so interpolation overshoots by at most sum(h^2) / (8 r); and the
//! distance to any single triangle is convex, so its interpolation never falls below it.
//!
//! `sdf` depends neither on tools nor on the source of exact distances: its caller passes a search ([`Exact`]).

mod build;
mod candidate_lists;
mod candidates;
mod cell;
mod complexity;
mod exact;
mod field;
mod free_leaf;
mod grid;
mod locate;
mod merge;
mod octree;
mod octree_node;
mod options;
mod progress;
mod query;
mod reading;
mod region;
mod short_bound;
mod sign_from_normal;
mod source;
mod trilinear;
mod validate;

pub use build::build;
pub use exact::{Exact, ExactDistance};
pub use field::{Field, FieldReport};
pub use options::{FIELD_VERSION, FieldOptions};
pub use progress::{BuildProgress, BuildStage, BuildStopped};
pub use reading::Reading;
