use std::collections::HashMap;

use super::*;
use crate::oracle::Random;

type Point = [i64; 2];

/// Triangles of one polygon whose corners are all vertices, in the plane that `place` maps it to.
fn cut(outline: &[Point], place: impl Fn(Point) -> Vec3) -> Result<Vec<[u32; 3]>, MeshReadError> {
    let positions: Vec<Vec3> = outline.iter().map(|p| place(*p)).collect();
    let corners: Vec<u32> = (0..outline.len() as u32).collect();
    let mut faces = Faces::default();
    assert!(faces.push_polygon(&corners));
    faces.cut(&positions, &mut ReadRoom::of(&vec![0; 100 * outline.len()]))
}

/// Twice the area, exact.
fn area_2(outline: &[Point]) -> i64 {
    (0..outline.len())
        .map(|i| {
            let ([ax, ay], [bx, by]) = (outline[i], outline[(i + 1) % outline.len()]);
            ax * by - bx * ay
        })
        .sum()
}

/// Triangles face the polygon's side, and their edges are those of the polygon, except for edges that two of them share
/// in opposite directions. So they wind around each point as often as the polygon does: once within it, never outside.
fn assert_covers(outline: &[Point], triangles: &[[u32; 3]], n_without_area: usize) {
    assert_eq!(triangles.len(), outline.len() - 2);
    let shown = &outline[..outline.len().min(60)];
    let of_polygon = area_2(outline).signum();
    let areas = triangles.iter().map(|t| of_polygon * area_2(&t.map(|v| outline[v as usize])));
    assert!(areas.clone().all(|area| area >= 0), "{shown:?}");
    let found = areas.filter(|area| *area == 0).count();
    assert_eq!(found, n_without_area, "{shown:?}");
    let mut n_uses: HashMap<[u32; 2], i32> = HashMap::new();
    let mut use_edge = |a: u32, b: u32, n: i32| {
        *n_uses.entry([a.min(b), a.max(b)]).or_default() += if a < b { n } else { -n };
    };
    triangles.iter().for_each(|t| (0..3).for_each(|k| use_edge(t[k], t[(k + 1) % 3], 1)));
    let n = outline.len() as u32;
    (0..n).for_each(|i| use_edge(i, (i + 1) % n, -1));
    assert!(n_uses.values().all(|n| *n == 0), "{shown:?}");
}

/// Tested in several planes, from both sides and from every first corner.
fn assert_is_covered(outline: &[Point], n_without_area: usize) {
    let flat = |[x, y]: Point| Vec3::new(x as f32, y as f32, 0.0);
    let upright = |[x, y]: Point| Vec3::new(5.0, x as f32, y as f32);
    // Whole numbers make the plane exact.
    let slanting = |[x, y]: Point| Vec3::new(x as f32, y as f32, (3 * x - 2 * y) as f32);
    let places: [&dyn Fn(Point) -> Vec3; 3] = [&flat, &upright, &slanting];
    let mut outline = outline.to_vec();
    for _ in 0..outline.len().min(40) {
        for _ in 0..2 {
            outline.reverse();
            for place in places {
                let triangles = cut(&outline, place).expect("cut");
                assert_covers(&outline, &triangles, n_without_area);
            }
        }
        outline.rotate_left(1);
    }
}

const L: [Point; 6] = [[2, 1], [1, 1], [1, 2], [0, 2], [0, 0], [2, 0]];

#[test]
fn concave_polygons_are_covered() {
    assert_is_covered(&L, 0);
    assert_is_covered(&[[0, 0], [4, 2], [0, 4], [1, 2]], 0);
    let star: Vec<Point> = (0..10)
        .map(|i| {
            [
                [0, 10],
                [2, 3],
                [10, 3],
                [4, -1],
                [6, -8],
                [0, -4],
                [-6, -8],
                [-4, -1],
                [-10, 3],
                [-2, 3],
            ][i]
        })
        .collect();
    assert_is_covered(&star, 0);
    assert_is_covered(&comb(7), 0);
    assert_is_covered(&spiral(9), 0);
}

#[test]
fn corners_on_a_straight_edge_are_used() {
    assert_is_covered(&[[0, 0], [1, 0], [2, 0], [2, 1], [2, 2], [1, 2], [0, 2], [0, 1]], 0);
    assert_is_covered(&[[0, 0], [1, 0], [2, 0], [3, 0], [1, 3]], 0);
    let on_edges: Vec<Point> = (0..6)
        .flat_map(|i| {
            let ([ax, ay], [bx, by]) = (L[i], L[(i + 1) % 6]);
            [[2 * ax, 2 * ay], [ax + bx, ay + by]]
        })
        .collect();
    assert_is_covered(&on_edges, 0);
}

#[test]
fn repeated_corners_add_no_area() {
    for (at, corner) in L.into_iter().enumerate() {
        let mut repeated = L.to_vec();
        repeated.insert(at, corner);
        assert_is_covered(&repeated, 1);
        repeated.insert(at, corner);
        assert_is_covered(&repeated, 2);
    }
    let whisker = [[0, 0], [4, 0], [4, 2], [6, 2], [4, 2], [4, 4], [0, 4]];
    assert_is_covered(&whisker, 2);
}

