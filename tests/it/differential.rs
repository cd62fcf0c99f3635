//! The index and the tick against brute force in `f64`.

mod bound;
mod cases;
mod check;
mod cuts;
mod deformed;
mod inputs;
mod motion;
mod overlaps;
