//! Contacts that a tool meets between two ticks, and their times: nothing passes through.

mod goes_on;

use glam::{DQuat, DVec3, Vec3};
use palpate::{
    geometry::{MeshData, Pose, TriangleId, triangle_triangle::meet},
    oracle::{Random, shapes},
    scene::{
        Contact, Distance,
        tick::{TickOptions, answer::UnsweptReason},
        tissue::deform::Deformation,
    },
};

use crate::{
    seed::{Seed, scaled},
    support::bench::Bench,
};

const OPTIONS: fn() -> TickOptions =
    || TickOptions { contact_margin_m: 1e-4, max_contacts: 1000, ..TickOptions::default() };

/// Moves the loop through a pose whose tick is coalesced.
fn coalesce(bench: &mut Bench, pose: Pose) {
    let poses = bench.at(pose).to_vec();
    bench.session.coalesce(bench.sequence, &poses).expect("good poses");
}

fn to(x: f64, y: f64, z: f64) -> Pose {
    Pose { translation: DVec3::new(x, y, z), ..Pose::IDENTITY }
}

fn turned(axis: DVec3, angle: f64, translation: DVec3) -> Pose {
    Pose::new(DQuat::from_axis_angle(axis, angle), translation).expect("a rotation")
}

/// A sheet 20 by 20 mm and 1 mm thick, its upper side in z = 0.
fn sheet() -> MeshData {
    let mut sheet = shapes::cuboid(DVec3::new(0.02, 0.02, 0.001));
    sheet.positions.iter_mut().for_each(|p| p.z -= 0.0005);
    sheet
}

/// A needle 0.3 mm long and a fiftieth of a millimetre thick, its tip at the origin, pointing down.
fn needle() -> MeshData {
    let mut needle = shapes::cuboid(DVec3::new(2e-5, 2e-5, 3e-4));
    needle.positions.iter_mut().for_each(|p| p.z += 1.5e-4);
    needle
}

fn first_met(contacts: &[Contact]) -> Option<f64> {
    contacts.iter().filter_map(|c| c.toi).min_by(f64::total_cmp)
}

/// A short needle at 1 m/s and 500 ticks a second is above a sheet of 1 mm in one tick and below it in the next; with
/// the usual margin it is near the sheet, and so in contact, before and after.
#[test]
fn a_needle_that_crosses_a_sheet_in_one_tick_is_reported() {
    let above = 4e-4;
    let displacement = 2e-3;
    for (margin, sweep) in [(1e-4, true), (1e-4, false), (1e-3, true), (1e-3, false)] {
        let options = TickOptions { sweep, contact_margin_m: margin, ..OPTIONS() };
        let mut bench = Bench::new(sheet(), needle(), options);
        let (start, _) = bench.tick(to(0.001, 0.002, above));
        assert_eq!(start.contacts.is_empty(), margin < above);
        let (end, swept) = bench.tick(to(0.001, 0.002, above - displacement));
        if !sweep {
            let outside = |c: &Contact| c.signed_distance_m > 0.0;
            assert!(end.contacts.iter().all(outside) && !swept, "the sheet lies between two ticks");
            assert_eq!(first_met(&end.contacts), None);
            continue;
        }
        assert!(swept);
        let met = |z: f64| {
            let here = |c: &&Contact| (c.on_tissue.position.z - z).abs() < 1e-6;
            end.contacts.iter().filter(here).find(|c| c.toi.is_some()).expect("it was crossed")
        };
        let upper = met(0.0);
        let truth = above / displacement;
        let toi = upper.toi.expect("met on the path");
        assert!(toi <= truth && truth - toi < 1e-3, "{toi}, in truth {truth}");
        assert!(upper.left_behind && upper.signed_distance_m == 0.0);
        assert!(upper.normal.distance(DVec3::Z) < 1e-6, "{upper:?}");
        assert!(upper.on_tissue.position.distance(upper.on_tool.position) < 1e-9);
        let toi = first_met(&end.contacts[..]).expect("the lower side too");
        assert!(toi <= truth);
        let lower = end.contacts.iter().filter_map(|c| c.toi).fold(0.0, f64::max);
        assert!((lower - (above + 1e-3) / displacement).abs() < 1e-3, "{lower}");
    }
}

