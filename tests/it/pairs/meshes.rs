//! Instruments in a liver: the pairs found by tree and index against all pairs.

use std::collections::BTreeSet;

use glam::{DVec3, Vec3};
use palpate::{
    bvh::{BoxTree, LeafPair, Rigid},
    geometry::{MeshData, Pose, TriangleId, TriangleMesh},
    index::LatLonOptions,
    oracle::{Random, shapes},
    surface::Surface,
    time_left::TimeLeft,
};

use super::truth::{Distances, all_pairs};
use crate::{
    differential::inputs::shared,
    seed::{Seed, scaled},
};

/// Poses for each tool and state; 10^3 with `PALPATE_TEST_SCALE=100`.
const POSES: usize = 10;

pub fn liver() -> MeshData {
    shared("liver-smooth.obj", 0.03).map_or_else(|| shapes::organ(4_384, 7), |input| input.data)
}

fn tools() -> [(&'static str, MeshData); 2] {
    [
        ("dental_instrument_light.obj", 0.01, shapes::capsule(0.003, 0.05, 16)),
        ("pliers_binary.stl", 0.001, shapes::jaw(0.05, 40)),
    ]
    .map(|(file, scale, instead)| (file, shared(file, scale).map_or(instead, |input| input.data)))
}

/// Pose that puts a vertex of the tool at a point of the tissue, or up to a millimetre away.
pub fn touching_pose(tissue: &TriangleMesh, tool: &TriangleMesh, random: &mut Random) -> Pose {
    let vertex = |mesh: &TriangleMesh, random: &mut Random| {
        let t = TriangleId(random.below(mesh.triangle_id_end() as usize) as u32);
        mesh.triangle(t)[random.below(3)]
    };
    let turn = Pose::new(random.rotation(), DVec3::ZERO).expect("a rotation");
    let to = vertex(tissue, random) + random.unit_vector() * random.range(0.0, 1e-3);
    let from = turn.point(vertex(tool, random));
    Pose { translation: to - from, ..turn }
}

/// Finds pairs as a tick does: the placed tree prunes the index, and the candidates pass through the tree.
pub fn found(surface: &Surface, tool: &Rigid, pose: &Pose) -> Vec<LeafPair> {
    let mut pairs = Vec::new();
    let placed = tool.tree.placed(tool.mesh, pose, surface.bounds());
    surface.overlap(&|b: &_| placed.may_meet(b), |other| {
        let triangle = surface.mesh().triangle(other);
        placed.meeting(&triangle, &TimeLeft::endless(), |own| pairs.push(LeafPair { other, own }));
    });
    pairs
}

/// Checks that no pair is repeated, missing or unexpected.
pub fn check(pairs: Vec<LeafPair>, expected: &BTreeSet<LeafPair>, about: &str) {
    let n = pairs.len();
    let pairs: BTreeSet<LeafPair> = pairs.into_iter().collect();
    assert_eq!(pairs.len(), n, "{about}: a pair was given twice");
    let wrong: Vec<&LeafPair> = pairs.symmetric_difference(expected).collect();
    assert!(wrong.is_empty(), "{about}: {} of {} differ: {wrong:?}", wrong.len(), expected.len());
}

/// Positions pushed in around a random point, by up to a centimetre.
fn dented(positions: &[Vec3], random: &mut Random) -> Vec<Vec3> {
    let at = positions[random.below(positions.len())].as_dvec3();
    let push = random.unit_vector() * random.range(0.0, 0.01);
    let dent = |p: &Vec3| {
        let p = p.as_dvec3();
        (p + push * (-p.distance_squared(at) / 4e-4).exp()).as_vec3()
    };
    positions.iter().map(dent).collect()
}

#[test]
fn instruments_in_a_liver_as_it_is_and_deformed() {
    let seed = Seed::or(62);
    let still = Surface::new(TriangleMesh::new(liver()), LatLonOptions::default());
    for (part, (name, data)) in tools().into_iter().enumerate() {
        let mesh = TriangleMesh::new(data);
        let tree = BoxTree::build(&mesh);
        tree.assert_well_formed(&mesh);
        let tool = Rigid { mesh: &mesh, tree: &tree };
        let mut random = seed.random(part as u64);
        let mut soft = still.clone();
        let mut n_pairs = 0;
        for pose_number in 0..2 * scaled(POSES) {
            let liver = if pose_number % 2 == 0 {
                &still
            } else {
                // Each dent starts from the rest shape, so that dents do not add up.
                soft.move_all(dented(still.mesh().positions(), &mut random));
                &soft
            };
            let pose = touching_pose(liver.mesh(), &mesh, &mut random);
            let about = format!("{name}, pose {pose_number}: {pose:?}");
            let expected = all_pairs(liver.mesh(), &mesh, &pose, Distances::Tell);
            check(found(liver, &tool, &pose), &expected, &about);
            if pose_number % 4 < 2 {
                let tree = BoxTree::build(liver.mesh());
                let rigid = Rigid { mesh: liver.mesh(), tree: &tree };
                let mut pairs = Vec::new();
                let swap = |p: LeafPair| LeafPair { other: p.own, own: p.other };
                rigid.pairs(&tool, &pose, &TimeLeft::endless(), &mut |p| pairs.push(swap(p)));
                check(pairs, &expected, &format!("two trees, {about}"));
            }
            n_pairs += expected.len();
        }
        println!("{name}: {n_pairs} pairs over {} poses", 2 * scaled(POSES));
        assert!(n_pairs > 0, "{name} never met the liver");
    }
}
