//! States of a proxy: begun inside, cut below, deleted, squeezed, late; none gives a force that it should not.

use glam::{DVec3, Vec3};
use palpate::{
    coupling::force_ramp::RAMP_S,
    geometry::{MeshData, Pose, TriangleId},
    oracle::{Random, shapes},
    proxy::{RenderOptions, RenderState},
    scene::{
        TissueOptions,
        tissue::{deform::Deformation, edit::TopologyEdit},
    },
    servo::FADE_S,
};

use super::stage::{ProxyStage, STAND_OFF, loaded, slab, to, turned};

const RADIUS: f64 = 0.005;

fn ball() -> MeshData {
    shapes::sphere(RADIUS, 4)
}

/// The default options, with force caps and rate limits in effect.
fn limited(o: RenderOptions) -> RenderOptions {
    RenderOptions::of(o.tool)
}

#[test]
fn begun_inside_there_is_no_force_until_the_device_is_outside_once() {
    for wholly in [false, true] {
        let mut stage = ProxyStage::new(&[slab(8, 0.01, 0.03)], &[ball()], |o| o);
        let depth = if wholly { 0.015 } else { 0.002 };
        for i in 0..5 {
            let got = stage.tick(to(0.0, 1e-4 * f64::from(i), RADIUS - depth));
            assert_eq!((got.state, got.force_n), (RenderState::Embedded, DVec3::ZERO));
        }
        let got = stage.tick(to(0.0, 0.0, RADIUS + 0.001));
        assert_eq!(got.state, RenderState::Free);
        let got = stage.tick(to(0.0, 0.0, RADIUS - 0.002));
        assert_eq!(got.state, RenderState::Touching);
        // Teleported back inside.
        stage.pose.teleport = true;
        let got = stage.tick(to(0.0, 0.0, RADIUS - depth));
        assert_eq!((got.state, got.force_n), (RenderState::Embedded, DVec3::ZERO));
    }
}

/// A tool wholly inside an organ gets no force from its parts, though no part encloses the tool alone.
#[test]
fn begun_inside_an_organ_in_parts_there_is_no_force() {
    let whole = slab(8, 0.01, 0.03);
    let half = |is_right: bool| {
        let x = |v: u32| whole.positions[v as usize].x;
        let is_kept = |t: &[u32; 3]| (t.iter().map(|v| x(*v)).sum::<f32>() > 0.0) == is_right;
        let triangles = whole.triangles.iter().copied().filter(is_kept).collect();
        MeshData { positions: whole.positions.clone(), triangles }
    };
    let mut stage = ProxyStage::new(&[half(false), half(true)], &[ball()], |o| o);
    for i in 0..5 {
        let got = stage.tick(to(1e-4 * f64::from(i), 0.001, -0.015));
        assert_eq!((got.state, got.force_n), (RenderState::Embedded, DVec3::ZERO));
    }
    let got = stage.tick(to(0.0, 0.001, RADIUS + 0.001));
    assert_eq!(got.state, RenderState::Free);
    let got = stage.tick(to(0.0, 0.001, RADIUS - 0.002));
    assert_eq!(got.state, RenderState::Touching);
}

#[test]
fn tissue_put_about_the_proxy_embeds_it_in_that_tissue_alone() {
    let mut stage = ProxyStage::new(&[slab(8, 0.01, 0.03)], &[ball()], |o| o);
    stage.tick(to(0.0, 0.0, RADIUS + 0.001));
    let got = stage.tick(to(0.0, 0.0, RADIUS - 0.001));
    assert_eq!(got.state, RenderState::Touching);
    let around = loaded(shapes::cuboid(DVec3::new(0.004, 0.004, 0.02)));
    let added = stage.scene.add_tissue("put", around, TissueOptions::default(), 0).expect("added");
    let got = stage.tick(to(0.0, 0.0, RADIUS - 0.001));
    assert_eq!(got.state, RenderState::Embedded);
    let held = got.force_n;
    assert!((held.z - 500.0 * (0.001 + STAND_OFF)).abs() < 0.01 * held.z, "the slab holds: {held}");
    stage.scene.remove_tissue(added.id()).expect("removed");
    let got = stage.tick(to(0.0, 0.0, RADIUS - 0.001));
    assert_eq!(got.state, RenderState::Touching);
}

