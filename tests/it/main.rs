//! Integration tests of Palpate, in one binary.
//!
//! `PALPATE_TEST_SCALE=20 cargo test --release --test it -- --nocapture faults loads` runs the faults and loads in full
//! and prints each figure. Such a run checks times that depend on the server alone against their limits.
//!
//! `PALPATE_SEED` sets the seed of every random test, `PALPATE_TEST_SCALE` multiplies its length, `PALPATE_DATA` names
//! the folder of the shared meshes (those of <https://www.sofa-framework.org>), `PALPATE_CCD` that of continuous
//! collision queries. Tests whose meshes are missing print so and use generated meshes.
//!
//! `PALPATE_GOLDEN=write cargo test golden` rewrites the digests of all answers.

mod agones;
#[cfg(unix)]
mod buckets;
mod cells;
mod client;
mod cluster;
mod commands;
mod config;
mod continuous;
#[cfg(unix)]
mod deadline;
mod demo;
mod deploy;
mod differential;
mod doctor;
mod driven;
mod durability;
mod envoy;
mod example;
mod faults;
mod field;
mod golden;
mod hostile;
mod incision;
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
