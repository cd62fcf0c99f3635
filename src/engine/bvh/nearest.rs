//! Nearest triangle of a tree to a point or to another triangle, and all triangles within a distance.

use glam::{DVec3, Vec3};

use super::{tree::BoxTree, volume::LEAF, wide_node::SingleTriangle};
use crate::geometry::{
    TriangleId, TriangleMesh,
    direction::span_along,
    distance::{
        point_triangle::{ClosestPoint, closest_point},
        triangle_triangle::{ClosestPair, closest_pair_or_bound},
    },
    lanes::{LANES, least_lane},
    tolerance::UNITY_ROUNDING,
    triangle_triangle::Triangle,
};
use crate::time_left::{TimeLeft, note_step};
use std::ops::ControlFlow;

/// A query point or triangle, in the tree's frame.
pub trait NearestTo {
    /// Result for one triangle.
    type Found: Copy;
    /// Corners of the triangle, or the point three times.
    fn corners(&self) -> Triangle;
    /// Finds the closest point of a triangle.
    ///
    /// # Errors
    /// Returns a lower bound of the distance if the triangle is farther than `limit`; both are square metres.
    fn closest(&self, triangle: &Triangle, limit: f64) -> Result<Self::Found, f64>;
    /// Squared distance of a result, square metres.
    fn distance_squared(found: &Self::Found) -> f64;
    /// Vector from the query to the triangle, metres.
    fn displacement(&self, found: &Self::Found) -> DVec3;
}

/// A guess of the nearest triangle. It changes the work, never the result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Guess {
    /// A triangle that is likely near.
    pub triangle: Option<TriangleId>,
    /// Direction towards the nearest triangle, of any length; zero if unknown.
    pub direction: DVec3,
}

/// Result of a search that found no triangle near enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AllBeyond {
    /// Lower bound of the distance to all triangles, metres.
    pub distance: f64,
    /// Direction towards the triangle that seemed nearest, unit or zero.
    pub along: DVec3,
}

/// The nearest triangle; the smallest id among equally near ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearestInTree<F> {
    /// The triangle.
    pub triangle: TriangleId,
    /// Closest point, or pair of points, on it.
    pub closest: F,
}

impl NearestTo for DVec3 {
    type Found = ClosestPoint;

    fn corners(&self) -> Triangle {
        [*self; 3]
    }

    fn closest(&self, triangle: &Triangle, _limit: f64) -> Result<ClosestPoint, f64> {
        Ok(closest_point(*self, triangle))
    }

    fn distance_squared(found: &ClosestPoint) -> f64 {
        found.distance_squared
    }

    fn displacement(&self, found: &ClosestPoint) -> DVec3 {
        found.point - *self
    }
}

/// The query is triangle A of the pair; the distance is 0 if both cross.
impl NearestTo for Triangle {
    type Found = ClosestPair;

    fn corners(&self) -> Triangle {
        *self
    }

    fn closest(&self, triangle: &Triangle, limit: f64) -> Result<ClosestPair, f64> {
        closest_pair_or_bound(self, triangle, limit)
    }

    fn distance_squared(found: &ClosestPair) -> f64 {
        found.distance_squared
    }

    fn displacement(&self, found: &ClosestPair) -> DVec3 {
        found.on_b - found.on_a
    }
}

impl BoxTree {
    /// Nearest triangle of `mesh`, which the tree was built from, within `max_distance` metres of the query. Once the
    /// time is over it is the nearest of the visited triangles, the guess first, or none.
    // Most searches take 10 us. Between a flat tool and a tissue triangle that is level with it nearly all triangles
    // are as near as the nearest, and one search took 0.7 ms of a tick whose time was over.
    pub fn nearest<T: NearestTo>(
        &self,
        mesh: &TriangleMesh,
        to: &T,
        max_distance: f64,
        guess: Guess,
        time: &TimeLeft,
    ) -> Option<NearestInTree<T::Found>> {
        self.nearest_or_bound(mesh, to, (max_distance, max_distance), guess, time).ok()
    }

