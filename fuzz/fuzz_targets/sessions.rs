//! Haptic loops while tissues are deformed, cut, added and removed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_fuzz::sessions::{self, Sequence};

fuzz_target!(|sequence: Sequence| sessions::check(sequence));
