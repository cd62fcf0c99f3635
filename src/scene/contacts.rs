//! Where a link touches a tissue: vertices of either inside or near the other.

use glam::DVec3;

use super::{
    Contact, Revision, SurfacePoint, TissueId,
    distance::to_surface,
    proximity::{Pair, closest_pair},
    tick::deepest_first,
};
use crate::{
    geometry::{
        Aabb, Pose, TriangleId, TriangleMesh, pseudonormal::unit_normal,
        triangle_distance::ClosestPair,
    },
    index::{Point, SignedNearest, Surface},
};

/// Room to work in, kept between ticks.
#[derive(Default)]
pub(super) struct Scratch {
    triangles: Vec<TriangleId>,
    vertices: Vec<(u32, TriangleId)>,
}

/// One link at its place and one tissue.
pub(super) struct Meeting<'a> {
    pub(super) tissue: TissueId,
    pub(super) revision: &'a Revision,
    pub(super) link: &'a Surface,
    pub(super) scene_from_link: Pose,
    pub(super) margin: f64,
}

impl Meeting<'_> {
    /// Adds every vertex contact: within the margin, or inside at any depth.
    pub(super) fn find(&self, scratch: &mut Scratch, contacts: &mut Vec<Contact>) {
        self.tissue_vertices(scratch, contacts);
        self.link_vertices(scratch, contacts);
    }

    /// The closest points of link and tissue within `max_distance` metres, given all vertex contacts: the
    /// deepest of them when something is inside, else the closest points of the two surfaces.
    pub(super) fn closest(
        &self,
        contacts: &[Contact],
        max_distance: f64,
        hint: &mut Option<(TissueId, TriangleId, TriangleId)>,
    ) -> Option<Contact> {
        let deepest = contacts.iter().min_by(|a, b| deepest_first(a, b));
        if let Some(inside) = deepest.filter(|c| c.signed_distance_m < 0.0) {
            return Some(*inside);
        }
        let reach = deepest.map_or(max_distance, |c| c.signed_distance_m.min(max_distance));
        let last = hint.filter(|h| h.0 == self.tissue).map(|(_, t, l)| (t, l));
        let found = closest_pair(self.revision, self.link, &self.scene_from_link, reach, last);
        let Some(pair) = found else {
            // The nearest vertex is within reach, its triangles by rounding are not.
            return deepest.filter(|c| c.signed_distance_m <= max_distance).copied();
        };
        *hint = Some((self.tissue, pair.tissue_triangle, pair.link_triangle));
        Some(self.proximity(&pair))
    }

    /// For a tick without time to look for vertices: the closest points, but inside when the link's end of
    /// them (or, when they are out of reach, some vertex of the link) is inside the tissue.
    pub(super) fn signed(&self, closest: Option<Contact>) -> Option<Contact> {
        let mesh = self.link.mesh();
        let triangle =
            closest.map(|c| c.on_tool.triangle).or_else(|| mesh.triangle_ids().next())?;
        let on_tool = closest.map_or_else(
            || SurfacePoint {
                position: self.scene_from_link.point(mesh.triangle(triangle)[0]),
                triangle,
                barycentric: DVec3::X,
            },
            |c| c.on_tool,
        );
        match to_surface(&self.revision.surface, on_tool.position, 0.0, None) {
            Some(found) if found.signed_distance < 0.0 => {
                Some(self.tissue_contact(on_tool, &found))
            }
            _ => closest,
        }
    }

    fn proximity(&self, pair: &Pair) -> Contact {
        let mesh = self.link.mesh();
        let scene = |p| self.scene_from_link.point(p);
        let ClosestPair { on_a, barycentric_a, on_b, barycentric_b, distance_squared } =
            pair.closest;
        let apart = (on_b - on_a).try_normalize();
        let outward_of_link = unit_normal(mesh, pair.link_triangle);
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
            normal: self.scene_from_link.vector(apart.unwrap_or(-outward_of_link)),
            sign_certainty: 1.0,
        }
    }

    /// Vertices of the tissue in or near the link.
    fn tissue_vertices(&self, scratch: &mut Scratch, contacts: &mut Vec<Contact>) {
        let link_from_scene = self.scene_from_link.inverse();
        let reach = self.link.bounds().grown(self.margin);
        let near = |b: &Aabb| link_from_scene.aabb(b).overlaps(&reach);
        let tissue = &self.revision.surface;
        collect_vertices(tissue, &near, scratch);
        let mut hint = None;
        for &(v, triangle) in &scratch.vertices {
            let at = tissue.mesh().position(v);
            let p = link_from_scene.point(at);
            let Some(found) = to_surface(self.link, p, self.margin, hint) else { continue };
            hint = Some(found.triangle);
            let on_tissue = SurfacePoint {
                position: at,
                triangle,
                barycentric: weights(tissue.mesh(), triangle, v),
            };
            let on_tool = SurfacePoint {
                position: self.scene_from_link.point(found.closest.point),
                triangle: found.triangle,
                barycentric: found.closest.barycentric,
            };
            let normal = -self.scene_from_link.vector(found.normal);
            contacts.push(self.contact(on_tissue, on_tool, normal, &found));
        }
    }

    /// Vertices of the link in or near the tissue.
    fn link_vertices(&self, scratch: &mut Scratch, contacts: &mut Vec<Contact>) {
        let tissue = &self.revision.surface;
        let near = |b: &Aabb| self.may_touch_tissue(b);
        collect_vertices(self.link, &near, scratch);
        let mut hint = None;
        for &(v, triangle) in &scratch.vertices {
            let at = self.scene_from_link.point(self.link.mesh().position(v));
            let Some(found) = to_surface(tissue, at, self.margin, hint) else { continue };
            hint = Some(found.triangle);
            let barycentric = weights(self.link.mesh(), triangle, v);
            let on_tool = SurfacePoint { position: at, triangle, barycentric };
            contacts.push(self.tissue_contact(on_tool, &found));
        }
    }

    /// False only when everything in the box, which is in link frame, is outside the tissue and farther
    /// from it than the margin: signed distance changes by no more than the distance gone.
    fn may_touch_tissue(&self, b: &Aabb) -> bool {
        if b.is_empty() {
            return false;
        }
        let tissue = &self.revision.surface;
        let centre = self.scene_from_link.point(b.centre());
        let reach = b.diagonal() * 0.5 + self.margin;
        if tissue.bounds().distance_squared(centre) > reach * reach {
            return false;
        }
        tissue.nearest(&Point(centre), reach, None).is_some() || tissue.contains(centre).0
    }

    /// A point of the link that is in or near the tissue.
    fn tissue_contact(&self, on_tool: SurfacePoint, found: &SignedNearest) -> Contact {
        let on_tissue = SurfacePoint {
            position: found.closest.point,
            triangle: found.triangle,
            barycentric: found.closest.barycentric,
        };
        self.contact(on_tissue, on_tool, found.normal, found)
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
        }
    }
}

/// The vertices of the triangles whose boxes pass, each once with its smallest such triangle.
fn collect_vertices(surface: &Surface, near: &impl Fn(&Aabb) -> bool, scratch: &mut Scratch) {
    let Scratch { triangles, vertices } = scratch;
    triangles.clear();
    vertices.clear();
    surface.overlap(near, |t| triangles.push(t));
    for &t in triangles.iter() {
        vertices.extend(surface.mesh().vertices(t).map(|v| (v, t)));
    }
    vertices.sort_unstable();
    vertices.dedup_by_key(|(v, _)| *v);
}

fn weights(mesh: &TriangleMesh, t: TriangleId, v: u32) -> DVec3 {
    let corner = mesh.vertices(t).iter().position(|u| *u == v).expect("a triangle of the vertex");
    DVec3::AXES[corner]
}
