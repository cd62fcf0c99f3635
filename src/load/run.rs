//! One run of `palpate load`: its arguments, its threads, its end.

pub mod args;
pub mod capacity;
pub mod hiccup;
pub mod load_run;
pub mod objective;
pub mod progress;
pub mod server_process;
pub mod start;
