//! Finds the closest points of a link and a tissue whose surfaces are apart.
//!
//! The search offers tissue triangles to the link's box tree, likely ones first: the last closest pair, then the near
//! list. Only if triangles beyond the list may be nearer does it traverse the tissue's index, and makes the next list
//! of the triangles that it meets. Once a pair is known, its direction is an axis along which nearly all else is
//! farther.

use std::{cell::Cell, ops::ControlFlow};

use glam::DVec3;

use crate::scene::{
    Link, Revision, TissueId,
    coherence::{
        near_list::{NearList, TriangleBound},
        support_plane::SupportPlane,
    },
};
use crate::{
    bvh::{AllBeyond, Guess},
    geometry::{
        Aabb, Pose, TriangleId,
        distance::triangle_triangle::{ClosestPair, closest_pair as closest_pair_of},
        tolerance::{BOUND_COVER, CONTACT_SLACK, POSE_ROUNDING},
    },
    surface::Surface,
    time_left::TimeLeft,
};

/// A tissue triangle and a link triangle with their closest points: A is the tissue's, in link frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::scene) struct ClosestTriangles {
    pub(in crate::scene) tissue_triangle: TriangleId,
    pub(in crate::scene) link_triangle: TriangleId,
    pub(in crate::scene) closest: ClosestPair,
}

impl ClosestTriangles {
    fn distance(&self) -> f64 {
        self.closest.distance_squared.sqrt()
    }
}

/// Returns the closest pair of triangles within `max_distance` metres; 0 apart if the surfaces cross. `near`: the list
/// of this link and tissue. Once the time is over it is the closest of those that were checked, the last one first.
pub(in crate::scene) fn closest_pair(
    (tissue, revision): (TissueId, &Revision),
    link: &Link,
    scene_from_link: &Pose,
    max_distance: f64,
    near: &mut NearList,
    time: &TimeLeft,
) -> Option<ClosestTriangles> {
    let others = near.follow(tissue, revision, link, scene_from_link);
    let search = PairSearch {
        tissue: &revision.surface,
        link,
        scene_from_link,
        link_from_scene: scene_from_link.inverse(),
        max_distance,
        rounding: touching_m(link, scene_from_link),
        ahead: near.ahead(link),
        time,
        best: Cell::new(None),
        slab: Cell::new(Slab::UNKNOWN),
    };
    // Ties go to the smaller ids, so that the order of these offers does not show.
    if let Some((t, l)) = near.pair {
        search.offer(t, Some(l), SupportPlane::UNKNOWN);
    }
    let offer = |t, plane| (!time.is_over_now()).then(|| search.offer(t, None, plane));
    near.measure(|| search.reach(), offer);
    // A triangle that is not listed is farther than `others`; one as near may still win a tie.
    if search.reach() >= others && !time.is_over_now() {
        search.list_anew(near);
    }
    let best = search.best.get();
    debug_assert!(best.is_none_or(|b| b.closest.distance_squared >= 0.0));
    near.pair = best.map(|b| (b.tissue_triangle, b.link_triangle));
    best
}

/// A search in progress: tissue triangles are offered to it, in any order.
struct PairSearch<'a> {
    tissue: &'a Surface,
    link: &'a Link,
    scene_from_link: &'a Pose,
    link_from_scene: Pose,
    max_distance: f64,
    /// Distance by which planes and boxes may seem apart at a contact, metres.
    rounding: f64,
    /// Distance beyond the best that is also searched, so that the list holds for longer, metres.
    ahead: f64,
    time: &'a TimeLeft<'a>,
    best: Cell<Option<ClosestTriangles>>,
    /// Slab of the best pair.
    slab: Cell<Slab>,
}

