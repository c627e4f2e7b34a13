//! Input that is odd, large or wrong goes through the whole store: admission,
//! journal, head, flush, compaction, a restart. What is admitted comes back as
//! it was sent; what is not is refused with its reason; nothing panics.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use kymo_journal::{Compression, Format, OsDisk, Record};
use kymo_store::block::read::Block;
use kymo_store::compact::Effort;
use kymo_store::otlp::trace_by_id;
use kymo_store::{Options, Signal, Store};
use kymo_wire::Limits;
use kymo_wire::inspect::inspect_traces;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;

const TRACE: [u8; 16] = [7; 16];

fn open(dir: &Path) -> Store {
    Store::open_dir(Arc::new(OsDisk), dir, None, Default::default(), Options::default()).unwrap()
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

fn span(number: u64) -> Span {
    Span {
        trace_id: TRACE.to_vec(),
        span_id: (number + 1).to_be_bytes().to_vec(),
        name: format!("span {number}"),
        start_time_unix_nano: 1_700_000_000_000_000_000 + number,
        end_time_unix_nano: 1_700_000_000_000_001_000 + number,
        ..Span::default()
    }
}

fn request(spans: Vec<Span>) -> Vec<u8> {
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource {
                attributes: vec![attribute("service.name", Value::StringValue("odd".into()))],
                ..Resource::default()
            }),
            scope_spans: vec![ScopeSpans { spans, ..ScopeSpans::default() }],
            ..ResourceSpans::default()
        }],
    }
    .encode_to_vec()
}

fn append(store: &Store, body: &[u8]) {
    let inspected = inspect_traces(body, &Limits::default()).unwrap();
    store
        .journal()
        .append(Record {
            signal: kymo_journal::Signal::Traces,
            format: Format::OtlpProtobuf,
            compression: Compression::None,
            tenant: "default",
            body: Bytes::from(inspected.body.into_owned()),
            received_nanos: 1,
        })
        .unwrap();
}

fn stored(store: &Store) -> Vec<Span> {
    let snapshot = store.snapshot("default", Signal::Spans).unwrap();
    let sources = store.sources(&snapshot, None).unwrap();
    let Some(trace) = trace_by_id(&sources, &TRACE).unwrap() else { return Vec::new() };
    let mut spans: Vec<Span> = ExportTraceServiceRequest::decode(&trace.body[..])
        .unwrap()
        .resource_spans
        .into_iter()
        .flat_map(|r| r.scope_spans)
        .flat_map(|s| s.spans)
        .collect();
    spans.sort_by(|a, b| a.span_id.cmp(&b.span_id));
    spans
}

/// Sends the spans and finds them in the head, in a block, after compaction with
/// another block, and after a restart.
fn come_back(spans: Vec<Span>) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    append(&store, &request(spans.clone()));
    assert!(stored(&store) == spans, "in the head");
    store.flush().unwrap();
    assert!(stored(&store) == spans, "in a block");
    append(&store, &request(vec![Span { trace_id: vec![9; 16], ..spans[0].clone() }]));
    store.flush().unwrap();
    let compacted = store.compact(Effort::Everything).unwrap();
    assert_eq!((compacted.inputs, compacted.outputs), (2, 1));
    assert!(stored(&store) == spans, "after compaction");
    store.close().unwrap();
    assert!(stored(&open(dir.path())) == spans, "after a restart");
}

#[test]
fn a_value_of_a_megabyte_comes_back() {
    let text = "x".repeat(1 << 20);
    let attributes = vec![attribute("big", Value::StringValue(text))];
    come_back(vec![Span { attributes, ..span(0) }]);
}

#[test]
fn a_hundred_thousand_attributes_of_one_span_come_back() {
    let attributes =
        (0..100_000).map(|i| attribute(&format!("key.{i}"), Value::IntValue(i))).collect();
    come_back(vec![Span { attributes, ..span(0) }]);
}

#[test]
fn a_hundred_thousand_keys_over_many_spans_come_back() {
    let spans = (0..1000u64).map(|n| Span {
        attributes: (0..100)
            .map(|i| attribute(&format!("key.{}", n * 100 + i), Value::IntValue(i as i64)))
            .collect(),
        ..span(n)
    });
    come_back(spans.collect());
}

#[test]
fn a_key_of_every_type_comes_back_with_each_value_as_sent() {
    let values = [
        Value::IntValue(1),
        Value::DoubleValue(1.0),
        Value::StringValue("1".into()),
        Value::BoolValue(true),
        Value::BytesValue(vec![1]),
        Value::DoubleValue(-0.0),
        Value::IntValue(i64::MIN),
        Value::StringValue(String::new()),
    ];
    let spans = values
        .into_iter()
        .enumerate()
        .map(|(n, value)| Span { attributes: vec![attribute("k", value)], ..span(n as u64) });
    come_back(spans.collect());
}

#[test]
fn repeated_keys_and_empty_values_keep_their_order() {
    let attributes = vec![
        attribute("k", Value::IntValue(1)),
        attribute("", Value::StringValue("no key".into())),
        attribute("k", Value::IntValue(2)),
        KeyValue {
            key: "empty".into(),
            value: Some(AnyValue { value: None }),
            ..KeyValue::default()
        },
        attribute("k", Value::StringValue("three".into())),
        attribute("k", Value::IntValue(1)),
    ];
    come_back(vec![Span { attributes, ..span(0) }]);
}

