//! Numbers of a scene's files: whose they are, and what of them counts. Nothing here reads a file.
//!
//! A generation's upper half is the epoch of its owner, where servers share a folder: files of a later owner come after all
//! that an earlier one writes, whenever that is.

const EPOCH_SHIFT: u32 = 32;

/// Snapshots that are kept, each with the journals since.
const SNAPSHOTS_KEPT: usize = 2;

/// A folder whose newest files are of a later owner than who is to write into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its files are of epoch {got}, a later owner's; expected none after epoch {own}")]
pub struct LaterOwner {
    own: u64,
    got: u64,
}

/// Of an owner's first files.
pub fn first_generation(epoch: u64) -> u64 {
    debug_assert!(epoch < 1 << EPOCH_SHIFT, "{epoch} epochs");
    epoch << EPOCH_SHIFT
}

/// The epoch of the owner of such files; 0 of a folder that was never shared.
pub fn epoch_of(generation: u64) -> u64 {
    generation >> EPOCH_SHIFT
}

/// The generation with which the owner of an epoch goes on, after `greatest` of all files that are there.
///
/// # Errors
/// When that is a later owner's: no file of an earlier epoch may change what it has.
pub fn next_generation(epoch: u64, greatest: u64) -> Result<u64, LaterOwner> {
    let got = epoch_of(greatest);
    if got > epoch {
        return Err(LaterOwner { own: epoch, got });
    }
    // Again in the same epoch when the first try came to nothing.
    Ok(first_generation(epoch).max(greatest + 1))
}

/// The least first record of later journals: from there on nothing of this generation counts. `journals`: generation and
/// first record of each.
pub fn end_of(generation: u64, journals: impl IntoIterator<Item = (u64, u64)>) -> u64 {
    let later = journals.into_iter().filter(|(of, _)| *of > generation);
    later.map(|(_, first)| first).min().unwrap_or(u64::MAX)
}

/// The oldest generation that is kept; `None`: all are. `snapshots`: generation, ascending, and the first record that is not
/// in it, where its head can be read.
pub fn oldest_kept(snapshots: &[(u64, Option<u64>)], journals: &[(u64, u64)]) -> Option<u64> {
    // Also when it is a stale owner that tidies up: its own snapshot does not push out one that counts.
    let counts = |(generation, sequence): &&(u64, Option<u64>)| {
        sequence.is_none_or(|sequence| sequence <= end_of(*generation, journals.iter().copied()))
    };
    snapshots.iter().rev().filter(counts).nth(SNAPSHOTS_KEPT - 1).map(|(generation, _)| *generation)
}
