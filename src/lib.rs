//! Palpate: deformable tissue against rigid instruments, a thousand times a second.
//!
//! The engine is a package of its own, `palpate-engine`, and is re-exported here: [`geometry`] to [`proxy`], plain
//! synchronous code. Feature `engine` is the engine alone. Around it are the contract ([`proto`]), the [`client`], the
//! [`service`] with its [`config`] and [`store`], and the tools of the command line ([`load`], [`inspect`], [`doctor`],
//! [`scene_files`], [`plan`], [`replay`]). Clocks, sockets and threads begin outside the engine.

// Unit tests count the allocations of those parts of a tick that no external test can reach.
#[cfg(test)]
#[path = "../tests/allocation/counting.rs"]
#[allow(dead_code, reason = "the allocation test does more by it")]
mod counting;
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

pub use palpate_engine::{
    bvh, ccd, coupling, geometry, index, mesh_io, oracle, proxy, scene, sdf, servo, surface,
    time_left,
};

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "server")]
pub mod config;
#[cfg(feature = "cli")]
pub mod doctor;
#[cfg(feature = "cli")]
pub mod inspect;
#[cfg(feature = "cli")]
pub mod load;
#[cfg(feature = "server")]
pub mod os;
#[cfg(feature = "cli")]
pub mod plan;
#[cfg(feature = "contract")]
pub mod proto;
#[cfg(feature = "cli")]
pub mod replay;
#[cfg(feature = "cli")]
pub mod scene_files;
#[cfg(feature = "server")]
pub mod service;
#[cfg(feature = "server")]
pub mod store;
