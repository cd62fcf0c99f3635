//! Distance field against the truth in `f64`.

mod certified;
mod layout;
mod points;
mod truth;
