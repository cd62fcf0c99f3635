//! Pairs of features within the margin in a tick's answer, against all pairs of all features.

use std::{collections::BTreeMap, sync::Arc};

use glam::DVec3;
use palpate::{
    geometry::{LoadOptions, MeshData, Pose, mesh::load::load},
    oracle::{
        Random, shapes,
        triangle::{closest_on_triangle, triangle_distance},
    },
    scene::{
        Limits, Link, Scene, TissueId, TissueOptions, ToolParts,
        tick::{
            Session, TickOptions, ToolPose,
            feature_pairs::{FeaturePairKind, NearFeatures},
        },
        tool::field::default_field,
    },
    time_left::TimeLeft,
};

use crate::seed::{Seed, scaled};

/// Features of a mesh, each once: vertices in use, edges with ascending ends, faces.
struct Features {
    at: Vec<DVec3>,
    vertices: Vec<u32>,
    edges: Vec<[u32; 2]>,
    faces: Vec<[u32; 3]>,
}

impl Features {
    fn of(mesh: &MeshData, pose: &Pose) -> Features {
        let at = mesh.positions.iter().map(|p| pose.point(p.as_dvec3())).collect();
        let mut vertices: Vec<u32> = mesh.triangles.iter().flatten().copied().collect();
        let edges = |t: &[u32; 3]| {
            let [a, b, c] = *t;
            [[a, b], [b, c], [c, a]].map(|[v, w]| [v.min(w), v.max(w)])
        };
        let mut edges: Vec<[u32; 2]> = mesh.triangles.iter().flat_map(edges).collect();
        vertices.sort_unstable();
        vertices.dedup();
        edges.sort_unstable();
        edges.dedup();
        Features { at, vertices, edges, faces: mesh.triangles.clone() }
    }

    fn face(&self, face: &[u32; 3]) -> [DVec3; 3] {
        face.map(|v| self.at[v as usize])
    }

    fn edge(&self, [v, w]: &[u32; 2]) -> [DVec3; 3] {
        [self.at[*v as usize], self.at[*w as usize], self.at[*w as usize]]
    }

    fn vertex(&self, v: u32) -> DVec3 {
        self.at[v as usize]
    }
}

type Key = (FeaturePairKind, [u32; 4]);

/// Returns the distance of every pair up to a limit, by a search through all.
fn all_pairs(tissue: &Features, link: &Features, limit: f64) -> BTreeMap<Key, f64> {
    let mut found = BTreeMap::new();
    let mut add = |key: Key, distance: f64| {
        if distance <= limit {
            assert_eq!(found.insert(key, distance), None, "{key:?} twice");
        }
    };
    for &v in &tissue.vertices {
        for face in &link.faces {
            let apart = closest_on_triangle(tissue.vertex(v), &link.face(face));
            let [a, b, c] = *face;
            add((FeaturePairKind::VertexFace, [v, a, b, c]), apart.distance(tissue.vertex(v)));
        }
    }
    for &v in &link.vertices {
        for face in &tissue.faces {
            let apart = closest_on_triangle(link.vertex(v), &tissue.face(face));
            let [a, b, c] = *face;
            add((FeaturePairKind::FaceVertex, [a, b, c, v]), apart.distance(link.vertex(v)));
        }
    }
    for one in &tissue.edges {
        for two in &link.edges {
            let ([a, b, _], [c, d, _]) = (tissue.edge(one), link.edge(two));
            if (a + b).distance(c + d) > a.distance(b) + c.distance(d) + 2.0 * limit {
                continue;
            }
            let apart = triangle_distance(&tissue.edge(one), &link.edge(two));
            let ([a, b], [c, d]) = (*one, *two);
            add((FeaturePairKind::EdgeEdge, [a, b, c, d]), apart);
        }
    }
    found
}

/// Returns the two closest points by the weights of a pair.
fn points(pair: &NearFeatures, tissue: &Features, link: &Features) -> [DVec3; 2] {
    let n = match pair.kind {
        FeaturePairKind::VertexFace => 1,
        FeaturePairKind::EdgeEdge => 2,
        FeaturePairKind::FaceVertex => 3,
    };
    let sides = [(tissue, 0..n), (link, n..4)];
    sides.map(|(of, range)| {
        let weights = &pair.weights[range.clone()];
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{pair:?}");
        assert!(weights.iter().all(|w| *w >= 0.0), "{pair:?}");
        pair.vertices[range].iter().zip(weights).map(|(v, w)| of.vertex(*v) * *w).sum()
    })
}

struct Stage {
    session: Session,
    pose: ToolPose,
    sequence: u64,
}

impl Stage {
    fn new(tissue: &MeshData, tool: &MeshData, options: TickOptions) -> Stage {
        let loaded = |data: &MeshData| load(data.clone(), &LoadOptions::default()).expect("a mesh");
        let scene = Arc::new(Scene::new("features".to_owned(), Limits::default()));
        scene.add_tissue("tissue", loaded(tissue), TissueOptions::default(), 0).expect("added");
        let link = Link::new("link".to_owned(), loaded(tool), Pose::IDENTITY, default_field);
        let parts = ToolParts { name: "tool".to_owned(), links: vec![link], probes: Vec::new() };
        let tool = scene.add_tool(parts).expect("added").id;
        let session = Session::new(scene, &[tool], options).expect("the tool is there");
        let scene_from_tool = Pose::IDENTITY;
        let pose = ToolPose { tool, scene_from_tool, tool_from_link: Vec::new(), teleport: true };
        Stage { session, pose, sequence: 0 }
    }

