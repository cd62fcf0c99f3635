//! Scenes that are to survive the server: their changes are journaled, a thread keeps what nobody waits for, and recovery
//! brings them back.

pub mod last_snapshot;
pub mod not_kept;
pub mod recovery;
pub mod scene_journal;
pub mod scene_keeper;
