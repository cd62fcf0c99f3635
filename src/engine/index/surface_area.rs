//! Splits boxes into parts with little surface, which a search therefore seldom meets.

use crate::geometry::{Aabb, lanes::LANES};

/// A box with the id of its item.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoxedItem {
    pub(super) bounds: Aabb,
    pub(super) item: u32,
}

/// Maximum items that are split at the best of all positions; more items are split at the best of [`BINS`] positions
/// along each axis.
const SWEPT_MAX: usize = 64;
const BINS: usize = 16;

impl BoxedItem {
    /// Twice the centre of the box on an axis.
    fn middle(&self, axis: usize) -> f32 {
        self.bounds.min[axis] + self.bounds.max[axis]
    }
}

/// Ends of the fewest parts, each of at most `capacity` items, that hold all items. Top-down greedy splits, as in the
/// packing of R-trees (García, López and Leutenegger 1998).
// Full parts leave splits less choice, but three quarters full they saved no search a step, and an update has a seventh
// more to do.
pub(super) fn parts(items: &mut [BoxedItem], capacity: usize) -> Vec<usize> {
    let mut ends = vec![items.len()];
    let (mut at, mut start) = (0, 0);
    while let Some(&end) = ends.get(at) {
        if end - start > capacity {
            ends.insert(at, start + split(&mut items[start..end], capacity));
        } else {
            (at, start) = (at + 1, end);
        }
    }
    ends
}

/// Moves the items on one side of the best split to the front and returns their number. The sides need no more parts
/// than both together.
fn split(items: &mut [BoxedItem], capacity: usize) -> usize {
    let n = items.len();
    let fits = |k: usize| k.div_ceil(capacity) + (n - k).div_ceil(capacity) == n.div_ceil(capacity);
    debug_assert!(n > capacity && capacity > 0, "{n} items, {capacity} in a part");
    // If all items are at one position, or infinitely far apart, any order is equally good.
    let in_order = n.div_ceil(capacity) / 2 * capacity;
    if n <= SWEPT_MAX {
        return best_split(items, half_area, fits).map_or(in_order, |(k, _)| k);
    }
    let Some(best) = best_bin(items, &fits) else { return in_order };
    if fits(best.n_below) {
        let mut at = 0;
        for i in 0..n {
            if best.bins.of(&items[i]) < best.bin {
                items.swap(at, i);
                at += 1;
            }
        }
        return at;
    }
    // All but one part are full then, and the items below follow from an order.
    let last = (n - 1) / capacity * capacity;
    let k = ((best.n_below + capacity / 2) / capacity * capacity).clamp(capacity, last);
    let axis = best.bins.axis;
    items.select_nth_unstable_by(k, |a, b| {
        a.middle(axis).total_cmp(&b.middle(axis)).then(a.item.cmp(&b.item))
    });
    k
}

/// Number of items on one side of the split with the least sum by `size`, and that sum. They are moved to the front.
pub(super) fn best_split(
    items: &mut [BoxedItem],
    size: fn(&Aabb) -> f32,
    fits: impl Fn(usize) -> bool,
) -> Option<(usize, f32)> {
    let n = items.len();
    debug_assert!(n <= SWEPT_MAX, "{n} items");
    let mut lower = [0.0; SWEPT_MAX];
    let (mut least, mut best) = (f32::INFINITY, None);
    for axis in 0..3 {
        let sorted = sorted_along(axis, items);
        let bounds_of = |k: usize| &items[usize::from(sorted[k])].bounds;
        let mut bounds = Aabb::EMPTY;
        for (k, lower) in lower.iter_mut().enumerate().take(n) {
            // Sides are searched leaf by leaf: a part of a leaf costs as much as all of it.
            *lower = size(&bounds) * k.div_ceil(LANES) as f32;
            bounds = bounds.union(bounds_of(k));
        }
        let mut bounds = Aabb::EMPTY;
        for k in (1..n).rev() {
            bounds = bounds.union(bounds_of(k));
            let cost = lower[k] + size(&bounds) * (n - k).div_ceil(LANES) as f32;
            if cost < least && fits(k) {
                (least, best) = (cost, Some((k, sorted)));
            }
        }
    }
    let (k, sorted) = best?;
    let mut before = [BoxedItem { bounds: Aabb::EMPTY, item: 0 }; SWEPT_MAX];
    before[..n].copy_from_slice(items);
    for (item, place) in items.iter_mut().zip(sorted) {
        *item = before[usize::from(place)];
    }
    Some((k, least))
}

/// Indices of items from the lowest centre to the highest; equal ones stay in order, so that equal surfaces give equal
/// lists on every machine.
fn sorted_along(axis: usize, items: &[BoxedItem]) -> [u8; SWEPT_MAX] {
    let mut keys = [u64::MAX; SWEPT_MAX];
    for (i, (key, item)) in keys.iter_mut().zip(items).enumerate() {
        let bits = item.middle(axis).to_bits();
        // These bits have the order of the floating-point numbers.
        let rising = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
        *key = u64::from(rising) << 32 | i as u64;
    }
    keys[..items.len()].sort_unstable();
    keys.map(|key| key as u8)
}