/// A cut that adds a wall across the ball embeds the proxy in that tissue alone, until the ball has been outside once.
#[test]
fn a_cut_that_puts_tissue_through_the_proxy_embeds_it_in_that_tissue_alone() {
    // The cut tissue is next to the ball; the ball lies on another tissue.
    let mut beside = slab(2, 0.01, 0.01);
    beside.positions.iter_mut().for_each(|p| *p += Vec3::X * 0.03);
    let mut stage = ProxyStage::new(&[slab(8, 0.01, 0.03), beside], &[ball()], |o| o);
    let pressed = to(0.0, 0.0, RADIUS - 0.001);
    stage.tick(to(0.0, 0.0, RADIUS + 0.001));
    let before = stage.tick(pressed);
    assert_eq!(before.state, RenderState::Touching);
    let middle = ProxyStage::origin(&before).as_vec3();
    let cut = stage.tissue(1);
    let n = cut.current().surface.mesh().positions().len() as u32;
    let wall = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
    let edit = TopologyEdit {
        added_positions: wall.map(|[y, z]| middle + 0.01 * Vec3::new(0.0, y, z)).to_vec(),
        added: vec![[n, n + 1, n + 2], [n, n + 2, n + 3]],
        ..TopologyEdit::default()
    };
    let edited = cut.edit(edit, stage.scene.limits(), 0).expect("cut");
    for i in 0..5 {
        let got = stage.tick(pressed);
        assert_eq!(got.state, RenderState::Embedded, "tick {i}");
        let expected = 500.0 * (0.001 + STAND_OFF);
        let off = (got.force_n - DVec3::Z * expected).length();
        assert!(off < 0.01 * expected, "the slab holds it, and nothing else: {}", got.force_n);
        assert!(got.contacts.iter().all(|c| c.tissue == stage.tissue(0).id()), "{got:?}");
    }
    // After the ball has been outside once, the wall holds it on its current side.
    let got = stage.tick(to(0.02, 0.0, RADIUS + 0.001));
    assert_eq!((got.state, got.force_n), (RenderState::Free, DVec3::ZERO));
    let got = stage.tick(to(-0.02, 0.0, RADIUS + 0.001));
    assert_eq!(got.state, RenderState::Touching);
    assert!(got.force_n.x > 1.0 && ProxyStage::origin(&got).x >= RADIUS, "{got:?}");
    // The wall releases the ball when it is cut away again.
    let removed = (0..2).map(|i| TriangleId(edited.first_triangle.0 + i)).collect();
    let edit = TopologyEdit { removed, ..TopologyEdit::default() };
    cut.edit(edit, stage.scene.limits(), 0).expect("cut");
    let got = stage.tick(to(-0.02, 0.0, RADIUS + 0.001));
    assert_eq!((got.state, got.force_n), (RenderState::Free, DVec3::ZERO));
}

/// After the tissue below it is cut away or deleted, the proxy reaches the device, and the force falls no faster than
/// its rate.
#[test]
fn cut_or_deleted_tissue_lets_go_at_the_slew_limit() {
    for deletes in [false, true] {
        let mut stage = ProxyStage::new(&[slab(8, 0.01, 0.03)], &[ball()], limited);
        stage.tick(to(0.0, 0.0, RADIUS + 0.001));
        let mut last = 0.0;
        for _ in 0..20 {
            last = stage.tick(to(0.0, 0.0, RADIUS - 0.004)).force_n.length();
        }
        let full = 500.0 * (0.004 + STAND_OFF);
        assert!((last - full).abs() < 0.01 * full, "{last} N");
        let tissue = stage.tissue(0);
        if deletes {
            stage.scene.remove_tissue(tissue.id()).expect("removed");
        } else {
            let current = tissue.current();
            let edit = TopologyEdit {
                removed: current.surface.mesh().triangle_ids().collect(),
                ..TopologyEdit::default()
            };
            let cut = TopologyEdit { removed: edit.removed[..128].to_vec(), ..edit };
            tissue.edit(cut, stage.scene.limits(), 0).expect("cut");
        }
        let (mut falls, mut n) = (0.0f64, 0);
        while last > 0.0 && n < 100 {
            let got = stage.tick(to(0.0, 0.0, RADIUS - 0.004));
            falls = falls.max(last - got.force_n.length());
            assert!(got.limited || got.force_n == DVec3::ZERO);
            assert_eq!(got.state, RenderState::Free);
            assert_eq!(got.scene_from_proxy, to(0.0, 0.0, RADIUS - 0.004), "it has caught up");
            last = got.force_n.length();
            n += 1;
        }
        println!("force falls by at most {falls:.4} N a tick, to 0 in {n} ticks");
        assert!(falls <= 0.3 + 1e-9 && n < 20, "{falls} N, {n} ticks");
    }
}

