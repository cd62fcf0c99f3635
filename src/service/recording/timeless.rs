//! Removes the parts of an answer that differ each time it is given.

use crate::proto::{DeformResponse, EditTopologyResponse, Flag, TrackResponse};

/// Clears the parts of a tick's answer that come from a clock, a generator of secrets, or the stream around the engine.
pub fn tick(answer: &mut TrackResponse) {
    (answer.received_ns, answer.compute_us, answer.stages, answer.coalesced) = (0, 0.0, None, 0);
    (answer.session_token, answer.resumed_sequence) = (Vec::new(), None);
    answer.flags &= !(1 << Flag::SessionStale as u32);
    answer.tissues.iter_mut().for_each(|tissue| tissue.age_us = 0);
}

/// Clears such parts of the answer to a deformation.
pub fn deformed(answer: &mut DeformResponse) {
    // A worn index is rebuilt in the writer's idle time, which decides the triangles that then leave their place.
    (answer.update_us, answer.triangles_relocated) = (0.0, 0);
    (answer.durable_geometry_revision, answer.durable_topology_revision) = (None, None);
}

/// Clears such parts of the answer to a cut.
pub fn edited(answer: &mut EditTopologyResponse) {
    answer.update_us = 0.0;
    (answer.durable_geometry_revision, answer.durable_topology_revision) = (None, None);
}
