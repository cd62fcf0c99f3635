//! Threads of lower priority.

use std::io;

/// Difference between the nice value of a background thread and that of the process.
#[cfg(target_os = "linux")]
// Each step changes the share by a factor of about 1.25: ten leave the background a tenth of a core that ticks want
// too.
pub(crate) const STEPS_DOWN: i32 = 10;
/// Difference between the priority of a background thread and that of other threads.
#[cfg(windows)]
// Not 1: Windows raises a thread by one or two for a moment when an event that it waited for has come.
pub(crate) const STEPS_DOWN: i32 = 2;

/// Lowers the priority of this thread as [`lower_own`] does, and logs an error.
#[cfg(feature = "server")]
pub fn lower_priority() {
    if let Err(e) = lower_own() {
        tracing::warn!("a thread keeps the priority of ticks: {e}");
    }
}

/// Lowers the priority of this thread, so that other threads of the process run first if cores are short. Does nothing
/// if threads have no priority of their own.
///
/// # Errors
/// Errors of the system; the priority stays unchanged.
pub fn lower_own() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{getpid, getpriority_process, setpriority_process};
        // Relative to the priority of the process: this thread may be the child of a thread with a lowered one. Linux
        // allows everybody to lower the priority of a single thread.
        let own = getpriority_process(Some(getpid())).unwrap_or_default();
        setpriority_process(None, own + STEPS_DOWN)?;
    }
    #[cfg(windows)]
    {
        use windows_sys::Win32::System::Threading::{
            GetCurrentThread, SetThreadPriority, THREAD_PRIORITY_NORMAL,
        };
        let lower = THREAD_PRIORITY_NORMAL - STEPS_DOWN;
        // SAFETY: the handle stands for this thread.
        if unsafe { SetThreadPriority(GetCurrentThread(), lower) } == 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Returns the steps by which this thread's own priority is below the usual one, in the system's units.
#[cfg(all(test, target_os = "linux"))]
pub(crate) fn own_steps_down() -> i32 {
    rustix::process::getpriority_process(None).expect("allowed")
}

#[cfg(all(test, windows))]
pub(crate) fn own_steps_down() -> i32 {
    use windows_sys::Win32::System::Threading::{
        GetCurrentThread, GetThreadPriority, THREAD_PRIORITY_NORMAL,
    };
    // SAFETY: the handle stands for this thread.
    THREAD_PRIORITY_NORMAL - unsafe { GetThreadPriority(GetCurrentThread()) }
}