#[test]
fn times_of_zero_and_an_end_before_the_start_come_back() {
    let zero = Span { start_time_unix_nano: 0, end_time_unix_nano: 0, ..span(0) };
    let backwards = Span { start_time_unix_nano: 5_000, end_time_unix_nano: 1, ..span(1) };
    come_back(vec![zero, backwards]);
}

#[test]
fn spans_of_a_thousand_days_come_back_and_share_few_blocks() {
    const DAY_NANOS: u64 = 86_400_000_000_000;
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let spans: Vec<Span> = (0..1000u64)
        .map(|day| {
            let start = 1_600_000_000_000_000_000 + day * DAY_NANOS;
            let mut trace_id = TRACE.to_vec();
            trace_id[..8].copy_from_slice(&day.to_be_bytes());
            let (start_time_unix_nano, end_time_unix_nano) = (start, start + 1);
            Span { trace_id, start_time_unix_nano, end_time_unix_nano, ..span(day) }
        })
        .collect();
    append(&store, &request(spans));
    store.flush().unwrap();
    let snapshot = store.snapshot("default", Signal::Spans).unwrap();
    assert!(snapshot.blocks().count() <= 4);
    store.compact(Effort::Everything).unwrap();
    let snapshot = store.snapshot("default", Signal::Spans).unwrap();
    let rows: u64 = snapshot.blocks().map(|b| b.rows).sum();
    assert_eq!(rows, 1000);
    assert!(snapshot.blocks().all(|b| b.max_time_nanos - b.min_time_nanos < DAY_NANOS as i64));
}

#[test]
fn a_block_of_a_newer_version_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    append(&store, &request(vec![span(0)]));
    store.flush().unwrap();
    let objects = store.objects();
    let path = objects.list("default/spans").unwrap().remove(0).path;
    let mut footer = Block::open(objects.clone(), &path, None).unwrap().footer().clone();
    let written = footer.to_text();
    footer.least_reader += 1;
    let newer = footer.to_text();
    let mut bytes = objects.get(&path).unwrap().to_vec();
    let at = bytes.windows(written.len()).position(|w| w == written.as_bytes()).unwrap();
    bytes[at..at + newer.len()].copy_from_slice(newer.as_bytes());
    objects.put(&path, bytes.into()).unwrap();
    let message = Block::open(objects.clone(), &path, None).unwrap_err().to_string();
    assert!(message.contains("newer version") && message.contains(&path), "{message}");
}

#[test]
fn a_request_that_cannot_be_decoded_keeps_no_other_from_being_stored() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    append(&store, &request(vec![span(0)]));
    store
        .journal()
        .append(Record {
            signal: kymo_journal::Signal::Traces,
            format: Format::OtlpProtobuf,
            compression: Compression::Gzip,
            tenant: "default",
            body: Bytes::from_static(b"never was gzip"),
            received_nanos: 1,
        })
        .unwrap();
    append(&store, &request(vec![span(1)]));
    assert_eq!(stored(&store), [span(0), span(1)]);
    let undecodable = &store.counters().requests_undecodable;
    assert_eq!(undecodable.total(), 1);
}

#[test]
fn compressed_and_json_requests_are_stored() {
    use std::io::Write;
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let zstd = zstd::encode_all(&request(vec![span(0)])[..], 1).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&request(vec![span(1)])).unwrap();
    let mut json = Vec::new();
    kymo_wire::json::encode(kymo_wire::Signal::Traces, &request(vec![span(2)]), &mut json).unwrap();
    for (format, compression, body) in [
        (Format::OtlpProtobuf, Compression::Zstd, zstd),
        (Format::OtlpProtobuf, Compression::Gzip, gzip.finish().unwrap()),
        (Format::OtlpJson, Compression::None, json),
    ] {
        let record = Record {
            signal: kymo_journal::Signal::Traces,
            format,
            compression,
            tenant: "default",
            body: body.into(),
            received_nanos: 1,
        };
        store.journal().append(record).unwrap();
    }
    assert_eq!(stored(&store), [span(0), span(1), span(2)]);
}

#[test]
fn tenants_see_only_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for tenant in ["a", "b/../c", ""] {
        let record = Record {
            signal: kymo_journal::Signal::Traces,
            format: Format::OtlpProtobuf,
            compression: Compression::None,
            tenant,
            body: Bytes::from(request(vec![Span { name: tenant.into(), ..span(0) }])),
            received_nanos: 1,
        };
        store.journal().append(record).unwrap();
    }
    store.flush().unwrap();
    assert_eq!(store.tenants().unwrap(), ["", "a", "b/../c"]);
    for tenant in ["a", "b/../c", ""] {
        let snapshot = store.snapshot(tenant, Signal::Spans).unwrap();
        let sources = store.sources(&snapshot, None).unwrap();
        let trace = trace_by_id(&sources, &TRACE).unwrap().unwrap();
        assert_eq!(trace.spans, 1);
    }
}

#[test]
fn a_span_sent_twice_is_stored_once_after_compaction() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    append(&store, &request(vec![span(0), span(1)]));
    store.flush().unwrap();
    append(&store, &request(vec![span(1), span(2)]));
    store.flush().unwrap();
    assert_eq!(stored(&store), [span(0), span(1), span(2)], "once for a reader all the time");
    store.compact(Effort::Everything).unwrap();
    let snapshot = store.snapshot("default", Signal::Spans).unwrap();
    assert_eq!(snapshot.blocks().map(|b| b.rows).sum::<u64>(), 3);
}
