//! Incisions along lines: what they remove, add and open, counted on the triangles alone.

use std::collections::{HashMap, HashSet};

use glam::{DVec3, Vec3};
use palpate::{
    geometry::{LoadOptions, MeshData, TriangleId, TriangleMesh, mesh::load::load},
    oracle::{Random, shapes},
    scene::{
        Limits, Tissue, TissueKind, TissueOptions,
        tissue::incision::{Incised, Incision, IncisionError},
    },
    surface::Surface,
};

use crate::{
    differential::inputs::{SHARED, shared},
    seed::{Seed, scaled},
};

fn tissue(data: MeshData) -> Tissue {
    let mesh = load(data, &LoadOptions::default()).expect("a mesh");
    Tissue::new(("t".to_owned(), TissueKind::Tissue), mesh, TissueOptions::default(), 0)
}

/// Triangles over positions, of a mesh and a cut of it.
struct After {
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
}

impl After {
    fn of(mesh: &TriangleMesh) -> After {
        After {
            positions: mesh.positions().iter().map(|p| p.as_dvec3()).collect(),
            triangles: mesh.triangle_ids().map(|t| mesh.vertices(t)).collect(),
        }
    }

    /// Makes a cut by hand.
    fn cut(mesh: &TriangleMesh, cut: &Incised) -> After {
        let edit = &cut.edit;
        let removed: HashSet<TriangleId> = edit.removed.iter().copied().collect();
        assert_eq!(removed.len(), edit.removed.len());
        let kept = mesh.triangle_ids().filter(|t| !removed.contains(t));
        let all = mesh.positions().iter().chain(&edit.added_positions);
        After {
            positions: all.map(|p| p.as_dvec3()).collect(),
            triangles: kept.map(|t| mesh.vertices(t)).chain(edit.added.iter().copied()).collect(),
        }
    }

    fn corners(&self, triangle: &[u32; 3]) -> [DVec3; 3] {
        triangle.map(|v| self.positions[v as usize])
    }

    fn area(&self) -> f64 {
        self.triangles.iter().map(|t| 0.5 * vector(&self.corners(t)).length()).sum()
    }

    fn volume(&self) -> f64 {
        let of = |[a, b, c]: [DVec3; 3]| a.dot(b.cross(c)) / 6.0;
        self.triangles.iter().map(|t| of(self.corners(t))).sum()
    }

    /// Directed edges without an opposite.
    fn open(&self) -> HashSet<(u32, u32)> {
        let edges = self.triangles.iter().flat_map(|[a, b, c]| [(*a, *b), (*b, *c), (*c, *a)]);
        let all: HashSet<(u32, u32)> = edges.clone().collect();
        assert_eq!(all.len(), 3 * self.triangles.len(), "an edge has two triangles on one side");
        edges.filter(|(a, b)| !all.contains(&(*b, *a))).collect()
    }
}

fn vector([a, b, c]: &[DVec3; 3]) -> DVec3 {
    (b - a).cross(c - a)
}

/// A line of some points over a surface, from a random place in a random direction.
fn line(surface: &Surface, random: &mut Random, step_m: f64) -> Vec<DVec3> {
    let mesh = surface.mesh();
    let ids: Vec<TriangleId> = mesh.triangle_ids().collect();
    let [a, b, c] = mesh.triangle(ids[random.below(ids.len())]);
    let mut line = vec![(a + b + c) / 3.0];
    let normal = vector(&[a, b, c]).normalize_or(DVec3::Z);
    let mut way = normal.cross(random.unit_vector()).normalize_or(DVec3::X);
    for _ in 0..1 + random.below(6) {
        let last = *line.last().expect("begun");
        let found = surface.nearest(last + way * step_m, f64::INFINITY, None).expect("a surface");
        let next = found.closest.point;
        way = (next - last).normalize_or(way);
        line.push(next);
    }
    line
}

