//! Layer 4: the gRPC service around the engine, and the server's clocks, sockets and threads.
//!
//! A handler (`rpc`) parses, calls the engine and converts the answer. Only `convert` translates between values of the
//! contract and values of the engine. Protobuf messages are named there, by the handlers that take and return them, and
//! by `transport` and `serve`, which route the generated services; outside the service by `client` and `load`. No other
//! module depends on protobuf: `host`, `access` and `metrics` have types of their own.
//!
//! An error keeps its own type up to the handler, which returns `Refused`. `rpc::status` is the only module that maps
//! errors to codes.
//!
//! The folders are layers, each of which names only the ones before it: the files beside them that have no folder
//! (clock, deadlines, refusals), `access`, `metrics`, `host`, `convert`, `recording`, `loops`, `replay` and `rpc`,
//! `transport`, `web`, `serve`.
//!
//! `recording` writes a scene's requests and answers to a file, and `replay` plays them.
//!
//! Time comes from `clock` and is passed to the engine as an argument. Ticks are computed on the runtime's threads,
//! where their bytes arrive; calls that may take longer are answered by the threads of `transport::background`; writes
//! go to the scene's writer thread (`host::writer`); parsing and indexing of uploads, large distance queries and
//! self-collisions to the background's blocking pool. Metrics, the health page, the live view's port (`web`) and the
//! watchdog have a thread of their own (`control`).

mod accept_errors;
mod access;
#[cfg(any(feature = "agones", test))]
mod agones;
mod catch_panic;
pub mod clock;
#[cfg(not(fuzzing))]
mod convert;
// Public for the fuzz targets, which parse as the service does.
mod control;
#[cfg(fuzzing)]
pub mod convert;
mod deadline;
mod heartbeat;
mod host;
pub mod log;
mod loops;
mod metrics;
mod notifier;
#[cfg(not(fuzzing))]
mod pose_message;
#[cfg(fuzzing)]
pub mod pose_message;
pub mod recording;
mod refused;
pub mod replay;
mod request_field;
mod rpc;
mod serve;
mod stdin;
mod systemd;
mod transport;
mod web;

// Also public for the fuzz targets: drives streams without a transport.
#[cfg(fuzzing)]
pub use self::{
    access::caller::Caller,
    loops::{sessions::SessionRegistry, track::Track},
};
pub use access::credential_file::AccessError;
pub use host::{scene_registry::SceneRegistry, scene_state::SceneEvent};
pub use serve::{ServeError, check_files, run, serve, serve_registry};
pub use transport::listeners::{ListenError, Listeners};