#[test]
fn holes_with_keyholes_stay_open() {
    let outer = [[0, 0], [9, 0], [9, 9], [0, 9]];
    let hole = |x: i64, y: i64| [[x, y], [x, y + 2], [x + 2, y + 2], [x + 2, y]];
    let with_hole = |outline: &[Point], at: usize, hole: &[Point]| {
        let [before, after] = [&outline[..=at], &outline[at..]];
        [before, hole, &hole[..1], after].concat()
    };
    let one = with_hole(&outer, 0, &hole(2, 3));
    assert_eq!(area_2(&one), 2 * (81 - 4));
    assert_is_covered(&one, 0);
    let mut from_its_upper_corner = hole(6, 5);
    from_its_upper_corner.rotate_left(2);
    assert_is_covered(&with_hole(&one, one.len() - 2, &from_its_upper_corner), 0);
    // Two holes at one corner.
    assert_is_covered(&with_hole(&one, 6, &hole(6, 1)), 0);
}

#[test]
fn random_outlines_are_covered() {
    let seed = std::env::var("PALPATE_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(19);
    println!("PALPATE_SEED={seed}");
    let mut random = Random::new(seed);
    for _ in 0..200 {
        let outline = random_outline(&mut random);
        assert_is_covered(&outline, 0);
    }
}

#[test]
fn a_convex_polygon_is_a_fan_about_its_first_corner() {
    let flat = |[x, y]: Point| Vec3::new(x as f32, y as f32, 0.0);
    let hexagon = [[0, 0], [2, -1], [4, 0], [4, 2], [2, 3], [0, 2]];
    let fan = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]];
    assert_eq!(cut(&hexagon, flat), Ok(fan.to_vec()));
    // A fan covers the L from its inner corner, too.
    let mut from_inside = L;
    from_inside.rotate_left(1);
    assert_eq!(cut(&from_inside, flat), Ok(fan.to_vec()));
    // A quad that repeats a corner, as many files write triangles.
    let triangle = [[0, 0], [1, 0], [0, 1], [0, 1]];
    assert_eq!(cut(&triangle, flat), Ok(vec![[0, 1, 2], [0, 2, 3]]));
}

#[test]
fn a_polygon_that_is_not_flat_is_cut_as_it_is_seen() {
    // An arrowhead whose corners are off its plane: its inner corner is at (1, 2).
    let bent = |[x, y]: Point| Vec3::new(x as f32, y as f32, 0.3 * ((x + y) % 3) as f32);
    let outline = [[0, 0], [4, 2], [0, 4], [1, 2]];
    assert_covers(&outline, &cut(&outline, bent).expect("cut"), 0);
}

#[test]
fn a_polygon_without_area_or_with_crossings_keeps_its_count() {
    let flat = |[x, y]: Point| Vec3::new(x as f32, y as f32, 0.0);
    for outline in [
        vec![[0, 0], [1, 0], [2, 0], [3, 0], [1, 0]],
        vec![[0, 0], [2, 2], [2, 0], [0, 2]],
        vec![[0, 0], [8, 0], [8, 8], [3, -3], [0, 8]],
        vec![[1, 1]; 6],
        (0..40).map(|i| [(i * 17) % 40, (i * i * 7) % 23]).collect(),
    ] {
        assert_eq!(cut(&outline, flat).expect("cut").len(), outline.len() - 2);
    }
}

#[test]
fn large_polygons_take_few_steps() {
    let flat = |[x, y]: Point| Vec3::new(x as f32, y as f32, 0.0);
    let mut random = Random::new(7);
    let skyline = (0..8_000).map(|i| [i / 2, 1 + (1 + random.below(1000) as i64) * (i % 2)]);
    let skyline: Vec<Point> = skyline.chain([[5_000, -1], [-1, -1]]).collect();
    // Each of these requires a search that fails without spare steps.
    for outline in [comb(4_000), spiral(2_000), skyline] {
        assert_covers(&outline, &cut(&outline, flat).expect("within the steps"), 0);
    }
}

/// A comb of `n` teeth.
fn comb(n: i64) -> Vec<Point> {
    let teeth = (0..n).flat_map(|i| [[2 * i, 9], [2 * i + 1, 1]]);
    teeth.chain([[2 * n, 9], [2 * n, 0], [0, 0]]).collect()
}

/// A band that winds inwards `n` times, with square corners.
fn spiral(n: i64) -> Vec<Point> {
    let corner = |i: i64, inset: i64| {
        // The side of each turn is four less than that of the turn around it.
        let (turn, k) = (i / 4, i % 4);
        let r = 4 * n - 4 * turn - inset;
        [[-r, -r + if k == 0 { 4 } else { 0 }], [r, -r], [r, r], [-r, r]][k as usize]
    };
    let outer = (0..4 * n - 1).map(|i| corner(i, 0));
    outer.chain((0..4 * n - 1).rev().map(|i| corner(i, 2))).collect()
}

/// Points of a small grid in an order without crossings: two edges that cross are exchanged for two shorter ones until
/// none cross.
fn random_outline(random: &mut Random) -> Vec<Point> {
    let n = 4 + random.below(24);
    let mut outline: Vec<Point> = Vec::new();
    while outline.len() < n {
        let p = [random.below(20) as i64, random.below(20) as i64];
        if !outline.contains(&p) {
            outline.push(p);
        }
    }
    let length = |a: Point, b: Point| ((a[0] - b[0]) as f64).hypot((a[1] - b[1]) as f64);
    let mut is_changed = true;
    while is_changed {
        is_changed = false;
        for i in 0..n - 1 {
            for k in i + 2..n {
                let (a, b, c, d) = (outline[i], outline[i + 1], outline[k], outline[(k + 1) % n]);
                if length(a, c) + length(b, d) < length(a, b) + length(c, d) - 1e-9 {
                    outline[i + 1..=k].reverse();
                    is_changed = true;
                }
            }
        }
    }
    outline
}
