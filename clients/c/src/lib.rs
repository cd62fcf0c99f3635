//! C interface of Palpate: scenes, tissues, tools, and the force on a hand.
//!
//! Two backends implement the calls: the engine in this process ([`server::palpate_open_local`]) and a server
//! ([`server::palpate_connect`]). A call returns a code, and [`code::palpate_last_error`] the error message. Every
//! pointer is checked, and no panic crosses into C. `include/palpate.h` is generated from these files.

#![allow(non_camel_case_types)]

mod backend;
mod border;
pub mod code;
mod device_call;
pub mod driven;
pub mod feel;
mod growing;
pub mod many;
mod mesh;
pub mod plain;
pub mod query;
pub mod report;
pub mod rows;
pub mod scene;
pub mod self_collision;
pub mod server;
pub mod session;
pub mod tube;
pub mod version;
