//! What differs between operating systems: a file is one noun, with Unix's way of it and that of Windows.
//!
//! Nothing here decides anything: what a signal, a limit or a priority is for, its caller knows.

pub mod boot_clock;
pub mod child;
pub mod heap;
pub mod interrupt;
pub mod lasting;
pub mod process;
pub mod regular_file;
pub mod stdout;
pub mod thread_clock;
pub mod thread_priority;
