//! Arbitrary bytes as messages of a haptic loop.

#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_fuzz::poses;

fuzz_target!(|bytes: &[u8]| poses::check(bytes));
