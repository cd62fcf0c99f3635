//! The bytes of a haptic loop's messages.

#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_fuzz::poses;

fuzz_target!(|bytes: &[u8]| poses::check(bytes));
