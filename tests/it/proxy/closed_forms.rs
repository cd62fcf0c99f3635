//! Cases in which geometry gives the proxy's position and force: a groove, a bowl, a peg in a hole.

use glam::DVec3;
use palpate::{
    coupling::screw::rotation_vector,
    geometry::{MeshData, Pose},
    oracle::shapes,
    proxy::{RenderOptions, RenderState, Rendering},
};

use super::stage::{ProxyStage, STAND_OFF, STIFF, slab, to, turned};

const RADIUS: f64 = 0.005;
/// Largest errors: as a fraction of the closed form's magnitude, and in direction.
const SHARE_MAX: f64 = 0.01;
const DEGREES_MAX: f64 = 2.0;

/// Largest differences of a proxy, its force and its torque from their closed forms.
#[derive(Default)]
struct Off {
    /// Fraction of the distance from device to proxy.
    place: f64,
    /// Degrees: of the proxy's rotation and of the direction from device to proxy; of the force; and the angle by which
    /// each contact's force would have to turn about the tool's surface to give the torque.
    turn_degrees: f64,
    force_degrees: f64,
    torque_degrees: f64,
    force: f64,
}

impl Off {
    /// Records a ball that is not turned, with its centre at `place`: forces on it pass through there, and give no
    /// torque.
    fn note_ball(&mut self, got: &Rendering, device: DVec3, place: DVec3) {
        let way = place - device;
        let expected = 500.0 * way;
        let at = &got.scene_from_proxy;
        let gone = at.translation - device;
        self.place = self.place.max((gone.length() / way.length() - 1.0).abs());
        let turn = rotation_vector(&at.rotation).length().max(gone.angle_between(way));
        self.turn_degrees = self.turn_degrees.max(turn.to_degrees());
        self.force = self.force.max((got.force_n.length() / expected.length() - 1.0).abs());
        let angle = got.force_n.angle_between(expected);
        self.force_degrees = self.force_degrees.max(angle.to_degrees());
        let pressing: f64 = got.contacts.iter().map(|c| c.force_n.length()).sum();
        let sine = got.torque_nm.length() / (pressing * RADIUS);
        self.torque_degrees = self.torque_degrees.max(sine.min(1.0).asin().to_degrees());
    }

    fn check(&self, name: &str) {
        let Off { place, turn_degrees, force, force_degrees, torque_degrees } = *self;
        println!(
            "{name}: proxy within {:.3} % and {turn_degrees:.4} degrees, force within {:.3} % and {force_degrees:.3} \
             degrees, torque as of forces turned by {torque_degrees:.3} degrees",
            100.0 * place,
            100.0 * force
        );
        assert!(place < SHARE_MAX && force < SHARE_MAX, "{place}, {force}");
        let degrees = turn_degrees.max(force_degrees).max(torque_degrees);
        assert!(degrees < DEGREES_MAX, "{degrees} degrees");
    }
}

fn placed(mut data: MeshData, pose: Pose) -> MeshData {
    data.positions.iter_mut().for_each(|p| *p = pose.point(p.as_dvec3()).as_vec3());
    data
}

/// Two planes at right angles, z = |x|: the ball's centre is the root of two radii above their line.
#[test]
fn a_ball_in_a_groove_lies_on_both_planes() {
    let half_turn = 0.25 * std::f64::consts::PI;
    let plane = |side: f64| {
        let shift = DVec3::new(0.02 * side, 0.0, 0.02);
        placed(slab(9, 0.0061, 0.01), turned(DVec3::Y, -half_turn * side, shift))
    };
    let stiff = |o| RenderOptions { spring: STIFF, ..o };
    let mut stage =
        ProxyStage::new(&[plane(1.0), plane(-1.0)], &[shapes::sphere(RADIUS, 20)], stiff);
    let bottom = (RADIUS + STAND_OFF) * 2f64.sqrt();
    stage.tick(to(0.0, 0.0, bottom + 0.002));
    let mut off = Off::default();
    for i in 0..400 {
        let s = f64::from(i) * 1e-5;
        // Down by 3 mm, then along the groove and back and forth across it.
        let depth = (3.0 * s).min(0.003);
        let device = DVec3::new(1e-3 * (300.0 * s).sin(), s, bottom - depth);
        let got = stage.tick(to(device.x, device.y, device.z));
        if depth > 0.001 {
            off.note_ball(&got, device, DVec3::new(0.0, device.y, bottom));
        }
        assert!(i % 50 != 0 || !stage.crosses(&got));
    }
    off.check("groove");
}

