//! Where geometry says where the proxy has to be: a groove, a bowl, a peg in a slot.

use glam::DVec3;
use palpate::{
    geometry::MeshData,
    oracle::shapes,
    proxy::{RenderOptions, RenderState},
};

use super::stage::{ProxyStage, STAND_OFF, slab, to, turned};

const RADIUS: f64 = 0.005;

fn placed(mut data: MeshData, pose: palpate::geometry::Pose) -> MeshData {
    data.positions.iter_mut().for_each(|p| *p = pose.point(p.as_dvec3()).as_vec3());
    data
}

/// Two planes at right angles, z = |x|: the ball's middle is the root of two radii above their line.
#[test]
fn a_ball_in_a_groove_lies_on_both_planes() {
    let half_turn = 0.25 * std::f64::consts::PI;
    let plane = |side: f64| {
        let shift = DVec3::new(0.02 * side, 0.0, 0.02);
        placed(slab(9, 0.0061, 0.01), turned(DVec3::Y, -half_turn * side, shift))
    };
    let stiff = |o| RenderOptions { rotational_stiffness_nm_per_rad: 100.0, ..o };
    let mut stage =
        ProxyStage::new(&[plane(1.0), plane(-1.0)], &[shapes::sphere(RADIUS, 20)], stiff);
    let bottom = (RADIUS + STAND_OFF) * 2f64.sqrt();
    stage.tick(to(0.0, 0.0, bottom + 0.002));
    let (mut worst, mut worst_angle) = (0.0f64, 0.0f64);
    for i in 0..400 {
        let s = f64::from(i) * 1e-5;
        // Down by 3 mm, then along the groove and to and fro in it.
        let depth = (3.0 * s).min(0.003);
        let device = DVec3::new(1e-3 * (300.0 * s).sin(), s, bottom - depth);
        let got = stage.tick(to(device.x, device.y, device.z));
        let expected = 500.0 * (DVec3::new(0.0, device.y, bottom) - device);
        if depth > 0.001 {
            let off = (got.force_n - expected).length() / expected.length();
            worst = worst.max(off);
            worst_angle = worst_angle.max(got.force_n.angle_between(expected));
        }
        assert!(i % 50 != 0 || !stage.crosses(&got));
    }
    let degrees = worst_angle.to_degrees();
    println!("groove: force within {:.3} %, {degrees:.3} degrees", 100.0 * worst);
    assert!(worst < 0.01 && degrees < 2.0, "{worst}, {degrees} degrees");
}

/// A ball in a bowl: drawn 8 mm past its wall, it is where a line from the bowl's middle to the device meets the wall.
#[test]
fn a_ball_in_a_bowl_follows_the_device_around() {
    let bowl = 0.03;
    let mut wall = shapes::sphere(bowl, 30);
    let low = |t: &[u32; 3]| t.iter().all(|v| wall.positions[*v as usize].z < 0.01);
    wall.triangles = wall.triangles.iter().filter(|t| low(t)).copied().collect();
    let stiff = |o| RenderOptions { rotational_stiffness_nm_per_rad: 100.0, ..o };
    let mut stage = ProxyStage::new(&[wall], &[shapes::sphere(RADIUS, 16)], stiff);
    stage.tick(to(0.0, 0.0, 0.004));
    let (mut worst, mut worst_angle, mut n_embedded) = (0.0f64, 0.0f64, 0);
    for i in 0..600 {
        let s = f64::from(i) / 600.0;
        let polar = 0.3 + 0.9 * (3.0 * s).sin().abs();
        let (around, far) = (12.0 * s, (0.4 * f64::from(i) * 1e-3).min(0.028) + 0.004);
        let (sin, cos) = polar.sin_cos();
        let out = DVec3::new(sin * around.cos(), sin * around.sin(), -cos);
        let device = out * far;
        let got = stage.tick(to(device.x, device.y, device.z));
        n_embedded += usize::from(got.state == RenderState::Embedded);
        let reach = bowl - RADIUS - STAND_OFF;
        if far > reach + 0.005 {
            let expected = 500.0 * (far - reach);
            worst = worst.max((got.force_n.length() - expected).abs() / expected);
            worst_angle = worst_angle.max(got.force_n.angle_between(-out));
        }
        assert!(i % 100 != 0 || !stage.crosses(&got));
    }
    let degrees = worst_angle.to_degrees();
    println!("bowl: force within {:.3} %, {degrees:.3} degrees", 100.0 * worst);
    assert_eq!(n_embedded, 0);
    assert!(worst < 0.01 && degrees < 2.0, "{worst}, {degrees} degrees");
}

