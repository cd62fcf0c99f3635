//! Two moving edges.

use glam::DVec3;

use super::{
    moving_features::MovingFeatures,
    step_budget::StepBudget,
    verdict::{FeatureVerdict, judge},
};

/// First contact of two edges, both moving straight during the step.
///
/// Points are (a0, a1, b0, b1) at the two ends, metres, finite. With a `thickness` (metres, >= 0) contact means coming
/// within it. Parallel edges and edges without length are handled.
pub fn edge_edge(t0: &[DVec3; 4], t1: &[DVec3; 4], thickness: f64) -> FeatureVerdict {
    judge(&MovingFeatures::edge_edge(t0, t1), thickness, &mut StepBudget::new())
}
