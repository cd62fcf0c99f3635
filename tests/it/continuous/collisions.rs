//! Whole surfaces: pairs from the tree and features by owners, against every feature with every other.

use std::collections::BTreeMap;

use glam::{DVec3, Vec3};
use palpate::{
    bvh::{Front, Trees},
    ccd::{
        FeaturePair, Owned, Shared, TriangleContact, edge_edge, every_contact, triangle_pair,
        vertex_face,
    },
    geometry::{MeshData, TriangleId},
    oracle::{Random, shapes},
};

use super::surface::Deforming;
use crate::seed::Seed;

/// Two features by their vertices: a vertex and a face, or two edges.
type Features = (Vec<u32>, Vec<u32>);
type Contacts = BTreeMap<Features, f64>;

fn edge(v: [u32; 3], k: u8) -> Vec<u32> {
    let mut ends = vec![v[k as usize], v[(k as usize + 1) % 3]];
    ends.sort_unstable();
    ends
}

fn sorted(v: [u32; 3]) -> Vec<u32> {
    let mut v = v.to_vec();
    v.sort_unstable();
    v
}

/// Orders two features independently of which triangle came first.
fn unordered(a: Vec<u32>, b: Vec<u32>) -> Features {
    if (a.len(), &a) <= (b.len(), &b) { (a, b) } else { (b, a) }
}

/// Returns the times of all contacts of a surface with itself, by its pairs.
fn by_tree(surface: &Deforming, front: &mut Front, thickness: f64) -> Contacts {
    let mut contacts = Contacts::new();
    front.step(Trees::Itself(&surface.tree), |s, t| {
        let (v, w) = (surface.mesh.vertices(s), surface.mesh.vertices(t));
        let moving = |t: TriangleId| surface.moving(t, surface.owners.get(t));
        let (a, b, shared) = (moving(s), moving(t), Shared::between(v, w));
        let mut least: Option<TriangleContact> = None;
        every_contact(&a, &b, shared, thickness, |contact| {
            if least.is_none_or(|l| contact.toi < l.toi) {
                least = Some(contact);
            }
            let features = match contact.features {
                FeaturePair::VertexFace(k) => (vec![v[k as usize]], sorted(w)),
                FeaturePair::FaceVertex(k) => (vec![w[k as usize]], sorted(v)),
                FeaturePair::EdgeEdge(i, j) => unordered(edge(v, i), edge(w, j)),
            };
            assert!(contacts.insert(features, contact.toi).is_none(), "{contact:?} is found twice");
        });
        assert_eq!(triangle_pair(&a, &b, shared, thickness), least);
    });
    contacts
}

/// Returns the times of contact of two edges, with each edge in both directions and either edge first. Rounding may
/// give a contact in one order that another proves to be none.
fn every_way([a, b]: [[[DVec3; 2]; 2]; 2], thickness: f64) -> Vec<Option<f64>> {
    let turned = |e: [[DVec3; 2]; 2]| e.map(|[p, q]| [q, p]);
    let mut times = Vec::new();
    for (a, b) in [(a, b), (turned(a), b), (a, turned(b)), (turned(a), turned(b))] {
        for (a, b) in [(a, b), (b, a)] {
            let points = |end: usize| [a[end][0], a[end][1], b[end][0], b[end][1]];
            times.push(edge_edge(&points(0), &points(1), thickness).toi());
        }
    }
    times
}

fn by_brute_force(surface: &Deforming, thickness: f64) -> BTreeMap<Features, Vec<Option<f64>>> {
    let mut contacts = BTreeMap::new();
    let ids = surface.ids();
    let edges: BTreeMap<Vec<u32>, (TriangleId, u8)> = ids
        .iter()
        .flat_map(|t| (0..3).map(|k| (edge(surface.mesh.vertices(*t), k), (*t, k))))
        .collect();
    let ends = |(t, k): (TriangleId, u8)| {
        let moving = surface.moving(t, Owned::NONE);
        let (i, j) = (k as usize, (k as usize + 1) % 3);
        [[moving.t0[i], moving.t0[j]], [moving.t1[i], moving.t1[j]]]
    };
    let all: Vec<_> = edges.iter().map(|(v, at)| (v, ends(*at))).collect();
    for (i, (v, a)) in all.iter().enumerate() {
        for (w, b) in all[i + 1..].iter().filter(|(w, _)| !w.iter().any(|x| v.contains(x))) {
            let times = every_way([*a, *b], thickness);
            if times.iter().any(|toi| toi.is_some()) {
                contacts.insert(unordered(v.to_vec(), w.to_vec()), times);
            }
        }
    }
    let vertices: BTreeMap<u32, (DVec3, DVec3)> = ids
        .iter()
        .flat_map(|t| {
            let moving = surface.moving(*t, Owned::NONE);
            let of = move |k: usize| (moving.t0[k], moving.t1[k]);
            surface.mesh.vertices(*t).into_iter().enumerate().map(move |(k, v)| (v, of(k)))
        })
        .collect();
    for t in ids {
        let (w, face) = (surface.mesh.vertices(t), surface.moving(t, Owned::NONE));
        for (v, (p0, p1)) in vertices.iter().filter(|(v, _)| !w.contains(v)) {
            let [a, b, c] = face.t0;
            let [d, e, f] = face.t1;
            let toi = vertex_face(&[*p0, a, b, c], &[*p1, d, e, f], thickness).toi();
            if toi.is_some() {
                contacts.insert((vec![*v], sorted(w)), vec![toi]);
            }
        }
    }
    contacts
}

