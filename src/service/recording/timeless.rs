//! What of an answer is the same each time it is given.

use crate::proto::{DeformResponse, EditTopologyResponse, Flag, TrackResponse};

/// Forgets what a clock or a generator of secrets made of an answer to a tick, and what the stream around the engine did.
pub fn tick(answer: &mut TrackResponse) {
    (answer.received_ns, answer.compute_us, answer.stages, answer.coalesced) = (0, 0.0, None, 0);
    (answer.session_token, answer.resumed_sequence) = (Vec::new(), None);
    answer.flags &= !(1 << Flag::SessionStale as u32);
    answer.tissues.iter_mut().for_each(|tissue| tissue.age_us = 0);
}

/// The same of the answer to a deformation.
pub fn deformed(answer: &mut DeformResponse) {
    // A worn index is built anew in the writer's idle time: which triangles then leave their place depends on it.
    (answer.update_us, answer.triangles_relocated) = (0.0, 0);
    (answer.durable_geometry_revision, answer.durable_topology_revision) = (None, None);
}

/// The same of the answer to a cut.
pub fn edited(answer: &mut EditTopologyResponse) {
    answer.update_us = 0.0;
    (answer.durable_geometry_revision, answer.durable_topology_revision) = (None, None);
}
