//! Refits boxes bottom-up: above some leaves, or above all.

use glam::Vec3;

use super::{leaf::ListLeaf, link_run::Place, skip_list::SkipList};
use crate::geometry::{Aabb, TriangleMesh, lanes::are_wide};

impl SkipList {
    /// Unlinks emptied leaves, and updates the corners of touched ones and the boxes of all links above them, each
    /// once. Returns the leaves that have grown.
    pub(super) fn refit(&mut self, mesh: &TriangleMesh) -> Vec<u32> {
        self.drop_empty();
        let mut grown = Vec::new();
        let positions = mesh.positions();
        #[cfg(target_arch = "x86_64")]
        if are_wide() {
            // SAFETY: lanes are wide only if the processor has AVX2.
            unsafe { refit_wide(self, positions, &mut grown) };
            return grown;
        }
        self.refit_by(&mut grown, |leaf| leaf.refill(positions));
        grown
    }

    /// As [`SkipList::refit`], if all vertices may have moved. Nothing may have been filed or removed before.
    pub(super) fn refit_all(&mut self, mesh: &TriangleMesh) -> Vec<u32> {
        debug_assert!(self.touched.leaves.is_empty(), "touched leaves wait for a refit");
        let mut grown = Vec::new();
        self.bounds = self.refit_below(self.root, mesh.positions(), &mut grown);
        grown
    }

    #[inline(always)]
    fn refit_by(&mut self, grown: &mut Vec<u32>, refill: impl Fn(&mut ListLeaf) -> Aabb) {
        let mut touched = std::mem::take(&mut self.touched.leaves);
        for n in touched.drain(..) {
            self.touched.lanes[n as usize] = 0;
            let leaf = &mut self.leaves[n as usize];
            // The leaf was freed since it was touched.
            let Some((run, lane)) = leaf.place.get() else { continue };
            let bounds = refill(leaf);
            if leaf.has_grown(&bounds) {
                grown.push(n);
            }
            self.runs[run as usize].boxes.set(lane, &bounds);
            self.touch_run(run);
        }
        // Its capacity is re-used.
        self.touched.leaves = touched;
        // All runs of a level are processed before any above: each is united once, for any number of runs below it.
        for level in 0..self.touched.runs.len() {
            let mut runs = std::mem::take(&mut self.touched.runs[level]);
            for n in runs.drain(..) {
                let run = &mut self.runs[n as usize];
                if std::mem::replace(&mut run.waits, false) {
                    let (bounds, place) = (run.boxes.union(), run.place);
                    self.refit_above(place, &bounds);
                }
            }
            self.touched.runs[level] = runs;
        }
    }

    /// Sets the box of the link that spans a run.
    #[inline(always)]
    fn refit_above(&mut self, place: Place, bounds: &Aabb) {
        let Some((run, lane)) = place.get() else {
            self.bounds = *bounds;
            return;
        };
        self.runs[run as usize].boxes.set(lane, bounds);
        self.touch_run(run);
    }

    /// Marks a run whose boxes have changed.
    #[inline(always)]
    pub(super) fn touch_run(&mut self, n: u32) {
        let run = &mut self.runs[n as usize];
        if !std::mem::replace(&mut run.waits, true) {
            self.touched.runs[run.level as usize].push(n);
        }
    }

    /// Follows the order of the list, in which leaves and runs lie in memory and neighbours share vertices. Runs on one
    /// thread: a second one gained only at 1 M, and takes the other core from the ticks.
    fn refit_below(&mut self, n: u32, positions: &[Vec3], grown: &mut Vec<u32>) -> Aabb {
        if self.run(n).level == 0 {
            #[cfg(target_arch = "x86_64")]
            if are_wide() {
                // SAFETY: lanes are wide only if the processor has AVX2.
                return unsafe { refill_wide(self, n, positions, grown) };
            }
            return self.refill_by(n, grown, |leaf| leaf.refill(positions));
        }
        for lane in 0..self.run(n).len() {
            let bounds = self.refit_below(self.run(n).below[lane], positions, grown);
            self.runs[n as usize].boxes.set(lane, &bounds);
        }
        self.run(n).boxes.union()
    }

    /// Refills a run of the bottom level and its leaves.
    #[inline(always)]
    fn refill_by(
        &mut self,
        n: u32,
        grown: &mut Vec<u32>,
        refill: impl Fn(&mut ListLeaf) -> Aabb,
    ) -> Aabb {
        let run = &mut self.runs[n as usize];
        let mut all = Aabb::EMPTY;
        for lane in 0..run.len() {
            let n = run.below[lane];
            let leaf = &mut self.leaves[n as usize];
            let bounds = refill(leaf);
            if leaf.has_grown(&bounds) {
                grown.push(n);
            }
            run.boxes.set(lane, &bounds);
            all = all.union(&bounds);
        }
        all
    }
}

/// As [`SkipList::refit_by`], with eight lanes to an instruction instead of four.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn refit_wide(list: &mut SkipList, positions: &[Vec3], grown: &mut Vec<u32>) {
    list.refit_by(grown, |leaf| leaf.refill_wide(positions));
}

/// As [`SkipList::refill_by`], with eight lanes to an instruction instead of four.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn refill_wide(list: &mut SkipList, n: u32, positions: &[Vec3], grown: &mut Vec<u32>) -> Aabb {
    list.refill_by(n, grown, |leaf| leaf.refill_wide(positions))
}
