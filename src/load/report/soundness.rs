//! Checks that answers keep the promises that the contract makes for every answer of any scene.

use crate::proto::{Contacts, LinkAnswer, ProbeAnswer, SurfacePoint, TrackResponse, Vec3};

/// Coordinates of unit vectors and weights travel as `f32`, rounded by 6e-8 each; their sums and lengths deviate by a
/// few times that. A wrong vector deviates by much more.
const ROUNDING: f64 = 1e-5;

/// The answers of one stream, in order.
#[derive(Clone, Debug, Default)]
pub struct Soundness {
    /// Contact ids of the last answer, sorted.
    given: Vec<u64>,
}

impl Soundness {
    /// Returns the broken promise of the next answer; `None` when there is none.
    pub fn problem(&mut self, answer: &TrackResponse) -> Option<String> {
        let links = answer.links.iter().find_map(link_problem);
        let problem = links.or_else(|| answer.probes.iter().find_map(probe_problem));
        problem.or_else(|| self.ids_problem(answer))
    }

    /// Checks that each id belongs to one contact, begins once, and is not used again after its end.
    fn ids_problem(&mut self, answer: &TrackResponse) -> Option<String> {
        let contacts = || answer.links.iter().filter_map(|link| link.contacts.as_ref());
        let mut given: Vec<u64> = contacts().flat_map(|c| c.contact_ids.iter().copied()).collect();
        given.sort_unstable();
        // Ids are compared with those of the previous answer only: memory for all ended ids would grow with the run.
        let before = std::mem::replace(&mut self.given, given);
        if let Some(two) = self.given.windows(2).find(|two| two[0] == two[1]) {
            return Some(format!("contact {} is given twice", two[0]));
        }
        let begun = contacts().flat_map(|c| c.contact_ids.iter().zip(&c.states));
        let begun = begun.filter(|(_, state)| **state == BEGIN).map(|(id, _)| id);
        if let Some(id) = begun.into_iter().find(|id| before.binary_search(id).is_ok()) {
            return Some(format!("contact {id} begins a second time"));
        }
        let mut ended = answer.links.iter().flat_map(|link| &link.ended_contact_ids);
        let alive = ended.find(|id| self.given.binary_search(id).is_ok());
        alive.map(|id| format!("contact {id} has ended and is given"))
    }
}

const BEGIN: i32 = crate::proto::ContactState::Begin as i32;

fn link_problem(link: &LinkAnswer) -> Option<String> {
    let of = |what: &str| Some(format!("link {}: {what}", link.link));
    if !link.signed_distance_m.is_finite() {
        return of("its distance is not finite");
    }
    // A lower bound says that nothing is near: it comes without points and without a normal.
    if !link.is_lower_bound {
        let points = [&link.on_tissue, &link.on_tool];
        if !points.into_iter().all(|p| p.as_ref().is_some_and(is_sound_point)) {
            return of("its closest points are not finite points of triangles");
        }
        if !link.normal.as_ref().is_some_and(is_unit) {
            return of("its normal is no unit vector");
        }
    }
    link.contacts.as_ref().and_then(contacts_problem).and_then(of)
}

fn probe_problem(probe: &ProbeAnswer) -> Option<String> {
    let is_sound = probe.signed_distance_m.is_finite()
        && (probe.is_lower_bound
            || probe.on_tissue.as_ref().is_some_and(is_sound_point)
                && probe.normal.as_ref().is_some_and(is_unit));
    (!is_sound).then(|| format!("probe {}: its distance, point or normal is unsound", probe.probe))
}

fn contacts_problem(c: &Contacts) -> Option<&'static str> {
    let n = c.triangle_ids.len();
    let ids = [&c.tissue_ids, &c.link_triangle_ids].map(Vec::len);
    let numbers = [c.signed_distance_m.len(), c.toi.len(), c.contact_ids.len(), c.states.len()];
    let vectors = [&c.barycentric_xyz, &c.on_tissue_xyz_m, &c.on_tool_xyz_m, &c.normal_xyz];
    let is_parallel = ids.iter().chain(&numbers).all(|len| *len == n)
        && vectors.iter().all(|v| v.len() == 3 * n)
        && c.total as usize >= n;
    if !is_parallel {
        return Some("its contacts' arrays differ in length");
    }
    let all = vectors.into_iter().chain([&c.signed_distance_m, &c.toi]);
    if !all.flatten().all(|x| x.is_finite()) {
        return Some("a contact has a number that is not finite");
    }
    let threes = |flat: &[f32]| flat.as_chunks::<3>().0.iter().map(|v| v.map(f64::from)).collect();
    let (weights, normals): (Vec<[f64; 3]>, Vec<[f64; 3]>) =
        (threes(&c.barycentric_xyz), threes(&c.normal_xyz));
    if !weights.iter().all(are_weights) {
        return Some("a contact's weights are none");
    }
    if !normals.iter().all(is_unit_length) {
        return Some("a contact's normal is no unit vector");
    }
    (!c.toi.iter().all(|toi| *toi <= 1.0)).then_some("a contact is met after the end of its tick")
}

fn is_sound_point(point: &SurfacePoint) -> bool {
    let is_finite = |v: &Vec3| [v.x, v.y, v.z].iter().all(|x| x.is_finite());
    point.position_m.as_ref().is_some_and(is_finite)
        && point.barycentric.as_ref().is_some_and(|b| are_weights(&[b.x, b.y, b.z]))
}

fn is_unit(v: &Vec3) -> bool {
    is_unit_length(&[v.x, v.y, v.z])
}

fn is_unit_length(v: &[f64; 3]) -> bool {
    // The comparison is false for NaN.
    // The tolerance is twice the rounding, because a square deviates by twice its length's deviation.
    (v.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() <= 2.0 * ROUNDING
}

fn are_weights(weights: &[f64; 3]) -> bool {
    weights.iter().all(|w| *w >= -ROUNDING) && (weights.iter().sum::<f64>() - 1.0).abs() <= ROUNDING
}
