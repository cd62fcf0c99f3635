//! Resources that this process uses, and their limits.

/// Bytes of resident memory; `None` if the system does not report them.
pub fn resident_bytes() -> Option<u64> {
    system::resident_bytes()
}

/// Number of open file descriptors, on Windows of open handles; `None` if the system does not report it.
pub fn open_descriptors() -> Option<usize> {
    system::open_descriptors()
}

/// Bytes of memory that this process may have: the machine's, or fewer if its control group has a limit; `None` if the
/// system does not report them.
pub fn machine_bytes() -> Option<u64> {
    system::machine_bytes()
}

/// Limit of a resource of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessLimit {
    /// At most this many.
    AtMost(u64),
    /// Unlimited.
    None,
}

/// Maximum number of open files; `None` if the system has no such limit to read.
pub fn descriptors_max() -> Option<ProcessLimit> {
    #[cfg(unix)]
    return Some(system::limit(rustix::process::Resource::Nofile));
    #[cfg(not(unix))]
    None
}

/// Highest real-time priority that the process may request; `None` if the system has no such limit to read.
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
        // The second file is that of control groups version 1. Without a limit it holds no number, or one beyond any
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
        // SAFETY: the call never fails: it returns a constant that stands for this process.
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
        // SAFETY: the structure has the length that it states, and is written to.
        let told = unsafe { GlobalMemoryStatusEx(&mut status) };
        (told != 0).then_some(status.ullTotalPhys)
    }

    /// Returns the memory counters of any process that this one may inspect.
    pub fn memory_counters(process: HANDLE) -> Option<PROCESS_MEMORY_COUNTERS> {
        let mut counters = PROCESS_MEMORY_COUNTERS::default();
        let bytes = size_of::<PROCESS_MEMORY_COUNTERS>() as u32;
        // SAFETY: the structure has the stated length, and is written to; an invalid handle is refused.
        let told = unsafe { K32GetProcessMemoryInfo(process, &mut counters, bytes) };
        (told != 0).then_some(counters)
    }
}
