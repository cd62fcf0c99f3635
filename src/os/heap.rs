//! How many heaps the allocator keeps, and when it gives memory back to the system.

/// So many heaps the threads of the process share, where the allocator is glibc's.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
// By itself it gives each thread one, up to eight a core, and what one thread frees another cannot have. A server of two
// cores whose streams come and go, each with a recording's thread, grew by 8.2 MB in three minutes, by 5.3 with four
// heaps, 3.7 with two and 2.7 with one. The time of ticks is the same with two: they allocate nothing.
const HEAPS: libc::c_int = 2;

/// Lets all threads of the process share a few heaps, so that what one frees another can have. Nothing where the
/// allocator is another than glibc's. To be called before there are threads.
pub fn share() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: a setting of the allocator, without pointers; a value that it refuses changes nothing.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, HEAPS);
    }
}

/// Much was freed, or is about to be by other threads: what the allocator keeps of it is given back to the system soon,
/// by a thread of low priority. Nothing where the allocator is another than glibc's.
pub fn give_back_soon() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if let Some(told) = glibc::GIVER.get_or_init(glibc::start) {
        // An error: it was told before, and has not begun.
        let _ = told.try_send(());
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::{
        sync::{
            OnceLock,
            mpsc::{Receiver, SyncSender, sync_channel},
        },
        thread,
        time::Duration,
    };

    use crate::os::thread_priority::lower_own;

    /// The process has one allocator. `None`: the system had no thread for it, and memory stays with the process.
    pub static GIVER: OnceLock<Option<SyncSender<()>>> = OnceLock::new();

    /// A scene's writer ends, and streams that look at a revision let it go, after the call that deletes it.
    const SETTLING: Duration = Duration::from_secs(1);

    pub fn start() -> Option<SyncSender<()>> {
        let (told, tells) = sync_channel(1);
        let thread = thread::Builder::new().name("heap".to_owned()).spawn(move || give(&tells));
        thread.is_ok().then_some(told)
    }

    fn give(tells: &Receiver<()>) {
        // An error: it keeps the priority it had.
        let _ = lower_own();
        while tells.recv().is_ok() {
            thread::sleep(SETTLING);
            // SAFETY: it takes no pointer, and may be called by any thread at any time.
            unsafe {
                libc::malloc_trim(0);
            }
        }
    }
}
