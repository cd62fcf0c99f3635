//! A small tool against triangles much larger than itself: contacts lie in the triangles' middle, at the true depth,
//! and without a jump between subspaces of the tool's field.

use glam::{DMat3, DQuat, DVec3, Vec3};
use palpate::{
    geometry::{MeshData, Pose, TriangleId, tolerance::FIELD_TOLERANCE_SHARE_MIN},
    oracle::{Random, shapes, triangle::triangle_distance},
    scene::{Contact, tick::TickOptions, tissue::deform::Deformation, tool::field::field_of},
    sdf::FieldOptions,
    surface::Surface,
};

use crate::{
    seed::{Seed, scaled},
    support::bench::Bench,
};

const MARGIN_M: f64 = 1e-3;
/// Rounding of poses and coordinates, metres.
const ROUNDING_M: f64 = 1e-9;

/// A bench that reports all contacts within the margin and teleports from pose to pose.
fn bench(tissue: MeshData, link: MeshData) -> Bench {
    let options = TickOptions {
        contact_margin_m: MARGIN_M,
        max_contacts: 10_000,
        probes: false,
        ..TickOptions::default()
    };
    let mut bench = Bench::new(tissue, link, options);
    bench.pose.teleport = true;
    bench
}

fn tolerance_m(bench: &Bench) -> f64 {
    bench.tool.links[0].field.tolerance()
}

/// A double pyramid over a square: long, slim, convex, its faces known exactly.
fn spike(half_width: f32, half_length: f32) -> MeshData {
    let (w, l) = (half_width, half_length);
    let corners = [
        [w, 0.0, 0.0],
        [0.0, w, 0.0],
        [-w, 0.0, 0.0],
        [0.0, -w, 0.0],
        [0.0, 0.0, l],
        [0.0, 0.0, -l],
    ];
    let sides = (0..4).flat_map(|i| [[i, (i + 1) % 4, 4], [(i + 1) % 4, i, 5]]);
    MeshData { positions: corners.map(Vec3::from).to_vec(), triangles: sides.collect() }
}

/// Half-spaces n.x <= d of a convex mesh's faces, n unit.
fn faces(mesh: &MeshData) -> Vec<(DVec3, f64)> {
    let face = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| mesh.positions[v as usize].as_dvec3());
        let n = (b - a).cross(c - a).normalize();
        (n, n.dot(a))
    };
    mesh.triangles.iter().map(face).collect()
}

/// The greatest depth of a triangle's points in a convex body, metres, negative if the triangle stays outside. Solves
/// the linear program max h, h <= d - n.x for each face, over the triangle, by trying all its corners.
fn greatest_depth(faces: &[(DVec3, f64)], triangle: &[DVec3; 3]) -> f64 {
    let [a, b, c] = *triangle;
    // Metres along two axes of the triangle's plane, from its point nearest to the body's middle: barycentric weights
    // of a kilometre-long triangle would be lost in rounding.
    let across = (b - a).cross(c - a).normalize();
    let along = (b - a).normalize();
    let (origin, aside) = (across * across.dot(a), across.cross(along));
    // Rows (x, y, h) . row <= bound.
    let of_face =
        |&(n, d): &(DVec3, f64)| (DVec3::new(n.dot(along), n.dot(aside), 1.0), d - n.dot(origin));
    let of_edge = |(p, q): (DVec3, DVec3)| {
        let out = (q - p).normalize().cross(across);
        (DVec3::new(out.dot(along), out.dot(aside), 0.0), out.dot(p - origin))
    };
    let mut rows: Vec<(DVec3, f64)> = faces.iter().map(of_face).collect();
    rows.extend([(a, b), (b, c), (c, a)].map(of_edge));
    let mut greatest = f64::NEG_INFINITY;
    for i in 0..rows.len() {
        for j in 0..i {
            for k in 0..j {
                let m = DMat3::from_cols(rows[i].0, rows[j].0, rows[k].0).transpose();
                let size = rows[i].0.length() * rows[j].0.length() * rows[k].0.length();
                if m.determinant().abs() < 1e-12 * size {
                    continue;
                }
                let corner = m.inverse() * DVec3::new(rows[i].1, rows[j].1, rows[k].1);
                let slack = 1e-11;
                if rows.iter().all(|(row, bound)| row.dot(corner) <= bound + slack) {
                    greatest = greatest.max(corner.z);
                }
            }
        }
    }
    greatest
}

