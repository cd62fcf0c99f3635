//! Arbitrary bytes read as scene and change files on disk.

#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_fuzz::kept;

fuzz_target!(|bytes: &[u8]| kept::check_scene(bytes));
