//! The calls of the contract. Each handler takes a message, has `convert` parse it and build its answer, and calls the
//! engine in between. Errors leave as `Refused`.

pub(super) mod add;
pub(super) mod binding_upload;
mod cut;
pub(super) mod deform;
pub(super) mod fair_jobs;
mod feel;
pub(super) mod haptic_service;
pub(super) mod mesh_upload;
pub(super) mod queries;
pub(super) mod scene_service;
pub(super) mod self_collisions;
mod status;
pub(super) mod watch;
pub(super) mod watch_service;