/// Every triangle that the spike enters has a contact at the depth of the linear program; no triangle clear of the
/// spike has one.
#[test]
fn a_small_probe_in_large_triangles_is_found_at_its_depth() {
    let seed = Seed::or(501);
    let mut random = seed.random(0);
    let tip = spike(5e-4, 2e-3);
    let faces = faces(&tip);
    let mut bench = bench(shapes::sheet(6, 6, 0.01), tip);
    let (mut touched, mut clear) = (0, 0);
    for i in 0..scaled(10_000) {
        let pose = over_the_sheet(&bench.tissue_mesh, &mut random);
        let (answer, _) = bench.tick(pose);
        let tool_from_scene = pose.inverse();
        for (t, vertices) in (0..).map(TriangleId).zip(&bench.tissue_mesh.triangles) {
            let triangle = vertices
                .map(|v| tool_from_scene.point(bench.tissue_mesh.positions[v as usize].as_dvec3()));
            let depth = greatest_depth(&faces, &triangle);
            let contact = answer.contacts.iter().find(|c| c.on_tissue.triangle == t);
            if depth > 0.0 {
                let found = -contact.map_or(f64::NAN, |c| c.signed_distance_m);
                let off = (found - depth).abs();
                assert!(
                    off <= tolerance_m(&bench),
                    "pose {i}: {found}, in truth {depth}, {pose:?}"
                );
                touched += 1;
            } else if -depth > MARGIN_M + tolerance_m(&bench) {
                assert!(contact.is_none(), "pose {i}: {contact:?}, in truth {depth}, {pose:?}");
                clear += 1;
            }
        }
    }
    assert!(touched > scaled(10_000) / 2 && clear > touched, "{touched} touched, {clear} clear");
}

/// Ticks in sequence, so that one tick's depth bounds serve the next: while the spike wanders and the tissue ripples,
/// every triangle that it enters or comes near has a contact, at the depth of the linear program or the distance of
/// brute force, to twice the tolerance.
#[test]
fn a_wandering_probe_is_found_at_its_depth() {
    let seed = Seed::or(504);
    let mut random = seed.random(0);
    let tip = spike(1e-3, 4e-3);
    let faces = faces(&tip);
    let sides: Vec<[DVec3; 3]> =
        tip.triangles.iter().map(|t| t.map(|v| tip.positions[v as usize].as_dvec3())).collect();
    let mut bench = bench(shapes::sheet(6, 6, 0.01), tip);
    bench.pose.teleport = false;
    let rest = bench.tissue_mesh.positions.clone();
    let (mut off_most, mut touched, mut beside) = (0.0f64, 0, 0);
    for _ in 0..scaled(14) {
        let mut pose = over_the_sheet(&bench.tissue_mesh, &mut random);
        let step_m = 10f64.powf(random.range(-5.0, -3.9));
        let (displacement, axis) = (random.unit_vector() * step_m, random.unit_vector());
        for i in 0..100 {
            let turn = DMat3::from_axis_angle(axis, random.range(0.0, 0.02));
            pose = Pose {
                rotation: turn * pose.rotation,
                translation: pose.translation + displacement,
            };
            if i % 16 == 15 {
                let height = |p: &Vec3| 5e-4 * (p.x * 300.0 + i as f32 * 0.1).sin();
                let positions: Vec<Vec3> = rest.iter().map(|p| *p + Vec3::Z * height(p)).collect();
                bench.tissue_mesh.positions.clone_from(&positions);
                bench.tissue.deform(Deformation::Dense(positions), 0).expect("all are there");
            }
            let (answer, _) = bench.tick(pose);
            let tool_from_scene = pose.inverse();
            for (t, vertices) in (0..).map(TriangleId).zip(&bench.tissue_mesh.triangles) {
                let corner = |v: u32| bench.tissue_mesh.positions[v as usize].as_dvec3();
                let triangle = vertices.map(|v| tool_from_scene.point(corner(v)));
                let mut depth = greatest_depth(&faces, &triangle);
                if depth <= 0.0 {
                    let apart = |side: &[DVec3; 3]| triangle_distance(&triangle, side);
                    depth = -sides.iter().map(apart).fold(f64::INFINITY, f64::min);
                    beside += usize::from(depth > -MARGIN_M);
                }
                if depth > -MARGIN_M + ROUNDING_M {
                    let of_t = |c: &&Contact| c.on_tissue.triangle == t && !c.left_behind;
                    let found = answer.contacts.iter().find(of_t);
                    let found = -found.map_or(f64::NAN, |c| c.signed_distance_m);
                    let off = (found - depth).abs();
                    assert!(
                        off <= 2.0 * tolerance_m(&bench),
                        "{found}, in truth {depth}, {pose:?}"
                    );
                    off_most = off_most.max(off);
                    touched += 1;
                }
            }
        }
    }
    assert!(touched - beside > scaled(14) * 20, "{touched} touched, {beside} beside");
    assert!(beside > scaled(14) * 20, "{beside} beside");
    println!(
        "{touched} touched, {beside} beside, {:.2} tolerances off at most",
        off_most / tolerance_m(&bench)
    );
}

