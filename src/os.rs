//! Differences between operating systems: each file covers one subject, with its Unix and Windows implementations.
//!
//! These modules make no decisions: their callers know the purpose of a signal, a limit or a priority.

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
