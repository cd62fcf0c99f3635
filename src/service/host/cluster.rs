//! One of several servers on a shared data folder: which scenes are its own, how it gets and gives them. What is written
//! down of that, and why it holds, is in `store::lease`.

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
