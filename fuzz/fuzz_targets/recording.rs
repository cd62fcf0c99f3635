//! Arbitrary bytes read as a recording.

#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_fuzz::kept;

fuzz_target!(|bytes: &[u8]| kept::check_recording(bytes));
