//! What was proved of tissue triangles about a link, kept from tick to tick.

use glam::DVec3;

use crate::geometry::TriangleId;
use crate::scene::{TissueId, tick::penetration::Deepest};

/// No point of a triangle was deeper in the link than this where its corners were. Links are rigid, so that holds
/// for ever; where the corners are now, nothing is deeper by more than they have moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::scene) struct Proof {
    /// Link frame.
    pub(in crate::scene) corners: [DVec3; 3],
    /// Metres.
    pub(in crate::scene) lower: f64,
    /// Where it was deepest last.
    pub(in crate::scene) barycentric: DVec3,
    /// The link's triangle that was nearest there.
    pub(in crate::scene) near: Option<TriangleId>,
    /// Of the walk that led there: metres for each unit of slope, 0 when there was none.
    pub(in crate::scene) stride: f64,
}

impl Proof {
    /// Nothing of the triangle is deeper than `lower` metres.
    pub(in crate::scene) fn of(
        triangle: &[DVec3; 3],
        best: &Deepest,
        lower: f64,
        stride: f64,
    ) -> Proof {
        let near = best.reading.exact.map(|(t, _)| t);
        Proof { corners: *triangle, lower, barycentric: best.barycentric, near, stride }
    }

    /// The same proof, and where the triangle is deepest now.
    pub(in crate::scene) fn still(&self, best: &Deepest, stride: f64) -> Proof {
        Proof::of(&self.corners, best, self.lower, stride)
    }

    /// Nothing of the triangle where it is now is deeper than this, metres.
    pub(in crate::scene) fn lower_of(&self, triangle: &[DVec3; 3]) -> f64 {
        let moved = |k: usize| self.corners[k].distance_squared(triangle[k]);
        self.lower - moved(0).max(moved(1)).max(moved(2)).sqrt() * COVER
    }
}

/// Those of one link; what a tick does not use is forgotten.
#[derive(Debug)]
pub(in crate::scene) struct Proofs {
    /// Of the last tick, ascending.
    last: Vec<(Key, Proof)>,
    /// Of this one.
    now: Vec<(Key, Proof)>,
}

type Key = (TissueId, TriangleId);

/// Proofs that are kept of a link, its room from the start: 64 KiB a tick.
const PROOFS_MAX: usize = 512;

impl Proofs {
    /// None yet.
    pub(in crate::scene) fn new() -> Proofs {
        Proofs { last: Vec::with_capacity(PROOFS_MAX), now: Vec::with_capacity(PROOFS_MAX) }
    }

    /// What the last tick proved of a triangle.
    pub(in crate::scene) fn get(&self, key: Key) -> Option<&Proof> {
        let at = self.last.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        Some(&self.last[at].1)
    }

    /// Notes what this tick proved, for the next.
    pub(in crate::scene) fn note(&mut self, key: Key, proof: Proof) {
        if self.now.len() < PROOFS_MAX {
            self.now.push((key, proof));
        }
    }

    /// The link was put elsewhere: what it meets there depends on nothing before.
    pub(in crate::scene) fn forget(&mut self) {
        self.last.clear();
    }

    /// The tick is over.
    pub(in crate::scene) fn turn(&mut self) {
        self.now.sort_unstable_by_key(|(key, _)| *key);
        std::mem::swap(&mut self.last, &mut self.now);
        self.now.clear();
    }
}

/// Covers the rounding of a distance, relative.
const COVER: f64 = 1.0 + 1e-9;
