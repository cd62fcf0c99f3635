//! Recordings: the engine answers a recorded scene exactly as the server did, to the bit; disk failures cost only the
//! recording.

mod cost;
pub mod equal;
mod files;
pub mod performance;
mod timeline;
mod watched;
