//! The proxy of a rendered instrument against closed forms and brute force: it passes through nothing, and the force is
//! the spring's.

mod closed_forms;
mod device_distances;
mod energy;
mod equilibrium;
pub mod feel;
mod flat;
mod grasp;
mod local_model;
pub mod organs;
mod pinched;
mod press;
mod seams;
mod session;
mod shading;
pub mod stage;
mod states;
mod thin;
mod touching;
