//! Force shading: contact forces of a smooth surface over the facets of a tissue, so that a coarse mesh of a smooth organ
//! feels smooth.
//!
//! Ruspini, Kolarov, Khatib, "The haptic display of complex graphical environments", SIGGRAPH 1997: a first pass solves
//! for the proxy with interpolated normals, and gives the force; a second pass moves the proxy towards that solution
//! with the true normals, so no facet lets the proxy through. Over a hollow, the force is that of a
//! surface below the facets. Differences here:
//! - Edges are smooth up to an angle. A vertex has a normal for each facet, from the triangles that are within that
//!   angle of the facet. A contact at an edge or a vertex turns by as much as the facets nearest to its own normal do:
//!   at a sharp edge not at all, at a smooth one from the normal of one facet to that of the other before it gets there.
//! - The first pass has the height of the smooth surface as well. Interpolated normals over flat facets are of no
//!   surface, and closed motions of a ball drew up to nine times as much energy from them.
//!
//! The force is not exactly that of a potential: over facets of 7 to 15 degrees, closed motions gave out up to 1 % of
//! the energy that was put in with a ball, and 3 % with a bar, whose faces rest on tissue vertices. The servo's account
//! of energy was not measured with shading.

use glam::DVec3;

use super::{near_contact::NearContact, tissue_view::TissueView};
use crate::{
    geometry::{TriangleId, mesh::pseudonormal::corner_angle},
    time_left::note_step,
};

/// Maximum triangles at a vertex whose normal is interpolated; a contact at a vertex of more keeps its own normal.
const VALENCE_MAX: usize = 32;

/// A contact as the smooth surface has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaded {
    /// Direction of the force, unit.
    pub(super) normal: DVec3,
    /// Height of the smooth surface above the contact's point of the tissue, metres; below 0 over a hollow.
    pub(super) height_m: f64,
}

impl Shaded {
    /// `smooth_rad`: greatest angle between two facets of a smooth surface; 0 returns the contact as it is.
    pub(super) fn of(contact: &NearContact, view: &TissueView, smooth_rad: f64) -> Shaded {
        let normal = contact.normal;
        let unshaded = Shaded { normal, height_m: 0.0 };
        // A face of the tool has the force's direction by itself, whatever tissue vertex it rests on. An edge of the
        // tool would have it up to a turn about itself: directions that were held perpendicular to the edge gave steps
        // of 0.18 N where these give 0.05 N, and no less energy.
        if smooth_rad == 0.0 || contact.is_on_face_of_link() {
            return unshaded;
        }
        let shading = Shading { contact, view, least_cosine: smooth_rad.cos() };
        let found = shading.shift();
        found.map_or(unshaded, |(shift, height_m)| Shaded {
            normal: (normal + shift).normalize_or(normal),
            height_m,
        })
    }
}

struct Shading<'a> {
    contact: &'a NearContact,
    view: &'a TissueView<'a>,
    least_cosine: f64,
}

impl Shading<'_> {
    /// Difference of the smooth surface's normal from the contact's, and its height; `None` at a vertex of too many
    /// triangles.
    fn shift(&self) -> Option<(DVec3, f64)> {
        let (mesh, t) = (self.view.surface.mesh(), self.contact.tissue_triangle);
        // Sheets have two sides.
        let side = self.facet(t).dot(self.contact.normal).signum();
        let weights = self.contact.tissue_weights;
        let mut corners = [FeatureVertex::default(); 3];
        let mut n = 0;
        for (v, weight) in mesh.joined_vertices(t).into_iter().zip(weights.to_array()) {
            if weight > 0.0 {
                if mesh.around(v).nth(VALENCE_MAX).is_some() {
                    return None;
                }
                corners[n] = FeatureVertex { vertex: v, weight, place: self.view.vertex(v) };
                n += 1;
            }
        }
        let corners = &corners[..n];
        let (mut shift, mut height_m, mut sum) = (DVec3::ZERO, 0.0, 0.0);
        let mut add = |t: TriangleId| {
            let facet = self.facet(t) * side;
            // In proportion to its nearness: the contact at a facet's own normal is a contact of that facet.
            let share = 1.0 / (facet.distance(self.contact.normal) + f64::EPSILON);
            let (normal, height) = self.smooth(facet, corners, side);
            shift += (normal - facet) * share;
            height_m += height * share;
            sum += share;
        };
        match corners {
            [v] => mesh.around(v.vertex).for_each(|(t, _)| add(t)),
            [v, w] => mesh.at_edge(v.vertex, w.vertex).for_each(add),
            _ => add(t),
        }
        Some((shift / sum, height_m / sum))
    }

    /// Unit normal of a triangle; zero if it has no area.
    fn facet(&self, t: TriangleId) -> DVec3 {
        let [a, b, c] = self.view.triangle_at(t, self.view.time);
        (b - a).cross(c - a).normalize_or_zero()
    }

    /// Normal of the smooth surface at the contact, as one of its facets has it, and its height.
    fn smooth(&self, facet: DVec3, corners: &[FeatureVertex], side: f64) -> (DVec3, f64) {
        let mut normals = [facet; 3];
        let mut sum = DVec3::ZERO;
        for (normal, corner) in normals.iter_mut().zip(corners) {
            let mut around = DVec3::ZERO;
            for (t, place) in self.view.surface.mesh().around(corner.vertex) {
                note_step();
                let other = self.facet(t) * side;
                let angle = corner_angle(&self.view.triangle_at(t, self.view.time), place);
                around += other * self.share(facet.dot(other)) * angle;
            }
            *normal = around.normalize_or(facet);
            sum += *normal * corner.weight;
        }
        // Over an edge from p to q with the normals m and n, an arc is s (1 - s) (n - m).(q - p) / 2 high, to second
        // order: its slope is that of the interpolated normal.
        let mut height_m = 0.0;
        for (i, p) in corners.iter().enumerate() {
            for (j, q) in corners.iter().enumerate().skip(i + 1) {
                let bend = (normals[j] - normals[i]).dot(q.place - p.place);
                height_m += 0.5 * p.weight * q.weight * bend;
            }
        }
        (sum.normalize_or(facet), height_m)
    }

    /// Share of a triangle in the normal that a vertex has for a facet: 1 if they are parallel, 0 from the greatest
    /// angle on, and continuous between.
    fn share(&self, cosine: f64) -> f64 {
        let s = ((cosine - self.least_cosine) / (1.0 - self.least_cosine)).clamp(0.0, 1.0);
        s * s * (3.0 - 2.0 * s)
    }
}

/// A vertex of the contact's feature on the tissue.
#[derive(Clone, Copy, Default)]
struct FeatureVertex {
    vertex: u32,
    /// Barycentric weight of the contact's point.
    weight: f64,
    place: DVec3,
}
