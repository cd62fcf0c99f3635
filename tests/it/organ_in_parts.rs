//! An organ that is split into several tissues of a scene encloses the same region as in one piece. Solid angles over
//! all parts are the oracle.

use std::sync::Arc;

use glam::{DQuat, DVec3, Vec3};
use palpate::{
    geometry::{LoadOptions, MeshData, Pose, TriangleMesh, mesh::load::load},
    oracle::{
        Random,
        brute_force::{nearest, placed, surface_distance},
        shapes,
        solid_angle::winding_number,
    },
    scene::{
        Distance, Limits, Link, NearestSurface, Probe, RevisionGuard, Scene, TissueId,
        TissueOptions, ToolParts,
        query::{QueryTarget, distances},
        saved::NotAScene,
        tick::{Session, TickOptions, ToolPose},
        tissue::deform::Deformation,
        tool::field::default_field,
    },
    sdf::Field,
    time_left::TimeLeft,
};

use crate::seed::{Seed, scaled};

/// Rounding of coordinates, metres, and of sums of solid angles, turns.
const ROUNDING: f64 = 1e-9;
/// Largest error of a sum of far clusters' winding numbers.
const WINDING_ERROR: f64 = 0.1;
/// Radius of the ball; its vertices are on it.
const RADIUS_M: f64 = 2e-3;
const MARGIN_M: f64 = 1e-3;

/// Meshes of the triangles whose centres `part` maps to the same number, each with its own vertices.
fn split(whole: &MeshData, part: impl Fn(Vec3) -> usize) -> Vec<MeshData> {
    let place = |v: &u32| whole.positions[*v as usize];
    let centre = |t: &[u32; 3]| t.iter().map(place).sum::<Vec3>() / 3.0;
    let n = whole.triangles.iter().map(|t| part(centre(t))).max().map_or(0, |last| last + 1);
    let mut parts = vec![MeshData::default(); n];
    let mut named = vec![vec![u32::MAX; whole.positions.len()]; n];
    for t in &whole.triangles {
        let (k, named) = (part(centre(t)), &mut named[part(centre(t))]);
        let own = t.map(|v| {
            if named[v as usize] == u32::MAX {
                named[v as usize] = parts[k].positions.len() as u32;
                parts[k].positions.push(whole.positions[v as usize]);
            }
            named[v as usize]
        });
        parts[k].triangles.push(own);
    }
    parts.retain(|p| !p.triangles.is_empty());
    parts
}

fn octant(p: Vec3) -> usize {
    usize::from(p.x >= 0.0) + 2 * usize::from(p.y >= 0.0) + 4 * usize::from(p.z >= 0.0)
}

/// The side of a cuboid that a point is on.
fn side(p: Vec3) -> usize {
    let size = p.abs();
    let axis = (0..3).max_by(|a, b| size[*a].total_cmp(&size[*b])).expect("three");
    2 * axis + usize::from(p[axis] > 0.0)
}

fn scene_of(parts: &[MeshData]) -> Arc<Scene> {
    let scene = Scene::new("scene".to_owned(), Limits::default());
    for (k, part) in parts.iter().enumerate() {
        let mesh = load(part.clone(), &LoadOptions::default()).expect("a good mesh");
        scene.add_tissue(&format!("part {k}"), mesh, TissueOptions::default(), 0).expect("room");
    }
    Arc::new(scene)
}

fn revisions(scene: &Scene) -> Vec<(TissueId, RevisionGuard)> {
    scene.tissues().iter().map(|t| (t.id(), t.current())).collect()
}

/// All tissues as one mesh.
fn union(tissues: &[(TissueId, RevisionGuard)]) -> TriangleMesh {
    let mut all = MeshData::default();
    for (_, revision) in tissues {
        let part = revision.surface.mesh().data();
        let first = all.positions.len() as u32;
        all.positions.extend(part.positions);
        all.triangles.extend(part.triangles.iter().map(|t| t.map(|v| v + first)));
    }
    TriangleMesh::new(all)
}

