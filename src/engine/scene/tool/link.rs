//! A rigid part of a tool: its surface, data prepared from it, and bounds of its points' motion with a pose.

use std::{convert::Infallible, sync::Arc};

use crate::{
    bvh::{BoxTree, Rigid},
    geometry::{
        Aabb, Pose, TriangleId, TriangleMesh,
        mesh::{load::LoadedMesh, report::MeshReport, topology::first_of_each_body},
    },
    index::LatLonOptions,
    sdf::Field,
    surface::Surface,
    time_left::TimeLeft,
};
use glam::DVec3;

/// A rigid part of a tool.
pub struct Link {
    /// Name, unique in its tool.
    pub name: String,
    /// Report of the mesh as loaded.
    pub report: MeshReport,
    /// Rest pose, tool frame from link frame, for ticks without a link pose.
    pub rest: Pose,
    /// Surface in the link's frame.
    pub surface: Surface,
    /// Field of the surface; links of the same mesh may share one.
    pub field: Arc<Field>,
    /// Requested error of the field, metres; `None`: the default.
    pub field_tolerance_m: Option<f64>,
    /// Boxes of its triangles.
    pub tree: BoxTree,
    /// A triangle of each body.
    pub bodies: Vec<TriangleId>,
    /// Allocated memory without the field, bytes.
    pub heap_bytes: usize,
    /// Allocated memory of the field, bytes.
    pub field_bytes: usize,
    /// The vertices farthest along the axes, both ways: one of them is often nearest to a tissue.
    pub extremes: [u32; 6],
}

impl Link {
    /// Indexes the mesh. `field_of` builds the field of the surface that it is given, or has it already.
    pub fn new(
        name: String,
        loaded: LoadedMesh,
        rest: Pose,
        field_of: impl FnOnce(&Surface) -> Field,
    ) -> Link {
        let built = Link::try_new(name, loaded, rest, |s| Ok::<_, Infallible>(field_of(s)));
        built.unwrap_or_else(|never| match never {})
    }

    /// Indexes the mesh, with a field that may fail to build.
    ///
    /// # Errors
    ///
    /// Returns the errors of `field_of`.
    pub fn try_new<F: Into<Arc<Field>>, E>(
        name: String,
        loaded: LoadedMesh,
        rest: Pose,
        field_of: impl FnOnce(&Surface) -> Result<F, E>,
    ) -> Result<Link, E> {
        let extremes = extremes(&loaded.mesh);
        let tree = BoxTree::build(&loaded.mesh);
        let surface = Surface::new(loaded.mesh, LatLonOptions::default());
        let bodies = first_of_each_body(surface.mesh());
        debug_assert!(!bodies.is_empty(), "link {name:?} has no body");
        let field = field_of(&surface)?.into();
        debug_assert!(field.tolerance() > 0.0, "tolerance {} m", field.tolerance());
        // Computed once: a field counts its cells for it.
        let field_bytes = field.report().bytes;
        let heap_bytes = surface.heap_bytes() + tree.heap_bytes();
        // A saved report does not have them.
        let report = MeshReport { welded_edges: surface.welded_edges(), ..loaded.report };
        Ok(Link {
            name,
            report,
            rest,
            surface,
            field,
            field_tolerance_m: None,
            tree,
            bodies,
            heap_bytes,
            field_bytes,
            extremes,
        })
    }

    pub(in crate::scene) fn rigid(&self) -> Rigid<'_> {
        Rigid { mesh: self.surface.mesh(), tree: &self.tree }
    }

    /// Returns a vertex of each body of the link.
    pub(crate) fn vertex_of_each_body(&self) -> impl Iterator<Item = u32> + '_ {
        self.bodies.iter().map(|t| self.surface.mesh().vertices(*t)[0])
    }

    /// Upper bound of the distance of any point of the link from its origin, metres.
    pub(in crate::scene) fn radius(&self) -> f64 {
        // The farthest point of a box from anywhere is a corner, for distance is convex.
        self.surface.bounds().corners().map(|c| c.length()).into_iter().fold(0.0, f64::max)
    }

    /// Upper bound of the distance of any point of the link from the origin of its tool, at rest, metres.
    pub(in crate::scene) fn reach_at_rest(&self) -> f64 {
        let b = self.rest.aabb(self.surface.bounds());
        b.min.abs().max(b.max.abs()).as_dvec3().length()
    }

    /// Upper bound of the distance of any point of the link between two poses, metres.
    pub(crate) fn displacement(&self, from: &Pose, to: &Pose) -> f64 {
        // The difference of two rigid motions is affine, so its length is convex and greatest at a corner.
        let corners = self.surface.bounds().corners();
        let farthest =
            corners.map(|c| from.point(c).distance(to.point(c))).into_iter().fold(0.0, f64::max);
        debug_assert!(farthest.is_finite(), "moved by {farthest} m");
        farthest
    }

    /// Returns whether the side may change somewhere about these points, in link frame, without a triangle of the link.
    pub(in crate::scene) fn is_open_about<'a>(
        &self,
        points: impl Iterator<Item = &'a DVec3>,
    ) -> bool {
        !self.surface.is_closed() && {
            let about = Aabb::around(points.copied());
            self.is_open_near(about.centre(), 0.5 * about.diagonal())
        }
    }

    /// Returns whether all points within `radius` metres have the side of a point in link frame, except across
    /// triangles of the link. Unknown once the time is over, and then false.
    pub(in crate::scene) fn side_holds(&self, p: DVec3, radius: f64, time: &TimeLeft) -> bool {
        !self.is_open_near(p, radius) || {
            // The field knows sides, but not how far the winding number is from changing them.
            let winding = self.surface.winding_in_time(p, time);
            winding.is_some_and(|w| self.surface.side_holds(p, w.inside(false).1, radius))
        }
    }

    /// Returns whether the side may change within `radius` metres of a point without a triangle of the link.
    pub(in crate::scene) fn is_open_near(&self, p: DVec3, radius: f64) -> bool {
        self.surface.boundary().is_near(p, radius)
    }
}

fn extremes(mesh: &TriangleMesh) -> [u32; 6] {
    let along = |v: u32, i: usize| mesh.position(v)[i / 2] * [1.0, -1.0][i % 2];
    let used = || mesh.triangle_ids().flat_map(|t| mesh.vertices(t));
    std::array::from_fn(|i| {
        // Vertices that no triangle uses belong to the mesh, but not to the link.
        let farthest = used().max_by(|a, b| along(*a, i).total_cmp(&along(*b, i)).then(b.cmp(a)));
        farthest.expect("a link has triangles")
    })
}
