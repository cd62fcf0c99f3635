//! Palpate: deformable tissue against rigid instruments, a thousand times a second.
//!
//! Layer 0 is [`geometry`], [`mesh_io`], [`oracle`] and [`time_left`]; layer 1 the [`index`], the [`sdf`], the [`bvh`],
//! [`ccd`] and [`coupling`], and the [`surface`] above the index; layer 2 the [`scene`]; layer 3 the [`proxy`], and
//! next to the surface the [`servo`], which runs at the device. These layers are the engine: feature `engine`, plain
//! synchronous code. Layer 4 surrounds it: the contract ([`proto`]), the [`client`], the [`service`] with its
//! [`config`] and [`store`], and the tools of the command line ([`load`], [`inspect`], [`doctor`], [`scene_files`],
//! [`plan`], [`replay`]). Each layer knows only the layers below it; clocks, sockets and threads begin in layer 4.

// Unit tests count the allocations of those parts of a tick that no external test can reach.
#[cfg(test)]
#[path = "../tests/allocation/counting.rs"]
#[allow(dead_code, reason = "the allocation test does more by it")]
mod counting;
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

pub mod bvh;
pub mod ccd;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "server")]
pub mod config;
pub mod coupling;
#[cfg(feature = "cli")]
pub mod doctor;
pub mod geometry;
pub mod index;
#[cfg(feature = "cli")]
pub mod inspect;
#[cfg(feature = "cli")]
pub mod load;
pub mod mesh_io;
pub mod oracle;
#[cfg(feature = "server")]
pub mod os;
#[cfg(feature = "cli")]
pub mod plan;
#[cfg(feature = "contract")]
pub mod proto;
pub mod proxy;
#[cfg(feature = "cli")]
pub mod replay;
pub mod scene;
#[cfg(feature = "cli")]
pub mod scene_files;
pub mod sdf;
#[cfg(feature = "server")]
pub mod service;
pub mod servo;
#[cfg(feature = "server")]
pub mod store;
pub mod surface;
pub mod time_left;