fn deform(scene: &Scene, moved: impl Fn(usize, Vec3) -> Vec3) {
    for (k, tissue) in scene.tissues().iter().enumerate() {
        let now = tissue.current().surface.mesh().positions().to_vec();
        let moved = now.into_iter().map(|p| moved(k, p)).collect();
        tissue.deform(Deformation::Dense(moved), 0).expect("all are there");
        scene.join_borders(tissue);
    }
}

/// Checks the distance and, unless the engine's own sum may differ from the solid angles, the side. The certainty is no
/// greater than the winding number's distance from a change.
fn assert_told(found: &NearestSurface, whole: &TriangleMesh, p: DVec3, what: &str) -> bool {
    let winding = winding_number(whole, p);
    let distance = nearest(whole, p).expect("a surface").distance;
    let (got, certainty) = (found.signed_distance_m, found.sign_certainty);
    let what = format!("{what}: {got} m, certainty {certainty}, winding number {winding} at {p}");
    let known = (2.0 * (winding - 0.5).abs().min(winding + 1.0)).min(1.0);
    assert!((got.abs() - distance).abs() <= ROUNDING, "{what}, {distance} m away");
    assert!(certainty <= known + ROUNDING, "{what}");
    assert!(certainty >= known - 2.0 * WINDING_ERROR - ROUNDING, "{what}");
    if (winding - 0.5).abs() > WINDING_ERROR {
        assert_eq!(got < 0.0, winding > 0.5, "{what}");
    }
    winding > 0.5
}

fn assert_points(scene: &Scene, n: usize, random: &mut Random, what: &str) -> usize {
    let tissues = revisions(scene);
    let whole = union(&tissues);
    let bounds = whole.used_box().grown(0.01);
    let point = |_| random.point(bounds.min.as_dvec3(), bounds.max.as_dvec3());
    let points: Vec<DVec3> = (0..n).map(point).collect();
    let endless = TimeLeft::endless();
    let told = distances(&QueryTarget::Tissues(&tissues), &points, 1.0, &endless);
    let mut inside = 0;
    for (p, told) in points.iter().zip(told.expect("time enough")) {
        let Distance::Within(found) = told else { panic!("{what}: {told:?} at {p}") };
        inside += usize::from(assert_told(&found, &whole, *p, what));
    }
    inside
}

/// Maps a position to the number of its part.
type PartOf = fn(Vec3) -> usize;

