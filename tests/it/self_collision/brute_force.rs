//! Tests every feature against every other: no tree, no owners, no triangle pairs.

use std::collections::BTreeMap;

use glam::DVec3;
use palpate::{
    ccd::{edge_edge, vertex_face},
    scene::{
        TissueId,
        self_collision::{FeatureKind, Interval, Scope, SelfCollisionOptions, SelfCollisions},
    },
};

use super::stage::{Features, Stage, features};

/// A vertex of the scene, and its positions at both ends.
type Vertex = (TissueId, u32);
type Places = BTreeMap<Vertex, [DVec3; 2]>;

/// Times of contact in each order of the features that the elementary test may be given, if any order has one: rounding
/// may find a contact in one order and rule it out in another.
type Times = BTreeMap<Features, Vec<Option<f64>>>;

struct Everything {
    places: Places,
    edges: Vec<[Vertex; 2]>,
    faces: Vec<[Vertex; 3]>,
}

impl Everything {
    fn of(stage: &Stage, intervals: &[Interval]) -> Everything {
        let (mut places, mut edges, mut faces) = (Places::new(), Vec::new(), Vec::new());
        for (tissue, interval) in stage.tissues.iter().zip(intervals) {
            let current = tissue.current();
            let mesh = current.surface.mesh();
            let held = tissue.held();
            let at = |revision: Option<u64>| {
                let found = held.iter().find(|h| Some(h.geometry_revision) == revision);
                found.map_or(mesh.positions(), |h| &*h.positions)
            };
            let (start, end) = (at(interval.from), at(interval.to));
            for v in mesh.triangle_ids().flat_map(|t| mesh.vertices(t)) {
                let place = [start, end].map(|p| p[v as usize].as_dvec3());
                places.insert((tissue.id(), v), place);
            }
            for t in mesh.triangle_ids() {
                let face = mesh.vertices(t).map(|v| (tissue.id(), v));
                faces.push(face);
                let ends = |k: usize| [face[k], face[(k + 1) % 3]];
                edges.extend(
                    (0..3).map(|k| [ends(k)[0].min(ends(k)[1]), ends(k)[0].max(ends(k)[1])]),
                );
            }
        }
        edges.sort_unstable();
        edges.dedup();
        Everything { places, edges, faces }
    }

    fn points(&self, vertices: [Vertex; 4]) -> [[DVec3; 4]; 2] {
        let places = vertices.map(|v| self.places[&v]);
        [places.map(|p| p[0]), places.map(|p| p[1])]
    }

    fn times_of_edges(
        &self,
        [a, b]: [Vertex; 2],
        [c, d]: [Vertex; 2],
        thick: f64,
    ) -> Vec<Option<f64>> {
        let turns = [[a, b, c, d], [b, a, c, d], [a, b, d, c], [b, a, d, c]];
        let both = turns.into_iter().flat_map(|[a, b, c, d]| [[a, b, c, d], [c, d, a, b]]);
        let time = |vertices| {
            let [t0, t1] = self.points(vertices);
            edge_edge(&t0, &t1, thick).toi()
        };
        both.map(time).collect()
    }
}

fn times(stage: &Stage, intervals: &[Interval], options: &SelfCollisionOptions) -> Times {
    let all = Everything::of(stage, intervals);
    let in_scope = |a: Vertex, b: Vertex| options.scope == Scope::All || a.0 == b.0;
    let mut times = Times::new();
    for (i, e) in all.edges.iter().enumerate() {
        for f in all.edges[i + 1..].iter().filter(|f| !f.iter().any(|v| e.contains(v))) {
            // Pairs far apart at both ends and in between: the tests in 8 orders would find this out 8 times.
            if !in_scope(e[0], f[0]) || all.is_apart_in_first_order(*e, *f, options.thickness_m) {
                continue;
            }
            let found = all.times_of_edges(*e, *f, options.thickness_m);
            if found.iter().any(Option::is_some) {
                let vertices = [e[0].1, e[1].1, f[0].1, f[1].1];
                times.insert((FeatureKind::EdgeEdge, [e[0].0, f[0].0], vertices), found);
            }
        }
    }
    for face in &all.faces {
        for v in all.places.keys().filter(|v| !face.contains(v) && in_scope(**v, face[0])) {
            let [t0, t1] = all.points([*v, face[0], face[1], face[2]]);
            let found = vertex_face(&t0, &t1, options.thickness_m).toi();
            if found.is_some() {
                let mut corners = face.map(|v| v.1);
                corners.sort_unstable();
                let [a, b, c] = corners;
                let features = (FeatureKind::VertexFace, [v.0, face[0].0], [v.1, a, b, c]);
                times.insert(features, vec![found]);
            }
        }
    }
    times
}

impl Everything {
    /// Returns true if their boxes are apart, which is exact and independent of the order.
    fn is_apart_in_first_order(&self, e: [Vertex; 2], f: [Vertex; 2], thickness: f64) -> bool {
        let bounds = |e: [Vertex; 2]| {
            let points = e.into_iter().flat_map(|v| self.places[&v]);
            points.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), p| {
                (low.min(p), high.max(p))
            })
        };
        let ((low, high), (low_f, high_f)) = (bounds(e), bounds(f));
        let slack = DVec3::splat(1.001 * thickness);
        (low - slack).cmpgt(high_f).any() || (low_f - slack).cmpgt(high).any()
    }
}

/// Checks that each contact that exists in every order of testing is found once, at one of its times, and that no
/// contact is found that exists in none; contacts are sorted, with both points on their features.
pub fn assert_is_all(
    found: &SelfCollisions,
    stage: &Stage,
    intervals: &[Interval],
    options: &SelfCollisionOptions,
) {
    let expected = times(stage, intervals, options);
    let mut tois = BTreeMap::new();
    for contact in &found.contacts {
        let at = features(contact);
        assert!(expected.contains_key(&at), "{contact:?} is none");
        assert!(tois.insert(at, contact.toi).is_none(), "{contact:?} is given twice");
        let [a, b] = contact.on.map(|p| p.position);
        assert!(a.distance(b) <= options.thickness_m + 1e-8, "{contact:?}");
        let length = contact.normal.length();
        assert!(length == 0.0 || (length - 1.0).abs() < 1e-12, "{contact:?}");
    }
    for (features, times) in &expected {
        let toi = tois.get(features).copied();
        assert!(times.contains(&toi), "{features:?} at {times:?}, found {toi:?}");
    }
    assert!(found.contacts.is_sorted_by(|a, b| a.order(b).is_lt()));
    let count = |kind| found.contacts.iter().filter(|c| c.kind == kind).count() as u64;
    assert_eq!(found.totals, [FeatureKind::VertexFace, FeatureKind::EdgeEdge].map(count));
}
