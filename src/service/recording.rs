//! Recordings: everything that a scene's engine received and answered, as one MCAP file, and the replay of that file
//! through the engine.
//!
//! Ticks go to the file over a ring of buffers that each loop has of its own (`tick_recorder`), everything else over a
//! queue (`scene_recorder`); a thread of the scene writes (`writer`). `recorded` reads a file, `replay` plays it.

pub(super) mod clock_readings;
pub(super) mod pictures;
pub mod recorded;
pub(super) mod recorders;
pub(super) mod scene_recorder;
mod schemas;
#[cfg(test)]
mod shared_file;
pub(super) mod tick_recorder;
pub(super) mod timeless;
mod topics;
mod writer;