/// A sheet as thin as a hair, and a path shorter than the margin: near on one side, then near on the other.
#[test]
fn a_membrane_crossed_within_the_margin_is_reported() {
    let options = TickOptions { contact_margin_m: 1e-3, ..OPTIONS() };
    let mut bench = Bench::new(shapes::sheet(4, 4, 0.005), needle(), options);
    let middle = bench.tissue.current().surface.bounds().centre();
    let (start, _) = bench.tick(to(middle.x + 0.001, middle.y, 3e-4));
    assert!(start.contacts.iter().all(|c| c.signed_distance_m > 0.0));
    let (end, swept) = bench.tick(to(middle.x + 0.001, middle.y, -4e-4));
    let toi = first_met(&end.contacts).expect("the sheet was crossed");
    let truth = 3.0 / 7.0;
    assert!(swept && toi <= truth && truth - toi < 1e-3, "{toi}, in truth {truth}");
}

/// A jaw closes by 30 degrees past a peg in between, while all ticks but the last are dropped.
#[test]
fn a_gripper_that_closes_while_ticks_are_dropped_meets_the_peg() {
    const ANGLE: f64 = 0.5;
    // The peg stands at 20 mm from the hinge, half way between open and closed.
    let half = 0.5 * ANGLE;
    let mut peg = shapes::cuboid(DVec3::splat(4e-4));
    let at = DVec3::new(0.02 * half.cos(), 0.0, 0.02 * half.sin()).as_vec3();
    peg.positions.iter_mut().for_each(|p| *p += at);
    let mut jaw = shapes::cuboid(DVec3::new(0.03, 0.004, 2e-4));
    jaw.positions.iter_mut().for_each(|p| p.x += 0.016);
    for n_dropped in [0, 1, 5, 60, 300] {
        let mut bench = Bench::new(peg.clone(), jaw.clone(), OPTIONS());
        let closing = |s: f64| turned(DVec3::NEG_Y, ANGLE * s, DVec3::ZERO);
        let (start, _) = bench.tick(closing(0.0));
        assert!(start.contacts.is_empty());
        for i in 0..n_dropped {
            coalesce(&mut bench, closing((f64::from(i) + 1.0) / (f64::from(n_dropped) + 1.0)));
        }
        let (end, swept) = bench.tick(closing(1.0));
        assert!(swept);
        let toi = first_met(&end.contacts).expect("the peg was met");
        // True time: when the first corner of the peg comes within the jaw's half thickness.
        let bottom = peg.positions.iter().map(|p| p.as_dvec3()).map(|p| {
            let (r, angle) = (p.x.hypot(p.z), p.z.atan2(p.x));
            (angle - (1e-4 / r).asin()) / ANGLE
        });
        let truth = bottom.fold(f64::INFINITY, f64::min);
        // Beyond 64 waypoints the path is thicker.
        let slack = if n_dropped > 63 { 1e-2 } else { 1e-3 };
        assert!(toi <= truth + 1e-9 && truth - toi < slack, "{n_dropped}: {toi}, in truth {truth}");
    }
}

/// Through and back while ticks are dropped: start and end are clear of the sheet.
#[test]
fn a_path_there_and_back_is_swept_through_what_was_dropped() {
    let mut bench = Bench::new(sheet(), needle(), OPTIONS());
    bench.tick(to(0.0, 0.001, 0.002));
    coalesce(&mut bench, to(0.0, 0.001, -0.002));
    let (end, swept) = bench.tick(to(0.0, 0.001, 0.002));
    assert!(swept);
    let toi = first_met(&end.contacts).expect("the sheet was crossed");
    assert!(toi <= 0.25 && toi > 0.249, "{toi}");
    // Later ticks are swept in full again.
    for z in [-0.002, 0.002, -0.002] {
        let (end, swept) = bench.tick(to(0.0, 0.001, z));
        assert!(swept && first_met(&end.contacts).is_some(), "to {z}: {end:?}");
    }
}

#[test]
fn a_teleport_sweeps_nothing_and_a_rest_is_covered() {
    let mut bench = Bench::new(sheet(), needle(), OPTIONS());
    assert!(!bench.tick(to(0.0, 0.001, 0.002)).1, "nothing is known of the time before");
    bench.pose.teleport = true;
    let (end, swept) = bench.tick(to(0.0, 0.001, -0.004));
    assert!(end.contacts.is_empty() && !swept);
    bench.pose.teleport = false;
    let (end, swept) = bench.tick(to(0.0, 0.001, -0.004));
    assert!(end.contacts.is_empty() && swept, "it stays where it was put");
    // A dropped teleport restarts the path.
    bench.pose.teleport = true;
    coalesce(&mut bench, to(0.0, 0.001, 0.004));
    bench.pose.teleport = false;
    let (end, swept) = bench.tick(to(0.0, 0.001, 0.0035));
    assert!(end.contacts.is_empty() && swept);
}

