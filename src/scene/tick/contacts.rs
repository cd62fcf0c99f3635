//! Where a link touches a tissue: each tissue triangle that it touches, at that triangle's deepest point.

use glam::DVec3;

use super::{
    answer::{Contact, SurfacePoint},
    collision_pair::CollisionPair,
    penetration::{DeepestPoint, OPEN_READS, SearchedTriangle, at, deepest_point},
};
use crate::geometry::{Aabb, Pose, TriangleId};
use crate::scene::coherence::depth_bounds::DepthBounds;

impl CollisionPair<'_> {
    /// Adds a contact for every tissue triangle that is inside the link or within the margin of it: at its
    /// point deepest in the link. `depth_bounds`: of the last tick. False when it became `late` before all were found.
    pub(super) fn find_contacts(
        &self,
        contacts: &mut Vec<Contact>,
        depth_bounds: &mut DepthBounds,
        late: &dyn Fn() -> bool,
    ) -> bool {
        debug_assert!(self.margin >= 0.0, "margin {} m", self.margin);
        let link_from_scene = self.scene_from_link.inverse();
        let tissue = &self.revision.surface;
        let bounds = self.link_bounds().grown(self.margin);
        // Triangles come in the index's order, neighbours after each other, and touch the link near each other.
        let (mut hint, mut is_late, mut open_reads) = (None, false, OPEN_READS);
        let near = |b: &Aabb| self.may_touch(&link_from_scene, b);
        tissue.overlap(&(bounds, near), |t| {
            is_late = is_late || late();
            if is_late {
                return;
            }
            let triangle = tissue.mesh().triangle(t).map(|p| link_from_scene.point(p));
            let key = (self.tissue, t);
            let known = depth_bounds.get(key);
            let SearchedTriangle { found, bound, depth_max } =
                deepest_point(self.link, &triangle, self.margin, known, hint, &mut open_reads);
            depth_bounds.note(key, bound);
            depth_bounds.note_loose(depth_max);
            if let Some(contact) = found.and_then(|found| self.contact_at(t, &triangle, &found)) {
                hint = Some(contact.on_tool.triangle);
                contacts.push(Contact { depth_max_m: depth_max, ..contact });
            }
        });
        !is_late
    }

    /// False only when nothing in a box of the scene touches the link.
    fn may_touch(&self, link_from_scene: &Pose, b: &Aabb) -> bool {
        // About an open end the side changes without a triangle, so that no distance rules a box out.
        self.link.may_be_near(link_from_scene, b, self.margin)
            || self.link.is_open_near(link_from_scene.point(b.centre()), 0.5 * b.diagonal())
    }

    /// The contact of a tissue triangle, given in link frame, at its deepest point, unless that is too far.
    fn contact_at(
        &self,
        t: TriangleId,
        triangle: &[DVec3; 3],
        found: &DeepestPoint,
    ) -> Option<Contact> {
        let exact = &found.reading;
        let (on_link, closest) = exact.exact?;
        // The field chose the point, to its tolerance: a contact may be that much beyond the margin in truth.
        if exact.value > self.margin + self.link.field.tolerance() {
            return None;
        }
        let on_tissue = SurfacePoint {
            position: self.scene_from_link.point(at(triangle, found.barycentric)),
            triangle: t,
            barycentric: found.barycentric,
        };
        let on_tool = SurfacePoint {
            position: self.scene_from_link.point(closest.point),
            triangle: on_link,
            barycentric: closest.barycentric,
        };
        let normal = -self.scene_from_link.vector(exact.gradient);
        Some(self.contact(on_tissue, on_tool, normal, (exact.value, exact.certainty)))
    }
}
