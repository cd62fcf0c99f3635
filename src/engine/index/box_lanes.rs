//! Boxes in lanes, and the set of lanes that pass a test.

use glam::Vec3;

use crate::geometry::{
    Aabb,
    lanes::{LANES, greater, lesser},
};

/// A number for each of eight boxes or triangles.
pub(super) type Lane = [f32; LANES];

/// Boxes in lanes, so that one pass tests them all. Unused lanes hold [`Aabb::EMPTY`] or NaN.
#[derive(Clone, Debug)]
pub(super) struct BoxLanes {
    pub(super) min: [Lane; 3],
    pub(super) max: [Lane; 3],
}

impl BoxLanes {
    pub(super) const EMPTY: BoxLanes =
        BoxLanes { min: [[f32::INFINITY; LANES]; 3], max: [[f32::NEG_INFINITY; LANES]; 3] };

    pub(super) fn get(&self, lane: usize) -> Aabb {
        let at = |[x, y, z]: &[Lane; 3]| Vec3::new(x[lane], y[lane], z[lane]);
        Aabb { min: at(&self.min), max: at(&self.max) }
    }

    pub(super) fn set(&mut self, lane: usize, b: &Aabb) {
        for axis in 0..3 {
            self.min[axis][lane] = b.min[axis];
            self.max[axis][lane] = b.max[axis];
        }
    }

    /// Union of all boxes.
    #[inline(always)]
    pub(super) fn union(&self) -> Aabb {
        let BoxLanes { min: [x, y, z], max } = self;
        let min = Vec3::new(least(x), least(y), least(z));
        let [x, y, z] = max;
        Aabb { min, max: Vec3::new(most(x), most(y), most(z)) }
    }

    /// Lane whose box grows least, by its three sides, when it takes in `b`; the smaller box among equals. Empty boxes
    /// come last.
    pub(super) fn least_growth(&self, b: &Aabb) -> usize {
        let mut growths = [(f32::INFINITY, f32::INFINITY); LANES];
        for (lane, growth) in growths.iter_mut().enumerate() {
            let here = self.get(lane);
            let sides = |b: &Aabb| (b.max - b.min).element_sum();
            if !here.is_empty() {
                *growth = (sides(&here.union(b)) - sides(&here), sides(&here));
            }
        }
        (1..LANES).fold(0, |least, lane| if growths[lane] < growths[least] { lane } else { least })
    }

    /// Lanes whose boxes overlap `b`.
    #[inline(always)]
    pub(super) fn overlapping(&self, b: &Aabb) -> LaneSet {
        let mut overlaps = [true; LANES];
        for axis in 0..3 {
            for (lane, overlaps) in overlaps.iter_mut().enumerate() {
                *overlaps &= self.min[axis][lane] <= b.max[axis];
                *overlaps &= self.max[axis][lane] >= b.min[axis];
            }
        }
        LaneSet::of(|lane| overlaps[lane])
    }

    /// Squared distance of each box to `to`, each axis lessened by `slack` so that rounding never makes it too large;
    /// infinite for empty boxes and only for these.
    #[inline(always)]
    pub(super) fn distances_squared(&self, to: &Aabb, slack: f32) -> Lane {
        debug_assert!(slack >= 0.0, "slack {slack}");
        let BoxLanes { min, max } = self;
        let mut bounds = [0.0; LANES];
        for lane in 0..LANES {
            let gap = |axis: usize| {
                let (lo, hi) = (to.min[axis] - slack, to.max[axis] + slack);
                greater(greater(min[axis][lane] - hi, lo - max[axis][lane]), 0.0)
            };
            let (x, y, z) = (gap(0), gap(1), gap(2));
            // Infinity is reserved for lanes without a box: a box that overflows is f32::MAX away and still found.
            bounds[lane] = tagged(lesser(x * x + y * y + z * z, f32::MAX), lane);
        }
        // A loop of its own: a choice between a tagged bound and infinity is compiled to a branch for each lane, and
        // nearest searches take 16 % longer.
        for lane in 0..LANES {
            let used = min[0][lane] <= max[0][lane];
            bounds[lane] = if used { bounds[lane] } else { f32::INFINITY };
        }
        bounds
    }
}