/// Random orientation, with the tool's middle within its own length of a point inside one triangle.
fn over_the_sheet(sheet: &MeshData, random: &mut Random) -> Pose {
    let corners = |t: &[u32; 3]| t.map(|v| sheet.positions[v as usize].as_dvec3());
    let [a, b, c] = corners(&sheet.triangles[random.below(sheet.triangles.len())]);
    let (u, v) = (random.range(0.2, 0.4), random.range(0.2, 0.4));
    let middle = a + (b - a) * u + (c - a) * v + DVec3::Z * random.range(-2e-3, 2e-3);
    let turn = DQuat::from_axis_angle(random.unit_vector(), random.range(0.0, 3.0));
    Pose::new(turn, middle).expect("a rotation")
}

/// Triangles of a metre and more, some as slim as a hair, at the finest tolerance: each is as deep as the linear
/// program says, to twice the tolerance, or the answer bounds how much deeper it may be.
#[test]
fn long_triangles_are_as_deep_as_told_or_flagged() {
    let seed = Seed::or(505);
    let mut random = seed.random(0);
    let (mut touched, mut flagged) = (0, 0);
    let field = |s: &Surface| {
        let tolerance_m = Some(FIELD_TOLERANCE_SHARE_MIN * s.bounds().diagonal());
        field_of(s, &FieldOptions { tolerance_m, ..FieldOptions::default() })
    };
    let options = TickOptions { contact_margin_m: 1e-4, probes: false, ..TickOptions::default() };
    let tips = [spike(5e-4, 2e-3), shapes::cuboid(DVec3::new(4e-3, 2e-3, 1e-2))];
    let mut tips = tips.map(|tip| {
        let positions = vec![Vec3::ZERO, Vec3::X, Vec3::Y];
        let tissue = MeshData { positions, triangles: vec![[0, 1, 2]] };
        let mut bench = Bench::with_field(tissue, tip.clone(), options.clone(), field);
        bench.pose.teleport = true;
        (faces(&tip), bench)
    });
    for i in 0..scaled(60) {
        let length = 10f64.powf(random.range(-1.0, 3.0)) as f32;
        let width = if i % 2 == 0 { length } else { 10f64.powf(random.range(-3.0, -1.0)) as f32 };
        let left = random.range(0.2, 0.8) as f32;
        let (faces, bench) = &mut tips[i / 2 % 2];
        bench.move_all(vec![
            Vec3::new(-length * left, -0.3 * width, 0.0),
            Vec3::new(length * (1.0 - left), -0.3 * width, 0.0),
            Vec3::new(length * (0.5 - left), 0.7 * width, 0.0),
        ]);
        for _ in 0..10 {
            let is_flat = random.below(2) == 0;
            let turn = if is_flat { 1e-4 * random.f64() } else { 3.0 * random.f64() };
            let turn = DQuat::from_axis_angle(random.unit_vector(), turn);
            let at = random.point(DVec3::splat(-1e-3), DVec3::splat(1e-3));
            let pose = Pose::new(turn, at).expect("unit");
            let (answer, _) = bench.tick(pose);
            let tool_from_scene = pose.inverse();
            let corners = [0, 1, 2].map(|v| bench.tissue_mesh.positions[v].as_dvec3());
            let depth = greatest_depth(faces, &corners.map(|p| tool_from_scene.point(p)));
            if depth <= 0.0 {
                continue;
            }
            touched += 1;
            flagged += usize::from(answer.depth_max_m.is_some());
            let contact = answer.contacts.first().expect("it is inside");
            assert_eq!(answer.depth_max_m, contact.depth_max_m);
            let told = -contact.signed_distance_m;
            let loose = || told + 2.0 * tolerance_m(bench);
            let most = answer.depth_max_m.unwrap_or_else(loose) + ROUNDING_M;
            let what = format!("{told}, at most {most}, in truth {depth}, {length} by {width} m");
            assert!(told <= depth + ROUNDING_M && depth <= most, "{what} at {pose:?}");
        }
    }
    assert!(touched > scaled(200), "{touched} touched");
    assert!(flagged > 0 && flagged < touched / 2, "{flagged} of {touched} flagged");
}