/// Eighths of a ball, halves and eighths of an organ, and the six flat sides of a box, none of which has a bounding box
/// that holds an inner point.
fn organs() -> [(&'static str, MeshData, PartOf); 4] {
    let halves = |p: Vec3| usize::from(p.x >= 0.0);
    let cube = shapes::subdivide(&shapes::subdivide(&shapes::cuboid(DVec3::splat(0.06))));
    [
        ("ball in eighths", shapes::sphere(0.05, 10), octant),
        ("organ in halves", shapes::organ(2_000, 1), halves),
        ("organ in eighths", shapes::organ(2_000, 2), octant),
        ("box in sides", cube, side),
    ]
}

#[test]
fn inside_is_what_all_parts_wind_around() {
    let seed = Seed::or(711);
    let mut random = seed.random(0);
    for (name, whole, part) in organs() {
        let scene = scene_of(&split(&whole, part));
        let n = scaled(150);
        let mut inside = assert_points(&scene, n, &mut random, name);
        let bend = |p: Vec3| p + Vec3::new(0.004 * (60.0 * p.y).sin(), 0.0, 3.0 * p.x * p.x);
        deform(&scene, |_, p| bend(p));
        inside += assert_points(&scene, n, &mut random, &format!("{name}, bent"));
        // A gap separates one part's borders from its neighbours: certainty falls at points that see the gap.
        deform(&scene, |k, p| if k == 0 { p * 1.02 } else { p });
        inside += assert_points(&scene, n, &mut random, &format!("{name}, apart"));
        assert!(inside > n / 5, "{name}: {inside} inside of {}", 3 * n);
    }
}

/// Queries one part alone: the distance is that to its own surface, the side that of all parts together.
#[test]
fn distance_to_one_part_has_the_side_of_the_whole() {
    let scene = scene_of(&split(&shapes::sphere(0.05, 10), octant));
    let tissues = revisions(&scene);
    let points = [DVec3::new(0.01, -0.02, 0.015), DVec3::new(0.04, 0.04, 0.0)];
    for place in 0..tissues.len() {
        let target = QueryTarget::Tissue(&tissues, place);
        let told = distances(&target, &points, 1.0, &TimeLeft::endless()).expect("time enough");
        for ((p, told), sign) in points.iter().zip(told).zip([-1.0, 1.0]) {
            let Distance::Within(found) = told else { panic!("{told:?}") };
            let away = nearest(tissues[place].1.surface.mesh(), *p).expect("a part").distance;
            assert_eq!(found.tissue, Some(tissues[place].0));
            assert!(
                (found.signed_distance_m - sign * away).abs() <= ROUNDING,
                "{place}: {found:?}"
            );
            assert!(found.sign_certainty > 0.99, "{place}: {found:?}");
        }
    }
}

/// Parts moved into place by a deformation, and parts of a scene that was saved.
#[test]
fn parts_join_where_they_come_to_border_and_when_a_scene_is_restored() {
    let seed = Seed::or(712);
    let mut random = seed.random(0);
    let off = |k: usize| Vec3::X * (0.3 * k as f32);
    let mut parts = split(&shapes::sphere(0.05, 8), octant);
    let places: Vec<Vec<Vec3>> = parts.iter().map(|p| p.positions.clone()).collect();
    for (k, part) in parts.iter_mut().enumerate() {
        part.positions.iter_mut().for_each(|p| *p += off(k));
    }
    let scene = scene_of(&parts);
    for (tissue, place) in scene.tissues().iter().zip(places) {
        tissue.deform(Deformation::Dense(place), 0).expect("all are there");
        scene.join_borders(tissue);
    }
    let n = scaled(150);
    assert!(assert_points(&scene, n, &mut random, "put together") > n / 10);
    let limits = Limits::default();
    let saved = scene.saved();
    let restored = Scene::restored::<Field, NotAScene>(saved, limits, 0, |_, _, _| unreachable!());
    let restored = restored.expect("a scene");
    assert!(assert_points(&restored, n, &mut random, "restored") > n / 10);
    // A replaced part is a part of the organ again.
    let third = scene.tissues()[2].clone();
    let mesh = third.current().surface.mesh().data();
    scene.remove_tissue(third.id()).expect("it is there");
    let mesh = load(mesh, &LoadOptions::default()).expect("a good mesh");
    scene.add_tissue("again", mesh, TissueOptions::default(), 0).expect("room");
    assert!(assert_points(&scene, n, &mut random, "replaced") > n / 10);
}

/// Sheets above each other, and sheets whose edges coincide but face the same way, enclose nothing together: each
/// answer is that of the sheet alone.
#[test]
fn sheets_that_share_no_border_stay_apart() {
    let seed = Seed::or(713);
    let mut random = seed.random(0);
    let lower = shapes::sheet(9, 9, 5e-3);
    for lift in [0.0, 2e-3] {
        let mut upper = lower.clone();
        upper.positions.iter_mut().for_each(|p| p.z += lift);
        let both = revisions(&scene_of(&[lower.clone(), upper])).into_iter().collect::<Vec<_>>();
        let points: Vec<DVec3> = (0..scaled(200))
            .map(|_| random.point(DVec3::new(0.0, 0.0, -0.02), DVec3::new(0.04, 0.04, 0.02)))
            .collect();
        let ask = |tissues: &[(TissueId, RevisionGuard)]| {
            let target = QueryTarget::Tissues(tissues);
            distances(&target, &points, 1.0, &TimeLeft::endless()).expect("time enough")
        };
        let (together, alone) = (ask(&both), [ask(&both[..1]), ask(&both[1..])]);
        for (i, told) in together.iter().enumerate() {
            let Distance::Within(found) = told else { panic!("{told:?}") };
            let of = usize::from(found.tissue == Some(both[1].0));
            assert_eq!(told, &alone[of][i], "{lift}: at {}", points[i]);
        }
    }
}

fn ball_with_probe() -> ToolParts {
    let mesh = load(shapes::sphere(RADIUS_M, 3), &LoadOptions::default()).expect("a good mesh");
    let links = vec![Link::new("ball".to_owned(), mesh, Pose::IDENTITY, default_field)];
    let tip = Probe { name: "tip".to_owned(), link: 0, position: DVec3::ZERO, radius: 0.0 };
    ToolParts { name: "ball".to_owned(), links, probes: vec![tip] }
}

/// Ticks of a ball around an organ that deforms: the ball is as deep as its deepest vertex by solid angles, in the part
/// nearest to that vertex; wholly inside, it has one contact. Its probe is as deep as its centre.
#[test]
fn a_ball_is_as_deep_in_parts_as_in_the_whole() {
    let seed = Seed::or(714);
    let mut random = seed.random(0);
    let (_, whole, part) = organs().into_iter().next().expect("a ball");
    let scene = scene_of(&split(&whole, part));
    let tool = scene.add_tool(ball_with_probe()).expect("room");
    let options =
        TickOptions { contact_margin_m: MARGIN_M, max_distance_m: 1.0, ..TickOptions::default() };
    let mut session = Session::new(Arc::clone(&scene), &[tool.id], options).expect("a tool");
    let ball = TriangleMesh::new(shapes::sphere(RADIUS_M, 3));
    let (mut inside, mut outside) = (0, 0);
    for sequence in 1..=scaled(45) as u64 {
        if sequence % 40 == 0 {
            deform(&scene, |_, p| p + Vec3::Z * (0.002 * (50.0 * p.x).sin()));
        }
        let centre = random.unit_vector() * random.range(0.0, 0.06);
        let scene_from_tool = Pose::new(DQuat::IDENTITY, centre).expect("unit");
        let tool_from_link = Vec::new();
        let pose = ToolPose { tool: tool.id, scene_from_tool, tool_from_link, teleport: true };
        let answer = session.tick(sequence, &[pose], 0, &TimeLeft::endless()).expect("good");
        let (link, probe) = (&answer.links[0], &answer.probes[0]);
        let tissues = revisions(&scene);
        let whole = union(&tissues);
        let what = format!("tick {sequence}");
        let Distance::Within(found) = &probe.distance else { panic!("{what}: {probe:?}") };
        assert_told(found, &whole, centre, &what);
        let Distance::Within(found) = &link.distance else { panic!("{what}: {link:?}") };
        let got = found.signed_distance_m;
        let vertices = ball.positions().iter().map(|p| p.as_dvec3() + centre);
        let inner = vertices.filter(|p| winding_number(&whole, *p) > 0.5);
        let depth = inner.map(|p| nearest(&whole, p).expect("parts").distance);
        let deepest = depth.fold(0.0, f64::max);
        let placed_ball = placed(&ball, &scene_from_tool);
        let away = surface_distance(&placed(&whole, &Pose::IDENTITY), &placed_ball);
        let what = format!("{what}: {got}, deepest {deepest}, {away} away");
        if deepest > 2.0 * RADIUS_M + 2.0 * MARGIN_M {
            assert!((got + deepest).abs() <= ROUNDING, "{what}");
            assert!(found.sign_certainty > 0.99 && !answer.flags.sign_uncertain, "{what}");
            assert_eq!((link.contacts.len(), link.contacts[0].wholly_inside), (1, true), "{what}");
            let of = tissues.iter().find(|(id, _)| *id == found.tissue).expect("a part");
            let on = found.on_tissue.position;
            let near = nearest(of.1.surface.mesh(), on).expect("a part").distance;
            assert!(near <= 1e-7, "{what}: {near} m from its part");
            inside += 1;
        } else if deepest == 0.0 && away > 0.0 {
            assert!((got - away).abs() <= ROUNDING, "{what}");
            outside += 1;
        }
    }
    let n = scaled(120);
    assert!(inside > n / 4 && outside > n / 20, "{inside} inside, {outside} outside of {n}");
}
