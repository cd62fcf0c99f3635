//! Signed distances found during a search, and what they say of other points.

use std::cell::Cell;

use glam::DVec3;

/// The last few soundings of a surface whose signed distance is 1-Lipschitz: a closed one.
#[derive(Debug, Default)]
pub(super) struct Soundings {
    last: Cell<[(DVec3, f64); ROOM]>,
    taken: Cell<usize>,
}

/// A search goes from box to neighbouring box; older soundings are far away.
const ROOM: usize = 12;

impl Soundings {
    /// Notes a signed distance, metres.
    pub(super) fn note(&self, p: DVec3, signed_distance: f64) {
        let mut last = self.last.get();
        last[self.taken.get() % ROOM] = (p, signed_distance);
        self.last.set(last);
        self.taken.set(self.taken.get() + 1);
    }

    /// (least, most) signed distance at a point.
    pub(super) fn bounds(&self, p: DVec3) -> (f64, f64) {
        let last = self.last.get();
        let known = &last[..self.taken.get().min(ROOM)];
        known.iter().fold((f64::NEG_INFINITY, f64::INFINITY), |(least, most), (at, d)| {
            let gone = p.distance(*at) * (1.0 + ROUNDING);
            (least.max(d - gone), most.min(d + gone))
        })
    }
}

/// Covers the rounding of a distance and a sum, relative.
const ROUNDING: f64 = 1e-12;