fn checked(mesh: &TriangleMesh, path: &[DVec3], cut: &Incised, words: &str) {
    let before = After::of(mesh);
    let after = After::cut(mesh, cut);
    let edit = &cut.edit;
    // No triangle is lost: the pieces of each have its area.
    let mut areas: HashMap<TriangleId, f64> = HashMap::new();
    for (triangle, parent) in edit.added.iter().zip(&edit.parents) {
        *areas.entry(*parent).or_default() += 0.5 * vector(&after.corners(triangle)).length();
    }
    for t in &edit.removed {
        let corners = mesh.triangle(*t);
        let (area, longest) = (0.5 * vector(&corners).length(), corners[0].distance(corners[1]));
        // A corner that is stored in single precision is off by 1e-8 m.
        let slack = 1e-7 * area.sqrt().max(longest);
        assert!(
            (areas[t] - area).abs() < slack,
            "{words}: {t:?} has {area}, its pieces {}",
            areas[t]
        );
    }
    // The new border is the two lips, from end to end. Told by places: where the line crosses the lips of an earlier
    // one, it has several vertices in one place.
    let old = before.open();
    let places: HashMap<[u64; 3], u32> =
        after.positions.iter().map(|p| p.to_array().map(f64::to_bits)).zip(0..).collect();
    let place = |v: u32| places[&after.positions[v as usize].to_array().map(f64::to_bits)];
    let open = after.open();
    let at: HashSet<(u32, u32)> = open.iter().map(|(a, b)| (place(*a), place(*b))).collect();
    let n = cut.left.len();
    assert_eq!(cut.right.len(), n);
    let singles = (0..n).filter(|k| cut.left[*k] == cut.right[*k]).count();
    assert!(singles <= 2, "{words}: {singles} vertices are not doubled");
    let [left, right] = [&cut.left, &cut.right].map(|lip| lip.iter().map(|v| place(*v)).collect());
    let (left, right): (Vec<u32>, Vec<u32>) = (left, right);
    for k in 1..n {
        assert!(at.contains(&(left[k - 1], left[k])), "{words}: left lip at {k}");
        assert!(at.contains(&(right[k], right[k - 1])), "{words}: right lip at {k}");
    }
    let is_closed = singles == 0 && at.contains(&(left[n - 1], left[0]));
    let expected = 2 * if is_closed { n } else { n - 1 };
    // Ends on a border part edges of it, too; so do crossed lips.
    let new = open.difference(&old).count();
    let is_so = (expected..=expected + 4).contains(&new);
    assert!(is_so || mesh.has_seams(), "{words}: {new} open, expected {expected}");
    // The line is where it was asked for: by a twentieth of an edge.
    let longest = edit.removed.iter().flat_map(|t| {
        let [a, b, c] = mesh.triangle(*t);
        [a.distance(b), b.distance(c), c.distance(a)]
    });
    let longest = longest.fold(0.0, f64::max);
    for p in path {
        let to_edge = |edge: &[u32]| {
            let [a, b] = [edge[0], edge[1]].map(|v| after.positions[v as usize]);
            let along = (b - a).normalize_or_zero();
            let share = (*p - a).dot(along).clamp(0.0, a.distance(b));
            p.distance(a + along * share)
        };
        let near = cut.left.windows(2).map(to_edge).fold(f64::INFINITY, f64::min);
        assert!(near < 0.12 * longest, "{words}: {near} m beside {p}, edges of {longest} m");
    }
}

