//! The tick against brute force: distances, depths, contacts and probes.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
};

use glam::{DQuat, DVec3, Vec3};
use palpate::{
    geometry::{MeshData, Pose, TriangleId, triangle_triangle::meet},
    oracle::{Random, brute_force, shapes, solid_angle::winding_number},
    scene::{
        Contact, Distance, NearestSurface, TickAnswer,
        query::{QueryTarget, distances},
        tick::{TickOptions, ToolPose, scene_from_link},
        tissue::{deform::Deformation, edit::TopologyEdit},
    },
    time_left::TimeLeft,
};

use super::{
    bound::distance_error,
    inputs,
    stage::{Stage, at, without_lives},
};
use crate::seed::{Seed, scaled};

fn shared_tool_and_tissue(tissue: (&str, f64), tool: (&str, f64)) -> Option<Stage> {
    let tissue = inputs::shared(tissue.0, tissue.1)?.data;
    let tool = inputs::shared(tool.0, tool.1)?.data;
    Some(Stage::new(&[tissue], &[tool]))
}

/// Checks poses from half a metre apart to 1 cm deep, most of them about touching.
fn random_poses(stage: &mut Stage, n: usize, random: &mut Random, about: &str) {
    for i in 0..n {
        let depth = 10f64.powf(random.range(-5.0, -2.0));
        let offset = [depth, -depth, 5.0 * depth, 30.0 * depth][i % 4];
        let pose = stage.pose(stage.random_pose(offset, random));
        let answer = stage.check(&pose, &format!("{about}, pose {i}: {:?}", pose.scene_from_tool));
        check_probes(stage, &answer, &pose);
    }
    println!("{about}: {:?}", stage.compared);
}

/// Compares probes with brute force, and with the answers of a query for points.
fn check_probes(stage: &Stage, answer: &TickAnswer, pose: &palpate::scene::tick::ToolPose) {
    let held = stage.tissues();
    for (probe, given) in stage.tool.probes.iter().zip(&answer.probes) {
        let centre = scene_from_link(&stage.tool, probe.link, pose).point(probe.position);
        let reach = stage.options.max_distance_m + probe.radius;
        let endless = TimeLeft::endless();
        let queried = distances(&QueryTarget::Tissues(&held), &[centre], reach, &endless);
        let [queried] = queried.expect("time enough")[..] else {
            panic!("one point gives one answer")
        };
        let (Distance::Within(given), Distance::Within(mut queried)) = (given.distance, queried)
        else {
            panic!("{given:?} and {queried:?} for a probe near the tissue")
        };
        queried.signed_distance_m -= probe.radius;
        assert_eq!(given, queried);
        let each = held.iter().filter_map(|(_, revision)| {
            let mesh = revision.surface.mesh();
            let nearest = brute_force::nearest(mesh, centre)?;
            let side = if winding_number(mesh, centre) > 0.5 { -1.0 } else { 1.0 };
            Some((nearest.distance * side, distance_error(mesh, nearest.triangle, centre)))
        });
        let (expected, error) =
            each.min_by(|a, b| a.0.total_cmp(&b.0)).expect("the scene has a tissue");
        let got = given.signed_distance_m + probe.radius;
        assert!(
            (got - expected).abs() <= 2.0 * error || expected.abs() <= error,
            "probe {got}, oracle {expected}"
        );
    }
}

#[test]
fn generated_tissue_and_tool() {
    let mut random = Seed::or(30).random(0);
    let tissue = shapes::organ(720, 3);
    for (name, tool) in [
        ("capsule", shapes::capsule(0.004, 0.03, 8)),
        ("jaw", shapes::jaw(0.03, 6)),
        ("fine ball", shapes::sphere(0.02, 4)),
        ("cuboid", shapes::cuboid(DVec3::new(0.01, 0.02, 0.08))),
    ] {
        let mut stage = Stage::new(std::slice::from_ref(&tissue), &[tool]);
        random_poses(&mut stage, scaled(40), &mut random, name);
        assert!(stage.compared.inside > 0 && stage.compared.apart > 0, "{:?}", stage.compared);
    }
}

