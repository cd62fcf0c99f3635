//! What a tick leaves for the next one, because little moves in a millisecond.
//!
//! Everything here is a bound that stays true: the motion since it was found is taken off, and a bound that says
//! nothing any more is forgotten. No answer depends on it, but for the tolerance that a depth bound may use up.
//!
//! There are three, and none could do another's work: a *near list* holds triangles of the tissue about a link that is
//! outside, *depth bounds* hold how deep each triangle within the margin reaches into the link, *distance samples* hold
//! how far points of the link are from the tissue. What all would share, a list of the triangles about the margin in the
//! place of the index, would save the culling of boxes: 8 % of a filled probe's tick at most.

pub(super) mod depth_bounds;
pub(super) mod distance_samples;
pub(super) mod last_seen;
pub(super) mod near_list;
pub(super) mod probe_memory;
pub(super) mod support_plane;