/// On either side of a subspace's border, the depths of a contact differ by no more than the distance between the
/// poses, and the normals by no more than those of two adjacent faces of the tool.
#[test]
fn depth_and_normal_pass_the_borders_of_subspaces_without_a_jump() {
    const STEP_M: f64 = 1e-7;
    let seed = Seed::or(502);
    let mut random = seed.random(0);
    let speck = MeshData {
        positions: vec![Vec3::ZERO, Vec3::X * 1e-6, Vec3::Y * 1e-6],
        triangles: vec![[0, 1, 2]],
    };
    let ring = shapes::torus(0.012, 0.004, 48, 24);
    let turn_max = sharpest(&ring, 2);
    let mut bench = bench(speck, ring);
    let tolerance = tolerance_m(&bench);
    let subspaces: Vec<_> = bench.tool.links[0].field.subspaces().collect();
    let (mut n_normals, mut met_both) = (0, 0);
    for i in 0..scaled(6_000) {
        let (min, max) = subspaces[random.below(subspaces.len())];
        let mut p = random.point(min, max);
        let axis = random.below(3);
        p[axis] = max[axis];
        let mut beside = |side: f64| {
            let at = p + DVec3::AXES[axis] * side * STEP_M;
            let (answer, _) = bench.tick(Pose { translation: -at, ..Pose::IDENTITY });
            answer.contacts.first().copied()
        };
        let ends = [beside(-1.0), beside(1.0)];
        let [Some(a), Some(b)] = ends else {
            // Only at the very edge of the margin may one pose have a contact and the other none.
            let near =
                ends.iter().flatten().all(|c| c.signed_distance_m > MARGIN_M - 2.0 * tolerance);
            assert!(near, "border {i}: {ends:?} at {p:?}");
            continue;
        };
        met_both += 1;
        let jump = (a.signed_distance_m - b.signed_distance_m).abs();
        // The speck is ten steps wide, and any of its points may be the deepest.
        assert!(jump <= 2.0 * STEP_M + 2e-6, "border {i}: depth jumps by {jump} at {p:?}");
        if a.signed_distance_m > -1e-3 {
            let turn = a.normal.angle_between(b.normal);
            assert!(turn <= turn_max + 1e-3, "border {i}: the normal turns by {turn} at {p:?}");
            n_normals += 1;
        }
    }
    assert!(n_normals > scaled(6_000) / 50, "{n_normals} normals, {met_both} depths compared");
}

/// Greatest angle between two faces that share `n_shared` vertices, radians.
fn sharpest(mesh: &MeshData, n_shared: usize) -> f64 {
    let normal = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| mesh.positions[v as usize].as_dvec3());
        (b - a).cross(c - a).normalize()
    };
    let shared =
        |s: &[u32; 3], t: &[u32; 3]| s.iter().filter(|v| t.contains(v)).count() == n_shared;
    let each = mesh.triangles.iter();
    each.clone()
        .flat_map(|s| each.clone().filter(move |t| shared(s, t)).map(move |t| (s, t)))
        .map(|(s, t)| normal(s).angle_between(normal(t)))
        .fold(0.0, f64::max)
}

/// A ball rolls over the middle of a large triangle. The upright direction lies between the normals of the faces about
/// the ball's deepest point, so the contact normal is no farther from upright than two faces about a corner are apart,
/// and turns by no more than twice that from one tick to the next. The depth changes by no more than faces are flatter
/// than the ball.
#[test]
fn normals_turn_smoothly_while_a_ball_rolls() {
    const RADIUS_M: f64 = 3e-3;
    let ball = shapes::sphere(RADIUS_M, 12);
    let facet = sharpest(&ball, 1);
    let mut bench = bench(shapes::sheet(2, 2, 0.04), ball);
    let centre = bench.tissue_mesh.positions.iter().map(|p| p.as_dvec3()).sum::<DVec3>()
        / bench.tissue_mesh.positions.len() as f64;
    let mut before: Option<Contact> = None;
    let n = scaled(2_000);
    for i in 0..n {
        let rolled = 0.01 * i as f64 / n as f64;
        let turn = DQuat::from_axis_angle(DVec3::Y, rolled / RADIUS_M);
        let at = centre + DVec3::new(rolled - 0.002, 0.004, RADIUS_M - 4e-4);
        let (answer, _) = bench.tick(Pose::new(turn, at).expect("a rotation"));
        let deepest = *answer.contacts.first().expect("it is pressed in");
        let lean = deepest.normal.angle_between(DVec3::Z);
        assert!(lean <= facet, "tick {i}: {lean} from upright");
        if let Some(before) = before {
            let turned = deepest.normal.angle_between(before.normal);
            assert!(turned <= 2.0 * facet, "tick {i}: the normal turned by {turned}");
            let sank = (deepest.signed_distance_m - before.signed_distance_m).abs();
            assert!(sank <= RADIUS_M * facet * facet, "tick {i}: {sank} deeper at once");
        }
        before = Some(deepest);
    }
}
