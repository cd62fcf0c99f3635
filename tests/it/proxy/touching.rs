//! A proxy that begins in contact: it moves off to its stand-off, and holds from the first tick on.

use std::{f64::consts::FRAC_PI_4, sync::Arc};

use glam::{DVec3, Vec3};
use palpate::{
    geometry::{MeshData, Pose},
    oracle::shapes,
    proxy::{RenderState, RenderedSession, Rendering},
    scene::{
        TissueOptions,
        tick::{TickOptions, ToolPose},
        tissue::deform::Deformation,
    },
    time_left::TimeLeft,
};

use super::stage::{ProxyStage, STAND_OFF, STIFF, loaded, slab, to, turned, unlimited};

/// A cube of 8 mm turned so that an edge along an axis, or a corner, is its lowest, at the origin.
fn cube(turn: DVec3) -> MeshData {
    let mut cube = shapes::cuboid(DVec3::splat(0.008));
    let pose =
        turned(if turn == DVec3::ZERO { DVec3::X } else { turn }, turn.length(), DVec3::ZERO);
    let turned: Vec<_> = cube.positions.iter().map(|p| pose.point(p.as_dvec3())).collect();
    let lowest = turned.iter().copied().min_by(|a, b| a.z.total_cmp(&b.z)).expect("corners");
    // A flat cube stands on its middle, others on the lowest corner or the middle of the lowest edge.
    let low: Vec<_> = turned.iter().filter(|p| p.z < lowest.z + 1e-9).collect();
    let foot = low.iter().copied().sum::<DVec3>() / low.len() as f64;
    cube.positions = turned.iter().map(|p| (p - foot).as_vec3()).collect();
    cube
}

/// The mesh upside down, as a tissue whose top is at the origin.
fn below(mut data: MeshData) -> MeshData {
    data.positions.iter_mut().for_each(|p| *p = Vec3::new(p.x, -p.y, -p.z));
    data
}

/// Tools with their lowest point at the origin, tissues with their highest, and the tool's side.
fn contacts() -> Vec<(&'static str, MeshData, MeshData, f64)> {
    let (flat, corner) = (DVec3::ZERO, DVec3::new(1.0, -1.0, 0.0).normalize() * 0.955_316_618);
    let edge = |axis: DVec3| axis * FRAC_PI_4;
    let plain = || slab(2, 0.02, 0.01);
    let open = || {
        let mut sheet = shapes::sheet(5, 5, 0.01);
        sheet.positions.iter_mut().for_each(|p| *p -= Vec3::new(0.02, 0.02, 0.0));
        sheet
    };
    vec![
        ("flat on flat", cube(flat), plain(), 1.0),
        ("vertex on face", cube(corner), plain(), 1.0),
        ("edge on face", cube(edge(DVec3::X)), plain(), 1.0),
        ("face on vertex", cube(flat), below(cube(corner)), 1.0),
        ("edge on edge", cube(edge(DVec3::X)), below(cube(edge(DVec3::Y))), 1.0),
        ("vertex on open sheet", cube(corner), open(), 1.0),
        ("flat on open sheet", cube(flat), open(), 1.0),
        ("vertex below open sheet", below(cube(corner)), open(), -1.0),
        ("flat below open sheet", below(cube(flat)), open(), -1.0),
    ]
}

fn assert_off(name: &str, stage: &ProxyStage, got: &Rendering, side: f64, deep: f64) {
    assert_eq!(got.state, RenderState::Touching, "{name}, {deep} m in: {got:?}");
    assert!(!stage.crosses(got), "{name}, {deep} m in: it crosses");
    let expected = DVec3::Z * (side * 500.0 * (deep + STAND_OFF));
    // Two nanometres, the rounding of single precision at 20 mm, are 1 uN.
    let off = got.force_n.distance(expected);
    assert!(
        off < 0.01 * expected.length(),
        "{name}, {deep} m in: {} N, not {expected}",
        got.force_n
    );
}

