//! What this process takes of its machine, and may take.

/// Bytes of memory that are resident; `None` where the system does not say.
pub fn resident_bytes() -> Option<u64> {
    system::resident_bytes()
}

/// Open file descriptors, on Windows open handles; `None` where the system does not say.
pub fn open_descriptors() -> Option<usize> {
    system::open_descriptors()
}

/// Bytes of memory that this process may have: the machine's, or less where its control group has a limit; `None` where
/// the system does not say.
pub fn machine_bytes() -> Option<u64> {
    system::machine_bytes()
}

/// A limit that this process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessLimit {
    /// So many at most.
    AtMost(u64),
    /// As many as there are.
    None,
}

/// How many files it may have open; `None` where the system has no such limit to look at.
pub fn descriptors_max() -> Option<ProcessLimit> {
    #[cfg(unix)]
    return Some(system::limit(rustix::process::Resource::Nofile));
    #[cfg(not(unix))]
    None
}

/// The highest real-time priority that it may ask for; `None` where the system has no such limit to look at.
pub fn real_time_priority_max() -> Option<ProcessLimit> {
    #[cfg(target_os = "linux")]
    return Some(system::limit(rustix::process::Resource::Rtprio));
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(unix)]
mod system {
    use std::fs;

    use rustix::process::{Resource, getrlimit};

    use super::ProcessLimit;

    pub fn resident_bytes() -> Option<u64> {
        let pages: u64 =
            fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok()?;
        Some(pages * rustix::param::page_size() as u64)
    }

    pub fn open_descriptors() -> Option<usize> {
        Some(fs::read_dir("/proc/self/fd").ok()?.count())
    }

    pub fn machine_bytes() -> Option<u64> {
        let info = fs::read_to_string("/proc/meminfo").ok()?;
        let total = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        let machine = 1024 * total.trim().strip_suffix(" kB")?.parse::<u64>().ok()?;
        // The second is that of control groups of version 1. Without a limit there is no number, or one beyond any
        // machine.
        let of_group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
        let limits =
            of_group.into_iter().filter_map(|f| fs::read_to_string(f).ok()?.trim().parse().ok());
        Some(limits.fold(machine, u64::min))
    }

    pub fn limit(of: Resource) -> ProcessLimit {
        getrlimit(of).current.map_or(ProcessLimit::None, ProcessLimit::AtMost)
    }
}

#[cfg(windows)]
pub(super) mod system {
    use windows_sys::Win32::{
        Foundation::HANDLE,
        System::{
            ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS},
            SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX},
            Threading::{GetCurrentProcess, GetProcessHandleCount},
        },
    };

    pub fn resident_bytes() -> Option<u64> {
        // SAFETY: it never fails: it gives a constant that stands for this process.
        Some(memory_counters(unsafe { GetCurrentProcess() })?.WorkingSetSize as u64)
    }

    pub fn open_descriptors() -> Option<usize> {
        let mut n = 0;
        // SAFETY: the handle stands for this process, and the number is written to.
        let told = unsafe { GetProcessHandleCount(GetCurrentProcess(), &mut n) };
        (told != 0).then_some(n as usize)
    }

    pub fn machine_bytes() -> Option<u64> {
        let bytes = size_of::<MEMORYSTATUSEX>() as u32;
        let mut status = MEMORYSTATUSEX { dwLength: bytes, ..MEMORYSTATUSEX::default() };
        // SAFETY: the structure is as long as it says, and is written to.
        let told = unsafe { GlobalMemoryStatusEx(&mut status) };
        (told != 0).then_some(status.ullTotalPhys)
    }

    /// Of any process that this one may look at.
    pub fn memory_counters(process: HANDLE) -> Option<PROCESS_MEMORY_COUNTERS> {
        let mut counters = PROCESS_MEMORY_COUNTERS::default();
        let bytes = size_of::<PROCESS_MEMORY_COUNTERS>() as u32;
        // SAFETY: the structure is as long as is said, and is written to; a handle that is none is refused.
        let told = unsafe { K32GetProcessMemoryInfo(process, &mut counters, bytes) };
        (told != 0).then_some(counters)
    }
}
