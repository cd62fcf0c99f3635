//! Several servers on one data folder, as processes: who has which scene, through kills, stops, restarts and moves.

mod editors;
mod hands;
mod names;
mod owners;
mod take_over;
mod theatre;