#[test]
fn liver_and_dental_probe() {
    let (tissue, tool) = (("liver-smooth.obj", 0.03), ("dental_instrument_light.obj", 0.01));
    let Some(mut stage) = shared_tool_and_tissue(tissue, tool) else { return };
    random_poses(&mut stage, scaled(8), &mut Seed::or(31).random(0), "liver and dental probe");
}

#[test]
fn tongue_and_pliers() {
    let (tissue, tool) = (("tongue.obj", 0.01), ("pliers_binary.stl", 0.001));
    let Some(mut stage) = shared_tool_and_tissue(tissue, tool) else { return };
    random_poses(&mut stage, scaled(1), &mut Seed::or(32).random(0), "tongue and pliers");
}

#[test]
fn two_links_and_two_tissues() {
    let mut random = Seed::or(33).random(0);
    let mut second = shapes::sphere(0.05, 5);
    second.positions.iter_mut().for_each(|p| *p += Vec3::new(0.08, 0.0, 0.02));
    let jaw = shapes::jaw(0.03, 6);
    let links = [shapes::mirrored_z(&jaw), jaw];
    let mut stage = Stage::new(&[shapes::organ(500, 8), second], &links);
    random_poses(&mut stage, scaled(40), &mut random, "two and two");
    for i in 0..scaled(20) {
        let mut pose = stage.pose(stage.random_pose(-0.002, &mut random));
        let opened = |angle| Pose::new(DQuat::from_rotation_y(angle), DVec3::ZERO).expect("unit");
        pose.tool_from_link = vec![opened(random.range(0.0, 0.5)), opened(random.range(-0.5, 0.0))];
        stage.check(&pose, &format!("opened jaws, pose {i}"));
    }
}

/// Wholly inside: every vertex of the tool, and of a tissue that a hollow tool encloses.
#[test]
fn submerged_and_enclosed() {
    let mut random = Seed::or(34).random(0);
    let mut small = Stage::new(&[shapes::organ(720, 3)], &[shapes::sphere(0.001, 2)]);
    for i in 0..scaled(8) {
        let centre = random.point(DVec3::splat(-0.01), DVec3::splat(0.01));
        let pose = small.pose(at(centre));
        let answer = small.check(&pose, &format!("submerged {i}"));
        let Distance::Within(deepest) = answer.links[0].distance else { panic!("{answer:?}") };
        assert!(deepest.signed_distance_m < -0.01, "{deepest:?}");
        assert_eq!(answer.links[0].contacts_total, 1, "the deepest point alone");
    }
    let mut hollow = Stage::new(&[shapes::organ(320, 3)], &[shapes::sphere(0.5, 4)]);
    let pose = hollow.pose(at(DVec3::new(0.05, 0.02, 0.0)));
    let answer = hollow.check(&pose, "enclosed");
    assert_eq!(answer.links[0].contacts_total, shapes::organ(320, 3).triangles.len());
}

/// A vertex of the tool on a vertex, an edge's middle and a face's middle of the tissue, exactly or to
/// rounding.
#[test]
fn exactly_on_a_vertex_an_edge_and_a_face() {
    let mut random = Seed::or(35).random(0);
    let tissue = shapes::organ(320, 5);
    let tool = shapes::capsule(0.004, 0.03, 8);
    let mut stage = Stage::new(std::slice::from_ref(&tissue), std::slice::from_ref(&tool));
    for i in 0..scaled(100) {
        let [p, q, r] = tissue.triangles[random.below(tissue.triangles.len())]
            .map(|v| tissue.positions[v as usize].as_dvec3());
        let vertex = tool.positions[random.below(tool.positions.len())].as_dvec3();
        for (name, target) in [("vertex", p), ("edge", (p + q) * 0.5), ("face", (p + q + r) / 3.0)]
        {
            let pose = stage.pose(at(target - vertex));
            stage.check(&pose, &format!("on a {name}, {i}"));
            let turned = Pose::new(random.rotation(), DVec3::ZERO).expect("a unit quaternion");
            let translation = target - turned.point(vertex);
            let pose = stage.pose(Pose { translation, ..turned });
            stage.check(&pose, &format!("turned, on a {name}, {i}"));
        }
    }
}

