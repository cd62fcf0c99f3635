//! Results that a tick keeps for the next one, because little moves in a millisecond.
//!
//! Everything here is a bound that stays true: the motion since it was found is subtracted, and a bound that has become
//! useless is dropped. No answer depends on it, except for the tolerance that a depth bound may use up.
//!
//! There are three, and none can replace another: a *near list* holds triangles of the tissue about a link that is
//! outside, *depth bounds* hold how deep each triangle within the margin reaches into the link, *distance samples* hold
//! how far points of the link are from the tissue. A list of the triangles about the margin, shared by all in place of
//! the index, would save the culling of boxes: 8 % of a filled probe's tick at most. Link triangles about each contact
//! with a bound of all others were measured in place of the searches in the link's tree, which are a sixth of that
//! tick: about a probe's tip some thirty are as near as the nearest. Six kept triangles saved 2 of 10 searches, and 32
//! saved 16 of 20, but a tick took 216 us instead of 126.

pub(super) mod depth_bounds;
pub(super) mod distance_samples;
pub(super) mod last_seen;
pub(super) mod near_list;
pub(super) mod probe_memory;
pub(super) mod support_plane;
