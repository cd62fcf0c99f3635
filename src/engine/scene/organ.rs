//! Tissues that share a border are parts of one organ, and enclose together what none of them encloses alone.
//!
//! A large organ may be split into several open tissues. Generalised winding numbers add up, so that the sum over the
//! parts is that of the whole: parts whose borders lie on each other are as closed together as the organ was in one
//! piece, and a gap between them costs as much certainty as it is wide. Tissues that share no border stay apart: the
//! sum over sheets that lie above each other, as skin and fascia do, says nothing about either.

use glam::DVec3;

use super::{RevisionGuard, Scene, Tissue, TissueId, coherence::probe_memory::ProbeMemory};
use crate::{
    geometry::{Aabb, TriangleId, winding::Winding},
    index::NearestTriangle,
    surface::{SignedNearest, Surface},
    time_left::TimeLeft,
};

/// One tissue, or all parts of a divided organ, as one surface.
#[derive(Clone, Copy)]
pub(crate) struct Organ<'a> {
    tissues: &'a [(TissueId, RevisionGuard)],
    /// Index of one part among them.
    place: usize,
    is_divided: bool,
}

/// A triangle, after the index of its tissue.
pub(crate) type OfPart = (usize, TriangleId);

impl<'a> Organ<'a> {
    /// Returns the organ of the tissue at `place`. A closed tissue is one alone.
    pub(crate) fn of(tissues: &'a [(TissueId, RevisionGuard)], place: usize) -> Organ<'a> {
        let whole = Organ { tissues, place, is_divided: true };
        let is_divided = !whole.part(place).is_closed() && whole.parts().nth(1).is_some();
        Organ { is_divided, ..whole }
    }

    /// Returns every organ of these tissues, once.
    pub(in crate::scene) fn each(
        tissues: &'a [(TissueId, RevisionGuard)],
    ) -> impl Iterator<Item = Organ<'a>> {
        let of = |place| Organ::of(tissues, place);
        (0..tissues.len()).map(of).filter(|organ| organ.parts().next() == Some(organ.place))
    }

    /// Returns true if the organ has several parts.
    pub(crate) fn is_divided(&self) -> bool {
        self.is_divided
    }

