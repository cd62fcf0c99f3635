//! Log on stderr: text for people, JSON for machines; and traces, if built in.

// Off by default: the exporter brings in a dozen crates, and the spans of calls are in the log anyway.
#[cfg(feature = "otlp")]
mod otlp;

use std::io::{self, IsTerminal};

use tracing_subscriber::{EnvFilter, Layer, fmt, layer::SubscriberExt, util::SubscriberInitExt};

use crate::config::{LogFormat, LogSettings};

/// Handle of this process's log.
pub struct Started {
    #[cfg(feature = "otlp")]
    traces: Option<otlp::Traces>,
}

/// Starts the log of this process. `RUST_LOG` overrides the configured filter. With a collector, this must be called in
/// the runtime that traces are sent from.
pub fn start(log: &LogSettings) -> Started {
    // A bad RUST_LOG is no reason to run without a log; the configured filter was checked.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(&log.filter));
    let lines = fmt::layer().with_writer(io::stderr);
    let is_text = match log.format {
        LogFormat::Auto => io::stderr().is_terminal(),
        LogFormat::Text => true,
        LogFormat::Json => false,
    };
    let lines = if is_text { lines.boxed() } else { lines.json().boxed() };
    let subscriber = tracing_subscriber::registry().with(filter).with(lines);
    #[cfg(feature = "otlp")]
    {
        let traces = log.otlp_endpoint.as_deref().map(otlp::Traces::to).transpose();
        subscriber
            .with(traces.as_ref().ok().and_then(Option::as_ref).map(otlp::Traces::layer))
            .init();
        let traces = traces.unwrap_or_else(|problem| {
            tracing::error!("no traces are sent: {problem}");
            None
        });
        Started { traces }
    }
    #[cfg(not(feature = "otlp"))]
    {
        subscriber.init();
        Started {}
    }
}

impl Started {
    /// Sends pending traces, for a bounded time. Must not be called on a thread of the runtime.
    pub fn end(self) {
        #[cfg(feature = "otlp")]
        if let Some(traces) = self.traces {
            traces.end();
        }
    }
}
