//! All pairs of two meshes, one by one.

use std::collections::BTreeSet;

use glam::DVec3;
use palpate::{
    bvh::LeafPair,
    geometry::{
        Pose, TriangleId, TriangleMesh,
        triangle_triangle::{Triangle, meet},
    },
    oracle::triangle::triangle_distance,
};

/// Rounding of a distance between triangles, all within about a metre; metres.
const ROUNDING: f64 = 1e-13;

struct Boxed {
    id: TriangleId,
    corners: Triangle,
    low: DVec3,
    high: DVec3,
}

fn boxed(mesh: &TriangleMesh, pose: Option<&Pose>) -> Vec<Boxed> {
    let boxed = |id: TriangleId| {
        let corners = mesh.triangle(id).map(|p| pose.map_or(p, |pose| pose.point(p)));
        let (low, high) = (
            corners[0].min(corners[1]).min(corners[2]),
            corners[0].max(corners[1]).max(corners[2]),
        );
        Boxed { id, corners, low, high }
    };
    mesh.triangle_ids().map(boxed).collect()
}

fn overlap(a: &Boxed, b: &Boxed) -> bool {
    a.low.cmple(b.high).all() && b.low.cmple(a.high).all()
}

/// Use of triangle distances, which are rounded, as a check of whether triangles meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distances {
    /// No pair is so close to touching that rounding decides.
    Tell,
    /// Many triangles lie in one plane or touch.
    AreTooSmall,
}

/// Pairs of triangles of `mesh` and of `own`, placed by a pose, that meet by exact predicates. With
/// [`Distances::Tell`], each decision is checked against their distance as well.
pub fn all_pairs(
    mesh: &TriangleMesh,
    own: &TriangleMesh,
    pose: &Pose,
    distances: Distances,
) -> BTreeSet<LeafPair> {
    let (others, owns) = (boxed(mesh, None), boxed(own, Some(pose)));
    let bounds = |all: &[Boxed]| Boxed {
        id: TriangleId(0),
        corners: Triangle::default(),
        low: all.iter().map(|b| b.low).fold(DVec3::INFINITY, DVec3::min),
        high: all.iter().map(|b| b.high).fold(DVec3::NEG_INFINITY, DVec3::max),
    };
    let (of_others, of_owns) = (bounds(&others), bounds(&owns));
    let owns: Vec<Boxed> = owns.into_iter().filter(|b| overlap(b, &of_others)).collect();
    let mut pairs = BTreeSet::new();
    for other in others.iter().filter(|b| overlap(b, &of_owns)) {
        for own in owns.iter().filter(|own| overlap(own, other)) {
            let meet = meet(&other.corners, &own.corners);
            if meet {
                pairs.insert(LeafPair { other: other.id, own: own.id });
            }
            if distances == Distances::Tell {
                let apart = triangle_distance(&other.corners, &own.corners);
                let agrees = if meet { apart < ROUNDING } else { apart > 0.0 };
                assert!(agrees, "{:?} and {:?} are {apart} apart", other.id, own.id);
            }
        }
    }
    pairs
}