/// A ball in a bowl, pulled 8 mm past its wall: the ball lies at the intersection of the wall with the line from the
/// bowl's centre to the device.
#[test]
fn a_ball_in_a_bowl_follows_the_device_around() {
    let bowl = 0.03;
    let mut wall = shapes::sphere(bowl, 30);
    let low = |t: &[u32; 3]| t.iter().all(|v| wall.positions[*v as usize].z < 0.01);
    wall.triangles = wall.triangles.iter().filter(|t| low(t)).copied().collect();
    let stiff = |o| RenderOptions { spring: STIFF, ..o };
    let mut stage = ProxyStage::new(&[wall], &[shapes::sphere(RADIUS, 24)], stiff);
    stage.tick(to(0.0, 0.0, 0.004));
    let (mut off, mut n_embedded) = (Off::default(), 0);
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
            off.note_ball(&got, device, out * reach);
        }
        assert!(i % 100 != 0 || !stage.crosses(&got));
    }
    assert_eq!(n_embedded, 0);
    off.check("bowl");
}

/// A square peg of width w in a square hole of width W and depth H: turned about a transverse axis, it tilts until w +
/// 2 stand-offs = W cos - H sin; about its own axis, it turns until w (cos + sin) + 2 stand-offs = W. The rest of the
/// device's rotation is torque.
#[test]
fn a_peg_turned_in_a_hole_is_held_by_its_rims() {
    let (hole, peg, depth) = (0.006, 0.0056, 0.02);
    // Four walls around the hole; the peg is not in the regions in which two of them overlap.
    let wall = |along: DVec3| {
        let size = DVec3::new(0.05, 0.05, depth) - 0.02 * along.abs();
        let mut wall = shapes::subdivide(&shapes::subdivide(&shapes::cuboid(size)));
        let place = along * (0.015 + 0.5 * hole);
        wall.positions.iter_mut().for_each(|p| *p += place.as_vec3());
        wall
    };
    let walls = [DVec3::X, DVec3::NEG_X, DVec3::Y, DVec3::NEG_Y].map(wall);
    let tilted = |a: f64| hole * a.cos() - depth * a.sin() - peg - 2.0 * STAND_OFF;
    let twisted = |a: f64| hole - peg * (a.cos() + a.sin()) - 2.0 * STAND_OFF;
    let turns =
        [("tilted", DVec3::Y, &tilted as &dyn Fn(f64) -> f64), ("twisted", DVec3::Z, &twisted)];
    for (name, axis, room) in turns {
        let tool = shapes::subdivide(&shapes::cuboid(DVec3::new(peg, peg, 0.05)));
        let mut stage = ProxyStage::new(&walls, &[tool], |o| o);
        let got = stage.tick(to(0.0, 0.0, 0.0));
        assert_eq!(got.state, RenderState::Free);
        // Bisection: the clearance decreases as the turn grows.
        let (mut low, mut high) = (0.0, 0.2);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if room(middle) > 0.0 { low = middle } else { high = middle }
        }
        let (mut torque, mut angle, mut turn) = (0.0f64, 0.0f64, 0.0f64);
        for i in 1..=100 {
            let device = 2e-3 * f64::from(i);
            let got = stage.tick(turned(axis, device, DVec3::ZERO));
            let expected = (device - low).max(0.0);
            if expected > 0.02 {
                torque = torque.max((got.torque_nm.length() - expected).abs() / expected);
                angle = angle.max(got.torque_nm.angle_between(-axis).to_degrees());
                let at = rotation_vector(&got.scene_from_proxy.rotation);
                turn = turn.max((at - axis * low).length() / expected);
                let place = got.scene_from_proxy.translation;
                assert!(place.length() < SHARE_MAX * hole, "{name}: it has gone to {place}");
                let force = got.force_n.length();
                assert!(force < SHARE_MAX * expected / (0.5 * hole), "{name}: {force} N");
            }
            assert!(i % 20 != 0 || !stage.crosses(&got));
        }
        println!(
            "peg {name} by {low:.4} rad: torque within {:.3} % and {angle:.3} degrees, proxy within {:.3} %",
            100.0 * torque,
            100.0 * turn
        );
        assert!(torque < SHARE_MAX && turn < SHARE_MAX, "{name}: {torque}, {turn}");
        assert!(angle < DEGREES_MAX, "{name}: {angle} degrees");
    }
}

/// A jaw, 8 by 6 mm and 2 mm thick, its gripping face towards the middle at x = 0.
fn jaw(side: f64) -> MeshData {
    let mut jaw = shapes::subdivide(&shapes::cuboid(DVec3::new(0.002, 0.006, 0.008)));
    jaw.positions.iter_mut().for_each(|p| p.x += (side * 0.001) as f32);
    jaw
}

/// Jaws that close on a fold stop at it; each lags behind its command by the force over the stiffness.
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
