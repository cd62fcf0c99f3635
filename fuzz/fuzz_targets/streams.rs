//! Streams of haptic loops and their sessions.

#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_fuzz::streams::{self, Sequence};

fuzz_target!(|sequence: Sequence| streams::check(sequence));
