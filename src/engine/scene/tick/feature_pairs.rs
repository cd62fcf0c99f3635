//! Pairs of features of a tissue and a link within the margin: a vertex and a face, two edges. They are the rows of a
//! solver that treats contact itself (incremental potential contact, position-based dynamics, complementarity).
//!
//! All pairs are found and counted, each once, whichever triangles share its features.

use std::ops::ControlFlow;

use glam::DVec3;

use crate::geometry::{
    Aabb, Pose, TriangleId, TriangleMesh,
    distance::{
        point_triangle::closest_point, segment_segment::closest_parameters,
        triangle_triangle::closest_pair_or_bound,
    },
    tolerance::BOUND_COVER,
};
use crate::scene::{Link, RevisionGuard, TissueId, limits::PAIRS_MAX};
use crate::time_left::{TimeLeft, note_step};

/// Kind of a pair, by which the first one, three or two of its four vertices are the tissue's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FeaturePairKind {
    /// A vertex of the tissue and a face of the link.
    VertexFace,
    /// A face of the tissue and a vertex of the link.
    FaceVertex,
    /// An edge of the tissue and an edge of the link.
    EdgeEdge,
}

/// A feature of a tissue and one of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearFeatures {
    /// Tissue of the first feature.
    pub tissue: TissueId,
    /// Number of the vertices that are the tissue's: the first one, three or two.
    pub kind: FeaturePairKind,
    /// Vertices of the tissue's feature, then those of the link's. Ends of an edge ascend; a face's vertices are in
    /// stored order. Vertices that a seam joins have the number of one of them.
    pub vertices: [u32; 4],
    /// Weights of the closest points on the two features, which sum to 1 on each.
    pub weights: [f64; 4],
    /// Distance of the two features, metres.
    pub distance_m: f64,
    /// Unit, from the tissue to the link, scene frame; zero if the features meet.
    pub normal: DVec3,
}

/// Pairs, nearest first: the first ones, and the number of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeaturePairs {
    /// The nearest pairs, at most as many as were requested.
    pub given: Vec<NearFeatures>,
    /// Number of all pairs, including those not given.
    pub total: usize,
}

/// Most pairs found of one link, each counted for every two triangles that have it.
const FOUND_MAX: usize = 64 * PAIRS_MAX;
/// Share of the time for the search; the rest is for sorting what it finds.
const SEARCH_SHARE: f64 = 0.5;

impl FeaturePairs {
    /// Creates an empty list with capacity for the pairs that may be given.
    pub(super) fn with_room(max_pairs: usize) -> FeaturePairs {
        FeaturePairs { given: Vec::with_capacity(max_pairs.min(PAIRS_MAX)), total: 0 }
    }

    /// Finds the pairs of all tissues with a link within `margin` metres. Returns false if there were too many, or the
    /// time was over, before all were found.
    pub(super) fn find(
        &mut self,
        tissues: &[(TissueId, RevisionGuard)],
        (link, scene_from_link): (&Link, Pose),
        (margin, max_pairs): (f64, usize),
        found: &mut Vec<NearFeatures>,
        time: &TimeLeft,
    ) -> bool {
        let search = time.share(SEARCH_SHARE);
        found.clear();
        let link_from_scene = scene_from_link.inverse();
        let reach = margin * BOUND_COVER;
        let bounds = scene_from_link.aabb(link.surface.bounds()).grown(reach);
        let mut is_full = false;
        for (tissue, revision) in tissues {
            let mesh = revision.surface.mesh();
            let is_near =
                |b: &Aabb| !search.is_over() && link.may_be_near(&link_from_scene, b, reach);
            revision.surface.overlap(&(bounds, &is_near), |t| {
                if is_full {
                    return;
                }
                let corners = mesh.triangle(t).map(|p| link_from_scene.point(p));
                let near = TriangleInLink { tissue: *tissue, of: (mesh, t), corners, link, margin };
                link.tree.each_within(&corners, reach, &search, |own, _| {
                    note_step();
                    near.pairs_with(own, found);
                    is_full = found.len() > FOUND_MAX;
                    if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
            });
        }
        let key = |p: &NearFeatures| (p.tissue, p.kind, p.vertices);
        found.sort_unstable_by_key(key);
        found.dedup_by_key(|p| key(p));
        found.sort_unstable_by(|a, b| {
            a.distance_m.total_cmp(&b.distance_m).then_with(|| key(a).cmp(&key(b)))
        });
        self.total = found.len();
        self.given.clear();
        let in_scene =
            |p: &NearFeatures| NearFeatures { normal: scene_from_link.vector(p.normal), ..*p };
        self.given.extend(found.iter().take(max_pairs).map(in_scene));
        !is_full && !search.was_over()
    }

    /// Returns true if some pairs were counted but not given.
    pub fn is_truncated(&self) -> bool {
        self.given.len() < self.total
    }
}

/// A triangle of a tissue in a link's frame.
struct TriangleInLink<'a> {
    tissue: TissueId,
    of: (&'a TriangleMesh, TriangleId),
    corners: [DVec3; 3],
    link: &'a Link,
    margin: f64,
}

impl TriangleInLink<'_> {
    /// Adds the pairs of features with a triangle of the link.
    fn pairs_with(&self, own: TriangleId, found: &mut Vec<NearFeatures>) {
        use FeaturePairKind::{EdgeEdge, FaceVertex, VertexFace};
        let ((mesh, t), link_mesh) = (self.of, self.link.surface.mesh());
        let (a, b) = (&self.corners, &link_mesh.triangle(own));
        let squared = self.margin * self.margin * BOUND_COVER;
        if closest_pair_or_bound(a, b, squared).map_or(true, |p| p.distance_squared > squared) {
            return;
        }
        let of_tissue = mesh.joined_vertices(t);
        let of_link = link_mesh.joined_vertices(own);
        let mut add = |kind, vertices, weights, apart: DVec3| {
            let distance_m = apart.length();
            if distance_m <= self.margin {
                let normal = apart.try_normalize().unwrap_or(DVec3::ZERO);
                let tissue = self.tissue;
                found.push(NearFeatures { tissue, kind, vertices, weights, distance_m, normal });
            }
        };
        for k in 0..3 {
            let on = closest_point(a[k], b);
            let [u, v, w] = on.barycentric.to_array();
            let [x, y, z] = of_link;
            add(VertexFace, [of_tissue[k], x, y, z], [1.0, u, v, w], on.point - a[k]);
            let on = closest_point(b[k], a);
            let [u, v, w] = on.barycentric.to_array();
            let [x, y, z] = of_tissue;
            add(FaceVertex, [x, y, z, of_link[k]], [u, v, w, 1.0], b[k] - on.point);
        }
        for (i, j) in (0..9).map(|n| (n / 3, n % 3)) {
            let (i, i1) = ascending(&of_tissue, i);
            let (j, j1) = ascending(&of_link, j);
            let (s, t) = closest_parameters(a[i], a[i1], b[j], b[j1]);
            let (p, q) = (a[i].lerp(a[i1], s), b[j].lerp(b[j1], t));
            let vertices = [of_tissue[i], of_tissue[i1], of_link[j], of_link[j1]];
            add(EdgeEdge, vertices, [1.0 - s, s, 1.0 - t, t], q - p);
        }
    }
}

/// Returns the corners of edge `k` of a triangle, ascending by vertex.
fn ascending(vertices: &[u32; 3], k: usize) -> (usize, usize) {
    let next = (k + 1) % 3;
    if vertices[k] <= vertices[next] { (k, next) } else { (next, k) }
}
