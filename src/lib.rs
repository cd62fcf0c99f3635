//! Palpate: deformable tissue against rigid instruments, a thousand times a second.
//!
//! Layer 0 is [`geometry`], [`mesh_io`] and [`oracle`]; layer 1 the [`index`], the [`sdf`], the [`bvh`] and
//! [`ccd`]; layer 2 the [`scene`]; layer 3 the [`service`], its [`config`],
//! the [`store`] and the tools around it. Each knows
//! only what lies below it; clocks, sockets and threads begin in layer 3.

pub mod bvh;
pub mod ccd;
pub mod client;
pub mod config;
pub mod doctor;
pub mod geometry;
pub mod index;
pub mod inspect;
pub mod load;
pub mod mesh_io;
pub mod oracle;
pub mod proto;
pub mod scene;
pub mod sdf;
pub mod service;
pub mod store;
pub mod surface;
