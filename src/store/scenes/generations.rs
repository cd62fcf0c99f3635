//! Generations of a scene's files: their owner, and which files are valid. This module reads no files.
//!
//! If servers share a folder, the upper half of a generation is the epoch of its owner: files of a later owner come
//! after all files of an earlier one, whenever those are written.

const EPOCH_SHIFT: u32 = 32;

/// Number of snapshots that are kept, each with the journals since.
const SNAPSHOTS_KEPT: usize = 2;

/// Error of a writer in a folder whose newest files belong to a later owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its files are of epoch {got}, a later owner's; expected none after epoch {own}")]
pub struct LaterOwner {
    own: u64,
    got: u64,
}

/// Returns the generation of an owner's first files.
pub fn first_generation(epoch: u64) -> u64 {
    debug_assert!(epoch < 1 << EPOCH_SHIFT, "{epoch} epochs");
    epoch << EPOCH_SHIFT
}

/// Returns the epoch of the owner of such files; 0 in a folder that was never shared.
pub fn epoch_of(generation: u64) -> u64 {
    generation >> EPOCH_SHIFT
}

/// Returns the generation with which the owner of an epoch continues, after `greatest`, the greatest of all existing
/// files.
///
/// # Errors
/// Returns an error if `greatest` belongs to a later owner: no file of an earlier epoch may change its scene.
pub fn next_generation(epoch: u64, greatest: u64) -> Result<u64, LaterOwner> {
    let got = epoch_of(greatest);
    if got > epoch {
        return Err(LaterOwner { own: epoch, got });
    }
    // Again in this epoch if the first try failed.
    Ok(first_generation(epoch).max(greatest + 1))
}

/// Returns the least first record of later journals: from this record on nothing of this generation is valid.
/// `journals`: generation and first record of each.
pub fn end_of(generation: u64, journals: impl IntoIterator<Item = (u64, u64)>) -> u64 {
    let later = journals.into_iter().filter(|(of, _)| *of > generation);
    later.map(|(_, first)| first).min().unwrap_or(u64::MAX)
}

/// Returns the oldest generation that is kept; `None`: all are. `snapshots`: generation, ascending, and the first
/// record that is not in the snapshot, if its head can be read.
pub fn oldest_kept(snapshots: &[(u64, Option<u64>)], journals: &[(u64, u64)]) -> Option<u64> {
    // Holds for a stale owner too: its own snapshot does not displace a valid one.
    let counts = |(generation, sequence): &&(u64, Option<u64>)| {
        sequence.is_none_or(|sequence| sequence <= end_of(*generation, journals.iter().copied()))
    };
    snapshots.iter().rev().filter(counts).nth(SNAPSHOTS_KEPT - 1).map(|(generation, _)| *generation)
}
