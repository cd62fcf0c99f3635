//! Threads that others run before.

use std::io;

/// By so much the nice value of such a thread is greater than that of the process.
#[cfg(target_os = "linux")]
// Each step is a share of about 1.25: ten leave the background a tenth of a core that ticks want too.
pub(crate) const STEPS_DOWN: i32 = 10;
/// By so much its priority is lower than that of other threads.
#[cfg(windows)]
// Not one: Windows lifts a thread by one or two for a moment when what it waited for has come.
pub(crate) const STEPS_DOWN: i32 = 2;

/// Lowers the priority of this thread, so that the others of the process run before it where cores are short. Nothing
/// where a thread has none of its own.
///
/// # Errors
/// The system's: it keeps the priority it had.
pub fn lower_own() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{getpid, getpriority_process, setpriority_process};
        // From the priority of the process: this thread may be a child of one whose own is lower already. Of this
        // thread alone, which Linux allows to everybody.
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

/// How far this thread's own priority is below the usual one, in the system's steps.
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