/// A solver cuts and moves tissue in one step: pressed contacts stay pressed.
#[test]
fn a_cut_far_away_and_a_motion_in_one_tick_let_nothing_go() {
    let mut stage = ProxyStage::new(&[slab(8, 0.01, 0.03)], &[ball()], limited);
    stage.tick(to(0.0, 0.0, RADIUS + 0.001));
    for _ in 0..20 {
        stage.tick(to(0.0, 0.0, RADIUS - 0.002));
    }
    let mut clock_ns = 0;
    for step in 1..20 {
        let tissue = stage.tissue(0);
        clock_ns += 16_000_000;
        let removed = vec![TriangleId(step)];
        let cut = TopologyEdit { removed, ..TopologyEdit::default() };
        tissue.edit(cut, stage.scene.limits(), clock_ns).expect("one that is there");
        let up = 1e-4 * f64::from(step);
        let positions: Vec<_> = {
            let revision = tissue.current();
            let mesh = revision.surface.mesh();
            mesh.positions().iter().map(|p| Vec3::new(p.x, p.y, p.z + 1e-4)).collect()
        };
        let moved = Deformation::Dense(positions);
        tissue.deform(moved, clock_ns).expect("good positions");
        let got = stage.tick(to(0.0, 0.0, RADIUS - 0.002));
        let due = 500.0 * (0.002 + STAND_OFF + up);
        assert_eq!(got.state, RenderState::Touching, "step {step}");
        assert!((got.force_n.z - due).abs() < 0.01 * due, "step {step}: {} N", got.force_n);
        assert!(!stage.crosses(&got), "step {step}");
    }
}

/// The solver is faster than the ticks: more revisions than a tissue remembers lie between two of them.
#[test]
fn tissue_that_was_deformed_many_times_since_the_last_tick_has_a_speed() {
    let model = |o: RenderOptions| RenderOptions { local_model: true, ..o };
    let mut stage = ProxyStage::new(&[slab(8, 0.01, 0.03)], &[ball()], model);
    stage.tick(to(0.0, 0.0, RADIUS + 0.001));
    let (tissue, mut clock_ns) = (stage.tissue(0), 0);
    for n in [1, 3, 9, 40] {
        for _ in 0..n {
            clock_ns += 1_000_000;
            let revision = tissue.current();
            let up = |p: &Vec3| *p + Vec3::Z * 1e-5;
            let positions = revision.surface.mesh().positions().iter().map(up).collect();
            drop(revision);
            tissue.deform(Deformation::Dense(positions), clock_ns).expect("good positions");
        }
        let got = stage.tick(to(0.0, 0.0, RADIUS + 0.001)).local_model.expect("one");
        let speed = got.tissue_speed_m_s;
        assert!((0.0099..0.0102).contains(&speed), "{speed} m/s after {n} revisions");
        assert!(got.expires_s < 0.1 || got.complete_radius_m > 9e-4, "{} s", got.expires_s);
    }
}