/// Begins in exact contact, or deeper by less than the stand-off; by the first tick, by a teleport, or by tissue that
/// is added. A deeper tool is embedded.
#[test]
fn begun_in_contact_it_is_moved_off() {
    for (name, tool, tissue, side) in contacts() {
        for deep in [0.0, 1e-7, 1.5e-5] {
            let at = to(0.0, 0.0, -side * deep);
            let firm = |o| palpate::proxy::RenderOptions { spring: STIFF, ..o };
            let mut stage =
                ProxyStage::new(std::slice::from_ref(&tissue), std::slice::from_ref(&tool), firm);
            for _ in 0..3 {
                let got = stage.tick(at);
                assert_off(name, &stage, &got, side, deep);
            }
            let pressed = stage.tick(to(0.0, 0.0, -side * 0.001));
            assert_off(name, &stage, &pressed, side, 0.001);
            stage.tick(to(0.0, 0.0, side * 0.01));
            stage.pose.teleport = true;
            let got = stage.tick(at);
            assert_off(name, &stage, &got, side, deep);
            let mut stage = ProxyStage::new(&[], std::slice::from_ref(&tool), firm);
            assert_eq!(stage.tick(at).state, RenderState::Free);
            let added = loaded(tissue.clone());
            stage.scene.add_tissue("put", added, TissueOptions::default(), 0).expect("added");
            let got = stage.tick(at);
            assert_off(name, &stage, &got, side, deep);
        }
        let mut stage = ProxyStage::new(&[tissue], &[tool], |o| o);
        let got = stage.tick(to(0.0, 0.0, -side * 1e-4));
        assert_eq!((got.state, got.force_n), (RenderState::Embedded, DVec3::ZERO), "{name}");
    }
}

/// A jaw touches at the start of the loop; the other jaw is clear.
#[test]
fn a_jaw_that_begins_in_contact_is_moved_off() {
    let jaw = shapes::cuboid(DVec3::new(0.02, 0.002, 0.002));
    let firm = |o| palpate::proxy::RenderOptions { spring: STIFF, ..o };
    let mut stage = ProxyStage::new(&[slab(4, 0.02, 0.01)], &[jaw.clone(), jaw], firm);
    stage.pose.tool_from_link = vec![to(0.0, 0.0, 0.011), to(0.0, 0.0, 0.001)];
    let got = stage.tick(Pose::IDENTITY);
    assert_off("jaw", &stage, &got, 1.0, 0.0);
    assert!(got.contacts.iter().filter(|c| c.force_n.z > 0.0).all(|c| c.link == 1), "{got:?}");
}

/// A session that continues where another has ended, in contact, keeps holding.
#[test]
fn a_session_that_goes_on_in_contact_is_moved_off() {
    let stage = ProxyStage::new(&[slab(8, 0.01, 0.03)], &[cube(DVec3::ZERO)], |o| o);
    let scene = Arc::new(stage.scene);
    let (ids, render) = ([stage.tool.id], [unlimited(stage.tool.id)]);
    let mut session =
        RenderedSession::new(scene, &ids, TickOptions::default(), &render).expect("begun");
    let pose = |z: f64| ToolPose { scene_from_tool: to(0.0, 0.0, z), ..stage.pose.clone() };
    session.go_on_from(&[pose(-0.001)], &[pose(0.0)]);
    for tick in 1..600 {
        let time = TimeLeft::endless();
        session.tick(tick, &[pose(-0.001)], tick * 1_000_000, &time).expect("accepted");
    }
    let got = session.renderings().next().expect("one");
    assert_eq!(got.state, RenderState::Touching);
    assert!((got.force_n.z - 500.0 * (0.001 + STAND_OFF)).abs() < 0.01, "{}", got.force_n);
}

/// Two tissues touch the ball from both sides at its start, and then close in: it is squeezed, and not embedded.
#[test]
fn begun_between_two_it_is_held_by_both() {
    let mut above = slab(4, 0.01, 0.01);
    above.positions.iter_mut().for_each(|p| *p = Vec3::new(p.x, -p.y, 0.008 - p.z));
    let mut stage = ProxyStage::new(&[slab(4, 0.01, 0.01), above], &[cube(DVec3::ZERO)], |o| o);
    let got = stage.tick(Pose::IDENTITY);
    assert_eq!(got.state, RenderState::Squeezed, "{got:?}");
    assert!((got.residual_m - STAND_OFF).abs() < 0.1 * STAND_OFF, "{} m", got.residual_m);
    assert!(ProxyStage::origin(&got).length() < 1e-6, "{:?}", got.scene_from_proxy);
    let rest = stage.tissue(1).current().surface.mesh().positions().to_vec();
    let up = rest.iter().map(|p| *p + Vec3::Z * 1e-3).collect();
    stage.tissue(1).deform(Deformation::Dense(up), 0).expect("deformed");
    let got = stage.tick(to(0.0, 0.0, -0.001));
    assert_off("opened", &stage, &got, 1.0, 0.001);
}