/// A tool that turns about a far point ends at its start, but in between it dips into the sheet: by r (1 - cos(a / 2)),
/// 0.5 mm.
#[test]
fn a_turn_that_ends_where_it_began_is_swept() {
    let (radius, angle, above) = (0.1, 0.2, 3e-4);
    let mut far = needle();
    far.positions.iter_mut().for_each(|p| p.z -= radius as f32);
    let tip = DVec3::new(0.0, 0.001, above);
    let held = |turn: f64| {
        let at = DQuat::from_rotation_y(turn) * DVec3::new(0.0, 0.0, -radius);
        turned(DVec3::Y, turn, tip - at)
    };
    for margin in [1e-4, 1e-3] {
        let options = TickOptions { contact_margin_m: margin, ..OPTIONS() };
        let mut bench = Bench::new(sheet(), far.clone(), options);
        bench.tick(held(0.0));
        let (end, swept) = bench.tick(held(angle));
        let toi = first_met(&end.contacts).expect("the needle dipped into the sheet");
        assert!(swept && (0.05..0.5).contains(&toi), "{toi}");
        assert!(end.contacts.iter().all(|c| c.left_behind || c.signed_distance_m > 0.0));
    }
}

/// A tick that runs out of time, at once or at any later reading of its clock, leaves the path open unless all of it
/// was tested; the next tick in time makes up for it. The distance is between its bounds.
#[test]
fn a_late_tick_loses_no_contact() {
    let (mut n_in_time, mut n_going_on) = (0, 0);
    let mut bench = Bench::new(sheet(), needle(), OPTIONS());
    bench.tick(to(0.0, 0.001, 0.002));
    let (whole, _) = bench.tick(to(0.0, 0.001, -0.002));
    for readings in 0..60 {
        let mut bench = Bench::new(sheet(), needle(), OPTIONS());
        bench.tick(to(0.0, 0.001, 0.002));
        let answer = bench.tick_of(readings, to(0.0, 0.001, -0.002));
        let link = &answer.links[0];
        let swept = answer.flags.swept;
        // Otherwise the sweep may be complete and report a contact too early.
        let in_time = !answer.flags.degraded;
        assert!(!in_time || swept && !link.is_cut_short, "{readings}");
        let met = first_met(&link.contacts);
        assert!(!in_time || met == first_met(&whole.contacts), "{readings}: {met:?}");
        let reason = answer.flags.unswept_reason;
        assert_eq!(reason, (!swept).then_some(UnsweptReason::GoingOn), "{readings}");
        if let Distance::Within(nearest) = link.distance {
            assert!(nearest.signed_distance_m > 7e-4 - 1e-6, "{nearest:?}");
        }
        assert!(link.lower_bound_m < 7e-4 + 1e-6, "{link:?}");
        assert!(link.is_cut_short || link.lower_bound_m > 7e-4 - 1e-6, "{link:?}");
        let was_met = first_met(&link.contacts).is_some();
        assert!(was_met || !swept);
        n_in_time += u32::from(swept);
        n_going_on += u32::from(!swept);
        let (end, swept) = bench.tick(to(0.0, 0.001, -0.0021));
        assert!(swept);
        match first_met(&end.contacts) {
            Some(toi) => assert!(toi < 0.5, "{toi}"),
            None => assert!(was_met, "the sheet was crossed"),
        }
    }
    assert!(n_in_time > 0 && n_going_on > 0, "{n_in_time} in time, {n_going_on} going on");
}

/// Tissue jumps over the tool and back between two ticks: its positions in between count.
#[test]
fn tissue_that_moves_there_and_back_is_met() {
    let mut bench = Bench::new(sheet(), needle(), OPTIONS());
    bench.tick(to(0.0, 0.001, 0.002));
    let rest: Vec<Vec3> = bench.tissue.current().surface.mesh().positions().to_vec();
    for up in [0.006, 0.0] {
        let positions = rest.iter().map(|p| *p + Vec3::Z * up).collect();
        bench.tissue.deform(Deformation::Dense(positions), 0).expect("a good deformation");
    }
    let (end, swept) = bench.tick(to(0.0, 0.001, 0.002));
    let toi = first_met(&end.contacts).expect("the sheet went by twice");
    let truth = 0.5 * 0.002 / 0.006 + 1e-6;
    assert!(swept && toi <= truth && truth - toi < 1e-3, "{toi}, in truth {truth}");
}

