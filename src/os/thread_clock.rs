//! Clock that runs while this thread has a processor.

/// Nanoseconds that this thread has had a processor; on Windows, where the system counts that time in ticks of 16 ms,
/// nanoseconds since a fixed moment of this process's run.
#[cfg(unix)]
pub fn now_ns() -> u64 {
    use rustix::time::{ClockId, clock_gettime};
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Nanoseconds since a fixed moment of this process's run.
#[cfg(windows)]
pub use super::boot_clock::now_ns;