/// Replaces the last bits of a bound by its lane's number: the least of eight then names its lane. The bound is never
/// raised, unless it is subnormal: then by 7 times the least positive number at most.
#[inline(always)]
pub(super) fn tagged(bound: f32, lane: usize) -> f32 {
    debug_assert!(bound >= 0.0, "{bound}");
    const LAST_BITS: u32 = LANES as u32 - 1;
    let lowered = bound * (1.0 - LANES as f32 * f32::EPSILON);
    f32::from_bits(lowered.to_bits() & !LAST_BITS | lane as u32)
}

/// A set of lanes, a byte for each: a few wide instructions pack it.
#[derive(Clone, Copy)]
pub(super) struct LaneSet(u64);

impl LaneSet {
    #[inline(always)]
    pub(super) fn of(is_in: impl Fn(usize) -> bool) -> LaneSet {
        LaneSet(u64::from_le_bytes(std::array::from_fn(|lane| u8::from(is_in(lane)))))
    }

    /// Keeps only the first `n` lanes.
    #[inline(always)]
    pub(super) fn first(self, n: usize) -> LaneSet {
        debug_assert!(n <= LANES, "{n} lanes");
        LaneSet(if n < LANES { self.0 & ((1 << (8 * n)) - 1) } else { self.0 })
    }

    /// Keeps only the lanes for which `is_in` holds.
    pub(super) fn only(self, is_in: impl Fn(usize) -> bool) -> LaneSet {
        // The cheap test comes first over all lanes; only lanes that pass it cost a call of the closure.
        let out = self.filter(|lane| !is_in(*lane)).map(|lane| 1 << (8 * lane));
        LaneSet(self.0 & !out.fold(0, |out, byte| out | byte))
    }
}

impl Iterator for LaneSet {
    type Item = usize;

    /// Removes and returns the lowest lane.
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let lowest = (self.0 != 0).then(|| self.0.trailing_zeros() as usize / 8);
        self.0 &= self.0.wrapping_sub(1);
        lowest
    }
}

/// Least of eight numbers, or infinity; ignores NaN.
#[inline(always)]
pub(super) fn least(of: &Lane) -> f32 {
    // A tree of three steps instead of eight in a row, so that the processor runs them in parallel.
    let [a, b, c, d, e, f, g, h] = *of;
    let l = |a, b| lesser(a, lesser(b, f32::INFINITY));
    lesser(lesser(l(a, e), l(c, g)), lesser(l(b, f), l(d, h)))
}

/// Greatest of eight numbers, or negative infinity; ignores NaN.
#[inline(always)]
pub(super) fn most(of: &Lane) -> f32 {
    let [a, b, c, d, e, f, g, h] = *of;
    let m = |a, b| greater(a, greater(b, f32::NEG_INFINITY));
    greater(greater(m(a, e), m(c, g)), greater(m(b, f), m(d, h)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_names_lane_and_never_raises_a_bound() {
        let smallest = f32::from_bits(1);
        for bound in [
            0.0,
            smallest,
            1e-42,
            f32::MIN_POSITIVE,
            1e-30,
            0.1,
            1.0,
            1.0 + f32::EPSILON,
            1.0 - f32::EPSILON,
            f32::MAX,
        ] {
            for lane in 0..LANES {
                let bound = f32::from_bits(bound.to_bits().saturating_sub(lane as u32));
                for lane in 0..LANES {
                    let got = tagged(bound, lane);
                    assert_eq!(got.to_bits() as usize % LANES, lane);
                    let subnormal = if bound.is_normal() { 0.0 } else { 7.0 * smallest };
                    let raised = got > bound + subnormal;
                    let unit = smallest.max(bound * f32::EPSILON);
                    assert!(!raised && bound - got <= 23.0 * unit, "{bound} {lane}");
                }
            }
        }
    }
}