    /// As [`BoxTree::nearest`], but with a bound if no triangle is near enough.
    ///
    /// # Errors
    /// Returns a lower bound, at most `told` metres, of the distance to all triangles if none is within `max_distance`
    /// metres. The bound means nothing once the time is over.
    pub fn nearest_or_bound<T: NearestTo>(
        &self,
        mesh: &TriangleMesh,
        to: &T,
        (max_distance, told): (f64, f64),
        guess: Guess,
        time: &TimeLeft,
    ) -> Result<NearestInTree<T::Found>, AllBeyond> {
        debug_assert!(max_distance >= 0.0 && told >= max_distance, "{max_distance}, {told} m");
        let single = SingleTriangle::of(&to.corners(), self.farthest(), 0.0);
        let (limit, apart) = (max_distance * max_distance, told * told);
        let settled = (max_distance + SETTLED * (told - max_distance)).powi(2);
        // A likely triangle comes first: its distance limits the search, and the displacement to it is one more axis
        // along which nearly all other triangles are farther, even if it is too far itself.
        let mut search =
            TreeSearch { tree: self, mesh, to, single, limit, settled, apart, best: None, time };
        search.look_along(guess.direction);
        guess.triangle.into_iter().for_each(|t| search.begin_at(t));
        if !self.wide_nodes.is_empty() {
            search.descend(0);
        }
        let beyond =
            || AllBeyond { distance: search.apart.sqrt(), along: search.single.further_axis() };
        search.best.ok_or_else(beyond)
    }

    /// Passes every triangle within `reach` metres of a triangle in the tree's frame to `visit`, and some that are
    /// farther, each with a lower bound of its distance in metres, until `visit` stops the search or the time is over.
    pub fn each_within(
        &self,
        to: &Triangle,
        reach: f64,
        time: &TimeLeft,
        mut visit: impl FnMut(TriangleId, f64) -> ControlFlow<()>,
    ) {
        if !self.wide_nodes.is_empty() {
            let single = SingleTriangle::of(to, self.farthest(), 0.0);
            // Triangles within a triangle's displacement are visited, and not all that overlap its swept box: a fifth
            // of the pairs, and of the time of a sweep.
            let _ = self.within(0, &single, reach * reach, time, &mut visit);
        }
    }

