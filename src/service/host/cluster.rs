//! Ownership of scenes among servers on a shared data folder: how this server takes its scenes and gives them up.
//! `store::lease` has the stored form of that, and the reason why it holds.

pub mod claim_new;
pub mod delete_unread;
pub mod hand_over;
pub mod membership;
pub mod opening;
pub mod renewal;
pub mod scene_lease;
pub mod take_over;
#[cfg(all(test, unix))]
mod tests;
