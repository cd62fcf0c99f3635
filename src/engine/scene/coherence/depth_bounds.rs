//! Bounds of the depth of tissue triangles in a link, kept from tick to tick.
//!
//! A search for the deepest point of a triangle ends with a bound: no point is deeper. A link is rigid, so the bound
//! loosens only by how far the triangle's corners have moved in the link's frame. The next tick starts at the last
//! deepest point and searches again only if the bound has become too loose.

use glam::DVec3;

use crate::geometry::{TriangleId, tolerance::BOUND_COVER};
use crate::scene::TissueId;

/// Bound: no point of a triangle with these corners was deeper in the link than this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::scene) struct DepthBound {
    /// Corners in link frame.
    pub(in crate::scene) corners: [DVec3; 3],
    /// Bound of the signed distance, metres, negative inside.
    pub(in crate::scene) lower: f64,
    /// Weights of the last deepest point.
    pub(in crate::scene) barycentric: DVec3,
    /// Link triangle that was nearest to it.
    pub(in crate::scene) near: Option<TriangleId>,
    /// Stride of the descent that led to it: metres for each unit of slope, 0 if there was none.
    pub(in crate::scene) stride: f64,
    /// Bound about an open end of the link, where the others may not hold.
    pub(in crate::scene) open: Option<OpenBound>,
}

/// Bound about an open end: no point of a triangle with these corners was deeper than this. There the side changes off
/// the link's surface, and a bound by distance alone does not hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::scene) struct OpenBound {
    /// Corners in link frame.
    pub(in crate::scene) corners: [DVec3; 3],
    /// Bound of the signed distance, metres, negative inside.
    pub(in crate::scene) lower: f64,
    /// Motion, metres, for which points that were shown outside stay outside.
    pub(in crate::scene) slack: f64,
    /// The search for the bound ended before it was as good as it can be.
    pub(in crate::scene) is_cut_short: bool,
}

/// Bounds of one link; a bound that a tick does not use is dropped.
pub(in crate::scene) struct DepthBounds {
    /// Bounds of the last tick, ascending.
    last: KeyedBounds,
    /// Bounds of this tick.
    now: KeyedBounds,
    /// Indices of bounds that are dropped at the end of a tick.
    free: Vec<u32>,
    /// Greatest depth of this tick that a search could not exclude, metres.
    loose: Option<f64>,
}

type BoundKey = (TissueId, TriangleId);

/// Bounds, and the index of that of each key.
// Keys apart: this is sorted when a tick's time is over, and a bound has 232 bytes.
struct KeyedBounds {
    keys: Vec<(BoundKey, u32)>,
    bounds: Vec<DepthBound>,
}

/// Maximum bounds of a link, allocated from the start: 64 KiB a tick.
const BOUNDS_MAX: usize = 512;

impl KeyedBounds {
    fn new() -> KeyedBounds {
        KeyedBounds { keys: Vec::with_capacity(BOUNDS_MAX), bounds: Vec::with_capacity(BOUNDS_MAX) }
    }

    /// Adds a bound if it fits. A triangle without one is searched again in the next tick: slower, never wrong.
    fn push(&mut self, key: BoundKey, bound: DepthBound) {
        if self.bounds.len() < BOUNDS_MAX {
            self.keys.push((key, self.bounds.len() as u32));
            self.bounds.push(bound);
        }
    }

    /// Returns the bound of a key, once keys are sorted.
    fn get(&self, key: BoundKey) -> Option<&DepthBound> {
        let at = self.keys.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        Some(&self.bounds[self.keys[at].1 as usize])
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.bounds.clear();
    }

    /// Replaces older bounds by newer ones, whose keys are sorted: those of the same triangles, and if there are too
    /// many, those with the greatest keys. `free`: buffer to work in.
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
    /// Returns a bound of the depth of the triangle's points at its present corners, metres.
    pub(in crate::scene) fn lower_of(&self, triangle: &[DVec3; 3]) -> f64 {
        let lower = self.lower - moved(&self.corners, triangle);
        debug_assert!(lower <= self.lower, "motion made {} m tighter: {lower} m", self.lower);
        lower
    }
}

impl OpenBound {
    /// Returns a bound of the depth of the triangle's points now, metres; `None` if it has moved too far.
    pub(in crate::scene) fn lower_of(&self, triangle: &[DVec3; 3]) -> Option<f64> {
        let moved = moved(&self.corners, triangle);
        (moved <= self.slack).then_some(self.lower - moved)
    }
}

/// Upper bound of the motion of any point of a triangle, metres.
fn moved(from: &[DVec3; 3], to: &[DVec3; 3]) -> f64 {
    // Every point moves by at most as much as the corner that moved farthest, and distance by no more. A late tick, a
    // coalesced one, a deformation and a cut need no special care: the corners show their motion.
    let moved = |k: usize| from[k].distance_squared(to[k]);
    moved(0).max(moved(1)).max(moved(2)).sqrt() * BOUND_COVER
}

impl DepthBounds {
    /// Creates an empty set of bounds.
    pub(in crate::scene) fn new() -> DepthBounds {
        let [last, now] = [(); 2].map(|()| KeyedBounds::new());
        DepthBounds { last, now, free: Vec::with_capacity(BOUNDS_MAX), loose: None }
    }

    /// Returns the bound of a triangle from the last tick.
    pub(in crate::scene) fn get(&self, key: BoundKey) -> Option<&DepthBound> {
        self.last.get(key)
    }

    /// Stores a bound of this tick, for the next.
    pub(in crate::scene) fn note(&mut self, key: BoundKey, bound: DepthBound) {
        debug_assert!(!bound.lower.is_nan() && bound.stride >= 0.0, "{bound:?}");
        self.now.push(key, bound);
    }

    /// Notes that something may be as deep as this in this tick, metres, and was not found.
    pub(in crate::scene) fn note_loose(&mut self, depth_max: Option<f64>) {
        debug_assert!(depth_max.is_none_or(|d| d > 0.0), "{depth_max:?} m");
        let deeper = depth_max.filter(|d| self.loose.is_none_or(|loose| *d > loose));
        self.loose = deeper.or(self.loose);
    }

    /// Drops all bounds, if the link was teleported: its contacts there depend on nothing before.
    pub(in crate::scene) fn forget(&mut self) {
        self.last.clear();
    }

    /// Ends the tick. Returns the greatest depth of anything that was not found, metres. `is_complete`: the tick has
    /// checked all triangles that it may want in the next one; otherwise the bounds of the others from the last tick
    /// are kept too, which hold at any age.
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