/// The tissue moves past a resting tool, all of it or a part of it, in one or several deformations.
#[test]
fn tissue_that_moves_past_a_resting_tool_is_met() {
    for (n_moves, dense) in [(1, true), (1, false), (3, true), (3, false)] {
        let mut bench = Bench::new(sheet(), needle(), OPTIONS());
        bench.tick(to(0.0, 0.001, 0.002));
        let rest: Vec<Vec3> = bench.tissue.current().surface.mesh().positions().to_vec();
        for i in 1..=n_moves {
            let up = Vec3::Z * 0.006 * i as f32 / n_moves as f32;
            let positions: Vec<Vec3> = rest.iter().map(|p| *p + up).collect();
            let vertices = (0..rest.len() as u32).rev().collect();
            let backwards = positions.iter().rev().copied().collect();
            let moved = if dense {
                Deformation::Dense(positions)
            } else {
                Deformation::Sparse { vertices, positions: backwards }
            };
            bench.tissue.deform(moved, 0).expect("a good deformation");
        }
        let (end, swept) = bench.tick(to(0.0, 0.001, 0.002));
        let toi = first_met(&end.contacts).expect("the sheet went by");
        // Stored positions are rounded to f32.
        let truth = 0.002 / 0.006 + 1e-6;
        assert!(swept && toi <= truth && truth - toi < 1e-3, "{toi}, in truth {truth}");
        // More deformations than are remembered: the path is as thick as their travel.
        for i in 0..12 {
            let down = Vec3::NEG_Z * 0.001 * i as f32;
            let positions = rest.iter().map(|p| *p + down).collect();
            bench.tissue.deform(Deformation::Dense(positions), 0).expect("a good deformation");
        }
        let (end, swept) = bench.tick(to(0.0, 0.001, 0.002));
        assert!(swept && first_met(&end.contacts).is_some(), "the sheet went by again");
    }
}

/// Every tissue triangle that some instant of the motion finds crossed, and that was not touched before, is reported,
/// no later than that instant.
#[test]
fn random_motions_against_many_instants() {
    const INSTANTS: usize = 200;
    let seed = Seed::or(521);
    let (mut met, mut covered) = (0, 0);
    for i in 0..scaled(60) {
        let mut random = seed.random(i as u64);
        let organ = shapes::organ(600, 3);
        let tip = shapes::capsule(0.004, 0.01, 6);
        let mut bench = Bench::new(organ, tip, OPTIONS());
        let start = near_surface(&bench, 0.03, &mut random);
        bench.tick(start);
        let displacement = random.unit_vector() * random.range(0.0, 0.06);
        let turn = DQuat::from_axis_angle(random.unit_vector(), random.range(0.0, 1.0));
        let end = turn * DQuat::from_mat3(&start.rotation);
        let end = Pose::new(end, start.translation + displacement).expect("a rotation");
        let touched_before: Vec<TriangleId> = bench.tick(start).0.contacts.iter().map(id).collect();
        let (answer, swept) = bench.tick(end);
        if !swept {
            continue;
        }
        covered += 1;
        let held = bench.tissue.current();
        let mesh = held.surface.mesh();
        let corners = |t: &[u32; 3]| t.map(|v| bench.link_mesh.positions[v as usize].as_dvec3());
        for t in mesh.triangle_ids().filter(|t| !touched_before.contains(t)) {
            let triangle = mesh.triangle(t);
            let crossed = (1..=INSTANTS).map(|k| k as f64 / INSTANTS as f64).find(|s| {
                let pose = between(&start, &end, *s);
                let placed = |own: &[u32; 3]| corners(own).map(|p| pose.point(p));
                let near = triangle[0].distance(pose.translation) < 0.05;
                near && bench.link_mesh.triangles.iter().any(|own| meet(&triangle, &placed(own)))
            });
            let Some(instant) = crossed else { continue };
            let contact = answer.contacts.iter().find(|c| id(c) == t);
            let toi = contact.and_then(|c| c.toi);
            assert!(
                toi.is_some_and(|toi| toi <= instant),
                "motion {i}: {t:?} at {instant}: {contact:?}"
            );
            met += 1;
        }
    }
    println!("{met} triangles met in {covered} motions");
    assert!(met > scaled(60) / 4 && covered > scaled(60) / 2, "{met} met, {covered} covered");
}

fn id(contact: &Contact) -> TriangleId {
    contact.on_tissue.triangle
}

/// Pose between two others, as a tick moves a link.
fn between(a: &Pose, b: &Pose, s: f64) -> Pose {
    let [from, to] = [a, b].map(|p| DQuat::from_mat3(&p.rotation));
    Pose::new(from.slerp(to, s), a.translation.lerp(b.translation, s)).expect("a rotation")
}

/// Random orientation, with the middle `height` over a vertex of the tissue.
fn near_surface(bench: &Bench, height: f64, random: &mut Random) -> Pose {
    let held = bench.tissue.current();
    let positions = held.surface.mesh().positions();
    let at = positions[random.below(positions.len())].as_dvec3();
    Pose::new(random.rotation(), at * (1.0 + height / at.length())).expect("a rotation")
}
