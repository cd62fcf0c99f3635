//! Recordings: what a server wrote of a scene is answered by the engine as it was then, to the bit; whatever happens to the
//! disk costs the recording alone.

mod cost;
pub mod equal;
mod files;
pub mod performance;
mod watched;
