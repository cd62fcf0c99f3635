//! Signed distances found during searches, and what they say of other points.

use std::cell::Cell;

use glam::DVec3;

use super::{Revision, TissueId};

/// The last soundings of a tissue whose signed distance is 1-Lipschitz: a closed one. They outlive a search and a
/// deformation: no distance changes by more than the surface moved.
#[derive(Debug, Default)]
pub(super) struct Soundings {
    last: Box<[Cell<Sounding>]>,
    taken: Cell<usize>,
    /// What told last: a search goes from box to neighbouring box.
    lucky: Cell<usize>,
    /// Of which tissue, and its geometry and topology revisions.
    of: Option<(TissueId, u64, u64)>,
}

/// Signed distance at a point, metres: between these.
#[derive(Clone, Copy, Debug, Default)]
struct Sounding {
    at: DVec3,
    least: f64,
    most: f64,
}

/// Twice as many are searched for longer than they save.
const ROOM: usize = 32;

impl Soundings {
    /// None yet.
    pub(super) fn new() -> Soundings {
        Soundings { last: vec![Cell::default(); ROOM].into(), ..Soundings::default() }
    }

    /// Makes what is known true of a revision, or forgets it.
    pub(super) fn follow(&mut self, tissue: TissueId, revision: &Revision) {
        let now = (tissue, revision.geometry_revision, revision.topology_revision);
        let moved = self.of.and_then(|(of, geometry, topology)| {
            let same = (of, topology) == (tissue, revision.topology_revision);
            same.then(|| revision.since(geometry))?.map(|past| past.farthest())
        });
        self.of = Some(now);
        match moved {
            Some(0.0) => {}
            Some(moved) => {
                for sounding in &self.last {
                    let Sounding { at, least, most } = sounding.get();
                    sounding.set(Sounding { at, least: least - moved, most: most + moved });
                }
            }
            None => self.taken.set(0),
        }
    }

    /// Notes a signed distance, metres.
    pub(super) fn note(&self, at: DVec3, signed_distance: f64) {
        let taken = self.taken.get();
        let (least, most) = (signed_distance, signed_distance);
        self.last[taken % ROOM].set(Sounding { at, least, most });
        self.taken.set(taken + 1);
    }

    /// Whether the signed distance at a point is at most `reach` metres, where that is known.
    pub(super) fn is_within(&self, p: DVec3, reach: f64) -> Option<bool> {
        let told = |i: usize| self.last[i].get().is_within(p, reach);
        let known = self.taken.get().min(ROOM);
        let lucky = self.lucky.get();
        if lucky < known
            && let Some(told) = told(lucky)
        {
            return Some(told);
        }
        (0..known).find_map(|i| {
            let told = told(i)?;
            self.lucky.set(i);
            Some(told)
        })
    }
}

impl Sounding {
    fn is_within(&self, p: DVec3, reach: f64) -> Option<bool> {
        let gone_squared = p.distance_squared(self.at) * (1.0 + ROUNDING);
        let (above, below) = (self.least - reach, reach - self.most);
        if above > 0.0 && gone_squared < above * above {
            Some(false)
        } else {
            (below >= 0.0 && gone_squared <= below * below).then_some(true)
        }
    }
}

/// Covers the rounding of a distance and a sum, relative.
const ROUNDING: f64 = 1e-11;