    /// Returns the indices of its parts, ascending.
    pub(crate) fn parts(&self) -> impl Iterator<Item = usize> + use<'a> {
        let Organ { tissues, place, is_divided } = *self;
        let organ = tissues[place].1.organ();
        let is_part = move |i: &usize| {
            let revision = &tissues[*i].1;
            *i == place || revision.organ() == organ && !revision.surface.is_closed()
        };
        let all = if is_divided { 0..tissues.len() } else { place..place + 1 };
        all.filter(is_part)
    }

    /// Returns the tissue at an index.
    pub(crate) fn id(&self, part: usize) -> TissueId {
        self.tissues[part].0
    }

    /// Returns the surface of the part at an index.
    pub(crate) fn part(&self, part: usize) -> &'a Surface {
        &self.tissues[part].1.surface
    }

    /// Returns the surface of an organ that is not divided.
    pub(crate) fn whole(&self) -> Option<&'a Surface> {
        (!self.is_divided).then(|| self.part(self.place))
    }

    /// Returns the box of all parts.
    pub(crate) fn bounds(&self) -> Aabb {
        let all = || self.parts().map(|part| self.part(part).bounds());
        match self.whole() {
            Some(surface) => *surface.bounds(),
            None => all().fold(Aabb::EMPTY, |all, part| all.union(part)),
        }
    }

    /// Returns the distance of a point from the box of all that is inside, metres, squared; 0 within it.
    pub(crate) fn inside_distance_squared(&self, p: DVec3) -> f64 {
        let all = || self.bounds().distance_squared(p);
        self.whole().map_or_else(all, |surface| surface.inside_distance_squared(p))
    }

    /// Returns whether a box may hold something that is inside.
    pub(crate) fn may_be_inside(&self, b: &Aabb) -> bool {
        let all = || self.bounds().overlaps(b);
        self.whole().map_or_else(all, |surface| surface.may_be_inside(b))
    }

    /// The side changes only at triangles within `radius` metres of `p`, or nearly so: see
    /// [`Boundary::is_near`](crate::geometry::mesh::boundary::Boundary::is_near).
    pub(crate) fn is_open_near(&self, p: DVec3, radius: f64) -> bool {
        self.parts().any(|part| self.part(part).boundary().is_near(p, radius))
    }

    /// Returns [`Surface::side_reach`] for the organ.
    pub(crate) fn side_reach(&self, p: DVec3, certainty: f64, radius: f64) -> f64 {
        if let Some(surface) = self.whole() {
            return surface.side_reach(p, certainty, radius);
        }
        // Parts that each change little may change much together, so that all gradients count.
        let gradient = |reach: f64| {
            let of_part = |part| self.part(part).boundary().gradient_bound(p, reach);
            self.parts().map(of_part).sum::<f64>()
        };
        let reaches = [8.0, 4.0, 2.0, 1.0, 0.5].map(|times| times * radius);
        let holds = |reach: &f64| certainty > 2.0 * reach * gradient(*reach);
        reaches.into_iter().find(holds).unwrap_or(0.0)
    }

    /// Returns the part that is nearest to a point within `max_distance` metres, the first among equals. `hint`: a
    /// triangle that is likely near; it changes the work, never the answer. Once the time is over: the nearest of the
    /// triangles that were checked.
    pub(crate) fn nearest(
        &self,
        p: DVec3,
        max_distance: f64,
        hint: Option<OfPart>,
        time: &TimeLeft,
    ) -> Option<(usize, NearestTriangle)> {
        let mut best: Option<(usize, NearestTriangle)> = None;
        let first = hint.map(|(part, _)| part);
        let others = self.parts().filter(|part| Some(*part) != first);
        for part in first.into_iter().chain(others) {
            // Rounded up, so that a triangle exactly as near is found too.
            let reach = best.map_or(max_distance, |(_, b)| {
                b.closest.distance_squared.sqrt().next_up().min(max_distance)
            });
            let near = hint.filter(|(of, _)| *of == part).map(|(_, triangle)| triangle);
            let Some(found) = self.part(part).nearest_in_time(p, reach, near, time) else {
                continue;
            };
            let squared = |n: &NearestTriangle| n.closest.distance_squared;
            let is_nearer = |(of, b): &(usize, NearestTriangle)| {
                squared(&found).total_cmp(&squared(b)).then(part.cmp(of)).is_lt()
            };
            if best.as_ref().is_none_or(is_nearer) {
                best = Some((part, found));
            }
        }
        best
    }

    /// Returns the winding number of all parts; `None` if the time is over before it is known.
    fn winding(&self, p: DVec3, time: &TimeLeft) -> Option<Winding> {
        self.parts().try_fold(Winding::default(), |sum, part| {
            let of_part = self.part(part).winding_in_time(p, time)?;
            let (number, error) = (sum.number + of_part.number, sum.error + of_part.error);
            Some(Winding { number, error })
        })
    }

    /// Returns the signed distance to the organ, and the index of the part that is nearest: within `max_distance`
    /// metres outside it, and at any depth inside. Also `None` if the time is over before it is known. `hint`: as for
    /// [`Organ::nearest`].
    pub(crate) fn signed_distance(
        &self,
        p: DVec3,
        max_distance: f64,
        hint: Option<OfPart>,
        time: &TimeLeft,
    ) -> Option<(usize, SignedNearest)> {
        let reach = reach(self.inside_distance_squared(p), max_distance);
        let found = match self.whole() {
            Some(surface) => {
                let near = hint.map(|(_, triangle)| triangle);
                (self.place, surface.signed_distance_in_time(p, reach, near, time)?)
            }
            None => {
                let (part, nearest) = self.nearest(p, reach, hint, time)?;
                (part, self.signed(p, part, nearest, time)?)
            }
        };
        Some(found).filter(|(_, found)| found.signed_distance <= max_distance)
    }

    /// Returns [`Organ::signed_distance`] for a probe that is measured again and again.
    pub(in crate::scene) fn signed_distance_tracked(
        &self,
        p: DVec3,
        max_distance: f64,
        memory: &mut ProbeMemory,
        time: &TimeLeft,
    ) -> Option<(usize, SignedNearest)> {
        let (id, revision) = &self.tissues[self.place];
        let known = self.whole().and_then(|surface| Some((surface, memory.follow(*id, revision)?)));
        let Some((surface, point)) = known else {
            return self.signed_distance(p, max_distance, None, time);
        };
        let reach = reach(surface.inside_distance_squared(p), max_distance);
        let found = surface.signed_distance_tracked(p, reach, point, time)?;
        (found.signed_distance <= max_distance).then_some((self.place, found))
    }

    /// Returns the signed distance to the organ's part at its own index, as [`Organ::signed_distance`].
    pub(in crate::scene) fn signed_distance_to_part(
        &self,
        p: DVec3,
        max_distance: f64,
        time: &TimeLeft,
    ) -> Option<SignedNearest> {
        let reach = reach(self.inside_distance_squared(p), max_distance);
        let nearest = self.part(self.place).nearest_in_time(p, reach, None, time)?;
        let found = self.signed(p, self.place, nearest, time)?;
        (found.signed_distance <= max_distance).then_some(found)
    }

    /// Returns `None` if the time is over before the side is known, or was before the nearest triangle was.
    fn signed(
        &self,
        p: DVec3,
        part: usize,
        nearest: NearestTriangle,
        time: &TimeLeft,
    ) -> Option<SignedNearest> {
        let NearestTriangle { triangle, closest } = nearest;
        let winding = || self.winding(p, time);
        let of_part = self.part(part);
        (!time.was_over())
            .then(|| of_part.signed_by_winding(p, triangle, closest, winding))
            .flatten()
    }

    /// Returns the certainty of a point's side, 0 if the time is over before it is known. `nearest`: the triangle of
    /// this part that is nearest to the point.
    pub(in crate::scene) fn certainty_about(
        &self,
        p: DVec3,
        nearest: TriangleId,
        time: &TimeLeft,
    ) -> f64 {
        match self.whole() {
            Some(surface) => surface.certainty_about(p, nearest, time),
            None => {
                let hint = Some((self.place, nearest));
                let found = self.signed_distance(p, f64::INFINITY, hint, time);
                let unknown = if time.was_over() { 0.0 } else { 1.0 };
                found.map_or(unknown, |(_, found)| found.certainty)
            }
        }
    }
}

