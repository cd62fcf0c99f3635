//! The index and the tick against brute force in `f64`.

mod answer;
mod bound;
mod cases;
mod check;
mod cuts;
mod deformed;
mod inputs;
mod meeting;
mod motion;
mod overlaps;
mod stage;
mod tick;
