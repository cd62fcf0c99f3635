//! Several servers on one data folder, as processes: who has which scene, through kills, stops, restarts and moves.

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
