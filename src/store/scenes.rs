//! Scenes on disk, one folder each: snapshots of a scene, and journals of the changes after each.
//!
//! `scenes/ID/N.snapshot` is the scene at one moment, `N.journal` has the changes from then on, `N + 1.journal` those
//! after it. A scene is read from its newest intact snapshot and all journals from there on. Two snapshots are kept,
//! with the journals from the older one on: if the newer one is damaged, nothing is lost. Each file begins with its
//! kind and the version of its format, and each record has a checksum and a number, so that every torn, flipped or
//! truncated part is found.
//!
//! Plain files instead of a database: a database checks its commits but not the pages that it reads, keeps all scenes
//! in one file that is lost as a whole, and needs free space to give space back. With plain files a scene can be
//! copied, damage stays in its file, and the meaning of each byte fits on one screen.

pub mod file_head;
pub mod folder;
pub mod generations;
mod histories;
pub mod journal;
mod replay;
pub mod scene_store;
pub mod snapshot;
#[cfg(test)]
mod tests;
