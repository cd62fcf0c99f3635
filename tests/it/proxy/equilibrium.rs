//! A proxy without friction is in equilibrium between spring and contacts, whatever its path.

use glam::{DQuat, DVec3};
use palpate::{
    geometry::{MeshData, Pose},
    oracle::{Random, shapes},
    proxy::{RenderOptions, RenderState, Rendering},
};

use super::stage::ProxyStage;
use crate::seed::{Seed, scaled};

const STIFFNESS: f64 = 500.0;
/// Additional ticks that the leap of one tick may take.
const LEAP_TICKS_MAX: usize = 3;
/// Largest distance of the device from its proxy, metres.
const AWAY_M: f64 = 0.08;

/// A block of 3,072 triangles with dents and edges.
fn block(random: &mut Random) -> MeshData {
    let mut mesh = shapes::cuboid(DVec3::splat(0.06));
    (0..4).for_each(|_| mesh = shapes::subdivide(&mesh));
    for p in &mut mesh.positions {
        let d = p.as_dvec3();
        let wave = (d.x * 130.0).sin() * (d.y * 150.0).cos() + (d.z * 170.0).sin();
        *p = (d * (1.0 + 0.06 * wave + random.range(-0.01, 0.01))).as_vec3();
    }
    mesh
}

/// Straight paths to and through the block at 1 to 10 m/s: the device drags the proxy over edges and into dents, and
/// the force of each tick is that of the spring between the two.
#[test]
fn a_proxy_dragged_fast_rests_where_the_spring_leaves_it() {
    let seed = Seed::or(57);
    let (mut n_touching, mut n_leaps, mut n_off) = (0, 0, 0);
    for run in 0..scaled(16) {
        let mut random = seed.random(run as u64);
        let tissue = block(&mut random);
        let corners: Vec<DVec3> = tissue.positions.iter().map(|p| p.as_dvec3()).collect();
        let tool = shapes::cuboid(DVec3::new(0.02, 0.01, 0.014));
        let mut stage =
            ProxyStage::new(&[tissue], &[tool], |o| RenderOptions { friction: 0.0, ..o });
        let mut device = DVec3::Z * 0.12 + random.unit_vector() * 0.02;
        let turn = DQuat::from_scaled_axis(random.unit_vector() * random.range(0.0, 3.0));
        let mut proxy = device;
        for _ in 0..30 {
            let speed = random.range(1e-3, 1e-2);
            let goal = corners[random.below(corners.len())] * random.range(0.7, 1.3);
            let from = device;
            let n = ((goal - from).length() / speed).clamp(5.0, 200.0).floor();
            for k in 1..=n as u32 {
                let to = from + (goal - from) * (f64::from(k) / n);
                if to.distance(proxy) > AWAY_M {
                    break;
                }
                device = to;
                let pose = Pose::new(turn, device).expect("a rotation");
                let mut got = stage.tick(pose);
                let off = |got: &Rendering| {
                    let spring = (ProxyStage::origin(got) - device) * STIFFNESS;
                    got.force_n.distance(spring) > 0.05 * spring.length() + 0.02
                };
                // A leap of more rounds than one tick has continues in the next ticks.
                for _ in 0..LEAP_TICKS_MAX {
                    if off(&got) {
                        n_leaps += 1;
                        got = stage.tick(pose);
                    }
                }
                proxy = ProxyStage::origin(&got);
                if got.state != RenderState::Touching {
                    continue;
                }
                n_touching += 1;
                if off(&got) {
                    n_off += 1;
                    let spring = (proxy - device) * STIFFNESS;
                    let gap_m = got.contacts.iter().map(|c| c.gap_m).fold(f64::INFINITY, f64::min);
                    println!("run {run}: {} N, the spring {spring}, gap {gap_m} m", got.force_n);
                }
            }
        }
    }
    println!("{n_touching} ticks that touch, {n_leaps} leaps, {n_off} off the spring");
    assert!(n_leaps < n_touching / 100, "{n_leaps} leaps of {n_touching}");
    assert!(n_touching > 200 * scaled(16), "{n_touching}");
    assert_eq!(n_off, 0);
}
