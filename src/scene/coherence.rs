//! What a tick leaves for the next one, because little moves in a millisecond.
//!
//! Everything here is a bound that stays true: the motion since it was found is taken off, and a bound that says
//! nothing any more is forgotten. No answer depends on it, but for the tolerance that a depth bound may use up.

pub(super) mod depth_bounds;
pub(super) mod distance_samples;
pub(super) mod last_seen;
pub(super) mod near_list;
pub(super) mod probe_memory;
pub(super) mod support_plane;
