//! Tests of share keys, with the SDK's own exporters in memory.

use std::collections::HashMap;

use opentelemetry::logs::{Logger, LoggerProvider};
use opentelemetry::trace::{Tracer, TracerProvider};
use opentelemetry_sdk::logs::{InMemoryLogExporter, SdkLoggerProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};

use super::*;

fn keys(context: &Context) -> Vec<(String, String)> {
    let mut keys: Vec<_> =
        shared(context).map(|(key, value)| (key.to_string(), value.to_string())).collect();
    keys.sort();
    keys
}

fn pair(key: &str, value: &str) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

#[test]
fn inner_keys_add_to_outer_ones_and_go_with_the_guard() {
    let outer = share([("session.id", "s"), ("run.id", "1")]);
    {
        let _inner = share([("run.id", "2"), ("request.id", "r")]);
        let expected = [pair("request.id", "r"), pair("run.id", "2"), pair("session.id", "s")];
        assert_eq!(keys(&Context::current()), expected);
    }
    assert_eq!(keys(&Context::current()), [pair("run.id", "1"), pair("session.id", "s")]);
    drop(outer);
    assert!(keys(&Context::current()).is_empty());
}

#[test]
fn keys_travel_in_a_map() {
    let mut carrier = HashMap::new();
    crate::inject_context(&share_context([("session.id", "ä b")]), &mut carrier);
    assert_eq!(keys(&crate::extract(&carrier)), [pair("session.id", "ä b")]);
}

#[test]
fn what_cannot_be_a_key_is_left_out_and_there_is_an_end() {
    let long = "x".repeat(SHARE_BYTES + 1);
    let context = share_context([("", "a"), ("two words", "a"), ("fine", long.as_str())]);
    assert!(keys(&context).is_empty());
    let many = (0..100).map(|number| (format!("key{number}"), "v".to_owned()));
    assert_eq!(keys(&share_context(many)).len(), SHARE_KEYS);
}

#[test]
fn spans_and_records_have_the_keys_and_keep_their_own() {
    let spans = InMemorySpanExporter::default();
    let tracers = SdkTracerProvider::builder()
        .with_span_processor(ShareSpanProcessor)
        .with_simple_exporter(spans.clone())
        .build();
    let records = InMemoryLogExporter::default();
    let loggers = SdkLoggerProvider::builder()
        .with_log_processor(ShareLogProcessor)
        .with_simple_exporter(records.clone())
        .build();
    let tracer = tracers.tracer("test");
    let logger = loggers.logger("test");
    {
        let _shared = share([("session.id", "s"), ("run.id", "1")]);
        drop(tracer.start("plain"));
        let own = [KeyValue::new("run.id", "own")];
        drop(tracer.span_builder("own").with_attributes(own).start(&tracer));
        logger.emit(logger.create_log_record());
    }
    drop(tracer.start("outside"));

    let spans = spans.get_finished_spans().unwrap();
    let value = |span: usize, key: &str| {
        let values: Vec<String> = spans[span]
            .attributes
            .iter()
            .filter(|attribute| attribute.key.as_str() == key)
            .map(|attribute| attribute.value.to_string())
            .collect();
        values
    };
    assert_eq!((value(0, "session.id"), value(0, "run.id")), (vec!["s".into()], vec!["1".into()]));
    assert_eq!(value(1, "run.id"), ["own"]);
    assert!(spans[2].attributes.is_empty());
    let records = records.get_emitted_logs().unwrap();
    let attributes: Vec<_> = records[0].record.attributes_iter().collect();
    assert_eq!(attributes.len(), 2, "{attributes:?}");
}