    fn tick(&mut self, pose: &Pose, time: &TimeLeft) -> (Vec<NearFeatures>, usize, [bool; 2]) {
        self.sequence += 1;
        self.pose.scene_from_tool = *pose;
        let poses = std::slice::from_ref(&self.pose);
        let answer = self.session.tick(self.sequence, poses, 0, time).expect("a good tick");
        let pairs = answer.links[0].feature_pairs.as_ref().expect("requested");
        assert_eq!(pairs.is_truncated(), answer.flags.truncated);
        let flags = [answer.flags.truncated, answer.links[0].is_cut_short];
        (pairs.given.clone(), pairs.total, flags)
    }
}

fn options(max_pairs: usize) -> TickOptions {
    let contact_margin_m = 0.004;
    TickOptions {
        contacts: false,
        feature_pairs: true,
        max_pairs,
        contact_margin_m,
        ..TickOptions::default()
    }
}

/// The way between the two surfaces is as long as `reach` at most, or negative: then they cross.
fn near(random: &mut Random, radius: f64, reach: f64) -> Pose {
    let away = random.unit_vector() * (radius + random.range(-reach, reach));
    Pose::new(random.rotation(), away).expect("a rotation")
}

#[test]
fn every_pair_of_features_within_the_margin_is_given_once() {
    let seed = Seed::or(45);
    let mut random = seed.random(0);
    let (tissue, tool) = (shapes::sphere(0.02, 2), shapes::sphere(0.01, 1));
    let options = options(1_024);
    let margin = options.contact_margin_m;
    let at_rest = Features::of(&tissue, &Pose::IDENTITY);
    let mut stage = Stage::new(&tissue, &tool, options);
    let mut n_pairs = 0;
    for _ in 0..scaled(400) {
        let pose = near(&mut random, 0.0295, 0.006);
        let link = Features::of(&tool, &pose);
        // Rounding decides about pairs at the margin.
        let expected = all_pairs(&at_rest, &link, margin + 1e-9);
        let (given, total, flags) = stage.tick(&pose, &TimeLeft::endless());
        assert_eq!((total, flags), (given.len(), [false, false]));
        n_pairs += given.len();
        let mut left = expected.clone();
        for pair in &given {
            assert_eq!(pair.tissue, TissueId(1));
            let distance = left.remove(&(pair.kind, pair.vertices)).expect("given once");
            assert!((pair.distance_m - distance).abs() < 1e-12, "{pair:?} for {distance}");
            let [on_tissue, on_link] = points(pair, &at_rest, &link);
            let apart = on_link - on_tissue;
            assert!((apart.length() - distance).abs() < 1e-12, "{pair:?} for {apart}");
            if distance > 1e-6 {
                assert!((apart - pair.normal * distance).length() < 1e-12, "{pair:?} for {apart}");
            }
        }
        assert!(left.values().all(|d| *d > margin - 1e-9), "missing {left:?}");
        assert!(given.is_sorted_by(|a, b| a.distance_m <= b.distance_m));
    }
    assert!(n_pairs > 10 * scaled(400), "{n_pairs} pairs");
}

#[test]
fn the_nearest_pairs_are_given_and_all_are_counted() {
    let (tissue, tool) = (shapes::sphere(0.02, 2), shapes::sphere(0.01, 1));
    let pose = near(&mut Random::new(3), 0.0295, 0.0);
    let (all, total, _) =
        Stage::new(&tissue, &tool, options(1_024)).tick(&pose, &TimeLeft::endless());
    assert!(total > 10);
    let few = Stage::new(&tissue, &tool, options(7)).tick(&pose, &TimeLeft::endless());
    assert_eq!(few, (all[..7].to_vec(), total, [true, false]));
    let (given, _, [_, is_cut_short]) =
        Stage::new(&tissue, &tool, options(7)).tick(&pose, &TimeLeft::until(&|| 1, 0));
    assert!(is_cut_short && given.len() < 7, "{given:?}");
}

/// Both sides of a seam are one surface, so features there are given once.
#[test]
fn features_of_a_seam_are_given_once() {
    let joined = shapes::sphere(0.02, 2);
    let corners = joined.triangles.iter().flatten();
    let split = MeshData {
        positions: corners.map(|v| joined.positions[*v as usize]).collect(),
        triangles: (0..joined.triangles.len() as u32)
            .map(|t| [3 * t, 3 * t + 1, 3 * t + 2])
            .collect(),
    };
    let tool = shapes::sphere(0.01, 1);
    for seed in 0..50 {
        let pose = near(&mut Random::new(seed), 0.0295, 0.003);
        let [whole, seams] = [&joined, &split].map(|tissue| {
            let (given, ..) =
                Stage::new(tissue, &tool, options(1_024)).tick(&pose, &TimeLeft::endless());
            let mut all: Vec<_> =
                given.iter().map(|p| (p.kind, (p.distance_m * 1e12) as i64)).collect();
            all.sort_unstable();
            all
        });
        assert_eq!(whole.len(), seams.len(), "seed {seed}");
        let is_close = |(a, b): (&(FeaturePairKind, i64), &(FeaturePairKind, i64))| {
            a.0 == b.0 && (a.1 - b.1).abs() < 10
        };
        assert!(whole.iter().zip(&seams).all(is_close), "seed {seed}");
    }
}
