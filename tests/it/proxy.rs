//! The proxy of a rendered instrument against closed forms and brute force: nothing is passed through, and the force is
//! the spring's.

mod closed_forms;
mod energy;
mod organs;
mod press;
mod session;
mod stage;
mod states;
mod thin;
