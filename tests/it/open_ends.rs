//! Instruments and tissues with open ends, at which inside turns to outside without a triangle between.

use glam::{DQuat, DVec3, Vec3};
use palpate::{
    geometry::{MeshData, Pose, TriangleId, TriangleMesh},
    oracle::{
        brute_force::nearest, shapes, solid_angle::winding_number, triangle::triangle_distance,
    },
    scene::{Distance, tick::TickOptions},
};

use crate::{
    seed::{Seed, scaled},
    support::bench::Bench,
};

const MARGIN_M: f64 = 1e-3;
/// Largest error of a sum of far clusters' winding numbers.
const WINDING_ERROR: f64 = 0.1;
/// Middle of the sheet.
const MIDDLE: DVec3 = DVec3::new(0.02, 0.02, 0.0);
/// Rounding of poses and coordinates, metres.
const ROUNDING_M: f64 = 1e-9;

fn options() -> TickOptions {
    TickOptions {
        contact_margin_m: MARGIN_M,
        max_contacts: 10_000,
        probes: false,
        sweep: false,
        ..TickOptions::default()
    }
}

/// Moves the pose by a small step or, one time in six, a leap.
fn wander(pose: &Pose, random: &mut palpate::oracle::Random) -> Pose {
    let far = random.below(6) == 0;
    let (turn, reach) = if far { (1.0, 0.01) } else { (0.02, 2e-4) };
    let turned = DQuat::from_axis_angle(random.unit_vector(), turn * random.f64())
        * DQuat::from_mat3(&pose.rotation);
    // Drifts back to the middle over time.
    let at = MIDDLE.lerp(pose.translation, 0.98) + random.unit_vector() * reach * random.f64();
    Pose::new(turned.normalize(), at).expect("unit")
}

/// A tube open at both ends wanders through a sheet: every triangle that crosses it or is within the margin has a
/// contact, and that of a crossing triangle touches.
#[test]
fn what_meets_an_open_tube_is_in_contact() {
    let seed = Seed::or(601);
    let mut random = seed.random(0);
    let tube = shapes::tube(3e-3, 0.012, 10, 2);
    let sides: Vec<[DVec3; 3]> =
        tube.triangles.iter().map(|t| t.map(|v| tube.positions[v as usize].as_dvec3())).collect();
    let mut bench = Bench::new(shapes::sheet(8, 8, 5e-3), tube, options());
    let mut pose = Pose::new(DQuat::IDENTITY, MIDDLE).expect("unit");
    let (mut crossing, mut near) = (0, 0);
    for tick in 0..scaled(150) {
        pose = wander(&pose, &mut random);
        let (answer, _) = bench.tick(pose);
        let tool_from_scene = pose.inverse();
        for (t, vertices) in (0..).map(TriangleId).zip(&bench.tissue_mesh.triangles) {
            let triangle = vertices
                .map(|v| tool_from_scene.point(bench.tissue_mesh.positions[v as usize].as_dvec3()));
            let distances = sides.iter().map(|side| triangle_distance(&triangle, side));
            let truth = distances.fold(f64::INFINITY, f64::min);
            if truth > MARGIN_M - ROUNDING_M {
                continue;
            }
            let found = answer.contacts.iter().find(|c| c.on_tissue.triangle == t);
            let distance = found.map_or(f64::NAN, |c| c.signed_distance_m);
            assert!(distance <= truth + ROUNDING_M, "tick {tick}: {distance}, {truth} away: {t:?}");
            crossing += usize::from(truth == 0.0);
            near += usize::from(truth > 0.0);
        }
    }
    assert!(crossing > scaled(150) && near > scaled(150) / 2, "{crossing} crossing, {near} near");
}

/// Triangles in and around the mouth of a tube are as deep as brute force says, to twice the tolerance, or the answer
/// gives an upper bound of the depth; this includes a triangle without a contact.
#[test]
fn depth_at_the_mouth_of_a_tube_is_as_told_or_flagged() {
    const STEPS: usize = 20;
    let seed = Seed::or(604);
    let mut random = seed.random(0);
    let tube = shapes::tube(5e-3, 0.03, 14, 3);
    let mesh = TriangleMesh::new(tube.clone());
    let (mut inside, mut flagged, mut loosest) = (0, 0, 0.0f64);
    let positions = vec![Vec3::ZERO, Vec3::X, Vec3::Y];
    let tissue = MeshData { positions, triangles: vec![[0, 1, 2]] };
    let mut bench = Bench::new(tissue, tube, options());
    bench.pose.teleport = true;
    for _ in 0..scaled(40) {
        let size = 10f64.powf(random.range(-3.3, -1.7));
        bench.move_all([(); 3].map(|()| (random.unit_vector() * size).as_vec3()).to_vec());
        for _ in 0..6 {
            let in_mouth =
                DVec3::new(0.0, 0.0, 0.015) + random.point(DVec3::splat(-4e-3), DVec3::splat(4e-3));
            let turn = Pose::new(random.rotation(), DVec3::ZERO).expect("unit");
            let pose = Pose { translation: -turn.point(in_mouth), ..turn };
            let (answer, _) = bench.tick(pose);
            let tool_from_scene = pose.inverse();
            let corner = |v: usize| bench.tissue_mesh.positions[v].as_dvec3();
            let [a, b, c] = [0, 1, 2].map(|v| tool_from_scene.point(corner(v)));
            let mut deepest = 0.0f64;
            for (i, j) in (0..=STEPS).flat_map(|i| (0..=STEPS - i).map(move |j| (i, j))) {
                let [u, v] = [i, j].map(|n| n as f64 / STEPS as f64);
                let p = a * (1.0 - u - v) + b * u + c * v;
                if winding_number(&mesh, p) > 0.5 {
                    deepest = deepest.max(nearest(&mesh, p).expect("a tube").distance);
                }
            }
            let told = answer.contacts.iter().map(|c| -c.signed_distance_m).fold(0.0, f64::max);
            let tolerance = bench.tool.links[0].field.tolerance();
            let most = answer.depth_max_m.unwrap_or(told + 2.0 * tolerance) + ROUNDING_M;
            assert!(deepest <= most, "{told}, at most {most}, in truth {deepest} at {pose:?}");
            if deepest > 0.0 {
                inside += 1;
                flagged += usize::from(answer.depth_max_m.is_some());
                loosest = loosest.max(deepest - told);
            }
        }
    }
    println!("{inside} inside, {flagged} flagged, {loosest} m less deep at most");
    assert!(inside > scaled(40) && flagged < inside, "{inside} inside, {flagged} flagged");
}

