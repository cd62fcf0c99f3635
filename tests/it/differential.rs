//! The index and the tick against brute force in `f64`.

pub mod bound;
mod cases;
mod check;
mod cuts;
mod deformed;
pub mod inputs;
mod motion;
mod overlaps;
