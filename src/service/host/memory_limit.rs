//! Memory limit of the whole server: a request that would exceed it is refused before the memory is taken.

use crate::os::process::{machine_bytes, resident_bytes};

/// Share of the machine's memory if no limit is set: the rest is for memory that is not counted in advance, and for
/// other programs.
const SHARE_OF_MACHINE: f64 = 0.8;
/// Promises to one key take at most one of this many parts of the limit.
// A promise counts in addition to resident memory until it is given back, and a session's promise lasts as long as the
// session: without this limit, fourteen sessions of 64 links kept all other work out of 2 GB, most of which was free.
const PARTS_OF_KEYS: u64 = 2;

/// Maximum memory of the process.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimit {
    /// Limit, bytes; `None` if it was not set and the system does not report the machine's memory.
    max: Option<u64>,
}

/// The server has no memory for a request.
#[derive(Debug, thiserror::Error)]
#[error(
    "the server has {resident} bytes in memory and has promised {promised}; {more} more are asked for, its limit is \
     {max}"
)]
pub struct MemoryFull {
    /// Resident memory, bytes.
    pub resident: u64,
    /// Memory promised to work under way, bytes.
    pub promised: u64,
    /// Memory asked for, bytes.
    pub more: u64,
    /// Limit, bytes.
    pub max: u64,
}

/// A key has been promised as much memory as one key may have.
#[derive(Debug, thiserror::Error)]
#[error(
    "key {key:?} has been promised {promised} bytes of memory for sessions and work under way and asks for {more} more, \
     one key has {max} at most"
)]
pub struct OverShare {
    /// Name of the key.
    pub key: String,
    /// Memory promised to its sessions and its work under way, bytes.
    pub promised: u64,
    /// Memory asked for, bytes.
    pub more: u64,
    /// Maximum of one key, bytes: a part of the server's limit.
    pub max: u64,
}

impl MemoryLimit {
    /// Creates a limit of `bytes`; 0 takes a share of the machine's memory.
    pub fn new(bytes: u64) -> MemoryLimit {
        let of_machine = || Some((machine_bytes()? as f64 * SHARE_OF_MACHINE) as u64);
        MemoryLimit { max: if bytes == 0 { of_machine() } else { Some(bytes) } }
    }

    /// Checks that there is room for `more` bytes in addition to those `promised` to others.
    ///
    /// # Errors
    /// Returns an error if there is not.
    pub fn check(&self, promised: u64, more: u64) -> Result<(), MemoryFull> {
        let Some(max) = self.max else { return Ok(()) };
        // The process's resident memory, not a sum of its parts: the system ends the process for the former. Promised
        // memory may be resident in part already, and counts twice then, as long as the work takes.
        let resident = resident_bytes().unwrap_or_default();
        let needed = resident.saturating_add(promised).saturating_add(more);
        if needed > max { Err(MemoryFull { resident, promised, more, max }) } else { Ok(()) }
    }

    /// Checks that `key` may be promised `more` bytes, regardless of other keys.
    ///
    /// # Errors
    /// Returns an error if it may not.
    pub fn check_share(&self, key: &str, promised: u64, more: u64) -> Result<(), OverShare> {
        match self.max.map(|max| max / PARTS_OF_KEYS) {
            Some(max) if promised.saturating_add(more) > max => {
                Err(OverShare { key: key.to_owned(), promised, more, max })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_resident_and_promised_counts() {
        let resident = resident_bytes().expect("the system says");
        let limit = MemoryLimit::new(resident + (1 << 30));
        limit.check(0, 1 << 20).expect("room");
        assert!(limit.check(1 << 30, 1 << 20).is_err());
        let refused = limit.check(0, 2 << 30).expect_err("too much");
        assert_eq!((refused.more, refused.max), (2 << 30, resident + (1 << 30)));
        assert!(MemoryLimit::new(0).check(0, u64::MAX).is_err(), "the machine has a limit");
    }
}
