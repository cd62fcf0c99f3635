//! Scenes on disk, a folder each: snapshots of it, and journals of what changed after each.
//!
//! `scenes/ID/N.snapshot` is the scene at one moment, `N.journal` has the changes from then on, `N + 1.journal` those
//! after it. A scene is read from its newest good snapshot and all journals from there on. Two snapshots are kept, with
//! the journals from the older one on: when the newer one is damaged, nothing is lost. Each file begins with its kind and
//! the version of its format, and each record has a checksum and a number, so that what was torn, flipped or cut off is
//! found, whatever it is.
//!
//! Plain files, and no database: one checks its commits and not the pages that it reads, keeps all scenes in one file
//! that is lost together, and needs room of its own to give room back. Here a scene can be copied, damage stays in its
//! file, and what each byte means stands on one screen.

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
