//! Trees of arbitrary meshes, and their pairs.

use glam::{DMat3, DVec3, Vec3};
use palpate::{
    bvh::{BoxTree, LeafPair, Rigid},
    geometry::{MeshData, Pose, TriangleMesh},
    index::LatLonOptions,
    oracle,
    surface::Surface,
    time_left::TimeLeft,
};

use super::{
    meshes::{check, found, touching_pose},
    truth::{Distances, all_pairs},
};
use crate::{
    differential::inputs::{improper, shapes},
    seed::{Seed, scaled},
};

fn built(data: MeshData) -> (TriangleMesh, BoxTree) {
    let mesh = TriangleMesh::new(data);
    let tree = BoxTree::build(&mesh);
    tree.assert_well_formed(&mesh);
    assert_eq!(tree.n_leaves(), mesh.n_triangles());
    assert_eq!(tree.n_nodes(), (2 * mesh.n_triangles()).saturating_sub(1));
    (mesh, tree)
}

/// Centroids that coincide, are mirror images, or each lie far beyond all before.
#[test]
fn splits_of_coincident_and_lopsided_input() {
    let t = [Vec3::ZERO, Vec3::X, Vec3::Y];
    let copies = |n: u32, at: &dyn Fn(u32) -> [Vec3; 3]| MeshData {
        positions: (0..n).flat_map(at).collect(),
        triangles: (0..n).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect(),
    };
    built(copies(1, &|_| t));
    built(MeshData::default());
    built(copies(1000, &|_| t));
    built(copies(1000, &|_| [Vec3::ONE; 3]));
    built(copies(999, &|i| if i % 2 == 0 { t } else { t.map(|p| -p) }));
    built(copies(120, &|i| t.map(|p| p * 0.5f32.powi(i as i32))));
    built(copies(500, &|i| t.map(|p| p + Vec3::X * (i / 100) as f32)));
    let mesh = TriangleMesh::new(copies(10, &|_| t));
    let mut cut = mesh.clone();
    mesh.triangle_ids().take(4).for_each(|t| cut.remove_triangle(t));
    BoxTree::build(&cut).assert_well_formed(&cut);
    assert_eq!(BoxTree::build(&cut).n_nodes(), 11);
}

#[test]
fn the_same_mesh_gives_the_same_tree() {
    for input in shapes() {
        let (mesh, tree) = built(input.data);
        assert_eq!(format!("{tree:?}"), format!("{:?}", BoxTree::build(&mesh)), "{}", input.name);
    }
}

/// Soups, slivers, coplanar and zero-area triangles among each other: touching everywhere.
#[test]
fn pairs_of_improper_meshes() {
    let seed = Seed::or(63);
    let inputs: Vec<(String, TriangleMesh, BoxTree)> = improper()
        .into_iter()
        .chain(shapes().into_iter().filter(|i| i.data.triangles.len() <= 600))
        .map(|input| {
            let (mesh, tree) = built(input.data);
            (input.name, mesh, tree)
        })
        .collect();
    let mut random = seed.random(0);
    let mut n_pairs = 0;
    for (name, mesh, tree) in &inputs {
        let surface = Surface::new(mesh.clone(), LatLonOptions::default());
        for round in 0..scaled(3) {
            let (other_name, other, other_tree) = &inputs[random.below(inputs.len())];
            let pose = match round % 3 {
                // On top of each other, or shifted along a plane in which both may lie.
                0 => Pose::IDENTITY,
                1 => Pose { translation: DVec3::X / 64.0, ..Pose::IDENTITY },
                _ => touching_pose(mesh, other, &mut random),
            };
            let about = format!("{name} and {other_name}, {pose:?}");
            let expected = all_pairs(mesh, other, &pose, Distances::AreTooSmall);
            let tool = Rigid { mesh: other, tree: other_tree };
            check(found(&surface, &tool, &pose), &expected, &about);
            let mut pairs = Vec::new();
            let own = Rigid { mesh, tree };
            own.pairs(&tool, &pose, &TimeLeft::endless(), &mut |p| {
                pairs.push(LeafPair { other: p.own, own: p.other })
            });
            check(pairs, &expected, &format!("two trees, {about}"));
            n_pairs += expected.len();
        }
    }
    println!("{n_pairs} pairs");
    assert!(n_pairs > 1_000);
}

