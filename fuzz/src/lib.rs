//! What the fuzz targets share: each target is one call of a function here.

mod allocation;
pub mod edits;
pub mod mesh_file;
pub mod poses;
pub mod sessions;
mod stage;
mod watched;
