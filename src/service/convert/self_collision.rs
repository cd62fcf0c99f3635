//! Conversion of contacts of tissues with themselves.

use std::{collections::HashSet, mem};

use glam::DVec3;
use tonic::Status;

use super::{FieldError, Problem, proto};
use crate::scene::{
    Limits, SurfacePoint, TissueId,
    limits::{CANDIDATE_PAIRS_MAX, DISTANCE_MAX_M, FEATURE_CONTACTS_CHUNK, FEATURE_CONTACTS_MAX},
    self_collision::{
        FeatureContact, FeatureKind, Interval, Scope, SelfCollisionOptions, SelfCollisions,
        TissueMotion,
    },
};
use crate::service::request_field::in_range;

/// Default for the maximum number of contacts in the answer.
const CONTACTS_USUAL: usize = 4_096;

/// Parses the tissues, their revisions and the options. The engine checks that they exist.
pub fn asked(
    request: &proto::DetectSelfCollisionsRequest,
    limits: &Limits,
) -> Result<(Vec<Interval>, SelfCollisionOptions), FieldError> {
    let options = SelfCollisionOptions {
        thickness_m: in_range(request.thickness_m, 0.0, DISTANCE_MAX_M, "thickness_m")?,
        scope: scope(request.scope)?,
        max_contacts: match request.max_contacts as usize {
            0 => CONTACTS_USUAL,
            n if n <= FEATURE_CONTACTS_MAX => n,
            n => {
                let end = FEATURE_CONTACTS_MAX + 1;
                return Err(Problem::Index { got: n, end }.of("max_contacts"));
            }
        },
        max_pairs: CANDIDATE_PAIRS_MAX,
    };
    Ok((intervals(&request.tissues, limits.tissues_per_scene)?, options))
}

fn scope(sent: i32) -> Result<Scope, FieldError> {
    match proto::CollisionScope::try_from(sent) {
        Ok(proto::CollisionScope::All | proto::CollisionScope::Unspecified) => Ok(Scope::All),
        Ok(proto::CollisionScope::WithinEach) => Ok(Scope::WithinEach),
        Err(_) => Err(Problem::Enumerator { got: sent }.of("scope")),
    }
}

fn intervals(sent: &[proto::TissueInterval], max: usize) -> Result<Vec<Interval>, FieldError> {
    if sent.is_empty() {
        return Err(Problem::Missing.of("tissues"));
    }
    if sent.len() > max {
        return Err(Problem::TooMany { got: sent.len(), max }.of("tissues"));
    }
    let mut named = HashSet::new();
    let interval = |(at, sent): (usize, &proto::TissueInterval)| {
        if !named.insert(sent.tissue_id) {
            return Err(Problem::Repeated.of(format!("tissues[{at}].tissue_id")));
        }
        Ok(Interval {
            tissue: TissueId(sent.tissue_id),
            from: sent.from_geometry_revision,
            to: (sent.to_geometry_revision != 0).then_some(sent.to_geometry_revision),
        })
    };
    sent.iter().enumerate().map(interval).collect()
}

/// Messages of the answer: contacts in chunks, each made when the client takes it, then the totals.
pub struct Messages {
    // A stream instead of one message: contacts of two large organs are megabytes.
    found: SelfCollisions,
    given: usize,
    ended: bool,
}

impl Messages {
    /// Creates the messages of all contacts.
    pub fn of(found: SelfCollisions) -> Messages {
        Messages { found, given: 0, ended: false }
    }
}

impl Iterator for Messages {
    type Item = Result<proto::DetectSelfCollisionsResponse, Status>;

    fn next(&mut self) -> Option<Self::Item> {
        use proto::detect_self_collisions_response::Message;
        let rest = &self.found.contacts[self.given..];
        let chunk = &rest[..rest.len().min(FEATURE_CONTACTS_CHUNK)];
        let message = if !chunk.is_empty() {
            self.given += chunk.len();
            Message::Contacts(contacts(chunk))
        } else if !mem::replace(&mut self.ended, true) {
            Message::Totals(totals(&self.found))
        } else {
            return None;
        };
        Some(Ok(proto::DetectSelfCollisionsResponse { message: Some(message) }))
    }
}

fn contacts(given: &[FeatureContact]) -> proto::FeatureContacts {
    let side = |k: usize| given.iter().map(move |c| &c.on[k]);
    let triangles = |k| side(k).map(|p| p.triangle.0).collect();
    let tissues = |k: usize| given.iter().map(|c| c.tissues[k].0).collect();
    let weights = |k| flat(side(k).map(|p: &SurfacePoint| p.barycentric));
    let points = |k| flat(side(k).map(|p: &SurfacePoint| p.position));
    proto::FeatureContacts {
        toi: given.iter().map(|c| c.toi).collect(),
        kinds: given.iter().map(|c| kind(c.kind) as i32).collect(),
        tissue_ids: tissues(0),
        other_tissue_ids: tissues(1),
        vertex_ids: given.iter().flat_map(|c| c.vertices).collect(),
        triangle_ids: triangles(0),
        other_triangle_ids: triangles(1),
        barycentric_xyz: weights(0),
        other_barycentric_xyz: weights(1),
        point_xyz_m: points(0),
        other_point_xyz_m: points(1),
        normal_xyz: flat(given.iter().map(|c| c.normal)),
    }
}

fn flat(vectors: impl Iterator<Item = DVec3>) -> Vec<f32> {
    vectors.flat_map(|v| v.as_vec3().to_array()).collect()
}

fn kind(kind: FeatureKind) -> proto::FeatureKind {
    match kind {
        FeatureKind::VertexFace => proto::FeatureKind::VertexFace,
        FeatureKind::EdgeEdge => proto::FeatureKind::EdgeEdge,
    }
}

fn totals(found: &SelfCollisions) -> proto::SelfCollisionTotals {
    let [vertex_face, edge_edge] = found.totals;
    let motion = |m: &TissueMotion| proto::TissueMotion {
        tissue_id: m.tissue.0,
        from_geometry_revision: m.from,
        to_geometry_revision: m.to,
        topology_revision: m.topology_revision,
    };
    proto::SelfCollisionTotals {
        vertex_face,
        edge_edge,
        triangle_pairs: found.triangle_pairs,
        tissues: found.motions.iter().map(motion).collect(),
    }
}
