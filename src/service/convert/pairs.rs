//! Conversion of triangle pairs that cross.

use super::proto;
use crate::{
    geometry::triangle_triangle::{CrossingEnd, CrossingKind},
    scene::{
        TickAnswer,
        tick::{
            crossings::{LinkPairs, TrianglePairs},
            feature_pairs::{FeaturePairKind, FeaturePairs},
        },
    },
};

/// Converts triangle pairs to their message.
pub fn to_wire(pairs: &TrianglePairs) -> proto::TrianglePairs {
    let given = &pairs.given;
    let of_ends = |point: fn(&CrossingEnd) -> glam::DVec3| {
        let ends = given.iter().flat_map(|p| &p.crossing.ends);
        ends.flat_map(|end| point(end).as_vec3().to_array()).collect()
    };
    proto::TrianglePairs {
        total: pairs.total as u32,
        tissue_ids: given.iter().filter_map(|p| p.tissue).map(|t| t.0).collect(),
        triangle_ids: given.iter().map(|p| p.triangle.0).collect(),
        link_triangle_ids: given.iter().map(|p| p.link_triangle.0).collect(),
        segment_xyz_m: of_ends(|end| end.point),
        triangle_barycentric_xyz: of_ends(|end| end.barycentric_a),
        link_triangle_barycentric_xyz: of_ends(|end| end.barycentric_b),
        coplanar: given.iter().map(|p| p.crossing.kind == CrossingKind::Coplanar).collect(),
    }
}

/// Converts pairs of features to their message.
pub fn of_features(pairs: &FeaturePairs) -> proto::FeaturePairs {
    let given = &pairs.given;
    let kind = |kind| match kind {
        FeaturePairKind::VertexFace => proto::FeatureKind::VertexFace,
        FeaturePairKind::FaceVertex => proto::FeatureKind::FaceVertex,
        FeaturePairKind::EdgeEdge => proto::FeatureKind::EdgeEdge,
    };
    proto::FeaturePairs {
        total: pairs.total as u32,
        tissue_ids: given.iter().map(|p| p.tissue.0).collect(),
        kinds: given.iter().map(|p| kind(p.kind).into()).collect(),
        vertex_ids: given.iter().flat_map(|p| p.vertices).collect(),
        weights: given.iter().flat_map(|p| p.weights.map(|w| w as f32)).collect(),
        distance_m: given.iter().map(|p| p.distance_m as f32).collect(),
        normal_xyz: given.iter().flat_map(|p| p.normal.as_vec3().to_array()).collect(),
    }
}

/// Converts the crossing pairs of links to their messages.
pub fn of_links(answer: &TickAnswer) -> Vec<proto::LinkPairs> {
    let crossing = answer.link_pairs.iter().filter(|two| two.pairs.total > 0);
    let wire = |two: &LinkPairs| proto::LinkPairs {
        tool_id: two.link.0.0,
        link: two.link.1 as u32,
        other_tool_id: two.other.0.0,
        other_link: two.other.1 as u32,
        pairs: Some(to_wire(&two.pairs)),
    };
    crossing.map(wire).collect()
}