/// A scene a kilometre from the origin, at which a stored coordinate steps by 0.06 mm; and a tool a kilometre from its
/// tissue.
#[test]
fn a_kilometre_away() {
    let mut random = Seed::or(36).random(0);
    let away = Vec3::new(600.0, -700.0, 387.0);
    let mut tissue = shapes::organ(320, 5);
    tissue.positions.iter_mut().for_each(|p| *p += away);
    let mut stage = Stage::new(&[tissue], &[shapes::capsule(0.004, 0.03, 8)]);
    random_poses(&mut stage, scaled(30), &mut random, "both far from the origin");

    let mut stage = Stage::new(&[shapes::organ(320, 5)], &[shapes::capsule(0.004, 0.03, 8)]);
    let pose = stage.pose(at(away.as_dvec3()));
    let answer = stage.check(&pose, "far apart, beyond");
    assert_eq!(answer.links[0].distance, Distance::Beyond(0.5));
    stage.set_options(|o| o.max_distance_m = 5000.0);
    let answer = stage.check(&pose, "far apart, within");
    assert!(matches!(answer.links[0].distance, Distance::Within(_)), "{answer:?}");
    stage.check(&stage.pose(Pose::IDENTITY), "back from afar");
}

#[test]
fn a_quaternion_and_its_negative() {
    let mut random = Seed::or(37).random(0);
    let mut stage = Stage::new(&[shapes::organ(320, 5)], &[shapes::jaw(0.03, 6)]);
    for _ in 0..scaled(50) {
        let (q, t) = (random.rotation(), random.point(DVec3::splat(-0.1), DVec3::splat(0.1)));
        let [a, b] = [q, -q].map(|q| stage.pose(Pose::new(q, t).expect("a unit quaternion")));
        let [a, b] = [a, b].map(|pose| without_lives(&stage.tick(&pose)));
        assert_eq!(a, b);
    }
}

/// The deepest contacts of all are given, the rest counted; none if none are requested; the distance does not change.
#[test]
fn limits_on_what_is_given() {
    let mut random = Seed::or(38).random(0);
    let mut stage = Stage::new(&[shapes::organ(720, 3)], &[shapes::sphere(0.03, 6)]);
    for _ in 0..scaled(20) {
        let pose = stage.pose(stage.random_pose(-0.005, &mut random));
        stage.set_options(|o| (o.max_contacts, o.contacts) = (100_000, true));
        let all = stage.tick(&pose);
        for limit in [0, 1, 7] {
            stage.set_options(|o| (o.max_contacts, o.contacts) = (limit, true));
            let some = stage.tick(&pose);
            let (all, given) = (&all.links[0], &some.links[0]);
            assert_eq!(given.contacts, all.contacts[..limit.min(all.contacts.len())]);
            assert_eq!((given.contacts_total, given.distance), (all.contacts_total, all.distance));
            assert_eq!(some.flags.truncated, all.contacts_total > limit);
        }
        stage.set_options(|o| (o.contacts, o.probes) = (false, false));
        let bare = stage.tick(&pose);
        assert_eq!(bare.links[0].distance, all.links[0].distance);
        assert!(bare.links[0].contacts.is_empty() && bare.probes.is_empty());
    }
}