/// A bead enters a ball through a hole wider than the bead and touches nothing: it is as deep as its deepest vertex, by
/// brute force.
#[test]
fn what_came_in_through_a_hole_is_inside() {
    let seed = Seed::or(602);
    let mut random = seed.random(0);
    let ball = open_ball();
    let mesh = TriangleMesh::new(ball.clone());
    let mut bench = Bench::new(ball, shapes::capsule(2e-3, 4e-3, 8), options());
    let (mut inside, mut outside, mut tip) = (0, 0, DVec3::Z * 0.03);
    for tick in 0..scaled(600) {
        let leap = if random.below(8) == 0 { 8e-3 } else { 5e-4 };
        tip = (tip * 0.97 + DVec3::Z * 0.03 * 0.03) + random.unit_vector() * leap * random.f64();
        let pose = Pose::new(random.rotation(), tip).expect("unit");
        let (answer, _) = bench.tick(pose);
        let vertices = bench.link_mesh.positions.iter().map(|p| pose.point(p.as_dvec3()));
        let depth = |p: DVec3| {
            let w = winding_number(&mesh, p);
            // Nearer to one half, the engine may decide either way.
            (w > 0.5 + WINDING_ERROR).then(|| nearest(&mesh, p).expect("a ball").distance)
        };
        let deepest = vertices.filter_map(depth).fold(0.0, f64::max);
        let Distance::Within(found) = &answer.distance else { panic!("{:?}", answer.distance) };
        let got = found.signed_distance_m;
        let is_as_deep = deepest == 0.0 || got <= -deepest + ROUNDING_M;
        assert!(is_as_deep, "tick {tick}: {got}, a vertex is {deepest} deep");
        let surely = deepest > 0.0 && answer.contacts.iter().all(|c| c.wholly_inside);
        inside += usize::from(surely);
        outside += usize::from(deepest == 0.0);
    }
    assert!(inside > scaled(600) / 10 && outside > scaled(200) / 10, "{inside} in, {outside} out");
}

/// A lid of a thousand triangles lies in the mouth of a ball, with a spike below it, on either side. The sign in the
/// mouth is a guess, the mouth holds more boxes than have their sign computed, and the signs that are computed say
/// nothing about the spike.
#[test]
fn a_spike_below_a_lid_is_inside() {
    let ball = open_ball();
    let mesh = TriangleMesh::new(ball.clone());
    for side in [1.0, -1.0] {
        let mut link = shapes::sheet(28, 24, 5e-4);
        link.positions
            .iter_mut()
            .for_each(|p| *p = Vec3::new(side * (p.x - 0.012), p.y - 0.006, p.z));
        let first = link.positions.len() as u32;
        let spike = shapes::sphere(1e-3, 1);
        let below = Vec3::new(side * 0.003, 0.0, -0.011);
        link.positions.extend(spike.positions.iter().map(|p| *p + below));
        link.triangles.extend(spike.triangles.iter().map(|t| t.map(|v| v + first)));
        let mut bench = Bench::new(ball.clone(), link, options());
        let pose = Pose::new(DQuat::IDENTITY, DVec3::Z * 0.0263).expect("unit");
        let (answer, _) = bench.tick(pose);
        let spike = bench.link_mesh.positions[first as usize..].iter();
        let depth = |p: DVec3| nearest(&mesh, pose.point(p)).expect("a ball").distance;
        let deepest = spike.map(|p| depth(p.as_dvec3())).fold(0.0, f64::max);
        let Distance::Within(found) = &answer.distance else { panic!("{:?}", answer.distance) };
        let got = found.signed_distance_m;
        assert!((got + deepest).abs() < ROUNDING_M, "{got}, the spike is {deepest} deep");
    }
}

/// A ball of 30 mm radius, open at the top.
fn open_ball() -> MeshData {
    let mut ball = shapes::sphere(0.03, 10);
    let height = |t: &[u32; 3]| t.map(|v| ball.positions[v as usize].z).into_iter().sum::<f32>();
    ball.triangles = ball.triangles.iter().filter(|t| height(t) < 3.0 * 0.026).copied().collect();
    used(ball)
}

/// Removes vertices that no triangle uses.
fn used(mesh: MeshData) -> MeshData {
    let mut places = vec![u32::MAX; mesh.positions.len()];
    let mut out = MeshData::default();
    for t in &mesh.triangles {
        let vertices = t.map(|v| {
            let place = &mut places[v as usize];
            if *place == u32::MAX {
                *place = out.positions.len() as u32;
                out.positions.push(mesh.positions[v as usize]);
            }
            *place
        });
        out.triangles.push(vertices);
    }
    out
}
