//! How deep tissue triangles can be in a link at most, kept from tick to tick.
//!
//! A search for the deepest point of a triangle ends with a bound: no point is deeper than so much. A link is rigid,
//! so the bound loosens only by how far the triangle's corners have moved in the link's frame. The next tick starts
//! at the last deepest point and searches again only when the bound has become too loose.

use glam::DVec3;

use crate::geometry::{TriangleId, tolerance::BOUND_COVER};
use crate::scene::TissueId;

/// No point of a triangle was deeper in the link than this where its corners were.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::scene) struct DepthBound {
    /// Link frame.
    pub(in crate::scene) corners: [DVec3; 3],
    /// Metres, negative inside.
    pub(in crate::scene) lower: f64,
    /// Where it was deepest last.
    pub(in crate::scene) barycentric: DVec3,
    /// The link's triangle that was nearest there.
    pub(in crate::scene) near: Option<TriangleId>,
    /// Of the descent that led there: metres for each unit of slope, 0 when there was none.
    pub(in crate::scene) stride: f64,
    /// What holds about an open end of the link, where the others may not.
    pub(in crate::scene) open: Option<OpenBound>,
}

/// No point of a triangle was deeper than this where its corners were, about an open end, where the side changes off the
/// link's surface and a bound by distance alone does not hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::scene) struct OpenBound {
    /// Link frame.
    pub(in crate::scene) corners: [DVec3; 3],
    /// Metres, negative inside.
    pub(in crate::scene) lower: f64,
    /// What was shown to be outside is so for as many metres of motion.
    pub(in crate::scene) slack: f64,
    /// The search for it ended before it was as good as it can be.
    pub(in crate::scene) is_cut_short: bool,
}

/// Those of one link; a bound that a tick does not use is forgotten.
pub(in crate::scene) struct DepthBounds {
    /// Of the last tick, ascending.
    last: KeyedBounds,
    /// Of this one.
    now: KeyedBounds,
    /// Places of bounds that go, while the tick ends.
    free: Vec<u32>,
    /// Of this tick, metres.
    loose: Option<f64>,
}

type BoundKey = (TissueId, TriangleId);

/// Bounds, and where that of each key is.
// Keys apart: this is sorted when a tick's time is over, and a bound has 232 bytes.
struct KeyedBounds {
    keys: Vec<(BoundKey, u32)>,
    bounds: Vec<DepthBound>,
}

/// Bounds that are kept of a link, its room from the start: 64 KiB a tick.
const BOUNDS_MAX: usize = 512;

impl KeyedBounds {
    fn new() -> KeyedBounds {
        KeyedBounds { keys: Vec::with_capacity(BOUNDS_MAX), bounds: Vec::with_capacity(BOUNDS_MAX) }
    }

    /// A triangle without a bound is searched anew in the next tick: slower, never wrong.
    fn push(&mut self, key: BoundKey, bound: DepthBound) {
        if self.bounds.len() < BOUNDS_MAX {
            self.keys.push((key, self.bounds.len() as u32));
            self.bounds.push(bound);
        }
    }

    /// Once keys are sorted.
    fn get(&self, key: BoundKey) -> Option<&DepthBound> {
        let at = self.keys.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        Some(&self.bounds[self.keys[at].1 as usize])
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.bounds.clear();
    }

    /// Puts newer bounds, whose keys are sorted, in the places of older ones: of the same triangles, and where there are
    /// too many of those with the greatest keys. `free`: room to work in.
    fn take_in(&mut self, newer: &KeyedBounds, free: &mut Vec<u32>) {
        free.clear();
        let (mut at, mut n_left) = (0, BOUNDS_MAX - newer.keys.len());
        self.keys.retain(|(key, place)| {
            // Both ascend.
            at += newer.keys[at..].iter().take_while(|(new, _)| new < key).count();
            let is_newer = newer.keys.get(at).is_some_and(|(new, _)| new == key);
            let stays = !is_newer && n_left > 0;
            n_left -= usize::from(stays);
            if !stays {
                free.push(*place);
            }
            stays
        });
        for (key, from) in &newer.keys {
            let bound = newer.bounds[*from as usize];
            let place = free.pop().unwrap_or(self.bounds.len() as u32);
            match self.bounds.get_mut(place as usize) {
                Some(old) => *old = bound,
                None => self.bounds.push(bound),
            }
            self.keys.push((*key, place));
        }
        self.keys.sort_unstable();
    }
}

