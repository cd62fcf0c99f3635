//! Streams of haptic loops and the sessions behind them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_fuzz::streams::{self, Sequence};

fuzz_target!(|sequence: Sequence| streams::check(sequence));
