//! Tools that lie flat on tissue, with many triangles equally near.

use glam::DVec3;
use palpate::{
    coupling::posture::Posture,
    geometry::MeshData,
    oracle::shapes,
    proxy::{RenderOptions, RenderState},
    servo::{ServoOptions, ServoState},
};

use super::stage::{ProxyStage, slab, to};

const SIDE: f64 = 0.02;
const DEPTH: f64 = 0.003;

/// Two triangles of a blade on fine tissue, and 9,800 triangles on two.
fn cases() -> [(&'static str, MeshData, MeshData); 3] {
    let blade = shapes::cuboid(DVec3::new(SIDE, SIDE, 0.002));
    let mut fine = slab(70, SIDE / 70.0, 0.002);
    fine.positions.iter_mut().for_each(|p| p.z += 0.001);
    [
        ("two triangles on 800", slab(40, 0.001, 0.02), blade.clone()),
        ("two triangles on 3,200", slab(80, 0.0005, 0.02), blade),
        ("9,800 triangles on two", slab(1, 0.04, 0.02), fine),
    ]
}

/// A tool pressed straight down lies flat wherever the hand holds it, and is released when the hand leaves.
#[test]
fn what_lies_flat_is_not_tilted_and_is_felt_by_a_servo() {
    for (name, tissue, link) in cases() {
        let hold = DVec3::new(0.4 * SIDE, -0.3 * SIDE, 0.0);
        let options =
            |o: RenderOptions| RenderOptions { hold_point_m: hold, local_model: true, ..o };
        let mut stage = ProxyStage::new(&[tissue], &[link], options);
        let mut servo = ServoState::new(ServoOptions::of(stage.tool.id.0)).expect("options");
        let (mut felt, mut n_models) = (DVec3::ZERO, 0);
        let mut tick = |stage: &mut ProxyStage, z: f64| {
            let device = to(0.0, 0.0, 0.001 + z);
            let rendering = stage.tick(device);
            if let Some(model) = &rendering.local_model {
                n_models += 1;
                servo.take(model, 0.001).expect("newer");
            }
            let at = Posture { scene_from_tool: device, ..Posture::AT_ORIGIN };
            felt = servo.step(&at, 0.001).force_n;
            (rendering, felt)
        };
        for i in 0..10 {
            tick(&mut stage, 0.001 - 0.0004 * f64::from(i));
        }
        for _ in 0..40 {
            tick(&mut stage, -DEPTH);
        }
        let (pressed, felt) = tick(&mut stage, -DEPTH);
        let due = 500.0 * (DEPTH + 20e-6);
        let (force, torque) = (pressed.force_n, pressed.torque_nm);
        println!("{name}: {force} N, {torque} N m, by the servo {felt} N; {:?}", pressed.state);
        assert!((force - DVec3::Z * due).length() < 0.01 * due, "{name}: {force} N for {due}");
        // A tilt by an eighth of the side would give a larger torque.
        assert!(torque.length() < 0.005 * due * SIDE, "{name}: {torque} N m");
        assert!((felt - force).length() < 0.02 * due, "{name}: {felt} N by the servo for {force}");
        assert!(!stage.crosses(&pressed), "{name}");
        for i in 0..10 {
            tick(&mut stage, -DEPTH + 0.0005 * f64::from(i));
        }
        let (left, felt) = tick(&mut stage, 0.003);
        assert_eq!(
            (left.force_n, felt, left.state),
            (DVec3::ZERO, DVec3::ZERO, RenderState::Free),
            "{name}"
        );
        assert!(n_models > 50, "{name}: {n_models} models");
    }
}
