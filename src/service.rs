//! Layer 4: the engine over gRPC, and the server's clocks, sockets and threads.
//!
//! A handler (`rpc`) parses, calls the engine and converts the answer. Values of the contract become values of the engine,
//! and the other way round, in `convert` only. Protobuf messages are named there, by the handlers that take and give
//! them, and by `transport` and `serve`, which route the generated services; outside the service by `client` and `load`.
//! Nothing else knows that there is protobuf: `host`, `access` and `metrics` have types of their own.
//!
//! An error keeps its own type up to the handler, which returns `Refused`. `status`, above them
//! all, is the one place that gives an error its code.
//!
//! `recording` writes what a scene was told and answered to a file, and plays it again.
//!
//! Time comes from `clock` and goes into the engine as an argument. Ticks are computed where their bytes arrive, on the
//! runtime's threads; what may take longer is answered by the threads of `transport::background`; writes go to the
//! scene's writer thread (`host::writer`); parsing and indexing of uploads, many distances and self-collisions to the
//! background's blocking pool. Metrics, the health page, the live view's port (`web`) and the
//! watchdog have a thread of their own (`control`).

mod access;
#[cfg(any(feature = "agones", test))]
mod agones;
mod catch_panic;
pub mod clock;
#[cfg(not(fuzzing))]
mod convert;
// The fuzz targets parse as the service does.
mod control;
#[cfg(fuzzing)]
pub mod convert;
mod heartbeat;
mod host;
pub mod log;
mod metrics;
pub mod recording;
mod refused;
mod rpc;
mod serve;
mod status;
mod systemd;
mod transport;
mod web;

// And drive streams without a transport.
#[cfg(fuzzing)]
pub use self::{access::caller::Caller, host::sessions::SessionRegistry, rpc::track::Track};
pub use access::credential_file::AccessError;
pub use host::scene_registry::SceneRegistry;
pub use serve::{ServeError, check_files, run, serve, serve_registry};
pub use transport::listeners::{ListenError, Listeners};
