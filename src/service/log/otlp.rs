//! Export of traces to a collector: one span per call, none per tick, sent from a thread of its own.

use std::time::Duration;

use opentelemetry::{
    Context,
    trace::{SpanKind, TracerProvider},
};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{BatchSpanProcessor, SdkTracerProvider, Span, SpanData, SpanProcessor},
};
use tracing::{Level, Subscriber, warn};
use tracing_subscriber::{Layer, filter::Targets, registry::LookupSpan};

/// Maximum time for sending the last spans at the end.
const LAST_SPANS_MAX: Duration = Duration::from_secs(2);
/// Attribute with the name of a call's span.
const METHOD: &str = "method";

/// Spans that are being sent to a collector.
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Creates the export, which connects when there is something to send, and again when that fails.
    ///
    /// # Errors
    /// Returns an error if the endpoint, or a variable of OpenTelemetry's own (`OTEL_...`), is invalid.
    pub fn to(endpoint: &str) -> Result<Traces, ExporterBuildError> {
        let exporter = SpanExporter::builder().with_tonic().with_endpoint(endpoint).build()?;
        let version = opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let resource = Resource::builder().with_service_name("palpate").with_attribute(version);
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_span_processor(Named(BatchSpanProcessor::builder(exporter).build()))
            .build();
        Ok(Traces(provider))
    }

    /// Returns a layer of this crate's spans only: the exporter's transport has spans too.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("palpate"))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(Targets::new().with_target("palpate", Level::INFO))
    }

    /// Sends the remaining spans.
    pub fn end(self) {
        if let Err(problem) = self.0.shutdown_with_timeout(LAST_SPANS_MAX) {
            warn!("the last traces are lost: {problem}");
        }
    }
}

/// Renames spans of calls to their methods: in the log they are all `call`.
#[derive(Debug)]
struct Named(BatchSpanProcessor);

impl SpanProcessor for Named {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.0.on_start(span, context);
    }

    fn on_end(&self, mut span: SpanData) {
        if let Some(method) = span.attributes.iter().find(|field| field.key.as_str() == METHOD) {
            span.name = method.value.as_str().into_owned().into();
            span.span_kind = SpanKind::Server;
        }
        self.0.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}