/// Points against tissues and against a link, at any distance.
#[test]
fn queries_for_points() {
    let mut random = Seed::or(39).random(0);
    let stage = Stage::new(&[shapes::organ(320, 3)], &[shapes::torus(0.1, 0.03, 14, 8)]);
    let held = stage.tissues();
    let pose = stage.random_pose(0.0, &mut random);
    let points: Vec<DVec3> =
        (0..scaled(2000)).map(|_| random.point(DVec3::splat(-0.3), DVec3::splat(0.3))).collect();
    let max_distance = 0.1;
    let tissue_mesh = held[0].1.surface.mesh();
    let link_mesh = stage.tool.links[0].surface.mesh();
    for (target, mesh, frame) in [
        (QueryTarget::Tissues(&held), tissue_mesh, Pose::IDENTITY),
        (QueryTarget::Link(&stage.tool, 0, pose), link_mesh, pose.inverse()),
    ] {
        let answers = distances(&target, &points, max_distance, &TimeLeft::endless());
        let answers = answers.expect("time enough");
        let none = TimeLeft::until(&|| 1, 1);
        assert!(distances(&target, &points, max_distance, &none).is_none(), "no time");
        assert_eq!(answers.len(), points.len());
        for (p, answer) in points.iter().zip(answers) {
            check_answer(mesh, frame.point(*p), answer, max_distance);
        }
    }
}

fn check_answer(
    mesh: &palpate::geometry::TriangleMesh,
    seen: DVec3,
    answer: Distance<NearestSurface>,
    max_distance: f64,
) {
    let nearest = brute_force::nearest(mesh, seen).expect("has triangles");
    let inside = winding_number(mesh, seen) > 0.5;
    match answer {
        Distance::Beyond(bound) => {
            assert_eq!(bound, max_distance);
            assert!(!inside && nearest.distance > max_distance - 1e-12, "{seen:?}: {nearest:?}");
        }
        Distance::Within(found) => {
            let expected = if inside { -nearest.distance } else { nearest.distance };
            assert!((found.signed_distance_m - expected).abs() < 1e-12, "{seen:?}: {found:?}");
        }
    }
}

/// A tick without any time answers with bounds, and with points that exist.
#[test]
fn out_of_time() {
    let mut random = Seed::or(40).random(0);
    let stage = Stage::new(&[shapes::organ(320, 3)], &[shapes::capsule(0.004, 0.03, 8)]);
    let none = TimeLeft::until(&|| 1, 0);
    for i in 0..scaled(40) {
        let offset = [0.02, -0.004, 0.0005][i % 3];
        let poses = [stage.pose(stage.random_pose(offset, &mut random))];
        let session = |time: &TimeLeft| {
            let mut s = palpate::scene::tick::Session::new(
                stage.scene.clone(),
                &[stage.tool.id],
                stage.options.clone(),
            )
            .expect("the tool is there");
            s.tick(1, &poses, 0, time).expect("accepted").clone()
        };
        let (in_time, late) = (session(&TimeLeft::endless()), session(&none));
        assert!(late.flags.degraded && !in_time.flags.degraded);
        assert_bounds(&late, &in_time, stage.tool.links[0].field.tolerance());
        assert!(late.links[0].ended.is_empty());
    }
}

/// Checks that the bounds of an answer out of time hold for the answer in time. `tolerance`: how much deeper a point
/// found by one may be than that found by the other, metres.
fn assert_bounds(late: &TickAnswer, in_time: &TickAnswer, tolerance: f64) {
    let metres = |d: &Distance<Contact>| match d {
        Distance::Within(found) => found.signed_distance_m,
        Distance::Beyond(bound) => *bound,
    };
    for (late, in_time) in late.links.iter().zip(&in_time.links) {
        assert!(late.is_cut_short && !in_time.is_cut_short);
        let truth = metres(&in_time.distance);
        assert!(late.lower_bound_m <= truth + 1e-9, "{late:?}, in truth {truth}");
        match &late.distance {
            Distance::Within(near) => {
                let tolerance = if truth < 0.0 { tolerance } else { 1e-9 };
                assert!(near.signed_distance_m >= truth - tolerance, "{near:?}, in truth {truth}");
            }
            Distance::Beyond(bound) => assert_eq!(*bound, late.lower_bound_m),
        }
        assert_eq!(in_time.lower_bound_m, truth);
    }
    for (late, in_time) in late.probes.iter().zip(&in_time.probes) {
        let Distance::Beyond(bound) = late.distance else { panic!("{late:?} took time") };
        let truth = match in_time.distance {
            Distance::Within(near) => near.signed_distance_m,
            Distance::Beyond(bound) => bound,
        };
        assert!(bound <= truth + 1e-9, "{bound}, in truth {truth}");
    }
}

