//! What this process takes of its machine.

use std::fs;

/// Bytes of memory that are resident; `None` where the system does not say.
pub fn resident_bytes() -> Option<u64> {
    let pages: u64 =
        fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Open file descriptors; `None` where the system does not say.
pub fn open_descriptors() -> Option<usize> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count())
}
