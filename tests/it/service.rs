//! A real server and a real client over loopback: every RPC, and all its refusals.

mod access;
mod bindings;
mod browsers;
mod codes;
mod connections;
mod contract;
mod deforms;
mod edits;
mod fair_shares;
mod hard_input;
mod http_port;
mod incisions;
mod instruments;
mod local_models;
mod logs;
mod memory;
mod metrics;
mod queries;
mod renderings;
mod revoked_keys;
mod scenes;
mod seams;
mod self_collisions;
mod serving;
mod sessions;
mod shutdown;
mod slow_queries;
mod ticks;
mod tool_uploads;
#[cfg(feature = "otlp")]
mod traces;
mod track_streams;
mod transport;
mod unread_answers;
mod uploads;
mod watch;