/// Checks that the tree finds every contact that all orders give, at one of their times, and no other contact.
fn assert_same(surface: &Deforming, front: &mut Front, thickness: f64) -> usize {
    let found = by_tree(surface, front, thickness);
    let expected = by_brute_force(surface, thickness);
    for (features, times) in &expected {
        let toi = found.get(features).copied();
        assert!(times.contains(&toi), "{features:?} at {times:?}, found {toi:?}");
    }
    let unexpected = found.keys().find(|features| !expected.contains_key(*features));
    assert_eq!(unexpected, None);
    found.len()
}

fn all_to(surface: &mut Deforming, to: impl Fn(usize, Vec3) -> Vec3) {
    let moved = |(v, p): (usize, &Vec3)| (v as u32, to(v, *p));
    let to: Vec<_> = surface.mesh.positions().iter().enumerate().map(moved).collect();
    surface.step(&to);
}

/// A tube is folded about its middle until its halves pass through each other.
#[test]
fn a_folded_tube_meets_itself() {
    let tube = shapes::tube(0.01, 0.2, 8, 24);
    let centred: Vec<Vec3> = tube.positions.clone();
    let mut surface = Deforming::new(tube);
    let mut front = Front::new();
    let mut met = 0;
    for n in 1..=12 {
        let angle = std::f32::consts::PI * n as f32 / 24.0;
        let (sin, cos) = angle.sin_cos();
        let middle = 0.5 * (centred[0].z + centred[centred.len() - 1].z);
        all_to(&mut surface, |v, _| {
            let p = centred[v];
            let (along, side) = ((p.z - middle).abs(), (p.z - middle).signum());
            Vec3::new(p.x * cos + along * sin, p.y, side * (along * cos - p.x * sin))
        });
        met += assert_same(&surface, &mut front, 0.0);
    }
    println!("tube contacts={met}");
    assert!(met > 0);
}

/// A sheet is crumpled, step by step, with and without a thickness, and cut.
#[test]
fn a_crumpled_sheet_meets_itself() {
    let seed = Seed::or(130);
    let mut random = seed.random(0);
    let mut surface = Deforming::new(shapes::sheet(16, 16, 0.01));
    let (mut front, mut thick_front) = (Front::new(), Front::new());
    let (mut met, mut near) = (0, 0);
    for n in 0..10 {
        let at = random.point(DVec3::ZERO, DVec3::new(0.15, 0.15, 0.02)).as_vec3();
        let jitter: Vec<Vec3> = (0..surface.mesh.positions().len())
            .map(|_| (random.unit_vector() * 0.004).as_vec3())
            .collect();
        all_to(&mut surface, |v, p| p + (at - p) * 0.15 + jitter[v]);
        if n % 3 == 2 {
            surface.cut(&mut random, 3);
        }
        met += assert_same(&surface, &mut front, 0.0);
        // The boxes contain everything that touches; for a thickness each box is grown by half of it.
        near += near_contacts(&surface, &mut thick_front, &mut random);
    }
    println!("sheet contacts={met} near={near}");
    assert!(met > 0 && near > 0);
}

fn near_contacts(surface: &Deforming, front: &mut Front, random: &mut Random) -> usize {
    let thickness = random.range(1e-5, 1e-3);
    let mut grown = surface.tree.clone();
    let boxes = surface.ids().into_iter().map(|t| {
        let dop = *surface.tree.get(t).expect("in the tree");
        (t, dop.grown(0.5 * thickness))
    });
    grown.refit(boxes);
    let mut copy = surface.clone();
    copy.tree = grown;
    assert_same(&copy, front, thickness)
}

/// Two sheets pass through each other: the first time of contact of every triangle, against all pairs.
#[test]
fn every_triangles_own_time_of_contact() {
    let data = shapes::sheet(9, 9, 0.01);
    let lifted = MeshData {
        positions: data.positions.iter().map(|p| *p + Vec3::new(0.003, 0.002, 0.02)).collect(),
        triangles: data.triangles.clone(),
    };
    let (mut a, mut b) = (Deforming::new(data), Deforming::new(lifted));
    all_to(&mut a, |v, p| p + Vec3::Z * 0.002 * (v as f32 * 0.7).sin());
    all_to(&mut b, |v, p| p - Vec3::Z * (0.03 + 0.002 * (v as f32 * 1.3).cos()));
    let first = |pairs: &[(TriangleId, TriangleId)]| {
        let mut times = BTreeMap::new();
        for (s, t) in pairs {
            let (x, y) = (a.moving(*s, Owned::ALL), b.moving(*t, Owned::ALL));
            if let Some(c) = triangle_pair(&x, &y, Shared::NONE, 0.0) {
                let time = times.entry(*s).or_insert(c.toi);
                *time = c.toi.min(*time);
            }
        }
        times
    };
    let mut pairs = Vec::new();
    Trees::Two(&a.tree, &b.tree).pairs(|s, t| pairs.push((s, t)));
    let all: Vec<_> =
        a.ids().into_iter().flat_map(|s| b.ids().into_iter().map(move |t| (s, t))).collect();
    let (by_tree, by_all) = (first(&pairs), first(&all));
    assert_eq!(by_tree, by_all);
    assert!(by_tree.len() > 100, "{} triangles", by_tree.len());
}
