//! Haptic loops with rendered tools.

#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_fuzz::renderings::{self, Sequence};

fuzz_target!(|sequence: Sequence| renderings::check(sequence));