    fn within(
        &self,
        wide_node: u32,
        single: &SingleTriangle,
        limit: f64,
        time: &TimeLeft,
        visit: &mut impl FnMut(TriangleId, f64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        note_step();
        if time.is_over() {
            return ControlFlow::Break(());
        }
        let wide_node = &self.wide_nodes[wide_node as usize];
        let bounds = wide_node.distances_squared(single);
        for (bound, below) in bounds.into_iter().zip(wide_node.below) {
            // The bound of an empty lane is infinite and so beyond any limit but an infinite one.
            if f64::from(bound) > limit || below == u32::MAX {
                continue;
            }
            if below & LEAF == 0 {
                self.within(below, single, limit, time, visit)?;
            } else {
                visit(self.triangles[(below & !LEAF) as usize], f64::from(bound).sqrt())?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Least projection of all triangles of `mesh`, which the tree was built from, on a unit vector in the tree's
    /// frame, metres; infinite for an empty tree. `None` if the time is over before it is known.
    pub fn begins_along(&self, mesh: &TriangleMesh, along: DVec3, time: &TimeLeft) -> Option<f64> {
        debug_assert!((along.length() - 1.0).abs() <= UNITY_ROUNDING, "{along}");
        let mut least = f64::INFINITY;
        if !self.wide_nodes.is_empty() {
            self.begin(0, (mesh, along), &mut least, time)?;
        }
        Some(least)
    }

    fn begin(
        &self,
        wide_node: u32,
        (mesh, along): (&TriangleMesh, DVec3),
        least: &mut f64,
        time: &TimeLeft,
    ) -> Option<()> {
        let wide_node = &self.wide_nodes[wide_node as usize];
        let mut begins = wide_node.begins(along.as_vec3().to_array(), self.farthest());
        loop {
            let lane = least_lane(&begins);
            // The nearest lane comes first, so no remaining lane can begin earlier.
            if f64::from(begins[lane]) >= *least {
                return Some(());
            }
            note_step();
            if time.is_over() {
                return None;
            }
            let below = wide_node.below[lane];
            if below & LEAF == 0 {
                self.begin(below, (mesh, along), least, time)?;
            } else {
                // A triangle's box has corners outside the triangle: those of a long one may lie far before it.
                let triangle = mesh.triangle(self.triangles[(below & !LEAF) as usize]);
                let [begin, _] = span_along(&triangle, along);
                *least = least.min(begin);
            }
            begins[lane] = f32::INFINITY;
        }
    }
}

/// If nothing is near, the bound need not be exact: boxes beyond this share of the way from `max_distance` to `told`
/// are not opened. With the whole way a grasper's ticks in tissue took a sixth longer.
const SETTLED: f64 = 0.25;

/// Boxes that are nearer than the nearest triangle found by at most this share of its squared distance are not opened
/// either.
const NEARLY: f64 = 0.1;

/// The state of one query.
struct TreeSearch<'a, T: NearestTo> {
    tree: &'a BoxTree,
    mesh: &'a TriangleMesh,
    to: &'a T,
    /// The query's triangle for box tests, with the direction to the nearest triangle so far as one more axis.
    single: SingleTriangle,
    /// Triangles farther than this are rejected, square metres; a triangle exactly as far is accepted.
    limit: f64,
    /// While nothing is near, boxes farther than this are not opened, and their distance becomes the bound; square
    /// metres.
    settled: f64,
    /// Lower bound of the distance of all rejected triangles, square metres; boxes that are farther are not opened.
    apart: f64,
    best: Option<NearestInTree<T::Found>>,
    time: &'a TimeLeft<'a>,
}

impl<T: NearestTo> TreeSearch<'_, T> {
    /// Searches the boxes below a wide node, nearest first.
    fn descend(&mut self, wide_node: u32) {
        let wide_node = &self.tree.wide_nodes[wide_node as usize];
        let mut bounds = wide_node.distances_squared(&self.single);
        for _ in 0..LANES {
            let lane = least_lane(&bounds);
            let below = wide_node.below[lane];
            // Coordinates are limited, so only lanes without a box are infinitely far.
            let bound = f64::from(bounds[lane]);
            if bound > self.apart || bounds[lane] == f32::INFINITY {
                break;
            }
            if bound > self.settled {
                self.apart = bound;
                break;
            }
            note_step();
            if self.time.is_over() {
                return;
            }
            bounds[lane] = f32::INFINITY;
            if below & LEAF == 0 {
                self.descend(below);
            } else {
                self.offer(self.tree.triangles[(below & !LEAF) as usize]);
            }
        }
    }

    /// Offers the first triangle.
    fn begin_at(&mut self, t: TriangleId) {
        let Ok(closest) = self.to.closest(&self.mesh.triangle(t), f64::INFINITY) else { return };
        self.look_along(self.to.displacement(&closest));
        self.take(t, closest);
    }

    fn offer(&mut self, t: TriangleId) {
        let triangle = self.mesh.triangle(t);
        // One axis and no division: this rejects most triangles of a leaf met late.
        let gap = self.single.gap_squared(&triangle);
        if gap > self.limit {
            self.apart = self.apart.min(gap);
            return;
        }
        let closest = match self.to.closest(&triangle, self.limit) {
            Ok(closest) => closest,
            Err(bound) => return self.apart = self.apart.min(bound),
        };
        self.take(t, closest);
    }

    /// Takes a triangle that was measured.
    fn take(&mut self, t: TriangleId, closest: T::Found) {
        let d = T::distance_squared(&closest);
        debug_assert!(d >= 0.0, "{d} to {t:?}");
        // The smallest id wins among equally near triangles, in any order of visits.
        let ties =
            |b: &NearestInTree<T::Found>| T::distance_squared(&b.closest) == d && b.triangle <= t;
        if d > self.limit {
            if d < self.apart {
                self.apart = d;
                self.settled = self.settled.min((d * (1.0 - NEARLY)).max(self.limit));
                self.look_along(self.to.displacement(&closest));
            }
        } else if !self.best.as_ref().is_some_and(ties) {
            (self.limit, self.apart) = (d, d);
            self.best = Some(NearestInTree { triangle: t, closest });
            self.look_along(self.to.displacement(&closest));
        }
    }

    /// Skips boxes that begin farther along that direction from here on.
    fn look_along(&mut self, direction: DVec3) {
        let along = direction.as_vec3().normalize_or_zero();
        if along != Vec3::ZERO {
            // Single precision is enough: the axis only prunes. A displacement of less than 1e-19 m loses digits to
            // underflow and the axis its unit length, but bounds are then lessened by far more than that displacement.
            self.single = self.single.seen_along(along);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bvh::BoxTree,
        geometry::MeshData,
        oracle::{Random, brute_force, shapes, triangle::triangle_distance},
    };

    const SHAPES: [fn() -> MeshData; 4] = [
        || shapes::jaw(0.03, 8),
        || shapes::capsule(0.004, 0.05, 12),
        || shapes::torus(0.02, 0.006, 14, 9),
        || shapes::sheet(6, 5, 0.003),
    ];

    /// A triangle near the mesh: far, near, crossing, thin.
    fn triangle_about(mesh: &TriangleMesh, random: &mut Random) -> Triangle {
        let b = mesh.used_box().grown(0.02);
        let at = random.point(b.min.as_dvec3(), b.max.as_dvec3());
        let size = 10f64.powf(random.range(-4.0, -1.5));
        let thin = if random.below(5) == 0 { 1e-4 } else { 1.0 };
        let along = random.unit_vector() * size;
        [at, at + along, at + along * random.f64() + random.unit_vector() * (size * thin)]
    }

    /// Compared with every triangle in turn, by the oracle's formulas.
    #[test]
    fn nearest_is_that_of_brute_force() {
        let seed = 5;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        for shape in SHAPES {
            let mesh = TriangleMesh::new(shape());
            let tree = BoxTree::build(&mesh);
            let ids: Vec<TriangleId> = mesh.triangle_ids().collect();
            for round in 0..400 {
                let guess = Guess {
                    triangle: (round % 2 == 0).then(|| ids[random.below(ids.len())]),
                    direction: if round % 3 == 0 { DVec3::ZERO } else { random.unit_vector() },
                };
                let t = triangle_about(&mesh, &mut random);
                let truth = brute_force::nearest(&mesh, t[0]).expect("triangles");
                let endless = &TimeLeft::endless();
                let found = tree.nearest(&mesh, &t[0], f64::INFINITY, guess, endless);
                let found = found.expect("no limit");
                let got = found.closest.distance_squared.sqrt();
                assert!((got - truth.distance).abs() < 1e-12, "{got}, {truth:?}: {t:?}, {guess:?}");

                let distances = ids.iter().map(|i| triangle_distance(&t, &mesh.triangle(*i)));
                let truth = distances.fold(f64::INFINITY, f64::min);
                let found = tree.nearest(&mesh, &t, f64::INFINITY, guess, endless);
                let found = found.expect("no limit");
                let got = found.closest.distance_squared.sqrt();
                assert!((got - truth).abs() < 1e-12, "{got}, {truth}: {t:?}, {guess:?}");
                let reach = got * (1.0 + 1e-12);
                assert_eq!(tree.nearest(&mesh, &t, reach, Guess::default(), endless), Some(found));
                let short = got * (1.0 - 1e-9);
                assert!(got == 0.0 || tree.nearest(&mesh, &t, short, guess, endless).is_none());
                // All triangles are at least as far as the returned bound.
                let (most, told) = (got * random.range(0.0, 0.999), got * random.range(1.0, 2.0));
                if got > 0.0 {
                    let bound = tree.nearest_or_bound(&mesh, &t, (most, told), guess, endless);
                    let AllBeyond { distance, along } = bound.expect_err("it is nearer than that");
                    assert!(distance > most && distance <= reach, "{distance} of {got}");
                    assert!(along == DVec3::ZERO || (along.length() - 1.0).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn all_within_reach_are_given_and_few_beyond() {
        let mut random = Random::new(6);
        let (mut given, mut near) = (0, 0);
        for shape in SHAPES {
            let mesh = TriangleMesh::new(shape());
            let tree = BoxTree::build(&mesh);
            for _ in 0..200 {
                let t = triangle_about(&mesh, &mut random);
                let reach = random.range(0.0, 0.01);
                let mut visited = Vec::new();
                tree.each_within(&t, reach, &TimeLeft::endless(), |own, bound| {
                    let distance = triangle_distance(&t, &mesh.triangle(own));
                    assert!(bound <= distance, "{own:?} is {distance} m from {t:?}, bound {bound}");
                    visited.push(own);
                    ControlFlow::Continue(())
                });
                given += visited.len();
                for own in mesh.triangle_ids() {
                    if triangle_distance(&t, &mesh.triangle(own)) <= reach {
                        near += 1;
                        assert!(visited.contains(&own), "{own:?} from {t:?} within {reach}");
                    }
                }
            }
        }
        assert!(given < 2 * near, "{given} for {near}");
    }

    #[test]
    fn a_tree_begins_at_its_first_vertex() {
        let mut random = Random::new(7);
        for shape in SHAPES {
            let mesh = TriangleMesh::new(shape());
            let tree = BoxTree::build(&mesh);
            for _ in 0..100 {
                let along = random.unit_vector();
                let first = mesh.positions().iter().map(|p| p.as_dvec3().dot(along));
                let first = first.fold(f64::INFINITY, f64::min);
                assert_eq!(tree.begins_along(&mesh, along, &TimeLeft::endless()), Some(first));
            }
        }
    }
}
