//! Palpate: deformable tissue against rigid instruments, a thousand times a second.
//!
//! The layers, each knowing only those above it in this list:
//! [`geometry`], [`mesh_io`] and [`oracle`] (layer 0); [`inspect`] (layer 3).

pub mod geometry;
pub mod inspect;
pub mod mesh_io;
pub mod oracle;
