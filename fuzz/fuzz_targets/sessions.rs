//! Haptic loops while tissues move, are cut, come and go.

#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_fuzz::sessions::{self, Sequence};

fuzz_target!(|sequence: Sequence| sessions::check(sequence));
