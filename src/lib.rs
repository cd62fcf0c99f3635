//! Palpate: deformable tissue against rigid instruments, a thousand times a second.
//!
//! Layer 0 is [`geometry`], [`mesh_io`] and [`oracle`]; layer 1 the [`index`]; layer 2 the [`scene`]. Each
//! knows only what lies below it, and none of them has a clock, a socket or a thread.

pub mod geometry;
pub mod index;
pub mod mesh_io;
pub mod oracle;
pub mod scene;
