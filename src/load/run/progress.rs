//! The progress line of a run; only a terminal shows one.

use std::{cell::Cell, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};

use crate::load::clients::haptic::LiveMetrics;

/// The progress line.
pub struct Progress {
    bar: ProgressBar,
    before: Cell<(Duration, u64)>,
}

impl Progress {
    /// Creates the line of a run that lasts `seconds`.
    pub fn new(seconds: f64) -> Progress {
        let style = ProgressStyle::with_template("[{bar:24}] {msg}").expect("a valid template");
        let bar = ProgressBar::new((1e3 * seconds) as u64).with_style(style.progress_chars("=> "));
        Progress { bar, before: Cell::new((Duration::ZERO, 0)) }
    }

    /// Shows all clients' metrics: the sum of ticks and misses, the worst client's values of the others.
    pub fn show(&self, elapsed: Duration, clients: impl Iterator<Item = LiveMetrics>) {
        let mut all = LiveMetrics::default();
        for one in clients {
            all.answered += one.answered;
            all.missed += one.missed;
            all.contacts = all.contacts.max(one.contacts);
            all.depth_mm = all.depth_mm.max(one.depth_mm);
            all.p99_us = all.p99_us.max(one.p99_us);
        }
        let (then, answered_then) = self.before.replace((elapsed, all.answered));
        let seconds = (elapsed - then).as_secs_f64().max(1e-3);
        // The rate counts since the last call and not since the start: a server that stands still is seen at once.
        let rate = (all.answered - answered_then) as f64 / seconds;
        self.bar.set_position(elapsed.as_millis() as u64);
        self.bar.set_message(format!(
            "{:4.1} s  {rate:6.0} ticks/s  p99 {:5} us  contacts {:3}  depth {:4.1} mm  missed {}",
            elapsed.as_secs_f64(),
            all.p99_us,
            all.contacts,
            all.depth_mm,
            all.missed
        ));
    }

    /// Clears the line and leaves nothing behind.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
