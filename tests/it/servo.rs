//! The servo at the device: its force is the proxy's, and no input can make it hurt a hand.

mod closed_loop;
mod device;
mod energy;
mod fades;
mod fuzz;
mod grid;
pub mod models;
mod press;