/// A tick out of time follows one in time, a little farther on: bounds hold, no contact ends, and the next tick has its
/// contacts again.
#[test]
fn out_of_time_after_one_in_time() {
    let mut random = Seed::or(42).random(0);
    let stage = Stage::new(&[shapes::organ(320, 3)], &[shapes::capsule(0.004, 0.03, 8)]);
    let none = TimeLeft::until(&|| 1, 0);
    let (mut n_tight, mut n_persisting) = (0, 0);
    for i in 0..scaled(60) {
        let offset = [-0.006, 0.002, 0.01][i % 3];
        let at = stage.random_pose(offset, &mut random);
        let by = random.unit_vector() * random.range(0.0, 1e-3);
        let moved = Pose { translation: at.translation + by, ..at };
        let [first, second] = [at, moved].map(|pose| [stage.pose(pose)]);
        let (scene, options) = (stage.scene.clone(), stage.options.clone());
        let mut session = palpate::scene::tick::Session::new(scene, &[stage.tool.id], options)
            .expect("the tool is there");
        let endless = TimeLeft::endless();
        let before = session.tick(1, &first, 0, &endless).expect("accepted").clone();
        let late = session.tick(2, &second, 0, &none).expect("accepted").clone();
        let in_time = session.tick(3, &second, 0, &endless).expect("accepted").clone();
        assert_bounds(&late, &in_time, stage.tool.links[0].field.tolerance());
        assert!(late.links[0].ended.is_empty());
        let ids = |answer: &TickAnswer| -> BTreeSet<u64> {
            answer.links[0].statuses.iter().map(|s| s.id).collect()
        };
        // Each contact from before is there again, or has ended by now.
        let (known, now) = (ids(&before), ids(&in_time));
        let ended: BTreeSet<u64> = in_time.links[0].ended.iter().copied().collect();
        assert!(known.iter().all(|id| now.contains(id) != ended.contains(id)), "{known:?}");
        n_persisting += known.intersection(&now).count();
        n_tight += usize::from(late.links[0].lower_bound_m > 0.0);
    }
    assert!(n_tight > scaled(60) / 8 && n_persisting > scaled(60), "{n_tight}, {n_persisting}");
}

/// Contacts that take longer than a tick to find are all given within some ticks, and keep their ids.
#[test]
fn contacts_are_found_in_turn() {
    let mut random = Seed::or(44).random(0);
    let stage = Stage::new(&[shapes::organ(6_000, 3)], &[shapes::capsule(0.006, 0.04, 10)]);
    let options = TickOptions { max_contacts: 1_024, ..stage.options.clone() };
    let mut n_contacts = 0;
    for _ in 0..scaled(6) {
        let poses = [stage.pose(stage.random_pose(-0.004, &mut random))];
        let new = || {
            let (scene, options) = (stage.scene.clone(), options.clone());
            palpate::scene::tick::Session::new(scene, &[stage.tool.id], options).expect("there")
        };
        let of = |answer: &TickAnswer| -> BTreeSet<TriangleId> {
            answer.links[0].contacts.iter().map(|c| c.on_tissue.triangle).collect()
        };
        let truth = of(new().tick(1, &poses, 0, &TimeLeft::endless()).expect("accepted"));
        let mut session = new();
        let (mut given, mut ids) = (BTreeSet::new(), BTreeMap::new());
        let mut n_ticks = 0;
        while given != truth {
            n_ticks += 1;
            let read = Cell::new(0);
            let clock = || read.replace(read.get() + 1);
            let time = TimeLeft::until(&clock, 400);
            let answer = session.tick(n_ticks, &poses, 0, &time).expect("accepted");
            assert!(answer.links[0].ended.is_empty(), "nothing moves");
            for (contact, status) in answer.links[0].contacts.iter().zip(&answer.links[0].statuses)
            {
                let t = contact.on_tissue.triangle;
                assert_eq!(*ids.entry(t).or_insert(status.id), status.id, "{t:?} keeps its id");
            }
            given.append(&mut of(answer));
            assert!(n_ticks < 5_000, "{} of {} given", given.len(), truth.len());
        }
        println!("{} contacts in {n_ticks} ticks", truth.len());
        n_contacts += truth.len();
    }
    assert!(n_contacts > scaled(6) * 10, "{n_contacts}");
}

