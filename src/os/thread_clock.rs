//! A clock that goes on while this thread has a processor.

/// Nanoseconds that this thread has had a processor for; on Windows, where the system counts that in its own ticks of
/// 16 ms, since a moment that stays the same while this process runs.
#[cfg(unix)]
pub fn now_ns() -> u64 {
    use rustix::time::{ClockId, clock_gettime};
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Nanoseconds since a moment that stays the same while this process runs.
#[cfg(windows)]
pub use super::boot_clock::now_ns;
