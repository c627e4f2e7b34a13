//! What is admitted goes through a real journal into a real store, and comes back.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

#[path = "property/codec.rs"]
mod codec;

use std::sync::Arc;

use bytes::Bytes;
use codec::{compress, deflate_raw};
use kymo_admit::{Admission, Admitted, Compression, Format, Signal, Version};
use kymo_journal::{OsDisk, Record};
use kymo_store::otlp::trace_by_id;
use kymo_store::series::select::select;
use kymo_store::{Options, Store};
use kymo_wire::encode::Writer;
use kymo_wire::remote_write::{RequestWriter, write_label};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;

const TRACE: [u8; 16] = [7; 16];

fn span(number: u8) -> Span {
    Span {
        trace_id: TRACE.to_vec(),
        span_id: vec![number + 1; 8],
        name: format!("span {number}"),
        start_time_unix_nano: 1_700_000_000_000_000_000 + u64::from(number),
        end_time_unix_nano: 1_700_000_000_000_001_000,
        ..Span::default()
    }
}

fn request(spans: Vec<Span>) -> Vec<u8> {
    let scope_spans = vec![ScopeSpans { spans, ..ScopeSpans::default() }];
    let resource_spans = vec![ResourceSpans { scope_spans, ..ResourceSpans::default() }];
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
}

fn json(request: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    kymo_wire::json::encode(Signal::Traces, request, &mut text).unwrap();
    text
}

fn append(store: &Store, admitted: Admitted) {
    let (signal, format) = match admitted.remote_write.map(|request| request.version) {
        None => (kymo_journal::Signal::Traces, kymo_journal::Format::OtlpProtobuf),
        Some(Version::One) => (kymo_journal::Signal::Metrics, kymo_journal::Format::RemoteWrite1),
        Some(Version::Two) => (kymo_journal::Signal::Metrics, kymo_journal::Format::RemoteWrite2),
    };
    let record = Record {
        signal,
        format,
        compression: match admitted.compression {
            Compression::None => kymo_journal::Compression::None,
            Compression::Gzip => kymo_journal::Compression::Gzip,
            Compression::Deflate => kymo_journal::Compression::Deflate,
            Compression::Zstd => kymo_journal::Compression::Zstd,
            Compression::Snappy => kymo_journal::Compression::Snappy,
        },
        tenant: "default",
        body: admitted.body,
        received_nanos: 1,
    };
    store.journal().append(record).unwrap();
}

#[test]
fn every_encoding_that_is_admitted_can_be_read_by_the_store() {
    let mut bodies: Vec<(Format, Compression, Vec<u8>)> = Vec::new();
    let mut sent = Vec::new();
    let mut next = || {
        sent.push(span(sent.len() as u8));
        request(sent[sent.len() - 1..].to_vec())
    };
    for compression in Compression::ALL {
        bodies.push((Format::Protobuf, compression, compress(compression, &next())));
        bodies.push((Format::Json, compression, compress(compression, &json(&next()))));
    }
    bodies.push((Format::Protobuf, Compression::Deflate, deflate_raw(&next())));
    bodies.push((Format::Json, Compression::Deflate, deflate_raw(&json(&next()))));
    for compression in [Compression::Gzip, Compression::Zstd] {
        // Requests one after the other are one request, and so are their compressed forms.
        let parts = [compress(compression, &next()), compress(compression, &next())];
        bodies.push((Format::Protobuf, compression, parts.concat()));
    }

    let directory = tempfile::tempdir().unwrap();
    let disk = Arc::new(OsDisk);
    let store =
        Store::open_dir(disk, directory.path(), None, Default::default(), Options::default())
            .unwrap();
    let admission = Admission::default();
    for (format, compression, body) in bodies {
        let body = Bytes::from(body);
        let admitted =
            admission.admit("default", Signal::Traces, format, compression, body).unwrap();
        append(&store, admitted);
    }
    let snapshot = store.snapshot("default", kymo_store::Signal::Spans).unwrap();
    let sources = store.sources(&snapshot, None).unwrap();
    let trace = trace_by_id(&sources, &TRACE).unwrap().unwrap();
    let mut stored: Vec<Span> = ExportTraceServiceRequest::decode(&trace.body[..])
        .unwrap()
        .resource_spans
        .into_iter()
        .flat_map(|group| group.scope_spans)
        .flat_map(|group| group.spans)
        .collect();
    stored.sort_by(|a, b| a.span_id.cmp(&b.span_id));
    assert_eq!(stored, sent);
}

#[test]
fn what_is_handed_on_fits_the_journal() {
    assert_eq!(kymo_admit::limits::MAX_BODY_BYTES, kymo_journal::limits::MAX_BODY_BYTES);
    assert_eq!(kymo_admit::limits::MAX_TENANT_BYTES, kymo_journal::limits::MAX_TENANT_BYTES);
}

#[test]
fn remote_write_is_read_by_the_store_from_the_journal_and_from_blocks() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Arc::new(OsDisk);
    let store =
        Store::open_dir(disk, directory.path(), None, Default::default(), Options::default())
            .unwrap();
    let admission = Admission::default();
    let time_millis = 1_700_000_000_000;
    let mut one = Writer::new();
    one.message(1, |w| {
        write_label(b"__name__", b"up", w);
        write_label(b"job", b"a", w);
        w.message(2, |w| {
            w.double_field(1, 1.0);
            w.varint_field(2, time_millis as u64);
        });
    });
    let mut two = RequestWriter::new();
    two.series([("__name__", "up"), ("job", "a")], None, |s| s.sample(2.0, time_millis + 1, 0));
    for (version, body) in [(Version::One, one.into_bytes()), (Version::Two, two.finish())] {
        let body = Bytes::from(compress(Compression::Snappy, &body));
        let admitted =
            admission.admit_remote_write("default", version, Compression::Snappy, body).unwrap();
        assert_eq!(admitted.compression, Compression::Snappy);
        append(&store, admitted);
    }
    for is_flushed in [false, true] {
        if is_flushed {
            store.flush().unwrap();
        }
        let snapshot = store.snapshot("default", kymo_store::Signal::Series).unwrap();
        let sources = store.sources(&snapshot, None).unwrap();
        let found = select(&sources, &[], i64::MIN..=i64::MAX).unwrap().series;
        assert_eq!(found.len(), 1);
        let (times, values) = found[0].numbers_f64().unwrap();
        assert_eq!(times, [time_millis * 1_000_000, (time_millis + 1) * 1_000_000]);
        assert_eq!(values, [1.0, 2.0]);
    }
}
