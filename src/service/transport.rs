//! From the socket to the handler: access, choice of threads, and the middleware of every call.

pub(super) mod acceptor;
pub(super) mod answer_bytes;
pub(super) mod background;
pub(super) mod call_body;
pub(super) mod call_middleware;
pub(super) mod connection;
pub(super) mod connection_life;
pub(super) mod connection_table;
mod frame_turn;
pub(super) mod header_block;
pub(super) mod late_answer;
pub(super) mod listeners;
mod newcomer_turns;
pub(super) mod unix_socket;
pub(super) mod unread_request;