/// Hosts compute the pose of a jaw in its tool from two scene poses, in single precision.
#[test]
fn a_jaw_that_stands_but_for_rounding_keeps_its_hinge() {
    let model = |o: RenderOptions| RenderOptions { local_model: true, ..o };
    let jaw = shapes::cuboid(Vec3::new(0.002, 0.002, 0.02).as_dvec3());
    let mut stage = ProxyStage::new(&[slab(8, 0.01, 0.03)], &[ball(), jaw], model);
    let mut random = Random::new(5);
    let mut hinge = None;
    for n in 0..60 {
        let angle = 0.005 * f64::from(n.min(30));
        let mut jaw = turned(DVec3::Y, angle, DVec3::ZERO);
        if n > 30 {
            jaw.translation += random.unit_vector() * 6e-9;
        }
        stage.pose.tool_from_link = vec![Pose::IDENTITY, jaw];
        let got = stage.tick(to(0.0, 0.0, 0.1)).local_model.expect("one");
        let screw = got.screws[1];
        if n == 30 {
            hinge = screw;
        }
        assert!(n < 31 || screw == hinge, "tick {n}: {screw:?}, {hinge:?} before");
    }
    assert!(hinge.expect("it moved").turn.y.abs() > 10.0, "a radian moves its end by some 10 mm");
}

/// After a pause without answers longer than [`FADE_S`], the hand counts as having let go: the force begins at zero,
/// and rises to the cap within [`RAMP_S`]. After a shorter pause the force continues, changed by twenty ticks' rate at
/// most.
#[test]
fn after_a_pause_the_force_rises_from_zero() {
    const RATE_N: f64 = 0.3;
    const CAP_N: f64 = 3.3;
    for (pause_s, is_held) in [(0.01, true), (FADE_S, true), (1.001 * FADE_S, false), (5.0, false)]
    {
        let mut stage = ProxyStage::new(&[slab(8, 0.01, 0.03)], &[ball()], limited);
        stage.tick(to(0.0, 0.0, RADIUS + 0.001));
        let mut held = DVec3::ZERO;
        for _ in 0..20 {
            held = stage.tick(to(0.0, 0.0, RADIUS - 0.003)).force_n;
        }
        assert!(held.z > 1.4, "{held} N");
        stage.dt_s = pause_s;
        let mut last = stage.tick(to(0.0, 0.0, RADIUS - 0.006)).force_n;
        if is_held {
            assert!(last.z > held.z, "{pause_s} s: {last} after {held}");
            assert!((last - held).length() <= 20.0 * RATE_N, "{pause_s} s: {last} after {held}");
            continue;
        }
        let (mut from, mut n) = (DVec3::ZERO, 0);
        stage.dt_s = 0.001;
        while last != from {
            let rise = (last - from).length();
            assert!(rise <= CAP_N * 0.001 / RAMP_S + 1e-9, "{pause_s} s, tick {n}: {rise} N");
            (from, last) = (last, stage.tick(to(0.0, 0.0, RADIUS - 0.006)).force_n);
            n += 1;
        }
        let least = (RAMP_S / 0.001 * last.length() / CAP_N) as usize;
        assert!(last.z > held.z && n >= least, "{pause_s} s: {last} after {n} ticks");
    }
}

/// Two slabs close in on a ball until their clearance is too small for it.
#[test]
fn squeezed_from_both_sides_it_says_so_and_crosses_nothing() {
    let mut above = slab(8, 0.01, 0.01);
    above.positions.iter_mut().for_each(|p| *p = Vec3::new(p.x, -p.y, -p.z + 0.0102));
    let mut stage = ProxyStage::new(&[slab(8, 0.01, 0.01), above], &[ball()], limited);
    stage.tick(to(0.0, 0.0, RADIUS + 0.0001));
    let rest: Vec<Vec3> = stage.tissue(1).current().surface.mesh().positions().to_vec();
    let mut squeezed = 0;
    for i in 0..60 {
        let down = Vec3::Z * (5e-6 * i as f32);
        let positions = rest.iter().map(|p| *p - down).collect();
        stage.tissue(1).deform(Deformation::Dense(positions), 0).expect("deformed");
        let got = stage.tick(to(0.0, 0.0, RADIUS + 0.0001));
        assert!(got.force_n.length() <= 3.3 && got.force_n.is_finite());
        if got.state == RenderState::Squeezed {
            squeezed += 1;
            assert!(got.residual_m > 0.0, "{got:?}");
            // Single precision is off by half a nanometre at 10 mm.
            assert!(got.residual_m > STAND_OFF - 1e-9 || !stage.crosses(&got), "{got:?}");
        }
        if 5e-6 * f64::from(i) > 0.0002 + 1e-5 {
            assert_eq!(got.state, RenderState::Squeezed, "no room is left at {i}");
        }
    }
    println!("squeezed for {squeezed} ticks");
    assert!(squeezed >= 3, "{squeezed}");
}

