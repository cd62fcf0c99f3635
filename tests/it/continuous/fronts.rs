//! The front of a step gives the pairs of a traversal from the root, which are those of brute force.

use palpate::{
    bvh::{DeformingTree, Front, Trees},
    geometry::{Dop16, MeshData, TriangleId, kdop::N_DIRECTIONS},
    oracle::{Random, shapes},
};

use super::surface::Deforming;
use crate::seed::{Seed, scaled};

type Pairs = Vec<(TriangleId, TriangleId)>;

fn overlap(a: &Dop16, b: &Dop16) -> bool {
    (0..N_DIRECTIONS).all(|d| a.min[d].max(b.min[d]) <= a.max[d].min(b.max[d]))
}

fn brute_force(trees: Trees) -> Pairs {
    let all = |tree: &DeformingTree| -> Vec<(TriangleId, Dop16)> {
        (0..100_000).map(TriangleId).filter_map(|t| Some((t, *tree.get(t)?))).collect()
    };
    let (first, second, itself) = match trees {
        Trees::Itself(a) => (all(a), all(a), true),
        Trees::Two(a, b) => (all(a), all(b), false),
    };
    let mut pairs = Vec::new();
    for (s, a) in &first {
        let against = second.iter().filter(|(t, b)| (!itself || s < t) && overlap(a, b));
        pairs.extend(against.map(|(t, _)| (*s, *t)));
    }
    pairs
}

fn sorted(mut pairs: Pairs) -> Pairs {
    pairs.sort_unstable();
    pairs
}

/// Compares one step of a front with the others. Returns the number of pairs.
fn check(front: &mut Front, trees: Trees) -> usize {
    let (mut stepped, mut traversed) = (Vec::new(), Vec::new());
    front.step(trees, |a, b| stepped.push((a, b)));
    trees.pairs(|a, b| traversed.push((a, b)));
    let expected = brute_force(trees);
    assert_eq!(sorted(traversed), expected, "traversal");
    assert_eq!(sorted(stepped), expected, "front");
    expected.len()
}

fn moved(data: MeshData, by: glam::Vec3) -> MeshData {
    MeshData { positions: data.positions.iter().map(|p| *p + by).collect(), ..data }
}

/// 200 steps on a pair of meshes of 2,000 triangles together, every eighth with cuts.
#[test]
fn a_front_is_a_traversal_is_brute_force() {
    let seed = Seed::or(110);
    let mut random = seed.random(0);
    let data = shapes::organ(1000, 3);
    let by = shapes::organ(1000, 3).positions.iter().fold(0.0_f32, |m, p| m.max(p.x));
    let mut a = Deforming::new(data);
    let mut b = Deforming::new(moved(shapes::organ(1000, 4), glam::Vec3::X * 1.6 * by));
    let (mut between, mut itself) = (Front::new(), Front::new());
    let (mut n_pairs, mut n_self) = (0, 0);
    let radius = f64::from(by);
    for n in 0..scaled(200) {
        let side = if random.below(2) == 0 { &mut a } else { &mut b };
        let reach = radius * random.range(0.1, 1.0);
        side.dent(&mut random, reach, 0.2 * radius);
        if n % 8 == 7 {
            a.cut(&mut random, 5);
            b.cut(&mut random, 2);
        }
        if n % 50 == 49 {
            a.tree.rebuild();
        }
        a.tree.assert_well_formed();
        b.tree.assert_well_formed();
        n_pairs += check(&mut between, Trees::Two(&a.tree, &b.tree));
        n_self += check(&mut itself, Trees::Itself(&a.tree));
    }
    println!(
        "pairs={n_pairs} self_pairs={n_self} front={} self_front={}",
        between.n_entries(),
        itself.n_entries()
    );
    assert!(n_pairs > 0 && n_self > 0);
}

/// Small surfaces, mostly cut, down to nothing and up again; the front's own invariant is checked too.
#[test]
fn fronts_follow_cuts() {
    let seed = Seed::or(111);
    for run in 0..scaled(40) {
        let mut random = seed.random(run as u64);
        let n = 20 + random.below(60) as u32;
        let mut a = Deforming::new(shapes::organ(n, run as u64));
        let mut b = Deforming::new(shapes::organ(n, run as u64 + 1));
        let (mut between, mut itself) = (Front::new(), Front::new());
        for _ in 0..30 {
            a.dent(&mut random, 0.05, 0.02);
            if random.below(2) == 0 {
                let n_cuts = random.below(12);
                a.cut(&mut random, n_cuts);
                b.cut(&mut random, 1);
            }
            check(&mut between, Trees::Two(&a.tree, &b.tree));
            check(&mut itself, Trees::Itself(&a.tree));
            between.assert_well_formed(Trees::Two(&a.tree, &b.tree));
            itself.assert_well_formed(Trees::Itself(&a.tree));
        }
    }
}

#[test]
fn insertions_in_a_row_keep_a_tree_low_and_an_empty_tree_fills_again() {
    let at = |n: u32| Dop16::around([glam::DVec3::X * f64::from(n)]);
    let mut tree = DeformingTree::build([]);
    let mut front = Front::new();
    check(&mut front, Trees::Itself(&tree));
    for n in 0..2000 {
        tree.insert(TriangleId(n), at(n));
        if n % 500 < 3 {
            tree.assert_well_formed();
            check(&mut front, Trees::Itself(&tree));
            front.assert_well_formed(Trees::Itself(&tree));
        }
    }
    for n in 0..2000 {
        tree.remove(TriangleId(n));
        tree.assert_well_formed();
    }
    check(&mut front, Trees::Itself(&tree));
    tree.insert(TriangleId(5), at(5));
    tree.insert(TriangleId(6), at(5));
    assert_eq!(check(&mut front, Trees::Itself(&tree)), 1);
    let same = DeformingTree::build((0..100).map(|n| (TriangleId(n), at(0))));
    same.assert_well_formed();
    let mut random = Random::new(1);
    assert_eq!(check(&mut Front::new(), Trees::Itself(&same)), 4950);
    let mut n_found = 0;
    same.overlap(&at(random.below(1) as u32), |_| n_found += 1);
    assert_eq!(n_found, 100);
}
