//! Palpate from outside: one binary for all integration tests.

mod demo;
mod service;
mod support;
