//! The index and the tick against brute force in `f64`.

mod bound;
mod check;
mod deformed;
mod inputs;
mod motion;
