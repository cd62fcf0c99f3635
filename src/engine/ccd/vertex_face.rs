//! A moving vertex against a moving face.

use glam::DVec3;

use super::{
    moving_features::MovingFeatures,
    step_budget::StepBudget,
    verdict::{FeatureVerdict, judge},
};

/// First contact of a vertex with a face, both moving straight during the step.
///
/// Points are (vertex, a, b, c) at the two ends, metres, finite. With a `thickness` (metres, >= 0) contact means coming
/// within it. A face without area is met along its longest edge.
///
/// ```
/// use glam::DVec3;
/// use palpate_engine::ccd::vertex_face;
///
/// let t0 = [DVec3::Z, DVec3::NEG_X, DVec3::X, DVec3::Y];
/// let t1 = [DVec3::NEG_Z, DVec3::NEG_X, DVec3::X, DVec3::Y];
/// let toi = vertex_face(&t0, &t1, 0.0).toi().expect("it falls through");
/// assert!(toi <= 0.5 && toi > 0.499_999);
/// ```
pub fn vertex_face(t0: &[DVec3; 4], t1: &[DVec3; 4], thickness: f64) -> FeatureVerdict {
    judge(&MovingFeatures::vertex_face(t0, t1), thickness, &mut StepBudget::new())
}
