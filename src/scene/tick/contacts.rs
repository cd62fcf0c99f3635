//! Where a link touches a tissue: each touching tissue triangle at its deepest point.

use glam::DVec3;

use super::{
    closest_pair::{Pair, closest_pair},
    deepest_first,
    penetration::{at, deepest},
    vertex_penetration::DeepestVertex,
};
use crate::scene::{
    Contact, Link, Revision, SurfacePoint, TissueId,
    coherence::{depth_bounds::Proofs, distance_samples::Soundings, near_list::Neighbourhood},
    distance::to_surface,
};
use crate::{
    geometry::{
        Aabb, Pose, TriangleId, distance::triangle_triangle::ClosestPair,
        mesh::pseudonormal::unit_normal,
    },
    sdf::Reading,
    surface::SignedNearest,
};

/// One link at its place and one tissue.
pub(in crate::scene) struct Meeting<'a> {
    pub(in crate::scene) tissue: TissueId,
    pub(in crate::scene) revision: &'a Revision,
    pub(in crate::scene) link: &'a Link,
    pub(in crate::scene) scene_from_link: Pose,
    pub(in crate::scene) margin: f64,
}

/// What was closest or deepest last time: changes the work of the next search, never its answer.
#[derive(Debug)]
pub(in crate::scene) struct MeetingHint {
    near: Neighbourhood,
    deepest_vertex: Option<u32>,
    soundings: Soundings,
}

impl MeetingHint {
    /// Knows nothing.
    pub(in crate::scene) fn new() -> MeetingHint {
        MeetingHint {
            near: Neighbourhood::new(),
            deepest_vertex: None,
            soundings: Soundings::new(),
        }
    }
}