/// Equal slices along an axis.
#[derive(Clone, Copy)]
struct Bins {
    axis: usize,
    low: f32,
    width: f32,
}

/// A split between two bins.
struct BinSplit {
    bins: Bins,
    /// First bin that is not on the lower side.
    bin: usize,
    n_below: usize,
}

impl Bins {
    /// Returns `None` if all items are at one position.
    fn along(axis: usize, items: &[BoxedItem]) -> Option<Bins> {
        let middles = || items.iter().map(|i| i.middle(axis));
        let low = middles().fold(f32::INFINITY, f32::min);
        let high = middles().fold(f32::NEG_INFINITY, f32::max);
        let width = (high - low) / BINS as f32;
        (width > 0.0 && width.is_finite()).then_some(Bins { axis, low, width })
    }

    fn of(&self, item: &BoxedItem) -> usize {
        (((item.middle(self.axis) - self.low) / self.width) as usize).min(BINS - 1)
    }
}

/// Best split between two bins, among those that fit if any do.
fn best_bin(items: &[BoxedItem], fits: &impl Fn(usize) -> bool) -> Option<BinSplit> {
    let (mut least, mut best) = ((true, f32::INFINITY), None);
    for bins in (0..3).filter_map(|axis| Bins::along(axis, items)) {
        let mut filled = [(Aabb::EMPTY, 0); BINS];
        for item in items {
            let (bounds, n) = &mut filled[bins.of(item)];
            (*bounds, *n) = (bounds.union(&item.bounds), *n + 1);
        }
        let and = |a: (Aabb, usize), b: (Aabb, usize)| (a.0.union(&b.0), a.1 + b.1);
        let mut upper = filled;
        for bin in (1..BINS).rev() {
            upper[bin - 1] = and(upper[bin], filled[bin - 1]);
        }
        let mut lower = (Aabb::EMPTY, 0);
        for bin in 1..BINS {
            lower = and(lower, filled[bin - 1]);
            if lower.1 == 0 || upper[bin].1 == 0 {
                continue;
            }
            let cost = |(bounds, n): &(Aabb, usize)| half_area(bounds) * *n as f32;
            let cost = (!fits(lower.1), cost(&lower) + cost(&upper[bin]));
            if cost < least {
                (least, best) = (cost, Some(BinSplit { bins, bin, n_below: lower.1 }));
            }
        }
    }
    best
}

/// Box of all items.
pub(super) fn union(items: &[BoxedItem]) -> Aabb {
    items.iter().fold(Aabb::EMPTY, |b, item| b.union(&item.bounds))
}

/// Half of the surface area.
pub(super) fn half_area(b: &Aabb) -> f32 {
    let size = b.max - b.min;
    size.x * size.y + size.y * size.z + size.z * size.x
}

/// Sum of the three sides.
pub(super) fn sides(b: &Aabb) -> f32 {
    (b.max - b.min).element_sum()
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::oracle::Random;

    fn items(n: usize, place: impl FnMut() -> Vec3) -> Vec<BoxedItem> {
        let places = std::iter::repeat_with(place).take(n);
        let boxed = |(i, p)| BoxedItem { bounds: Aabb { min: p, max: p + 1.0 }, item: i as u32 };
        places.enumerate().map(boxed).collect()
    }

    /// Near, at one position, and so far apart that surfaces are infinite.
    #[test]
    fn parts_are_as_few_as_can_be_and_hold_all() {
        let mut random = Random::new(8);
        for n in [1, 2, 8, 9, 17, 63, 64, 65, 100, 448, 511, 512] {
            for (capacity, extent) in [(8, 10.0), (64, 10.0), (64, 0.0), (8, 1e30), (1, 3.0)] {
                let mut place = || (random.unit_vector() * extent).as_vec3();
                let mut items = items(n, &mut place);
                let ends = parts(&mut items, capacity);
                assert_eq!(ends.len(), n.div_ceil(capacity), "{n} items in parts of {capacity}");
                assert_eq!(ends.last(), Some(&n));
                let starts = std::iter::once(&0).chain(&ends);
                assert!(starts.zip(&ends).all(|(from, to)| (1..=capacity).contains(&(to - from))));
                let mut numbers: Vec<u32> = items.iter().map(|i| i.item).collect();
                numbers.sort_unstable();
                assert!(numbers.into_iter().eq(0..n as u32));
            }
        }
    }

    /// Two heaps of boxes are the two parts, for any order before.
    #[test]
    fn what_is_apart_is_parted() {
        let mut random = Random::new(9);
        for (n, capacity) in [(16, 8), (128, 64), (1024, 512)] {
            let mut i = 0;
            let mut items = items(n, || {
                i += 1;
                (random.unit_vector() * 3.0).as_vec3()
                    + Vec3::Y * if i % 2 == 0 { 50.0 } else { 0.0 }
            });
            assert_eq!(parts(&mut items, capacity), [n / 2, n]);
            let (lower, upper) = items.split_at(n / 2);
            assert!(union(lower).max.y < union(upper).min.y, "{n} items");
        }
    }
}
