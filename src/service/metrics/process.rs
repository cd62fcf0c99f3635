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

/// Bytes of memory that this process may have: the machine's, or less where its control group has a limit; `None` where
/// the system does not say.
pub fn machine_bytes() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let total = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let machine = 1024 * total.trim().strip_suffix(" kB")?.parse::<u64>().ok()?;
    // The second is that of control groups of version 1. Without a limit there is no number, or one beyond any machine.
    let of_group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limits =
        of_group.into_iter().filter_map(|f| fs::read_to_string(f).ok()?.trim().parse().ok());
    Some(limits.fold(machine, u64::min))
}
