//! Palpate from outside: one binary for all integration tests.

mod service;
mod support;
