//! Tests of both bridges, with the SDK's own exporters in memory.

use log::Log;
use opentelemetry::logs::AnyValue;
use opentelemetry::trace::{Status, TracerProvider};
use opentelemetry_sdk::logs::{InMemoryLogExporter, SdkLoggerProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use tracing_subscriber::layer::SubscriberExt;

use super::*;

struct Sent {
    tracers: SdkTracerProvider,
    spans: InMemorySpanExporter,
    loggers: SdkLoggerProvider,
    records: InMemoryLogExporter,
}

impl Sent {
    fn new() -> Self {
        let spans = InMemorySpanExporter::default();
        let records = InMemoryLogExporter::default();
        Self {
            tracers: SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build(),
            spans,
            loggers: SdkLoggerProvider::builder().with_simple_exporter(records.clone()).build(),
            records,
        }
    }

    /// Runs something below a subscriber with the layer.
    fn traced(&self, act: impl FnOnce()) {
        let layer = layer(self.tracers.tracer("test"), &self.loggers);
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, act);
    }

    fn bodies(&self) -> Vec<String> {
        let records = self.records.get_emitted_logs().unwrap();
        let body = |body: &AnyValue| match body {
            AnyValue::String(text) => text.to_string(),
            other => format!("{other:?}"),
        };
        records.iter().map(|entry| entry.record.body().map(body).unwrap_or_default()).collect()
    }
}

/// Writes to a logger as `log::info!` would from a line of this file.
fn write(logger: &dyn Log, text: &str, line: u32) {
    let arguments = format_args!("{text}");
    logger.log(
        &log::Record::builder()
            .args(arguments)
            .level(log::Level::Info)
            .target("program")
            .file(Some(file!()))
            .line(Some(line))
            .build(),
    );
}

#[test]
fn spans_become_spans_and_events_log_records_of_them() {
    let sent = Sent::new();
    sent.traced(|| {
        let span = tracing::info_span!("work", size = 3);
        let _entered = span.enter();
        tracing::info!(step = 1, "begun");
    });
    let spans = sent.spans.get_finished_spans().unwrap();
    assert_eq!((spans.len(), spans[0].name.as_ref()), (1, "work"));
    assert!(spans[0].events.is_empty(), "an event is a log record and nothing else");
    assert_eq!(spans[0].status, Status::Unset);
    let records = sent.records.get_emitted_logs().unwrap();
    assert_eq!(sent.bodies(), ["begun"]);
    let context = records[0].record.trace_context().unwrap();
    assert_eq!(context.span_id, spans[0].span_context.span_id());
}

#[test]
fn an_error_marks_its_span() {
    let sent = Sent::new();
    sent.traced(|| {
        let span = tracing::info_span!("work");
        let _entered = span.enter();
        tracing::error!("it broke");
    });
    let spans = sent.spans.get_finished_spans().unwrap();
    assert_eq!(spans[0].status, Status::error("it broke"));
}

#[test]
fn what_tracing_writes_to_log_as_well_is_sent_once() {
    let sent = Sent::new();
    let bridge = LogBridge::new(Some(&sent.loggers));
    sent.traced(|| {
        for _ in 0..3 {
            // As the feature `log-always` of `tracing` does it.
            write(&bridge, "both", line!() + 1);
            tracing::info!("both");
        }
        write(&bridge, "log alone", line!());
        tracing::info!("tracing alone");
    });
    assert_eq!(sent.bodies(), ["both", "both", "both", "log alone", "tracing alone"]);
}

#[test]
fn the_programs_own_logger_goes_on_and_spans_are_no_records() {
    use std::sync::{Arc, Mutex};

    #[derive(Default, Clone)]
    struct Own(Arc<Mutex<Vec<String>>>);
    impl Log for Own {
        fn enabled(&self, _: &log::Metadata<'_>) -> bool {
            true
        }
        fn log(&self, record: &log::Record<'_>) {
            self.0.lock().unwrap().push(record.args().to_string());
        }
        fn flush(&self) {}
    }

    let (sent, own) = (Sent::new(), Own::default());
    let bridge = LogBridge::new(Some(&sent.loggers)).beside(Box::new(own.clone()));
    write(&bridge, "hello", line!());
    bridge.log(&log::Record::builder().target("tracing::span::active").build());
    assert_eq!(sent.bodies(), ["hello"]);
    assert_eq!(own.0.lock().unwrap().len(), 2);
}

#[test]
fn levels_are_those_of_rust_log() {
    let sent = Sent::new();
    let of = |text: &'static str| {
        let targets = targets(&move |_: &str| Some(text.to_owned()));
        LogBridge::new(Some(&sent.loggers)).filtered(targets)
    };
    assert_eq!(of("warn,program=debug").most(), log::LevelFilter::Debug);
    assert_eq!(of("off").most(), log::LevelFilter::Off);
    assert_eq!(of("not=a=filter").most(), log::LevelFilter::Info);
    write(&of("warn"), "quiet", 1);
    write(&of("warn,program=info"), "loud", 2);
    assert_eq!(sent.bodies(), ["loud"]);
}

#[test]
fn the_second_of_two_from_one_line_is_known_and_only_that() {
    assert!(!is_second(Way::Log, Some("a.rs"), Some(1)));
    assert!(is_second(Way::Tracing, Some("a.rs"), Some(1)));
    assert!(!is_second(Way::Tracing, Some("a.rs"), Some(1)), "the next one is another");
    assert!(!is_second(Way::Tracing, Some("a.rs"), Some(1)), "a loop");
    assert!(is_second(Way::Log, Some("a.rs"), Some(1)));
    assert!(!is_second(Way::Log, Some("a.rs"), Some(2)));
    assert!(!is_second(Way::Tracing, Some("b.rs"), Some(2)));
    assert!(!is_second(Way::Log, None, Some(2)));
}
