//! The calls of the contract: each handler parses, calls the engine and converts the answer.

pub(super) mod add;
pub(super) mod deform;
pub(super) mod export;
pub(super) mod haptic_loop;
pub(super) mod haptic_service;
pub(super) mod mesh_upload;
pub(super) mod scene_service;
pub(super) mod self_collisions;
pub(super) mod track;
pub(super) mod until_ended;
