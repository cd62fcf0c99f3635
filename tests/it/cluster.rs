//! Several server processes on one data folder: ownership of scenes through kills, stops, restarts and moves.

mod clients;
mod editors;
mod hands;
mod lookers;
mod names;
mod owners;
mod reading;
mod schedules;
mod sleeper;
mod stale_taker;
mod take_over;
mod theatre;
