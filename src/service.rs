//! Layer 4: the engine over gRPC.
//!
//! A handler parses, calls the engine and converts the answer. Protobuf types and engine types meet in
//! `convert` only; `status` is the one place that gives an error its code. Ticks are computed where their
//! bytes arrive; what may take longer is answered by threads in the background; writes go to the scene's writer
//! thread; parsing and indexing of uploads, many distances and self-collisions to the background's blocking pool.

mod access;
mod catch_panic;
pub mod clock;
#[cfg(not(fuzzing))]
mod convert;
// The fuzz targets parse as the service does.
#[cfg(fuzzing)]
pub mod convert;
mod host;
pub mod log;
mod metrics;
mod refused;
mod rpc;
mod serve;
mod status;
mod systemd;
mod transport;

// And drive streams without a transport.
#[cfg(fuzzing)]
pub use self::{
    access::caller::Caller, host::scene_registry::SceneRegistry, host::sessions::SessionRegistry,
    rpc::track::Track,
};
pub use access::credential_file::AccessError;
pub use serve::{ServeError, check_access, run, serve};
pub use transport::listeners::{ListenError, Listeners};