/// A proxy without enough time stays behind, on its side, reports so, and arrives when there is time.
#[test]
fn late_it_stays_where_it_is_and_arrives_later() {
    let mut stage = ProxyStage::new(&[slab(8, 0.01, 0.03)], &[ball()], |o| o);
    stage.tick(to(0.0, 0.0, RADIUS + 0.001));
    stage.pose.scene_from_tool = to(0.0, 0.0, RADIUS - 0.01);
    // Each box and triangle of a search queries the time.
    for asked in (0..20_000_u32).step_by(250) {
        let left = std::cell::Cell::new(asked);
        let late = || {
            left.set(left.get().saturating_sub(1));
            left.get() == 0
        };
        let got = stage.tick_in_time(&late);
        assert!(!stage.crosses(&got), "after {asked}");
        assert!(matches!(got.state, RenderState::Late | RenderState::Touching), "{:?}", got.state);
    }
    // The proxy knows the tissue near its position and needs no time there.
    let got = stage.tick_in_time(&|| true);
    assert_eq!(got.state, RenderState::Touching);
    stage.pose.scene_from_tool = to(0.002, 0.0, RADIUS - 0.01);
    let got = stage.tick_in_time(&|| true);
    assert_eq!(got.state, RenderState::Late);
    let got = stage.tick_in_time(&|| false);
    assert_eq!(got.state, RenderState::Touching);
    let expected = 500.0 * (0.01 + STAND_OFF);
    assert!((got.force_n.z - expected).abs() < 0.01 * expected, "{}", got.force_n);
}

/// After tissue that the proxy touched is removed or cut away, a late tick stands on the remaining contacts.
#[test]
fn late_after_tissue_is_gone_it_stands_on_the_rest() {
    for friction in [0.0, 0.4] {
        for cuts in [false, true] {
            let mut beside = slab(8, 0.01, 0.03);
            beside.positions.iter_mut().for_each(|p| *p = Vec3::new(p.z, p.x, p.y));
            let tissues = [beside, slab(8, 0.01, 0.03)];
            let mut stage =
                ProxyStage::new(&tissues, &[ball()], |o| RenderOptions { friction, ..o });
            stage.tick(to(RADIUS + 0.001, 0.0, RADIUS + 0.001));
            let pressed = to(RADIUS - 0.001, 0.0, RADIUS - 0.001);
            let got = stage.tick(pressed);
            assert!(got.force_n.x > 0.4 && got.force_n.z > 0.4, "both hold it: {got:?}");
            let gone = stage.tissue(0);
            if cuts {
                let touched = got.contacts.iter().filter(|c| c.tissue == gone.id());
                let mut removed: Vec<_> = touched.map(|c| c.triangle).collect();
                removed.sort_unstable();
                removed.dedup();
                let edit = TopologyEdit { removed, ..TopologyEdit::default() };
                gone.edit(edit, stage.scene.limits(), 0).expect("cut");
            } else {
                stage.scene.remove_tissue(gone.id()).expect("removed");
            }
            let got = stage.tick_in_time(&|| true);
            let is_rest = got.contacts.iter().all(|c| c.tissue != gone.id());
            assert!(is_rest, "{friction}, {cuts}: {got:?}");
            let expected = 500.0 * (0.001 + STAND_OFF);
            let off = (got.force_n.z - expected).abs();
            assert!(off < 0.02 * expected, "the floor holds: {}", got.force_n);
        }
    }
}

