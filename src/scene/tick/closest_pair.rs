//! The closest points of a link and a tissue whose surfaces are apart.

use std::cell::Cell;

use glam::DVec3;

use crate::scene::{Link, Revision, TissueId, coherence::near_list::Neighbourhood};
use crate::{
    bvh::Guess,
    geometry::{
        Aabb, Pose, TriangleId, distance::triangle_triangle::ClosestPair, tolerance::POSE_ROUNDING,
    },
};

/// A tissue triangle and a link triangle with their closest points: A is the tissue's, in link frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::scene) struct Pair {
    pub(in crate::scene) tissue_triangle: TriangleId,
    pub(in crate::scene) link_triangle: TriangleId,
    pub(in crate::scene) closest: ClosestPair,
}

/// The closest pair of triangles within `max_distance` metres; 0 apart when the surfaces cross. `near`: what the
/// last search for this link and tissue left.
pub(in crate::scene) fn closest_pair(
    (tissue, revision): (TissueId, &Revision),
    link: &Link,
    scene_from_link: &Pose,
    max_distance: f64,
    near: &mut Neighbourhood,
) -> Option<Pair> {
    let others = near.follow(tissue, revision, link, scene_from_link);
    let (tissue, mesh) = (&revision.surface, link.surface.mesh());
    let link_from_scene = scene_from_link.inverse();
    let best: Cell<Option<Pair>> = Cell::new(None);
    let slab = Cell::new(Slab::UNKNOWN);
    let reach = || best.get().map_or(max_distance, |b| b.closest.distance_squared.sqrt() * COVER);
    let corners = |t: TriangleId| tissue.mesh().triangle(t).map(|p| link_from_scene.point(p));
    let offer = |t: TriangleId, triangle: Option<TriangleId>| {
        let corners = corners(t);
        if slab.get().is_before(&corners, reach()) {
            return;
        }
        let guess = Guess { triangle, direction: slab.get().along };
        let Some(found) = link.tree.nearest(mesh, &corners, reach(), guess) else { return };
        let pair =
            Pair { tissue_triangle: t, link_triangle: found.triangle, closest: found.closest };
        if best.get().is_none_or(|b| is_before(&pair, &b)) {
            best.set(Some(pair));
            slab.set(Slab::between(&pair, link, &link_from_scene));
        }
    };
    near.pair.into_iter().for_each(|(t, l)| offer(t, Some(l)));
    near.triangles.iter().for_each(|t| offer(*t, None));
    if reach() >= others {
        if best.get().is_none() {
            let mut far = max_distance + link.surface.bounds().diagonal();
            let mut nearest = None;
            for v in &link.extremes {
                let p = scene_from_link.point(mesh.position(*v));
                if let Some(found) = tissue.nearest(p, far, None) {
                    far = found.closest.distance_squared.sqrt();
                    nearest = Some(found.triangle);
                }
            }
            nearest.into_iter().for_each(|t| offer(t, None));
        }
        let ahead = near.ahead(link);
        let horizon = || reach() + ahead;
        let bounds = scene_from_link.aabb(link.surface.bounds()).grown(horizon());
        let is_near = |b: &Aabb| {
            !slab.get().is_box_before(b, horizon())
                && link.may_be_near(&link_from_scene, b, horizon())
        };
        near.begin(scene_from_link);
        tissue.overlap(&(bounds, &is_near), |t| {
            let may_be_near = || !slab.get().is_before(&corners(t), horizon());
            if is_near(&tissue.mesh().triangle_box(t)) && may_be_near() {
                near.note(t);
                offer(t, None);
            }
        });
        near.end(horizon(), |t| !slab.get().is_before(&corners(t), horizon()));
    }
    near.pair = best.get().map(|b| (b.tissue_triangle, b.link_triangle));
    best.get()
}

/// All of a link is beyond a plane: what is farther before it than the reach is not near.
#[derive(Clone, Copy, Debug)]
struct Slab {
    /// The plane's unit normal, in link frame; zero when no plane is known.
    along: DVec3,
    /// The same in scene frame, and how far along it the scene's origin is, metres.
    in_scene: DVec3,
    origin: f64,
    /// Where the link begins along it, metres.
    begins: f64,
}

impl Slab {
    const UNKNOWN: Slab =
        Slab { along: DVec3::ZERO, in_scene: DVec3::ZERO, origin: 0.0, begins: f64::NEG_INFINITY };

    /// Across the shortest way.
    fn between(pair: &Pair, link: &Link, link_from_scene: &Pose) -> Slab {
        let Some(along) = pair.closest.direction() else {
            return Slab::UNKNOWN;
        };
        Slab {
            along,
            in_scene: link_from_scene.rotation.transpose() * along,
            origin: link_from_scene.translation.dot(along),
            begins: link.tree.begins_along(along),
        }
    }

    /// A triangle in link frame is farther before the plane than that.
    fn is_before(&self, corners: &[DVec3; 3], reach: f64) -> bool {
        let ends = corners.map(|p| p.dot(self.along));
        self.begins - ends[0].max(ends[1]).max(ends[2]) > reach
    }

    /// A box in the scene is.
    fn is_box_before(&self, b: &Aabb, reach: f64) -> bool {
        let (centre, half) = (b.centre(), 0.5 * b.size());
        let rounding = POSE_ROUNDING * ((centre.abs() + half).element_sum() + self.origin.abs());
        let ends = self.origin + centre.dot(self.in_scene) + half.dot(self.in_scene.abs());
        self.begins - (ends + rounding) > reach
    }
}

impl Link {
    /// False only when everything in the box, which is in scene frame, is farther than `reach` metres from
    /// the link: signed distance changes by no more than the distance gone.
    pub(in crate::scene) fn may_be_near(
        &self,
        link_from_scene: &Pose,
        b: &Aabb,
        reach: f64,
    ) -> bool {
        if b.is_empty() {
            return false;
        }
        let centre = link_from_scene.point(b.centre());
        let radius = b.diagonal() * 0.5;
        let to_box = self.surface.bounds().distance_squared(centre).sqrt();
        to_box <= radius + reach && self.field.lower_bound(centre) <= radius + reach
    }
}

/// Covers the rounding of a bound, relative: a pair that is exactly in reach is not lost.
const COVER: f64 = 1.0 + 1e-9;

/// Nearer first, then the smaller ids: the answer does not depend on the order of the search.
fn is_before(a: &Pair, b: &Pair) -> bool {
    let key = |p: &Pair| (p.tissue_triangle, p.link_triangle);
    a.closest
        .distance_squared
        .total_cmp(&b.closest.distance_squared)
        .then_with(|| key(a).cmp(&key(b)))
        .is_lt()
}
