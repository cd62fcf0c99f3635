//! Palpate behind a C interface: scenes, tissues, tools, and what a hand feels.
//!
//! Two backends are behind the same calls: the engine in this process ([`server::palpate_open_local`]) and a server
//! ([`server::palpate_connect`]). A call gives a code, and [`code::palpate_last_error`] the words. Every pointer is
//! checked, and a panic stays on this side. `include/palpate.h` is made from these files.

#![allow(non_camel_case_types)]

mod backend;
mod border;
pub mod code;
pub mod plain;
pub mod scene;
pub mod server;
pub mod session;