/// Only a tick with time left checks if a tissue may act on the proxy again: a late proxy stays embedded, and tissue
/// that is put around it without time for the check embeds it too.
#[test]
fn late_it_stays_embedded() {
    let mut stage = ProxyStage::new(&[slab(8, 0.01, 0.03)], &[ball()], |o| o);
    assert_eq!(stage.tick(to(0.0, 0.0, RADIUS - 0.002)).state, RenderState::Embedded);
    stage.pose.scene_from_tool = to(0.0, 0.0, RADIUS + 0.001);
    for _ in 0..3 {
        let got = stage.tick_in_times(&|| false, &|| true);
        assert_eq!((got.state, got.force_n), (RenderState::Embedded, DVec3::ZERO));
    }
    assert_eq!(stage.tick(to(0.0, 0.0, RADIUS + 0.001)).state, RenderState::Free);
    let above = loaded(shapes::sphere(0.001, 2));
    stage.scene.add_tissue("put", above, TissueOptions::default(), 0).expect("added");
    assert_eq!(stage.tick_in_time(&|| true).state, RenderState::Embedded);
}

/// A pressing hand is held by moving tissue even if the proxy cannot follow it in time: the force is the spring's.
#[test]
fn late_on_moving_tissue_the_force_stays() {
    let mut stage = ProxyStage::new(&[slab(8, 0.01, 0.03)], &[ball()], |o| o);
    stage.tick(to(0.0, 0.0, RADIUS + 0.001));
    stage.tick(to(0.0, 0.0, RADIUS - 0.01));
    let rest = stage.tissue(0).current().surface.mesh().positions().to_vec();
    let mut n_late = 0;
    for asked in 0..60_u32 {
        let up = 2e-4 * (asked % 2) as f32;
        let moved = rest.iter().map(|p| *p + Vec3::Z * up).collect();
        stage.tissue(0).deform(Deformation::Dense(moved), u64::from(asked) + 1).expect("accepted");
        let left = std::cell::Cell::new(asked);
        let late = || {
            left.set(left.get().saturating_sub(1));
            left.get() == 0
        };
        let got = stage.tick_in_time(&late);
        n_late += u32::from(got.state == RenderState::Late);
        // The proxy meets the tissue within the tissue's motion of 0.2 mm.
        let expected = 500.0 * 0.01;
        assert!((got.force_n.z / expected - 1.0).abs() < 0.03, "{}: {:?}", got.force_n, got.state);
    }
    assert!(n_late > 5, "{n_late} late ticks");
}

/// A forbidden region holds the proxy and bears no load; loads balance the contacts, force and moment.
#[test]
fn loads_balance_the_contacts() {
    let mut side = slab(8, 0.01, 0.01);
    side.positions.iter_mut().for_each(|p| *p = Vec3::new(p.z - 0.006, p.y, -p.x));
    for forbids in [false, true] {
        let mut stage = ProxyStage::new(&[slab(8, 0.01, 0.03), side.clone()], &[ball()], |o| {
            RenderOptions { friction: 0.2, ..o }
        });
        if forbids {
            stage.forbidden.push(stage.tissue(1).id());
        }
        stage.tick(to(0.001, 0.0, RADIUS + 0.001));
        for i in 1..30 {
            let s = 1e-4 * f64::from(i);
            let got = stage.tick(to(0.001 - s, 0.5 * s, RADIUS + 0.001 - s));
            let about = got.scene_from_proxy.translation;
            let (mut force, mut moment) = (DVec3::ZERO, DVec3::ZERO);
            for load in &got.loads {
                assert!(!forbids || load.tissue != stage.tissue(1).id());
                let revisions = stage.revisions();
                let (_, revision) =
                    revisions.iter().find(|(id, _)| *id == load.tissue).expect("there");
                for (v, f) in load.vertices.iter().zip(&load.forces_n) {
                    force += *f;
                    moment += (revision.surface.mesh().position(*v) - about).cross(*f);
                }
            }
            for contact in got.contacts.iter().filter(|c| c.is_forbidden) {
                force -= contact.force_n;
                moment -= (contact.position - about).cross(contact.force_n);
            }
            let scale = got.force_n.length().max(1e-3);
            assert!((force + got.force_n).length() < 1e-6 * scale, "{force}, {}", got.force_n);
            assert!((moment + got.torque_nm).length() < 1e-6 * scale * 0.01, "{moment}");
        }
    }
}