impl Meeting<'_> {
    /// Adds a contact for every tissue triangle that is inside the link or within the margin of it: at its
    /// point deepest in the link, the field deciding where and the link's exact surface how deep.
    /// `proofs`: of the last ticks. False when it became `late` before all were found.
    pub(in crate::scene) fn find(
        &self,
        contacts: &mut Vec<Contact>,
        proofs: &mut Proofs,
        late: &dyn Fn() -> bool,
    ) -> bool {
        let link_from_scene = self.scene_from_link.inverse();
        let tissue = &self.revision.surface;
        let near = |b: &Aabb| {
            self.link.may_be_near(&link_from_scene, b, self.margin)
                || self.link.is_open_near(link_from_scene.point(b.centre()), 0.5 * b.diagonal())
        };
        let bounds = self.scene_from_link.aabb(self.link.surface.bounds()).grown(self.margin);
        let (mut hint, mut is_late) = (None, false);
        tissue.overlap(&(bounds, near), |t| {
            is_late = is_late || late();
            if is_late {
                return;
            }
            let triangle = tissue.mesh().triangle(t).map(|p| link_from_scene.point(p));
            contacts.extend(self.contact_of(t, &triangle, &mut hint, proofs));
        });
        !is_late
    }

    /// The contact of one tissue triangle, given in link frame.
    fn contact_of(
        &self,
        t: TriangleId,
        triangle: &[DVec3; 3],
        hint: &mut Option<TriangleId>,
        proofs: &mut Proofs,
    ) -> Option<Contact> {
        let key = (self.tissue, t);
        let (found, proof) = deepest(self.link, triangle, self.margin, proofs.get(key));
        proofs.note(key, proof);
        let found = found?;
        let w = found.barycentric;
        let p = at(triangle, w);
        let exact = self.exact(&found.reading, p, *hint)?;
        *hint = Some(exact.triangle);
        let on_tissue =
            SurfacePoint { position: self.scene_from_link.point(p), triangle: t, barycentric: w };
        let on_tool = SurfacePoint {
            position: self.scene_from_link.point(exact.closest.point),
            triangle: exact.triangle,
            barycentric: exact.closest.barycentric,
        };
        let normal = -self.scene_from_link.vector(exact.normal);
        Some(self.contact(on_tissue, on_tool, normal, &exact))
    }

    /// The link's exact surface at a point in its frame where the field was read, unless that is too far for
    /// a contact.
    fn exact(
        &self,
        reading: &Reading,
        p: DVec3,
        hint: Option<TriangleId>,
    ) -> Option<SignedNearest> {
        let exact = self.link.refined(p, *reading, hint);
        let Reading { value: signed_distance, gradient: normal, certainty, .. } = exact;
        let (triangle, closest) = exact.exact?;
        let reach = self.margin + self.link.field.tolerance();
        let found =
            SignedNearest { signed_distance, triangle, closest, normal, certainty, winding: None };
        (signed_distance <= reach).then_some(found)
    }

    /// The closest points of link and tissue within `max_distance` metres, given the contacts: the deepest
    /// point of either inside the other, else the closest points of the two surfaces.
    pub(in crate::scene) fn closest(
        &self,
        contacts: &[Contact],
        max_distance: f64,
        hint: &mut MeetingHint,
    ) -> Option<Contact> {
        let deepest = contacts.iter().min_by(|a, b| deepest_first(a, b)).copied();
        if let Some(in_link) = deepest.filter(|c| c.signed_distance_m < 0.0) {
            let in_tissue = self.deepest_vertex(-in_link.signed_distance_m, hint);
            return Some(
                in_tissue.filter(|v| deepest_first(v, &in_link).is_lt()).unwrap_or(in_link),
            );
        }
        let reach = deepest.map_or(max_distance, |c| c.signed_distance_m.min(max_distance));
        // The nearest contact may be in reach when by rounding its triangle is not.
        let in_reach = || deepest.filter(|c| c.signed_distance_m <= max_distance);
        let apart = self.apart(reach, hint).or_else(in_reach);
        // Surfaces that do not cross: a body of the link is inside the tissue as a whole or not at all, unless it
        // came through an open end. Those that cross may do so at triangles that are as good as beside each other.
        let crosses = apart.is_some_and(|a| a.signed_distance_m <= 0.0);
        let may_be_inside = || self.of_bodies().any(|v| self.vertex_inside(v).is_some());
        if crosses || may_be_inside() || self.came_in(hint.deepest_vertex) {
            return self.deepest_vertex(0.0, hint).or(apart);
        }
        apart
    }

    /// Whether a tip of the link, or the vertex that was deepest last, is inside the tissue through an open end.
    fn came_in(&self, last: Option<u32>) -> bool {
        let tissue = &self.revision.surface;
        let bounds = self.scene_from_link.aabb(self.link.surface.bounds());
        let is_open = || tissue.boundary().is_near(bounds.centre(), 0.5 * bounds.diagonal());
        let mut vertices = self.link.extremes.iter().copied().chain(last);
        !tissue.is_closed() && is_open() && vertices.any(|v| self.vertex_inside(v).is_some())
    }

    /// The closest points of the two surfaces, sign aside.
    pub(in crate::scene) fn apart(
        &self,
        max_distance: f64,
        hint: &mut MeetingHint,
    ) -> Option<Contact> {
        let tissue = (self.tissue, self.revision);
        let (link, pose) = (self.link, &self.scene_from_link);
        let pair = closest_pair(tissue, link, pose, max_distance, &mut hint.near)?;
        Some(self.proximity(&pair))
    }

    /// For a tick without time to look for contacts: the closest points of the two surfaces, but a vertex of
    /// the link that is inside the tissue when there is one at the first try: the one that was deepest last, if it is.
    pub(in crate::scene) fn apart_or_inside(
        &self,
        max_distance: f64,
        hint: &mut MeetingHint,
    ) -> Option<Contact> {
        let apart = self.apart(max_distance, hint);
        let mut tried = hint.deepest_vertex.into_iter().chain(self.of_bodies());
        let inside = tried.find_map(|v| Some((v, self.vertex_inside(v)?)));
        inside.map(|(v, found)| self.vertex_contact(v, &found)).or(apart)
    }

    /// A vertex of each body of the link.
    fn of_bodies(&self) -> impl Iterator<Item = u32> + '_ {
        self.link.bodies.iter().map(|t| self.link.surface.mesh().vertices(*t)[0])
    }

    /// How deep a vertex of the link is in the tissue, if it is.
    fn vertex_inside(&self, v: u32) -> Option<SignedNearest> {
        let p = self.scene_from_link.point(self.link.surface.mesh().position(v));
        let found = to_surface(&self.revision.surface, p, 0.0, None)?;
        (found.signed_distance < 0.0).then_some(found)
    }

    /// The vertex of the link that is deepest in the tissue, if any is deeper than `at_least` metres.
    fn deepest_vertex(&self, at_least: f64, hint: &mut MeetingHint) -> Option<Contact> {
        hint.soundings.follow(self.tissue, self.revision);
        let found = DeepestVertex::of(self, at_least, hint.deepest_vertex, &hint.soundings);
        if let Some((v, _)) = found {
            hint.deepest_vertex = Some(v);
        }
        found.map(|(v, found)| self.vertex_contact(v, &found))
    }

    /// A vertex of the link and where the tissue's surface is nearest to it.
    fn vertex_contact(&self, v: u32, found: &SignedNearest) -> Contact {
        let mesh = self.link.surface.mesh();
        let position = self.scene_from_link.point(mesh.position(v));
        let (triangle, corner) = mesh.ring(v).next().expect("a vertex of a triangle");
        let on_tool = SurfacePoint { position, triangle, barycentric: DVec3::AXES[corner] };
        let on_tissue = SurfacePoint {
            position: found.closest.point,
            triangle: found.triangle,
            barycentric: found.closest.barycentric,
        };
        self.contact(on_tissue, on_tool, found.normal, found)
    }

    fn proximity(&self, pair: &Pair) -> Contact {
        let ClosestPair { on_a, barycentric_a, on_b, barycentric_b, distance_squared } =
            pair.closest;
        let scene = |p| self.scene_from_link.point(p);
        let apart = pair.closest.direction();
        let of_tissue = self.revision.surface.certainty_about(scene(on_b));
        let of_link = self.link.surface.certainty_about(on_a);
        let into_link = || -unit_normal(self.link.surface.mesh(), pair.link_triangle);
        Contact {
            signed_distance_m: distance_squared.sqrt(),
            tissue: self.tissue,
            on_tissue: SurfacePoint {
                position: scene(on_a),
                triangle: pair.tissue_triangle,
                barycentric: barycentric_a,
            },
            on_tool: SurfacePoint {
                position: scene(on_b),
                triangle: pair.link_triangle,
                barycentric: barycentric_b,
            },
            normal: self.scene_from_link.vector(apart.unwrap_or_else(into_link)),
            sign_certainty: of_tissue.min(of_link),
            toi: None,
            passed: false,
            wholly_inside: false,
        }
    }

    fn contact(
        &self,
        on_tissue: SurfacePoint,
        on_tool: SurfacePoint,
        normal: DVec3,
        found: &SignedNearest,
    ) -> Contact {
        Contact {
            tissue: self.tissue,
            on_tissue,
            on_tool,
            normal,
            signed_distance_m: found.signed_distance,
            sign_certainty: found.certainty,
            toi: None,
            passed: false,
            wholly_inside: false,
        }
    }
}
