//! Palpate: deformable tissue against rigid instruments, a thousand times a second.
pub mod geometry;
pub mod index;
pub mod mesh_io;
pub mod oracle;
pub mod scene;
pub mod service;
