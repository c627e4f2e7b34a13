//! From the crate `tracing` to spans and log records.

use std::fmt::{self, Write};

use opentelemetry::Context;
use opentelemetry::trace::{Status, TraceContextExt};
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_sdk::logs::{SdkLogger, SdkLoggerProvider};
use opentelemetry_sdk::trace::SdkTracer;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::Context as LayerContext;
use tracing_subscriber::registry::LookupSpan;

use super::{Way, has_log_bridge, is_second};

/// A layer for a subscriber of any kind.
pub type BoxedLayer<S> = Box<dyn Layer<S> + Send + Sync>;

/// Spans of `tracing` as spans, its events as log records.
pub(crate) fn layer<S>(tracer: SdkTracer, loggers: &SdkLoggerProvider) -> BoxedLayer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
{
    let spans = tracing_opentelemetry::layer()
        .with_tracer(tracer)
        .with_filter(filter_fn(|metadata| metadata.is_span()));
    let events = EventLayer { bridge: OpenTelemetryTracingBridge::new(loggers) };
    // Events come first: an error marks its span.
    spans.and_then(events).boxed()
}

struct EventLayer {
    bridge: OpenTelemetryTracingBridge<SdkLoggerProvider, SdkLogger>,
}

impl<S> Layer<S> for EventLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_event(&self, event: &Event<'_>, context: LayerContext<'_, S>) {
        let metadata = event.metadata();
        let is_of_log =
            metadata.target() == "log" && metadata.fields().field("log.target").is_some();
        if is_of_log && has_log_bridge() {
            return;
        }
        if !is_of_log && is_second(Way::Tracing, metadata.file(), metadata.line()) {
            return;
        }
        self.bridge.on_event(event, context);
        if *metadata.level() == Level::ERROR {
            mark_span(event);
        }
    }
}

/// An event of an error means that its span has failed.
fn mark_span(event: &Event<'_>) {
    Context::map_current(|context| {
        if context.has_active_span() {
            let mut words = Words::default();
            event.record(&mut words);
            context.span().set_status(Status::error(words.0));
        }
    });
}

/// What an event says: its message, else its error.
#[derive(Default)]
struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let is_better = field.name() == "message" || self.0.is_empty() && field.name() == "error";
        if is_better {
            self.0.clear();
            // A text takes everything.
            let _ = write!(self.0, "{value:?}");
        }
    }
}
