//! Distances of many points at once.

use glam::DVec3;

use super::{Distance, Nearest, Tissue, Tool};
use crate::geometry::Pose;
use std::sync::Arc;

/// What points are measured against.
pub enum Target<'a> {
    /// The nearest of these tissues.
    Tissues(&'a [Arc<Tissue>]),
    /// A link at a pose (scene frame from link frame).
    Link(&'a Tool, usize, Pose),
}

/// Signed distance of each point (scene frame, metres) to the target, no farther than `max_distance_m`.
pub fn distances(target: &Target, points: &[DVec3], max_distance_m: f64) -> Vec<Distance<Nearest>> {
    let _ = (target, points, max_distance_m);
    todo!()
}
