//! What is put in the scene and how it moves.

pub mod dent;
pub mod path;
pub mod phantom;
