//! However it came there, a proxy without friction is where the spring and the contacts leave it.

use glam::{DQuat, DVec3};
use palpate::{
    geometry::{MeshData, Pose},
    oracle::{Random, shapes},
    proxy::{RenderOptions, RenderState},
};

use super::stage::{ProxyStage, slab};
use crate::seed::{Seed, scaled};

/// What a hand feels of a proxy that is held back is the spring: K (x_p - x_d).
const STIFFNESS: f64 = 500.0;

/// A slab with waves and bumps on it.
fn bumpy(random: &mut Random) -> MeshData {
    let mut mesh = slab(40, 0.0025, 0.03);
    let [along, across] = [(); 2].map(|()| random.range(150.0, 500.0) as f32);
    let height = random.range(0.001, 0.003) as f32;
    for p in mesh.positions.iter_mut().filter(|p| p.z == 0.0) {
        p.z = height * ((along * p.x).sin() * (across * p.y).cos());
        p.z += random.range(-2e-4, 2e-4) as f32;
    }
    mesh
}

/// Slides, turns, jabs and slips of up to 8 mm a tick, then the device is held.
#[test]
fn a_fast_hand_that_stops_feels_the_spring() {
    let seed = Seed::or(57);
    let tools = [shapes::cuboid(DVec3::new(0.02, 0.006, 0.004)), shapes::capsule(0.002, 0.015, 12)];
    let (mut n_touching, mut n_wrong, mut worst) = (0, 0, 0.0f64);
    for run in 0..scaled(24) {
        let mut random = seed.random(run as u64);
        let tissue = bumpy(&mut random);
        let tool = &tools[run % tools.len()];
        let mut stage = ProxyStage::new(&[tissue], std::slice::from_ref(tool), |o| RenderOptions {
            friction: 0.0,
            ..o
        });
        let mut device = Pose { translation: DVec3::Z * 0.03, ..Pose::IDENTITY };
        stage.tick(device);
        let speed = random.range(0.001, 0.008);
        for _ in 0..4 {
            let way = random.unit_vector();
            let turn = random.unit_vector() * random.range(0.0, 0.1);
            for _ in 0..12 {
                let mut to = device.translation + way * speed;
                to = to.clamp(DVec3::new(-0.03, -0.03, -0.012), DVec3::new(0.03, 0.03, 0.012));
                let rotation = DQuat::from_scaled_axis(turn) * DQuat::from_mat3(&device.rotation);
                device = Pose::new(rotation.normalize(), to).expect("a rotation");
                stage.tick(device);
            }
            let mut got = stage.tick(device);
            for _ in 0..10 {
                got = stage.tick(device);
            }
            if got.state != RenderState::Touching {
                continue;
            }
            n_touching += 1;
            let spring = (got.scene_from_proxy.translation - device.translation) * STIFFNESS;
            let off = got.force_n.distance(spring) / spring.length();
            worst = worst.max(off);
            if off > 0.01 {
                n_wrong += 1;
                let gap = got.contacts.iter().map(|c| c.gap_m).fold(f64::INFINITY, f64::min);
                println!("run {run}: {} N, the spring has {spring}, gap {gap} m", got.force_n);
            }
        }
    }
    println!("{n_touching} held, {n_wrong} wrong, {worst} off at most");
    assert!(n_touching > scaled(24), "{n_touching} held");
    assert_eq!(n_wrong, 0);
}