/// 160 lines, 1,600 with `PALPATE_TEST_SCALE=10`.
#[test]
fn random_incisions_open_along_their_line_and_lose_no_triangle() {
    let seed = Seed::or(4508);
    let mut organs = vec![("organ", shapes::organ(20_000, 3)), ("ball", shapes::sphere(0.05, 20))];
    // Liver and tongue.
    for (file, scale_to_m) in &SHARED[..2] {
        organs.extend(shared(file, *scale_to_m).map(|input| (*file, input.data)));
    }
    let (mut made, mut refused, mut n_deep) = (0, 0, 0);
    for (name, data) in organs {
        let mut random = seed.random(name.len() as u64);
        let (untouched, tissue) = (tissue(data.clone()), tissue(data));
        for number in 0..scaled(40) {
            let current = tissue.current();
            let path = line(&current.surface, &mut random, random_step(&current.surface, number));
            let words = format!("{name} {number}");
            let incision = Incision { path: path.clone(), ..Incision::default() };
            let cut = match tissue.incised(&incision) {
                Ok(cut) => cut,
                Err(IncisionError::NoWay { .. } | IncisionError::MeetsItself { .. }) => {
                    refused += 1;
                    continue;
                }
                Err(other) => panic!("{words}: {other}"),
            };
            made += 1;
            let mesh = current.surface.mesh();
            checked(mesh, &path, &cut, &words);
            // Parted lips turn no triangle over.
            let width_m = mesh.mean_edge() * random.range(0.05, 1.0);
            let wide = tissue.incised(&Incision { width_m, ..incision.clone() }).expect("it goes");
            assert!((0.0..=width_m).contains(&wide.width_m), "{words}: {}", wide.width_m);
            let after = After::cut(mesh, &wide);
            for (triangle, parent) in wide.edit.added.iter().zip(&wide.edit.parents) {
                let (now, before) =
                    (vector(&after.corners(triangle)), vector(&mesh.triangle(*parent)));
                assert!(now.dot(before) >= 0.0, "{words}: a piece of {parent:?} turned over");
            }
            n_deep += usize::from(deep_is_closed(&untouched, &path, width_m, &words));
            drop(current);
            // Each is made in the surface that the ones before have left.
            tissue.edit(cut.edit, &Limits::default(), 0).expect("it fits");
            if number % 20 == 0 {
                tissue.current().surface.assert_well_formed();
            }
        }
        tissue.current().surface.assert_well_formed();
    }
    println!("{made} incisions made, {n_deep} also deep, {refused} refused");
    assert!(refused * 10 < made && n_deep * 3 > made, "{made} made, {n_deep} deep, {refused} not");
}

/// Returns true if a deep incision is made, and is closed then.
fn deep_is_closed(tissue: &Tissue, path: &[DVec3], width_m: f64, words: &str) -> bool {
    let current = tissue.current();
    let incision = Incision { path: path.to_vec(), width_m, depth_m: 0.002 };
    match tissue.incised(&incision) {
        Ok(cut) => {
            assert!(current.surface.is_closed(), "{words}");
            let after = After::cut(current.surface.mesh(), &cut);
            let open = After::of(current.surface.mesh()).open();
            assert_eq!(after.open(), open, "{words}: a deep incision opens nothing");
            true
        }
        Err(IncisionError::NotClosed) => {
            assert!(!current.surface.is_closed(), "{words}");
            false
        }
        Err(_) => false,
    }
}

fn random_step(surface: &Surface, number: usize) -> f64 {
    surface.mesh().mean_edge() * [0.4, 1.5, 3.0][number % 3]
}

fn lay_out(tissue: &Tissue, path: Vec<DVec3>, width_m: f64, depth_m: f64) -> (After, Incised) {
    let cut = tissue.incised(&Incision { path, width_m, depth_m }).expect("a line");
    let after = After::cut(tissue.current().surface.mesh(), &cut);
    (after, cut)
}