impl PairSearch<'_> {
    /// Distance up to which a pair may be better than the best: one exactly as far has to be offered too, for its ids
    /// may be smaller.
    fn reach(&self) -> f64 {
        let of_best = |b: ClosestTriangles| b.distance() * BOUND_COVER + self.rounding;
        self.best.get().map_or(self.max_distance, of_best)
    }

    /// Corners in link frame.
    fn corners(&self, t: TriangleId) -> [DVec3; 3] {
        self.link_from_scene.triangle(&self.tissue.mesh().triangle(t))
    }

    /// Measures a triangle, as far as it may be nearer than the best, and returns a lower bound of its distance.
    /// `likely`: the link's triangle that it may be nearest to; `plane`: one that it is known to be before.
    fn offer(
        &self,
        t: TriangleId,
        likely: Option<TriangleId>,
        plane: SupportPlane,
    ) -> TriangleBound {
        // The last closest pair is offered first, and its triangle is in the list too.
        let is_it = |b: &ClosestTriangles| b.tissue_triangle == t && !self.time.was_over();
        if let Some(best) = self.best.get().filter(is_it) {
            return self.bound_of(&best, plane);
        }
        let corners = self.corners(t);
        // Triangles about one vertex of the tissue are equally near, to the same triangle of the link: one of a greater
        // id is no better than the best. If they nearly touch, rounding decides which is, and all are checked.
        let tells = |b: &ClosestTriangles| b.distance() * (BOUND_COVER - 1.0) > self.rounding;
        let known = self.best.get().filter(tells);
        let no_better = known.filter(|b| t > b.tissue_triangle);
        let enough = no_better.map_or(f64::INFINITY, |b| b.distance() / BOUND_COVER);
        let slab = self.slab.get().plane;
        for plane in [slab, plane] {
            let distance = plane.before(&corners);
            if distance > self.reach() || distance >= enough {
                return TriangleBound { distance, plane };
            }
        }
        let direction = if plane.along != DVec3::ZERO { plane.along } else { slab.along };
        let triangle = likely.or(known.map(|b| b.link_triangle));
        let guess = Guess { triangle, direction };
        let limits = (self.reach(), self.reach() + self.ahead);
        let (tree, mesh) = (&self.link.tree, self.link.surface.mesh());
        let bound = match tree.nearest_or_bound(mesh, &corners, limits, guess, self.time) {
            Ok(found) => {
                let pair = ClosestTriangles {
                    tissue_triangle: t,
                    link_triangle: found.triangle,
                    closest: found.closest,
                };
                if self.best.get().is_none_or(|b| is_before(&pair, &b)) {
                    self.best.set(Some(pair));
                    let slab = Slab::between(&pair, self.link, &self.link_from_scene, self.time);
                    self.slab.set(slab);
                }
                self.bound_of(&pair, plane)
            }
            Err(AllBeyond { distance, along }) => {
                let plane = SupportPlane::across(along, self.link, self.time);
                TriangleBound { distance, plane }
            }
        };
        if self.time.was_over() { TriangleBound::UNKNOWN } else { bound }
    }

    fn bound_of(&self, pair: &ClosestTriangles, plane: SupportPlane) -> TriangleBound {
        let distance = pair.distance() / BOUND_COVER - self.rounding;
        TriangleBound { distance: distance.max(0.0), plane }
    }

    /// Traverses the tissue's index, and makes the next list of the triangles that it meets.
    fn list_anew(&self, near: &mut NearList) {
        if self.best.get().is_none()
            && let Some(t) = self.near_an_extreme()
        {
            self.offer(t, None, SupportPlane::UNKNOWN);
        }
        let skin = near.skin(self.link);
        let list_radius = || self.reach() + skin;
        let is_near = |b: &Aabb| {
            !self.time.is_over()
                && !self.slab.get().is_box_before(b, list_radius())
                && self.link.may_be_near(&self.link_from_scene, b, list_radius())
        };
        let may_be_near = |t| self.slab.get().plane.before(&self.corners(t)) <= list_radius();
        let bounds = self.scene_from_link.aabb(self.link.surface.bounds()).grown(list_radius());
        // The reach shrinks while the search runs. Triangles that the search left out were beyond a larger radius, and
        // at the end listed triangles beyond the last radius are dropped.
        near.begin(self.scene_from_link);
        self.tissue.overlap(&(bounds, &is_near), |t| {
            if self.time.is_over_now() {
                return ControlFlow::Break(());
            }
            if is_near(&self.tissue.mesh().triangle_box(t)) && may_be_near(t) {
                let bound = self.offer(t, None, SupportPlane::UNKNOWN);
                // A list of all that boxes alone let pass would be full of farther triangles.
                if bound.distance <= list_radius() {
                    near.note(t, bound);
                }
            }
            ControlFlow::Continue(())
        });
        if self.time.was_over() {
            near.abandon();
        } else {
            near.end(list_radius(), may_be_near);
        }
    }

    /// Returns the tissue triangle nearest to one of the link's extreme vertices: a first pair to start from.
    fn near_an_extreme(&self) -> Option<TriangleId> {
        let surface = &self.link.surface;
        // Everything within `max_distance` of the link lies within this distance of a vertex.
        let mut far = self.max_distance + surface.bounds().diagonal();
        let mut nearest = None;
        for v in self.link.extremes.iter().take_while(|_| !self.time.is_over_now()) {
            let p = self.scene_from_link.point(surface.mesh().position(*v));
            if let Some(found) = self.tissue.nearest_in_time(p, far, None, self.time) {
                far = found.closest.distance_squared.sqrt();
                nearest = Some(found.triangle);
            }
        }
        nearest
    }
}

