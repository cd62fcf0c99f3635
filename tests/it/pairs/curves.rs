//! Curves that a blade cuts: the crossings of a plane-like blade with a liver, end to end.

use std::collections::HashMap;

use glam::DVec3;
use palpate::{
    bvh::{BoxTree, Rigid},
    geometry::{
        Pose, TriangleMesh,
        triangle_triangle::{CrossingKind, crossing},
    },
    index::LatLonOptions,
    oracle::shapes,
    surface::Surface,
};

use super::meshes::{found, liver};
use crate::seed::{Seed, scaled};

type Bits = [u64; 3];

fn bits(p: DVec3) -> Bits {
    p.to_array().map(f64::to_bits)
}

/// Counts the closed curves that crossings form, linked by their start points. An end that is not the start of exactly
/// one other crossing breaks a curve.
fn closed_curves(segments: &[[DVec3; 2]]) -> usize {
    let mut next: HashMap<Bits, Bits> = HashMap::new();
    for [start, end] in segments {
        let earlier = next.insert(bits(*start), bits(*end));
        assert_eq!(earlier, None, "two crossings start at {start}");
    }
    let mut n_curves = 0;
    while let Some(&first) = next.keys().next() {
        let mut at = first;
        loop {
            at = next.remove(&at).unwrap_or_else(|| {
                panic!("nothing goes on at {:?}", at.map(f64::from_bits));
            });
            if at == first {
                break;
            }
        }
        n_curves += 1;
    }
    n_curves
}

#[test]
fn a_blade_through_a_liver_cuts_along_closed_curves() {
    let seed = Seed::or(66);
    let mut random = seed.random(0);
    let liver = Surface::new(TriangleMesh::new(liver()), LatLonOptions::default());
    // The blade is wider than the liver, so that no curve reaches its border.
    let mesh = TriangleMesh::new(shapes::sheet(41, 41, 0.02));
    let tree = BoxTree::build(&mesh);
    let blade = Rigid { mesh: &mesh, tree: &tree };
    let (mut n_segments, mut n_curves) = (0, 0);
    for _ in 0..scaled(10) {
        let turn = Pose::new(random.rotation(), DVec3::ZERO).expect("a rotation");
        let middle = turn.point(DVec3::new(0.4, 0.4, 0.0));
        let to = liver.bounds().centre() + random.unit_vector() * random.range(0.0, 0.03);
        let pose = Pose { translation: to - middle, ..turn };
        let segments: Vec<[DVec3; 2]> = found(&liver, &blade, &pose)
            .into_iter()
            .map(|pair| {
                let own = mesh.triangle(pair.own).map(|p| pose.point(p));
                let c = crossing(&liver.mesh().triangle(pair.other), &own).expect("they meet");
                assert_eq!(c.kind, CrossingKind::Through);
                c.ends.map(|e| e.point)
            })
            .collect();
        n_segments += segments.len();
        n_curves += closed_curves(&segments);
    }
    println!("{n_curves} curves of {n_segments} crossings");
    assert!(n_curves >= scaled(10));
}