/// A contact is as far away as reported and at the link's nearest point, however little time its tick has.
#[test]
fn contacts_of_late_ticks_are_where_they_are_told() {
    let mut random = Seed::or(47).random(0);
    let mut stage = Stage::new(&[shapes::organ(1_500, 3)], &[shapes::capsule(0.004, 0.03, 24)]);
    stage.set_options(|options| options.contact_margin_m = 0.004);
    let mesh = stage.tool.links[0].surface.mesh().clone();
    let (mut n_contacts, mut n_late) = (0, 0);
    for _ in 0..scaled(8) {
        let mut at = stage.random_pose(-0.001, &mut random);
        for i in 0..100 {
            at.translation += random.unit_vector() * random.range(0.0, 5e-4);
            let pose = ToolPose { teleport: i == 0, ..stage.pose(at) };
            // After a tick that was cut short, the next one searches in turn.
            let answer = match i % 3 {
                0 => stage.tick(&pose),
                _ => stage.tick_until(&pose, random.below(200) as u64),
            };
            let link_from_scene = scene_from_link(&stage.tool, 0, &pose).inverse();
            n_late += usize::from(answer.links[0].is_cut_short);
            for c in answer.links[0].contacts.iter().filter(|c| !c.wholly_inside && c.toi.is_none())
            {
                let p = link_from_scene.point(c.on_tissue.position);
                let distance =
                    brute_force::nearest(&mesh, p).expect("a link has triangles").distance;
                let off = (c.signed_distance_m.abs() - distance).abs();
                assert!(off < 1e-9, "{c:?}, in truth {distance}");
                n_contacts += 1;
            }
        }
    }
    println!("{n_contacts} contacts, {n_late} late ticks");
    assert!(n_contacts > scaled(8) * 500 && n_late > scaled(8) * 20, "{n_contacts}, {n_late}");
}

/// A tick whose time is over before it begins looks only at the contact that was deepest, which may have been cut away.
#[test]
fn a_late_tick_looks_at_what_was_deepest_while_that_is_there() {
    let mut random = Seed::or(43).random(0);
    let mut n_cut = 0;
    for _ in 0..scaled(10) {
        let mut stage = Stage::new(&[shapes::organ(600, 3)], &[shapes::capsule(0.004, 0.03, 8)]);
        let pose = stage.pose(stage.random_pose(-0.003, &mut random));
        let Some(deepest) = stage.tick(&pose).links[0].contacts.first().copied() else { continue };
        let told = |answer: &TickAnswer| -> Vec<TriangleId> {
            assert!(answer.flags.degraded, "{answer:?}");
            answer.links[0].contacts.iter().map(|c| c.on_tissue.triangle).collect()
        };
        let late = told(&stage.late_tick(&pose));
        assert!(late.iter().all(|t| *t == deepest.on_tissue.triangle), "{late:?}");
        let tissue = &stage.scene.tissues()[0];
        let edit =
            TopologyEdit { removed: vec![deepest.on_tissue.triangle], ..TopologyEdit::default() };
        tissue.edit(edit, stage.scene.limits(), 0).expect("cut");
        let late = stage.late_tick(&pose);
        assert!(!told(&late).contains(&deepest.on_tissue.triangle), "it is gone");
        n_cut += 1;
    }
    assert!(n_cut > scaled(10) / 3, "{n_cut} cut");
}

