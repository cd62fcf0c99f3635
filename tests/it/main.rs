//! Palpate from outside: one binary for all integration tests.
//!
//! `PALPATE_TEST_SCALE=20 cargo test --release --test it -- --nocapture faults loads` runs the faults and loads in
//! full, and prints each figure. Times that are up to the server alone are held to their limits then.
//!
//! `PALPATE_SEED` sets the seed of every random test, `PALPATE_TEST_SCALE` multiplies its length,
//! `PALPATE_DATA` names the folder of the shared meshes (those of <https://www.sofa-framework.org>), `PALPATE_CCD` one of
//! continuous collision queries. Tests without their meshes print it and take generated ones.
//!
//! `PALPATE_GOLDEN=write cargo test golden` writes the digests of all answers anew.

mod agones;
#[cfg(unix)]
mod buckets;
mod client;
mod cluster;
mod config;
mod continuous;
#[cfg(unix)]
mod deadline;
mod demo;
mod deploy;
mod differential;
mod doctor;
mod durability;
mod envoy;
mod example;
mod faults;
mod field;
mod golden;
mod hostile;
mod kubernetes;
mod layers;
mod lifecycle;
mod load;
mod loads;
mod open_ends;
mod organ_in_parts;
mod pairs;
mod plan;
mod pressing;
mod proxy;
mod recordings;
mod seed;
mod self_collision;
mod self_crossing;
mod sequence;
mod service;
mod servo;
mod soak;
mod support;
mod sweep;
