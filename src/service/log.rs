//! The log: text for people, JSON for machines, on stderr.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};

/// Starts the log of this process. `RUST_LOG` goes before the configured filter.
pub fn start(log: &Log) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(&log.filter));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    let is_text = match log.format {
        LogFormat::Auto => io::stderr().is_terminal(),
        LogFormat::Text => true,
        LogFormat::Json => false,
    };
    if is_text { lines.init() } else { lines.json().init() }
}
