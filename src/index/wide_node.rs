//! A run of links side by side: what the link above them spans, and the table of the bands.

use super::box_lanes::BoxLanes;
use crate::geometry::lanes::LANES;

/// The boxes of a run's first links, and where a search goes on below each.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct WideListNode {
    pub(super) boxes: BoxLanes,
    /// On the bottom level the links' nodes, which are their leaves; above it their wide nodes.
    pub(super) below: [u32; LANES],
    pub(super) len: u32,
    /// Of the links; [`TABLE`] in the table of the bands.
    pub(super) level: u32,
    /// Where a run that is longer than a wide node goes on, and where it ends; equal when it is not.
    // Kept with the boxes, so that a search that needs only the lanes never reads the links.
    pub(super) rest: u32,
    pub(super) end: u32,
}

/// The level of wide nodes over bands, and over those.
pub(super) const TABLE: u32 = u32::MAX;

impl WideListNode {
    pub(super) const EMPTY: WideListNode = WideListNode {
        boxes: BoxLanes::EMPTY,
        below: [u32::MAX; LANES],
        len: 0,
        level: TABLE,
        rest: u32::MAX,
        end: u32::MAX,
    };
}
