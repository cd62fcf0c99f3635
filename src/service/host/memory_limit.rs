//! The memory of the whole server: what would go beyond it is refused before it is taken.

use crate::os::process::{machine_bytes, resident_bytes};

/// Of the machine's memory, when no limit is set: the rest is for what is not counted in advance, and for its other
/// programs.
const SHARE_OF_MACHINE: f64 = 0.8;
/// One key is promised at most one part in so many.
// A promise counts beside what is resident until it is given back, and that of a session lasts as long as the session:
// without this, fourteen sessions of 64 links kept everybody else's work out of 2 GB, most of which was free.
const PARTS_OF_KEYS: u64 = 2;

/// How much memory the process may have.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimit {
    /// Bytes; `None` where it was not set and the system does not say what it has.
    max: Option<u64>,
}

/// The server has no memory for more.
#[derive(Debug, thiserror::Error)]
#[error(
    "the server has {resident} bytes in memory and has promised {promised}; {more} more are asked for, its limit is \
     {max}"
)]
pub struct MemoryFull {
    /// Resident now.
    pub resident: u64,
    /// To work that is under way.
    pub promised: u64,
    /// Asked for.
    pub more: u64,
    /// The limit.
    pub max: u64,
}

/// One key has been promised as much as one may have.
#[derive(Debug, thiserror::Error)]
#[error(
    "key {key:?} has been promised {promised} bytes of memory for sessions and work under way and asks for {more} more, \
     one key has {max} at most"
)]
pub struct OverShare {
    /// The key's name.
    pub key: String,
    /// To its sessions, and to its work under way.
    pub promised: u64,
    /// Asked for.
    pub more: u64,
    /// A part of the server's limit.
    pub max: u64,
}

impl MemoryLimit {
    /// `bytes`: as set; 0 takes a share of what the machine has.
    pub fn new(bytes: u64) -> MemoryLimit {
        let of_machine = || Some((machine_bytes()? as f64 * SHARE_OF_MACHINE) as u64);
        MemoryLimit { max: if bytes == 0 { of_machine() } else { Some(bytes) } }
    }

    /// Whether there is room for `more` beside what was `promised` to others.
    ///
    /// # Errors
    /// When there is not.
    pub fn check(&self, promised: u64, more: u64) -> Result<(), MemoryFull> {
        let Some(max) = self.max else { return Ok(()) };
        // What the process has and not a sum of its parts: that is what the system ends it for. What was promised may be
        // in memory in part already and counts twice then, for as long as the work takes.
        let resident = resident_bytes().unwrap_or_default();
        let needed = resident.saturating_add(promised).saturating_add(more);
        if needed > max { Err(MemoryFull { resident, promised, more, max }) } else { Ok(()) }
    }

    /// Whether `key` may be promised `more`, whoever else has what.
    ///
    /// # Errors
    /// When it may not.
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