impl DepthBound {
    /// No point of the triangle is deeper than this where it is now, metres.
    pub(in crate::scene) fn lower_of(&self, triangle: &[DVec3; 3]) -> f64 {
        let lower = self.lower - moved(&self.corners, triangle);
        debug_assert!(lower <= self.lower, "motion made {} m tighter: {lower} m", self.lower);
        lower
    }
}

impl OpenBound {
    /// No point of the triangle is deeper than this where it is now, metres; `None` when it has moved too far to say.
    pub(in crate::scene) fn lower_of(&self, triangle: &[DVec3; 3]) -> Option<f64> {
        let moved = moved(&self.corners, triangle);
        (moved <= self.slack).then_some(self.lower - moved)
    }
}

/// No point of a triangle has moved farther, metres.
fn moved(from: &[DVec3; 3], to: &[DVec3; 3]) -> f64 {
    // Every point moves by at most as much as the corner that moved farthest, and distance by no more. A late
    // tick, a coalesced one, a deformation and a cut need no care of their own: the corners tell.
    let moved = |k: usize| from[k].distance_squared(to[k]);
    moved(0).max(moved(1)).max(moved(2)).sqrt() * BOUND_COVER
}

impl DepthBounds {
    /// None yet.
    pub(in crate::scene) fn new() -> DepthBounds {
        let [last, now] = [(); 2].map(|()| KeyedBounds::new());
        DepthBounds { last, now, free: Vec::with_capacity(BOUNDS_MAX), loose: None }
    }

    /// What the last tick left of a triangle.
    pub(in crate::scene) fn get(&self, key: BoundKey) -> Option<&DepthBound> {
        self.last.get(key)
    }

    /// Notes a bound of this tick, for the next.
    pub(in crate::scene) fn note(&mut self, key: BoundKey, bound: DepthBound) {
        debug_assert!(!bound.lower.is_nan() && bound.stride >= 0.0, "{bound:?}");
        self.now.push(key, bound);
    }

    /// Notes that something may be as deep as this, metres, in this tick, and was not found.
    pub(in crate::scene) fn note_loose(&mut self, depth_max: Option<f64>) {
        debug_assert!(depth_max.is_none_or(|d| d > 0.0), "{depth_max:?} m");
        let deeper = depth_max.filter(|d| self.loose.is_none_or(|loose| *d > loose));
        self.loose = deeper.or(self.loose);
    }

    /// The link was put elsewhere: what it meets there depends on nothing before.
    pub(in crate::scene) fn forget(&mut self) {
        self.last.clear();
    }

    /// The tick is over. Returns how deep something may be at most that was not found, metres. `is_complete`: it looked at
    /// all triangles that it may want in the next one; otherwise what the last tick left of the others is kept too, which
    /// holds however old it is.
    pub(in crate::scene) fn end_tick(&mut self, is_complete: bool) -> Option<f64> {
        self.now.keys.sort_unstable();
        if is_complete {
            std::mem::swap(&mut self.last, &mut self.now);
        } else {
            self.last.take_in(&self.now, &mut self.free);
        }
        let is_ascending = |keys: &[(BoundKey, u32)]| keys.windows(2).all(|k| k[0].0 < k[1].0);
        debug_assert!(is_ascending(&self.last.keys), "a triangle has two bounds");
        self.now.clear();
        self.loose.take()
    }
}