/// On a sphere along a great circle: the gap's width is the one asked for, its depth too, and it stays closed.
#[test]
fn a_groove_is_as_wide_and_as_deep_as_asked_for() {
    let tissue = tissue(shapes::sphere(0.05, 30));
    let whole = After::of(tissue.current().surface.mesh()).volume();
    let angle = |k: usize| 0.05 * k as f64 - 0.4;
    let path: Vec<DVec3> =
        (0..17).map(|k| DVec3::new(angle(k).sin(), 0.0, angle(k).cos()) * 0.05).collect();
    let (width, depth) = (0.0005, 0.004);
    let (after, cut) = lay_out(&tissue, path, width, depth);
    assert!(after.open().is_empty(), "a groove in a closed surface leaves it closed");
    assert_eq!(cut.floor.len(), cut.left.len());
    assert!((cut.width_m - width).abs() < 1e-9, "{}", cut.width_m);
    let n = cut.left.len();
    let at = |v: u32| after.positions[v as usize];
    for k in 1..n - 1 {
        let gap = at(cut.left[k]) - at(cut.right[k]);
        // On the left of a line along x, seen from above, is y.
        assert!(gap.y > 0.0 && gap.length() <= width + 1e-8, "{k}: {gap}");
        let below = 0.05 - at(cut.floor[k]).length();
        assert!((below - depth).abs() < 2e-4, "{k}: {below}");
    }
    // A prism over the triangle of width and depth, along 40 mm, that ends in two points.
    let taken = whole - after.volume();
    let expected = 0.5 * width * depth * 0.04;
    assert!((0.7 * expected..1.05 * expected).contains(&taken), "{taken} for {expected}");
    let edit = cut.edit;
    tissue.edit(edit, &Limits::default(), 0).expect("it fits");
    let current = tissue.current();
    current.surface.assert_well_formed();
    assert!(current.surface.is_closed());
    // Half way down the groove is outside, a millimetre beside it inside.
    let half = DVec3::Z * (0.05 - 0.001);
    let signed =
        |p: DVec3| current.surface.signed_distance(p, 1.0, None).expect("near").signed_distance;
    assert!(signed(half) > 0.0, "{}", signed(half));
    assert!(signed(half + DVec3::Y * 0.002) < 0.0);
}

/// A gap wider than the triangles: the surface about it gives way, as wide as asked for in the middle, and narrow at the
/// ends.
#[test]
fn the_surface_gives_way_to_a_wide_gap() {
    let tissue = tissue(shapes::sheet(41, 41, 0.0025));
    let path = vec![DVec3::new(0.02, 0.0507, 0.0), DVec3::new(0.08, 0.0493, 0.0)];
    let (after, cut) = lay_out(&tissue, path, 0.008, 0.0);
    assert!((cut.width_m - 0.008).abs() < 1e-9, "{}", cut.width_m);
    let current = tissue.current();
    let mesh = current.surface.mesh();
    let normals = after.triangles.iter().map(|t| vector(&after.corners(t)).z);
    assert!(normals.fold(f64::INFINITY, f64::min) > 0.0, "a triangle turned over");
    let at = |v: u32| after.positions[v as usize];
    for (left, right) in cut.left.iter().zip(&cut.right) {
        let (x, gap) = (at(*left).x, at(*left).distance(at(*right)));
        let expected = 0.008 * ((x - 0.02).min(0.08 - x) / 0.016).clamp(0.0, 1.0);
        assert!((gap - expected).abs() < 3e-4, "{gap} at {x}, expected {expected}");
    }
    // A vertex two widths away stays; one that is nearer moves with the lip beside it, and by less.
    for [old, new] in &cut.moved {
        let (from, to) = (mesh.position(*old), at(*new));
        let beside = from.y - (0.0507 - (from.x - 0.02) * 0.0014 / 0.06);
        // The line goes through vertices that are near.
        let is_away = beside.abs() < 2e-4 || (to - from).y * beside > 0.0;
        assert!(beside.abs() < 0.0165 && is_away, "{from} to {to}");
        assert!((to - from).length() < 0.004);
    }
    assert!(cut.moved.len() > 200, "{}", cut.moved.len());
    // The border of the sheet is where it was: the gap was taken out of the sheet.
    let whole = After::of(mesh).area();
    let lens: f64 = 0.008 * (0.06 - 0.016);
    assert!((whole - after.area() - lens).abs() < 0.02 * lens, "{}", whole - after.area());
}

