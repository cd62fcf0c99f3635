//! Long random sequences of operations against a model that is too simple to be wrong.

mod model;
mod surface;
mod tissue;
