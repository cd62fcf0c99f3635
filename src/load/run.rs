//! A run: its arguments, its plan, its threads, its end.

pub mod args;
pub mod busy_threads;
pub mod capacity;
pub mod hiccup;
pub mod load_run;
pub mod lock_step;
pub mod objective;
pub mod plan;
pub mod progress;
pub mod run_recording;
pub mod server_process;
pub mod start;
pub mod workers;
