//! A soft organ with a hard nodule under the middle of the tool's path.

use glam::DVec3;

use super::phantom::PhantomTissue;
use crate::scene::tissue::feel::{Feel, FeelError, Material};

/// Stiffness of the organ and of the nodule, N/m.
const SOFT_N_PER_M: f64 = 300.0;
const HARD_N_PER_M: f64 = 5_000.0;
/// Radius of the nodule, in longest sides of the organ.
const RADIUS: f64 = 0.1;

/// Returns the materials of an organ with a nodule about a point.
pub fn feel(organ: &PhantomTissue, middle: DVec3) -> Result<Feel, FeelError> {
    // Undamped: the true force is found without the run's clock.
    let material =
        |stiffness| Material { stiffness_n_per_m: Some(stiffness), ..Material::default() };
    let radius_m = RADIUS * organ.length_m();
    let corner = |v: u32| organ.rest[v as usize].as_dvec3();
    let is_in = |t: &[u32; 3]| t.iter().all(|v| corner(*v).distance(middle) < radius_m);
    let each = organ.triangles.iter().map(|t| u8::from(is_in(t)));
    Feel::new(vec![material(SOFT_N_PER_M), material(HARD_N_PER_M)], each.collect())
}
