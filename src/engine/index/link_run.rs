//! A run of links in lanes, spanned by one link of the level above.

use super::box_lanes::BoxLanes;
use crate::geometry::{Aabb, lanes::LANES};

/// Marks no leaf, run or list.
pub(super) const END: u32 = u32::MAX;

/// A lane of a leaf or run: its number times [`LANES`] plus the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(u32);

impl Place {
    pub(super) const NONE: Place = Place(u32::MAX);

    pub(super) fn new(of: u32, lane: usize) -> Place {
        debug_assert!(lane < LANES && of < u32::MAX / LANES as u32, "number {of}, lane {lane}");
        Place(of * LANES as u32 + lane as u32)
    }

    /// Leaf or run, and lane.
    pub(super) fn get(self) -> Option<(u32, usize)> {
        let lanes = LANES as u32;
        (self != Place::NONE).then_some((self.0 / lanes, (self.0 % lanes) as usize))
    }
}

/// Up to [`LANES`] links of one level, in no order, with the boxes of their targets.
// A run is contiguous instead of threaded from node to node, so that one wide pass tests all of it: 8.4 us to 6.1 us
// for the nearest on 70 k triangles. The table of the lists consists of runs too, so that a search is one loop from one
// root.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct LinkRun {
    pub(super) boxes: BoxLanes,
    /// Targets of the links: leaves on the bottom level, runs above it.
    pub(super) below: [u32; LANES],
    pub(super) len: u32,
    /// 0: links to leaves; [`LEVELS`] and more: table of the lists.
    pub(super) level: u32,
    /// List of the run; [`END`] in the table.
    pub(super) list: u32,
    /// Place of the link that spans the run.
    pub(super) place: Place,
    /// True if the box of that link is out of date.
    pub(super) waits: bool,
}

/// Maximum levels of a list. A newly built list leaves one level unused, for any number of triangles.
pub(super) const LEVELS: usize = 10;
const _: () = assert!(LANES.pow(LEVELS as u32) >= u32::MAX as usize / 4);

impl LinkRun {
    pub(super) fn new(level: usize, list: u32) -> LinkRun {
        LinkRun {
            boxes: BoxLanes::EMPTY,
            below: [END; LANES],
            len: 0,
            level: level as u32,
            list,
            place: Place::NONE,
            waits: false,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Targets of the links.
    pub(super) fn below(&self) -> &[u32] {
        &self.below[..self.len()]
    }

    /// Adds a link and returns its lane.
    pub(super) fn push(&mut self, below: u32, bounds: &Aabb) -> usize {
        let lane = self.len();
        debug_assert!(lane < LANES, "a full run takes no more");
        self.boxes.set(lane, bounds);
        self.below[lane] = below;
        self.len += 1;
        lane
    }

    /// Removes a link; the last one moves into its lane.
    pub(super) fn remove(&mut self, lane: usize) {
        debug_assert!(lane < self.len(), "lane {lane} of {}", self.len());
        let last = self.len() - 1;
        self.boxes.set(lane, &self.boxes.get(last));
        self.below[lane] = self.below[last];
        self.boxes.set(last, &Aabb::EMPTY);
        self.below[last] = END;
        self.len -= 1;
    }
}
