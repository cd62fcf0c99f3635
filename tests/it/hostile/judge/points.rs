//! Signed distances of points: probes, and answers of QueryDistances.

use glam::DVec3;
use palpate::{
    oracle::triangle::closest_on_triangle,
    proto::{FlagMask, ProbeAnswer, QueryDistancesResponse},
};

use super::{Broken, Judge, Place, Posture, ROUNDING_M, Seen, Soup, has};

/// Returns the signed distance of a point to the nearest of some surfaces, from its place against each.
fn signed(places: &[(Place, bool)]) -> f64 {
    let signed = |(place, _): &(Place, bool)| {
        if place.is_inside() { -place.distance } else { place.distance }
    };
    places.iter().map(signed).fold(f64::INFINITY, f64::min)
}

/// Judges the reported distances of points to surfaces, each with the tissue's id (0 for a link).
pub fn judge_query(
    judge: &mut Judge,
    points: &[DVec3],
    surfaces: &[(u32, &Soup)],
    max_distance_m: f64,
    told: &QueryDistancesResponse,
) {
    let about = judge.about.clone();
    let is_whole = told.signed_distance_m.len() == points.len();
    judge.tally.hold(is_whole, Broken::Untrue, || format!("{about}: points left out"));
    for (i, p) in points.iter().enumerate().take(told.signed_distance_m.len()) {
        let places: Vec<_> =
            surfaces.iter().map(|(_, soup)| (Place::of(*p, soup), soup.is_closed)).collect();
        let (got, truth) = (told.signed_distance_m[i], signed(&places));
        let in_doubt = places.iter().any(|(place, closed)| place.is_in_doubt(*closed));
        if told.is_lower_bound[i] {
            judge.tally.bounds += 1;
            let holds = in_doubt || truth >= got - ROUNDING_M;
            let is_asked = max_distance_m > 0.0 && got >= max_distance_m - ROUNDING_M;
            judge.tally.hold(holds && is_asked, Broken::Bound, || {
                format!("{about}: bound {got}, in truth {truth} at {p}")
            });
            continue;
        }
        judge.tally.distances += 1;
        let met = surfaces.iter().position(|(id, _)| *id == told.tissue_ids[i]);
        let Some(met) = met else {
            judge.tally.find(Broken::Untrue, format!("{about}: no tissue {}", told.tissue_ids[i]));
            continue;
        };
        let (place, is_closed) = places[met];
        let is_as_far = (got.abs() - place.distance).abs() <= ROUNDING_M;
        let is_nearest =
            in_doubt || (got - truth).abs() <= ROUNDING_M || told.sign_certainty[i] < 0.5;
        judge.tally.hold(is_as_far && is_nearest, Broken::Distance, || {
            format!("{about}: {got}, in truth {truth} at {p}, {places:?}")
        });
        let certainty = f64::from(told.sign_certainty[i]);
        judge.judge_side(place, is_closed, got < 0.0, certainty, &format!("query at {p}"));
        judge_closest(judge, *p, surfaces[met].1, i, told);
    }
}

/// Checks that the closest point is on its triangle, at the reported distance along the normal.
fn judge_closest(
    judge: &mut Judge,
    p: DVec3,
    soup: &Soup,
    i: usize,
    told: &QueryDistancesResponse,
) {
    let three = |a: &[f32]| DVec3::new(a[3 * i].into(), a[3 * i + 1].into(), a[3 * i + 2].into());
    let (closest, weights) = (three(&told.closest_xyz_m), three(&told.barycentric_xyz));
    let normal = three(&told.normal_xyz);
    let off = soup.get(told.triangle_ids[i]).map_or(f64::INFINITY, |t| {
        let by_weights = t[0] * weights.x + t[1] * weights.y + t[2] * weights.z;
        closest.distance(closest_on_triangle(closest, t)).max(closest.distance(by_weights))
    });
    let got = told.signed_distance_m[i];
    let along = (p - closest).distance(normal * got);
    let is_unit = (normal.length() - 1.0).abs() < 1e-6;
    // The normal of a point within rounding of the surface is that of the feature.
    let is_along = along <= 10.0 * ROUNDING_M || got.abs() <= 10.0 * ROUNDING_M;
    judge.tally.hold(off <= ROUNDING_M && is_along && is_unit, Broken::Untrue, || {
        format!("{}: closest {closest} is {off} off, {along} off the normal {normal}", judge.about)
    });
}

impl Judge<'_> {
    pub(super) fn judge_probe(
        &mut self,
        told: &ProbeAnswer,
        flags: u32,
        seen: &[Seen],
        posture: &Posture,
    ) {
        let (link, at, radius) = self.tool.probes[told.probe as usize];
        let centre = posture.scene_from_link(link).point(at);
        let places: Vec<_> =
            seen.iter().map(|s| (Place::of(centre, &s.soup), s.soup.is_closed)).collect();
        let (got, truth) = (told.signed_distance_m + radius, signed(&places));
        let in_doubt = places.iter().any(|(place, closed)| place.is_in_doubt(*closed));
        let about = self.about.clone();
        if told.is_lower_bound {
            self.tally.bounds += 1;
            self.tally.hold(in_doubt || truth >= got - ROUNDING_M, Broken::Bound, || {
                format!("{about}: probe beyond {got}, in truth {truth} at {centre}")
            });
            let is_asked = told.signed_distance_m >= self.report.max_distance_m - ROUNDING_M;
            self.tally.hold(is_asked || has(flags, FlagMask::Degraded), Broken::Bound, || {
                format!("{about}: probe beyond {} only, unflagged", told.signed_distance_m)
            });
            return;
        }
        self.tally.distances += 1;
        let is_right = in_doubt || (got - truth).abs() <= ROUNDING_M || told.sign_certainty < 0.5;
        self.tally.hold(is_right, Broken::Distance, || {
            format!("{about}: probe {got}, in truth {truth} at {centre}, {places:?}")
        });
        let Some(met) = seen.iter().position(|s| s.id == told.tissue_id) else {
            return self.tally.find(Broken::Untrue, format!("{about}: probe of no tissue"));
        };
        let (place, is_closed) = places[met];
        self.judge_side(
            place,
            is_closed,
            got < 0.0,
            told.sign_certainty,
            &format!("probe at {centre}"),
        );
    }
}
