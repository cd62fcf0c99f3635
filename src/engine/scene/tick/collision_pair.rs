//! One link at its pose and one tissue, and how their contacts are written.

use glam::DVec3;

use super::{answer::Contact, closest_pair::ClosestTriangles, pose_knowledge::PoseKnowledge};
use crate::{
    geometry::{
        Aabb, Pose, distance::triangle_triangle::ClosestPair, mesh::pseudonormal::some_normal,
    },
    scene::{
        Link, Revision, TissueId, ToolId,
        distance::SurfacePoint,
        organ::{OfPart, Organ},
    },
    surface::SignedNearest,
    time_left::TimeLeft,
};

/// One link at its pose and one tissue.
pub(super) struct CollisionPair<'a> {
    pub(super) tissue: TissueId,
    pub(super) revision: &'a Revision,
    /// Organ that the tissue is a part of.
    pub(super) organ: Organ<'a>,
    pub(super) link: &'a Link,
    pub(super) scene_from_link: Pose,
    /// Distance within which a surface counts as a contact, metres.
    pub(super) margin: f64,
    /// Knowledge about the link at its pose, and the link's name there.
    pub(super) known: (&'a dyn PoseKnowledge, (ToolId, usize)),
}

/// A vertex of a link that is inside an organ.
#[derive(Clone, Copy, Debug)]
pub(super) struct VertexInside {
    pub(super) vertex: u32,
    /// Index of the tissue that is nearest to it.
    pub(super) part: usize,
    pub(super) nearest: SignedNearest,
}

impl CollisionPair<'_> {
    /// Returns a box around the link, in scene frame.
    pub(super) fn link_bounds(&self) -> Aabb {
        self.scene_from_link.aabb(self.link.surface.bounds())
    }

    /// Returns the depth of a scene point in the organ, and the part whose surface is nearest; `None` if the point is
    /// not inside, or the time is over before that is known. `hint`: a triangle that is likely near.
    pub(super) fn inside(
        &self,
        p: DVec3,
        hint: Option<OfPart>,
        time: &TimeLeft,
    ) -> Option<(usize, SignedNearest)> {
        // No outside distance is wanted, so a point beside the organ's box is answered without a search.
        debug_assert!(p.is_finite(), "a vertex at {p}");
        let found = self.organ.signed_distance(p, 0.0, hint, time)?;
        (found.1.signed_distance < 0.0).then_some(found)
    }

    /// Returns the first of these vertices of the link that is inside the organ, as far as there is time.
    pub(super) fn first_inside(
        &self,
        vertices: impl IntoIterator<Item = u32>,
        time: &TimeLeft,
    ) -> Option<VertexInside> {
        let place = |v: u32| self.scene_from_link.point(self.link.surface.mesh().position(v));
        let mut in_time = vertices.into_iter().take_while(|_| !time.was_over());
        in_time.find_map(|v| {
            let (part, nearest) = self.inside(place(v), None, time)?;
            Some(VertexInside { vertex: v, part, nearest })
        })
    }

    /// Returns a contact of a vertex of the link with the point of the organ's surface that is nearest to it.
    pub(super) fn contact_of_vertex(&self, inside: &VertexInside) -> Contact {
        let VertexInside { vertex: v, part, nearest: ref found } = *inside;
        let mesh = self.link.surface.mesh();
        let position = self.scene_from_link.point(mesh.position(v));
        // Any triangle at the vertex stands for it; the first one does so in every tick.
        let (triangle, corner) = mesh.ring(v).next().expect("a vertex of a triangle");
        let on_tool = SurfacePoint { position, triangle, barycentric: DVec3::AXES[corner] };
        let on_tissue = SurfacePoint {
            position: found.closest.point,
            triangle: found.triangle,
            barycentric: found.closest.barycentric,
        };
        let depth = (found.signed_distance, found.certainty);
        let tissue = self.organ.id(part);
        Contact { tissue, ..self.contact(on_tissue, on_tool, found.normal, depth) }
    }

    /// Returns a contact of the closest points of two triangles.
    pub(super) fn contact_of_closest(&self, found: &ClosestTriangles, time: &TimeLeft) -> Contact {
        let ClosestPair { on_a, barycentric_a, on_b, barycentric_b, distance_squared } =
            found.closest;
        let scene = |p| self.scene_from_link.point(p);
        let apart = found.closest.direction();
        // Certainty of each surface about the other's point: less than 1 about open ends only.
        let of_tissue = self.organ.certainty_about(scene(on_b), found.tissue_triangle, time);
        let of_link = self.link.surface.certainty_about(on_a, found.link_triangle, time);
        // Triangles that touch have no direction between their closest points.
        let into_link = || -some_normal(self.link.surface.mesh(), found.link_triangle);
        let on_tissue = SurfacePoint {
            position: scene(on_a),
            triangle: found.tissue_triangle,
            barycentric: barycentric_a,
        };
        let on_tool = SurfacePoint {
            position: scene(on_b),
            triangle: found.link_triangle,
            barycentric: barycentric_b,
        };
        let normal = self.scene_from_link.vector(apart.unwrap_or_else(into_link));
        self.contact(on_tissue, on_tool, normal, (distance_squared.sqrt(), of_tissue.min(of_link)))
    }

    /// Returns a contact at the link's pose. `signed_distance_m` comes with the certainty of its sign.
    pub(super) fn contact(
        &self,
        on_tissue: SurfacePoint,
        on_tool: SurfacePoint,
        normal: DVec3,
        (signed_distance_m, sign_certainty): (f64, f64),
    ) -> Contact {
        debug_assert!(signed_distance_m.is_finite(), "{signed_distance_m} m");
        Contact {
            tissue: self.tissue,
            on_tissue,
            on_tool,
            normal,
            signed_distance_m,
            sign_certainty,
            depth_max_m: None,
            toi: None,
            left_behind: false,
            wholly_inside: false,
        }
    }
}