/// Returns the closest pair, without a search, if it is one of `pairs`, which ascend.
pub(super) fn closest_of(
    pairs: &[(TriangleId, TriangleId)],
    revision: &Revision,
    link: &Link,
    scene_from_link: &Pose,
    max_distance: f64,
) -> Option<ClosestTriangles> {
    let (tissue, mesh) = (revision.surface.mesh(), link.surface.mesh());
    let link_from_scene = scene_from_link.inverse();
    let mut best: Option<ClosestTriangles> = None;
    for of_tissue in pairs.chunk_by(|a, b| a.0 == b.0) {
        let corners = link_from_scene.triangle(&tissue.triangle(of_tissue[0].0));
        let pair = |&(tissue_triangle, link_triangle): &(TriangleId, TriangleId)| {
            let closest = closest_pair_of(&corners, &mesh.triangle(link_triangle));
            ClosestTriangles { tissue_triangle, link_triangle, closest }
        };
        // The link's tree finds the same one: the first of those that are exactly as near.
        let distance = |p: &ClosestTriangles| p.closest.distance_squared;
        let nearest = of_tissue.iter().map(pair).min_by(|a, b| distance(a).total_cmp(&distance(b)));
        if let Some(nearest) = nearest.filter(|n| best.is_none_or(|b| is_before(n, &b))) {
            best = Some(nearest);
        }
    }
    best.filter(|b| b.closest.distance_squared <= max_distance * max_distance)
}

/// Distance below which triangles nearly touch: the rounding error of moving into the link's frame and back, metres.
pub(super) fn touching_m(link: &Link, scene_from_link: &Pose) -> f64 {
    let bounds = link.surface.bounds();
    let size = bounds.centre().abs().max_element() + bounds.diagonal();
    POSE_ROUNDING * (size + 2.0 * scene_from_link.translation.length())
}

/// A support plane of a link, and its position in the scene: anything farther before it than the reach is not near.
#[derive(Clone, Copy, Debug)]
struct Slab {
    plane: SupportPlane,
    /// Its normal in scene frame, and the distance of the scene's origin along it, metres.
    in_scene: DVec3,
    origin: f64,
}

impl Slab {
    const UNKNOWN: Slab = Slab { plane: SupportPlane::UNKNOWN, in_scene: DVec3::ZERO, origin: 0.0 };

    /// Returns the slab across the line between the closest points.
    fn between(
        pair: &ClosestTriangles,
        link: &Link,
        link_from_scene: &Pose,
        time: &TimeLeft,
    ) -> Slab {
        let Some(along) = pair.closest.direction() else {
            return Slab::UNKNOWN;
        };
        debug_assert!((along.length() - 1.0).abs() <= CONTACT_SLACK, "direction {along}");
        Slab {
            plane: SupportPlane::across(along, link, time),
            in_scene: link_from_scene.rotation.transpose() * along,
            origin: link_from_scene.translation.dot(along),
        }
    }

    /// Returns true if a box in scene frame is farther before the plane than `reach` metres.
    fn is_box_before(&self, b: &Aabb, reach: f64) -> bool {
        let (centre, half) = (b.centre(), 0.5 * b.size());
        // Only the position of the box's centre along the normal is moved into the link's frame, not the box.
        let rounding = POSE_ROUNDING * ((centre.abs() + half).element_sum() + self.origin.abs());
        let ends = self.origin + centre.dot(self.in_scene) + half.dot(self.in_scene.abs());
        self.plane.begins - (ends + rounding) > reach
    }
}

/// Distance up to which a pair may come before another one at `distance`, metres.
pub(super) fn tie_reach(distance: f64) -> f64 {
    distance * BOUND_COVER * BOUND_COVER
}

/// Orders nearer pairs first, then smaller ids: the answer does not depend on the order of the search. Pairs that only
/// rounding may have separated are equally near.
fn is_before(a: &ClosestTriangles, b: &ClosestTriangles) -> bool {
    let key = |p: &ClosestTriangles| (p.tissue_triangle, p.link_triangle);
    let [of_a, of_b] = [a, b].map(|p| p.closest.distance_squared);
    // For a squared distance, twice.
    let cover = BOUND_COVER * BOUND_COVER;
    of_a * cover < of_b || of_a <= of_b * cover && key(a) < key(b)
}
