//! Scenes that survive the server: their changes are journaled, a thread persists what no caller waits for, and
//! recovery restores the scenes.

pub mod last_snapshot;
pub mod not_kept;
pub mod recovery;
pub mod scene_journal;
pub mod scene_keeper;