/// Returns the radius about a point in which a surface is searched, metres, if no more than `max_distance` outside is
/// wanted. `inside_squared`: squared distance of the point from the box of all that is inside.
pub(in crate::scene) fn reach(inside_squared: f64, max_distance: f64) -> f64 {
    // Points outside the box are not inside the surface, so their side need not be computed. Inside the box the search
    // may not stop at `max_distance`: a point can be any depth below the surface.
    if inside_squared == 0.0 { f64::INFINITY } else { max_distance }
}

impl Scene {
    /// Makes a tissue, if it is open, a part of the same organ as every other open tissue of its kind that it shares a
    /// border with now. They stay so until they are removed, also if their borders part. To be called after each change
    /// of a tissue. O(edges of both borders) if boxes around borders meet, and nothing elsewhere.
    pub fn join_borders(&self, tissue: &Tissue) {
        let now = tissue.current();
        let own = now.surface.boundary();
        if own.is_empty() {
            return;
        }
        let tissues = self.tissues();
        let others = tissues.iter().filter(|t| t.id() != tissue.id() && t.kind() == tissue.kind());
        for other in others {
            let there = other.current();
            let is_joined = there.organ() == now.organ();
            let meshes = (now.surface.mesh(), there.surface.mesh());
            if !is_joined && own.lies_on(meshes.0, there.surface.boundary(), meshes.1) {
                // Locked: two threads that join the same organ to others would lose one of them.
                let _one_at_a_time = self.ids.lock();
                let parts = [now.organ(), there.organ()];
                let joined = parts[0].min(parts[1]);
                for part in self.tissues().iter().map(|t| t.current()) {
                    if parts.contains(&part.organ()) {
                        part.set_organ(joined);
                    }
                }
            }
        }
    }
}
