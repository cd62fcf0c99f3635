//! The index and the tick against brute force in `f64`.

mod answer;
pub mod bound;
mod cases;
mod check;
mod cuts;
mod deformed;
pub mod inputs;
mod meeting;
mod motion;
mod overlaps;
mod stage;
mod tick;
