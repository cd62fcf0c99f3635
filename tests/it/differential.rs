//! The index and the tick against brute force in `f64`.

mod answer;
pub mod bound;
mod cases;
mod check;
mod collision_pair;
mod cuts;
mod deformed;
pub mod inputs;
mod motion;
mod overlaps;
mod stage;
mod tick;
mod tracked;
