//! Deformations and cuts in any order.

#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_fuzz::edits::{self, Sequence};

fuzz_target!(|sequence: Sequence| edits::check(sequence));