/// A bar in a slot of width W and height H tilts until w + 2 stand-offs = W cos - H sin; the rest of the device's turn
/// is torque.
#[test]
fn a_bar_turned_in_a_slot_is_held_by_both_rims() {
    let (slot, bar, height) = (0.006, 0.0056, 0.02);
    let wall = |side: f32| {
        let mut wall =
            shapes::subdivide(&shapes::subdivide(&shapes::cuboid(DVec3::new(0.03, 0.05, height))));
        wall.positions.iter_mut().for_each(|p| p.x += side * (0.015 + 0.5 * slot as f32));
        wall
    };
    let tool = shapes::subdivide(&shapes::cuboid(DVec3::new(bar, bar, 0.05)));
    let mut stage = ProxyStage::new(&[wall(1.0), wall(-1.0)], &[tool], |o| o);
    let got = stage.tick(to(0.0, 0.0, 0.0));
    assert_eq!(got.state, RenderState::Free);
    // By bisection: the left side falls below the right one as the tilt grows.
    let misses = |a: f64| slot * a.cos() - height * a.sin() - bar - 2.0 * STAND_OFF;
    let (mut low, mut high) = (0.0, 0.1);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if misses(middle) > 0.0 { low = middle } else { high = middle }
    }
    let (mut worst, mut worst_angle) = (0.0f64, 0.0f64);
    for i in 1..=100 {
        let tilt = 2e-3 * f64::from(i);
        let got = stage.tick(turned(DVec3::Y, tilt, DVec3::ZERO));
        let expected = (tilt - low).max(0.0);
        if expected > 0.02 {
            worst = worst.max((got.torque_nm.length() - expected).abs() / expected);
            worst_angle = worst_angle.max(got.torque_nm.angle_between(DVec3::NEG_Y));
            assert!(got.force_n.length() < 0.01 * expected / (0.5 * height), "{}", got.force_n);
        }
        assert!(i % 20 != 0 || !stage.crosses(&got));
    }
    let degrees = worst_angle.to_degrees();
    println!("slot: torque within {:.3} %, {degrees:.3} degrees", 100.0 * worst);
    assert!(worst < 0.01 && degrees < 2.0, "{worst}, {degrees} degrees");
}

/// A jaw, 8 by 6 mm and 2 mm thick, its gripping face towards the middle at x = 0.
fn jaw(side: f64) -> MeshData {
    let mut jaw = shapes::subdivide(&shapes::cuboid(DVec3::new(0.002, 0.006, 0.008)));
    jaw.positions.iter_mut().for_each(|p| p.x += (side * 0.001) as f32);
    jaw
}

/// Jaws that close on a fold stop at it; each is behind its command by the force over the stiffness.
#[test]
fn a_grasper_closes_on_a_fold() {
    let fold = shapes::subdivide(&shapes::cuboid(DVec3::new(0.004, 0.01, 0.02)));
    let mut stage = ProxyStage::new(&[fold], &[jaw(1.0), jaw(-1.0)], |o| o);
    let mut worst = 0.0f64;
    let (mut begun, mut ended) = (0, 0);
    let apart = |i: i32| match i {
        0..=200 => 0.004 - 2e-5 * f64::from(i),
        _ => 4e-5 * f64::from(i - 200),
    };
    for i in 0..=320 {
        let open = apart(i);
        stage.pose.tool_from_link = vec![to(open, 0.0, 0.0), to(-open, 0.0, 0.0)];
        let got = stage.tick(to(0.0, 0.0, 0.0));
        begun += got.grasps.iter().filter(|g| g.begins).count();
        ended += got.grasps.iter().filter(|g| !g.begins).count();
        let lag = 0.002 + STAND_OFF - open;
        let force = |link: usize| -> DVec3 {
            got.contacts.iter().filter(|c| c.link == link).map(|c| c.force_n).sum()
        };
        if lag > 2e-4 {
            for link in [0, 1] {
                worst = worst.max((got.link_lag_m[link] - lag).abs() / lag);
                worst = worst.max((force(link).length() - 500.0 * lag).abs() / (500.0 * lag));
            }
            assert!((force(0) + force(1)).length() < 1e-3, "{} and {}", force(0), force(1));
            assert!(force(0).x > 0.0 && got.force_n.length() < 1e-3, "{got:?}");
            assert_eq!((begun, ended), (1, 0));
        }
        if lag < -2e-4 {
            assert!(got.link_lag_m.iter().all(|l| *l < 1e-9), "{i}: {:?}", got.link_lag_m);
            assert_eq!(begun, ended);
        }
        assert!(i % 40 != 0 || !stage.crosses(&got));
    }
    println!("grasper: lag and force within {:.3} %", 100.0 * worst);
    assert!(worst < 0.02 && (begun, ended) == (1, 1), "{worst}, {begun} begun, {ended} ended");
}
