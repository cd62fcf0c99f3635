//! What a tick leaves for the next one, because little moves in a millisecond.
//!
//! Everything here is a bound that stays true: motion since it was found is taken off, and what can no longer
//! be bounded is forgotten.

pub(super) mod depth_bounds;
pub(super) mod distance_samples;
pub(super) mod last_seen;
pub(super) mod near_list;