/// Grids one kilometre from the origin, in each other's planes, with vertices and edges on one another: rounding of a
/// pose is far coarser there than that of the meshes.
#[test]
fn grids_that_touch_far_from_the_origin() {
    const AWAY: f64 = 1024.0;
    let step = 2f64.powi(-8);
    let (tool, tool_tree) = built(oracle::shapes::sheet(7, 6, step));
    let mut far = oracle::shapes::sheet(9, 9, step);
    far.positions.iter_mut().for_each(|p| *p += Vec3::splat(AWAY as f32));
    let (mesh, tree) = built(far);
    let surface = Surface::new(mesh.clone(), LatLonOptions::default());
    let quarter = std::f64::consts::FRAC_PI_2;
    let mut n_pairs = 0;
    for turns in 0..16 {
        let (x, z) = (f64::from(turns % 4) * quarter, f64::from(turns / 4) * quarter);
        let rotation = DMat3::from_rotation_z(z) * DMat3::from_rotation_x(x);
        let middle = DVec3::new(3.0, 2.0, 0.0) * step;
        let to = DVec3::splat(AWAY) + DVec3::new(4.0, 4.0, 0.0) * step;
        let pose = Pose { rotation, translation: to - rotation * middle };
        let about = format!("{turns} quarter turns");
        let expected = all_pairs(&mesh, &tool, &pose, Distances::AreTooSmall);
        let rigid = Rigid { mesh: &tool, tree: &tool_tree };
        check(found(&surface, &rigid, &pose), &expected, &about);
        let mut pairs = Vec::new();
        let own = Rigid { mesh: &mesh, tree: &tree };
        own.pairs(&rigid, &pose, &TimeLeft::endless(), &mut |p| {
            pairs.push(LeafPair { other: p.own, own: p.other })
        });
        check(pairs, &expected, &format!("two trees, {about}"));
        n_pairs += expected.len();
    }
    assert!(n_pairs > 1_000, "{n_pairs}");
}

/// A corner of a cube comes down on a sheet eight kilometres away: onto it, or one rounding above or below it.
#[test]
fn a_corner_that_touches_far_from_the_origin() {
    const AWAY: f64 = 8192.0;
    let mut random = Seed::or(67).random(0);
    let (tool, tree) = built(oracle::shapes::cuboid(DVec3::splat(0.002)));
    let mut far = oracle::shapes::sheet(9, 9, 2f64.powi(-9));
    far.positions.iter_mut().for_each(|p| *p += Vec3::splat(AWAY as f32));
    let surface = Surface::new(TriangleMesh::new(far), LatLonOptions::default());
    let mut n_touching = 0;
    for i in 0..scaled(300) {
        let turn = Pose::new(random.rotation(), DVec3::ZERO).expect("a rotation");
        let lowest = tool.positions().iter().map(|p| turn.point(p.as_dvec3()));
        let lowest = lowest.min_by(|p, q| p.z.total_cmp(&q.z)).expect("a corner");
        let within = random.point(DVec3::splat(0.004), DVec3::splat(0.012));
        let height = [AWAY.next_down(), AWAY, AWAY.next_up()][i % 3];
        let pose =
            Pose { translation: (DVec3::splat(AWAY) + within).with_z(height) - lowest, ..turn };
        let expected = all_pairs(surface.mesh(), &tool, &pose, Distances::AreTooSmall);
        let rigid = Rigid { mesh: &tool, tree: &tree };
        check(found(&surface, &rigid, &pose), &expected, &format!("{pose:?}"));
        n_touching += usize::from(!expected.is_empty());
    }
    assert!((scaled(300) / 4..scaled(300)).contains(&n_touching), "{n_touching}");
}
