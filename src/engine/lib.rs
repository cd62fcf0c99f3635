//! Palpate's engine: deformable tissue against rigid instruments, plain synchronous code without clocks, threads, files
//! or sockets. Users depend on the package `palpate`, which re-exports these modules.
//!
//! Layer 0 is [`geometry`], [`mesh_io`], [`oracle`] and [`time_left`]; layer 1 the [`index`], the [`sdf`], the [`bvh`],
//! [`ccd`] and [`coupling`], and the [`surface`] above the index; layer 2 the [`scene`]; layer 3 the [`proxy`], and
//! next to the surface the [`servo`], which runs at the device. Each layer knows only the layers below it.

pub mod bvh;
pub mod ccd;
pub mod coupling;
pub mod geometry;
pub mod index;
pub mod mesh_io;
pub mod oracle;
pub mod proxy;
pub mod scene;
pub mod sdf;
pub mod servo;
pub mod surface;
pub mod time_left;
