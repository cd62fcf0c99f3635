//! Haptic loops: the engine of a loop, its streams, and the sessions that outlive a stream.

pub(super) mod haptic_loop;
pub(super) mod loop_engine;
pub(super) mod sessions;
pub(super) mod track;
pub(super) mod until_ended;