#[test]
fn a_closed_line_cuts_a_patch_out() {
    let tissue = tissue(shapes::sphere(0.05, 20));
    let circle = |k: usize| {
        let (sin, cos) = (std::f64::consts::TAU * (k % 24) as f64 / 24.0).sin_cos();
        DVec3::new(0.4 * cos, 0.4 * sin, 0.84_f64.sqrt()) * 0.05
    };
    let path: Vec<DVec3> = (0..=24).map(circle).collect();
    let (wide, parted) = lay_out(&tissue, path.clone(), 0.004, 0.0);
    for (left, right) in parted.left.iter().zip(&parted.right) {
        let gap = wide.positions[*left as usize].distance(wide.positions[*right as usize]);
        assert!((gap - 0.004).abs() < 1e-8, "as wide all around: {gap}");
    }
    let (after, cut) = lay_out(&tissue, path, 0.0, 0.0);
    assert_eq!(after.open().len(), 2 * cut.left.len());
    assert!(cut.left.iter().zip(&cut.right).all(|(l, r)| l != r));
    tissue.edit(cut.edit, &Limits::default(), 0).expect("it fits");
    let current = tissue.current();
    let bodies = palpate::geometry::mesh::topology::first_of_each_body(current.surface.mesh());
    // The lips lie on each other, and joined borders are one body still.
    assert_eq!(bodies.len(), 1);
}

/// From border to border: the sheet is in two parts.
#[test]
fn a_line_from_border_to_border_parts_a_sheet() {
    let tissue = tissue(shapes::sheet(11, 11, 0.01));
    let path = vec![
        DVec3::new(-0.001, 0.032, 0.0),
        DVec3::new(0.05, 0.047, 0.001),
        DVec3::new(0.1, 0.032, 0.0),
    ];
    let (after, cut) = lay_out(&tissue, path.clone(), 0.001, 0.0);
    assert!(cut.left.iter().zip(&cut.right).all(|(l, r)| l != r), "both ends are doubled");
    let mesh = TriangleMesh::new(MeshData {
        positions: after.positions.iter().map(|p| p.as_vec3()).collect::<Vec<Vec3>>(),
        triangles: after.triangles.clone(),
    });
    assert_eq!(palpate::geometry::mesh::topology::first_of_each_body(&mesh).len(), 2);
    // The gap takes its area off.
    let gap = 0.01 - after.area();
    assert!((gap - 0.001 * 0.104).abs() < 3e-5, "{gap}");
    let depth = Incision { path, width_m: 0.0, depth_m: 0.01 };
    assert_eq!(tissue.incised(&depth), Err(IncisionError::NotClosed));
}

#[test]
fn what_cannot_be_cut_is_refused_with_its_point() {
    let tissue = tissue(shapes::cuboid(DVec3::splat(0.1)));
    let refused = |path: &[DVec3], width_m: f64, depth_m: f64| {
        let incision = Incision { path: path.to_vec(), width_m, depth_m };
        tissue.incised(&incision).expect_err("refused")
    };
    let [a, b] = [-0.02, 0.03].map(|x| DVec3::new(x, 0.011, 0.05));
    assert_eq!(refused(&[a], 0.0, 0.0), IncisionError::Points { got: 1 });
    assert_eq!(refused(&[a, b], -1.0, 0.0), IncisionError::Size { what: "width_m", got: -1.0 });
    assert!(matches!(refused(&[a, b], f64::NAN, 0.0), IncisionError::Size { .. }));
    assert_eq!(refused(&[a, b], 0.0, 2.0), IncisionError::Size { what: "depth_m", got: 2.0 });
    assert!(matches!(refused(&[a, b * 2.0], 0.0, 0.0), IncisionError::Far { at: 1, .. }));
    let nan = [a, DVec3::new(f64::NAN, 0.0, 0.0)];
    assert!(matches!(refused(&nan, 0.0, 0.0), IncisionError::Far { at: 1, .. }));
    assert_eq!(refused(&[a, a], 0.0, 0.0), IncisionError::NoLength);
    assert_eq!(refused(&[a, -a], 0.0, 0.0), IncisionError::NoWay { at: 0 });
    let across = [a, b, DVec3::new(0.0, 0.03, 0.05), DVec3::new(0.0, -0.02, 0.05)];
    assert_eq!(refused(&across, 0.0, 0.0), IncisionError::MeetsItself { at: 2 });
    assert!(matches!(refused(&[a, b], 0.0, 0.11), IncisionError::TooDeep { .. }));
    let fits = Incision { path: vec![a, b], width_m: 0.001, depth_m: 0.09 };
    tissue.incised(&fits).expect("it does not come out");
}
