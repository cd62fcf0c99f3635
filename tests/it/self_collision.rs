//! Tissues that meet themselves and each other between two revisions, against every feature with every other.

mod brute_force;
mod limits;
mod revisions;
mod stage;
mod surfaces;
