//! Triangles as a client has placed them, and brute-force measurements of them in `f64`.

use glam::DVec3;
use palpate::oracle::{
    Random,
    solid_angle::winding_of,
    triangle::{closest_on_triangle, triangle_distance},
};

/// A segment crosses a triangle for certain if its ends are this far from the plane, metres, and the point between them
/// has weights above this: far above the rounding of coordinates below a metre, 1e-16.
const CERTAIN_M: f64 = 1e-9;
const CERTAIN_WEIGHT: f64 = 1e-6;

/// Triangles with their ids.
#[derive(Clone, Debug)]
pub struct Soup {
    pub triangles: Vec<(u32, [DVec3; 3])>,
    pub bounds: Extent,
    /// Each edge has two triangles that agree in orientation.
    pub is_closed: bool,
    extents: Vec<Extent>,
}

/// An axis-aligned box.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub low: DVec3,
    pub high: DVec3,
}

impl Extent {
    pub fn of(points: impl IntoIterator<Item = DVec3>) -> Extent {
        let none = Extent { low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };
        points.into_iter().fold(none, |e, p| Extent { low: e.low.min(p), high: e.high.max(p) })
    }

    /// Distance of two boxes, metres; 0 if they overlap.
    pub fn gap(&self, other: &Extent) -> f64 {
        (self.low - other.high).max(other.low - self.high).max(DVec3::ZERO).length()
    }

    pub fn distance(&self, p: DVec3) -> f64 {
        (self.low - p).max(p - self.high).max(DVec3::ZERO).length()
    }
}

impl Soup {
    pub fn new(triangles: Vec<(u32, [DVec3; 3])>, is_closed: bool) -> Soup {
        let extents: Vec<Extent> = triangles.iter().map(|(_, t)| Extent::of(*t)).collect();
        let bounds = Extent::of(extents.iter().flat_map(|e| [e.low, e.high]));
        Soup { triangles, bounds, is_closed, extents }
    }

    pub fn get(&self, id: u32) -> Option<&[DVec3; 3]> {
        let at = self.triangles.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(&self.triangles[at].1)
    }

    /// Unsigned distance to a point, metres; infinite without triangles.
    pub fn distance(&self, p: DVec3) -> f64 {
        let mut least = f64::INFINITY;
        for ((_, t), extent) in self.triangles.iter().zip(&self.extents) {
            if extent.distance(p) < least {
                least = least.min(p.distance(closest_on_triangle(p, t)));
            }
        }
        least
    }

    /// Returns the winding number around a point.
    pub fn winding(&self, p: DVec3) -> f64 {
        // Outside the bounds of a closed surface the winding number is exactly 0.
        if self.is_closed && self.bounds.distance(p) > 0.0 {
            return 0.0;
        }
        winding_of(self.triangles.iter().map(|(_, t)| *t), p)
    }

    /// Distance to a triangle, metres; 0 if it crosses one of the soup, infinite beyond `reach`.
    pub fn gap(&self, triangle: &[DVec3; 3], reach: f64) -> f64 {
        let extent = Extent::of(*triangle);
        let mut least = f64::INFINITY;
        for ((_, t), own) in self.triangles.iter().zip(&self.extents) {
            if own.gap(&extent) <= least.min(reach) {
                least = least.min(triangle_gap(triangle, t));
            }
            if least == 0.0 {
                break;
            }
        }
        if least <= reach { least } else { f64::INFINITY }
    }

    /// Returns whether a triangle of the soup crosses this one for certain.
    pub fn is_crossed_by(&self, triangle: &[DVec3; 3]) -> bool {
        let extent = Extent::of(*triangle);
        let near = self.triangles.iter().zip(&self.extents).filter(|(_, e)| e.gap(&extent) == 0.0);
        near.into_iter().any(|((_, t), _)| cross(triangle, t))
    }

    /// Distance to another surface, metres; 0 if they cross, infinite beyond `reach`.
    pub fn gap_to(&self, other: &Soup, reach: f64) -> f64 {
        let mut least = f64::INFINITY;
        for ((_, t), extent) in self.triangles.iter().zip(&self.extents) {
            let limit = reach.min(least);
            if extent.gap(&other.bounds) <= limit {
                least = least.min(other.gap(t, limit));
            }
        }
        least
    }
}

/// Returns whether an edge of one triangle passes through the other.
pub fn cross(s: &[DVec3; 3], t: &[DVec3; 3]) -> bool {
    (0..3).any(|i| passes(s[i], s[(i + 1) % 3], t) || passes(t[i], t[(i + 1) % 3], s))
}

fn passes(p: DVec3, q: DVec3, [a, b, c]: &[DVec3; 3]) -> bool {
    let normal = (*b - *a).cross(*c - *a);
    let area = normal.length();
    if area == 0.0 {
        return false;
    }
    let [above, below] = [p, q].map(|p| (p - *a).dot(normal) / area);
    if above * below >= 0.0 || above.abs().min(below.abs()) < CERTAIN_M {
        return false;
    }
    let x = p + (q - p) * (above / (above - below));
    let weight = |u: DVec3, v: DVec3| (v - u).cross(x - u).dot(normal) / (area * area);
    [(*a, *b), (*b, *c), (*c, *a)].iter().all(|(u, v)| weight(*u, *v) > CERTAIN_WEIGHT)
}

/// Distance of two triangles; 0 if they cross, else the least from a corner to the other triangle, or between two
/// edges.
pub fn triangle_gap(s: &[DVec3; 3], t: &[DVec3; 3]) -> f64 {
    if cross(s, t) {
        return 0.0;
    }
    let corners = s.iter().map(|p| p.distance(closest_on_triangle(*p, t)));
    let others = t.iter().map(|p| p.distance(closest_on_triangle(*p, s)));
    let edges = (0..9).map(|i| {
        let (i, j) = (i / 3, i % 3);
        segment_gap([s[i], s[(i + 1) % 3]], [t[j], t[(j + 1) % 3]])
    });
    corners.chain(others).chain(edges).fold(f64::INFINITY, f64::min)
}

/// Distance between the lines of two segments if both feet are within the segments, else infinite; corners are handled
/// separately.
fn segment_gap([p, q]: [DVec3; 2], [r, s]: [DVec3; 2]) -> f64 {
    let across = (q - p).cross(s - r);
    let square = across.length_squared();
    if square == 0.0 {
        return f64::INFINITY;
    }
    let [on_first, on_second] = [(s - r), (q - p)].map(|u| (r - p).cross(u).dot(across) / square);
    let within = |x: f64| (0.0..=1.0).contains(&x);
    // Otherwise an end of one segment is nearest.
    let is_between = within(on_first) && within(on_second);
    if is_between { (r - p).dot(across).abs() / square.sqrt() } else { f64::INFINITY }
}

/// The difference body of `oracle::triangle` gives equal distances.
#[test]
fn the_gap_of_triangles_is_that_of_their_difference() {
    let mut random = Random::new(5);
    let mut crossing = 0;
    for _ in 0..2_000 {
        let reach = random.range(0.1, 1.5);
        let mut point = || random.point(DVec3::NEG_ONE, DVec3::ONE);
        let (s, t) = ([point(), point(), point()], [point(), point(), point()]);
        let t = t.map(|p| p + DVec3::X * reach);
        let (got, expected) = (triangle_gap(&s, &t), triangle_distance(&s, &t));
        assert!((got - expected).abs() < 1e-6, "{got}, {expected}: {s:?} {t:?}");
        crossing += usize::from(expected == 0.0);
    }
    assert!(crossing > 100, "{crossing} cross");
}
