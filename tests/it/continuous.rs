//! Continuous collision against exact constructions, published queries and brute force.

mod collisions;
mod contacts;
mod features;
mod fronts;
mod queries;
mod surface;
mod thickness;
