//! The engine against the oracle, against models and against hostile input.
//!
//! `PALPATE_SEED` sets the seed of every random test, `PALPATE_TEST_SCALE` multiplies its length,
//! `PALPATE_DATA` names the folder of the shared meshes.

mod differential;
mod seed;
mod sequence;
