//! Tissues that meet themselves and each other between two revisions, checked against all pairs of features.

mod brute_force;
mod limits;
mod revisions;
mod stage;
mod surfaces;
