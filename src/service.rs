//! Layer 3: the engine over gRPC.
//!
//! A handler parses, calls the engine and converts the answer. Protobuf types and engine types meet in
//! `convert` only; `status` is the one place that gives an error its code. Ticks are computed where their
//! bytes arrive; what may take longer is answered by threads in the background; writes go to the scene's writer
//! thread; parsing and indexing of uploads, many distances and self-collisions to the background's blocking pool.

mod access;
mod add;
mod background;
mod bell;
mod call_body;
mod calls;
pub mod clock;
mod connection;
mod contain;
#[cfg(not(fuzzing))]
mod convert;
// The fuzz targets parse as the service does.
#[cfg(fuzzing)]
pub mod convert;
mod deform;
mod export;
mod fields;
mod haptic_loop;
mod haptics;
mod listeners;
pub mod log;
mod metrics;
pub mod proto;
mod quota;
mod scenes;
mod self_collisions;
mod serve;
mod sessions;
mod status;
mod supervisor;
mod table;
mod track;
mod unix_socket;
mod until_ended;
mod upload;
mod writer;

// And drive streams without a transport.
#[cfg(fuzzing)]
pub use self::{access::Caller, table::SceneTable, track::Track};
pub use access::AccessError;
pub use listeners::{ListenError, Listeners};
pub use serve::{ServeError, check_access, run, serve};
