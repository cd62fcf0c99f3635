//! System allocator that counts the calls and bytes of the calling thread.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

/// Counting allocator, for use as a binary's global allocator.
pub struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static LIVE_BYTES: Cell<i64> = const { Cell::new(0) };
    static PEAK_BYTES: Cell<i64> = const { Cell::new(0) };
}

fn count(bytes: i64) {
    CALLS.set(CALLS.get() + 1);
    LIVE_BYTES.set(LIVE_BYTES.get() + bytes);
    PEAK_BYTES.set(PEAK_BYTES.get().max(LIVE_BYTES.get()));
}

// SAFETY: every call is forwarded unchanged; counting touches only thread-locals that need no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's guarantees are those that the system allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as i64 - layout.size() as i64);
        // The old and the new block may exist at once while the data moves.
        PEAK_BYTES.set(PEAK_BYTES.get().max(LIVE_BYTES.get() + layout.size() as i64));
        // SAFETY: as above.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

/// Returns the number of allocator calls of this thread while `f` runs.
pub fn calls_during(f: impl FnOnce()) -> u64 {
    let before = CALLS.get();
    f();
    CALLS.get() - before
}

/// Returns the result of `f`, and the bytes that this thread has allocated and not freed, after `f` less before it.
pub fn bytes_kept_by<T>(f: impl FnOnce() -> T) -> (T, i64) {
    let before = LIVE_BYTES.get();
    let made = f();
    (made, LIVE_BYTES.get() - before)
}

/// Returns the result of `f`, and the peak of this thread's allocated bytes while `f` ran, above those before it.
#[allow(dead_code, reason = "the benches share this file and measure no peaks")]
pub fn peak_during<T>(f: impl FnOnce() -> T) -> (T, i64) {
    let before = LIVE_BYTES.get();
    PEAK_BYTES.set(before);
    let made = f();
    (made, PEAK_BYTES.get() - before)
}