/// A tool rests in one tissue and another tissue moves while ticks have no time; then the tool leaves. The answer
/// reports the triangles that the tool crossed all along, and since when.
#[test]
fn what_late_ticks_crossed_at_rest_is_told_from_the_start() {
    let mut random = Seed::or(44).random(0);
    let ball = shapes::sphere(0.02, 3);
    let beside = |by: f32| ball.positions.iter().map(|p| *p + Vec3::X * by).collect();
    let other = MeshData { positions: beside(0.3), ..ball.clone() };
    let mut n_crossed = 0;
    let mut stage = Stage::new(&[shapes::organ(600, 3), other], &[shapes::capsule(0.004, 0.03, 8)]);
    for _ in 0..scaled(30) {
        // A new session.
        stage.set_options(|_| ());
        let inside = stage.random_pose(-0.003, &mut random);
        let away = Pose { translation: inside.translation + DVec3::Z, ..inside };
        let [inside, away] =
            [inside, away].map(|at| ToolPose { teleport: false, ..stage.pose(at) });
        let tissues = stage.scene.tissues();
        let now = tissues[0].current();
        let from_link = scene_from_link(&stage.tool, 0, &inside);
        let link = stage.tool.links[0].surface.mesh();
        let link = brute_force::placed(link, &from_link);
        let mesh = now.surface.mesh();
        let is_crossed = |t: &TriangleId| link.iter().any(|own| meet(&mesh.triangle(*t), own));
        let crossed: Vec<TriangleId> = mesh.triangle_ids().filter(is_crossed).collect();
        for by in [0.301, 0.302] {
            assert!(stage.late_tick(&inside).flags.degraded);
            tissues[1].deform(Deformation::Dense(beside(by)), 0).expect("all are there");
        }
        stage.late_tick(&inside);
        let answer = stage.tick(&away);
        assert!(answer.flags.swept, "{:?}", answer.flags);
        for t in &crossed {
            let is_it = |c: &&Contact| (c.tissue, c.on_tissue.triangle) == (tissues[0].id(), *t);
            let met = answer.links[0].contacts.iter().find(is_it);
            assert_eq!(met.and_then(|c| c.toi), Some(0.0), "{t:?}: {met:?}");
        }
        n_crossed += crossed.len();
    }
    assert!(n_crossed > scaled(30), "{n_crossed} crossed");
}

/// A tissue that is open or has several bodies answers according to its winding number.
#[test]
fn open_tissue_and_tissue_of_several_bodies() {
    let mut random = Seed::or(41).random(0);
    let cavity =
        inputs::joined(&[shapes::sphere(0.06, 5), inputs::turned(shapes::sphere(0.04, 4))]);
    let mut bowl = shapes::sphere(0.06, 5);
    bowl.triangles.retain(|t| t.iter().any(|v| bowl.positions[*v as usize].z < 0.02));
    let tissues: [(&str, MeshData); 3] =
        [("cavity", cavity), ("bowl", bowl), ("sheet", shapes::sheet(12, 12, 0.01))];
    for (name, tissue) in tissues {
        let mut stage = Stage::new(&[tissue], &[shapes::capsule(0.004, 0.03, 8)]);
        for i in 0..scaled(30) {
            let offset = random.range(-0.01, 0.01);
            let pose = stage.pose(stage.random_pose(offset, &mut random));
            stage.check(&pose, &format!("{name}, pose {i}"));
        }
        println!("{name}: {:?}", stage.compared);
    }
}
