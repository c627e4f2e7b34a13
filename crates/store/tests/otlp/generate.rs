//! Arbitrary requests from a seed, as clients may send them: all fields, keys of
//! several types, repeated keys, odd times, odd parents.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, EntityRef, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};

use crate::random::Random;

const TEXTS: &[&str] =
    &["", "a", "service.name", "GET /things/{id}", "ü", "日本語", "\0\u{10ffff}"];
const DOUBLES: &[f64] =
    &[0.0, -0.0, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE];
const SOME_TIME_NANOS: u64 = 1_700_000_000_000_000_000;

/// How the requests of one case look.
pub(crate) struct Case {
    pub(crate) random: Random,
    traces: Vec<[u8; 16]>,
    /// Ids of spans so far, from which parents and duplicates are taken.
    span_ids: Vec<[u8; 8]>,
    /// Keys of attributes are drawn from so many.
    keys: u64,
    resources: Vec<Option<Resource>>,
    scopes: Vec<Option<InstrumentationScope>>,
    /// At most so many attributes, events and links.
    most: u64,
}

impl Case {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let r = &mut random;
        let traces = (0..1 + r.below(20)).map(|_| id(r)).collect();
        let keys = *r.pick(&[3, 20, 300, 3000]);
        let resources = (0..4).map(|nth| (nth > 0).then(|| resource(r))).collect();
        let scopes = (0..4).map(|nth| (nth > 0).then(|| scope(r))).collect();
        Self { random, traces, span_ids: vec![[9; 8]], keys, resources, scopes, most: 6 }
    }

    /// Spans with few attributes, so that there can be many of them.
    pub(crate) fn small(seed: u64, traces: usize) -> Self {
        let mut case = Self::new(seed);
        case.traces = (0..traces).map(|_| id(&mut case.random)).collect();
        (case.most, case.keys) = (1, 20);
        case
    }

    /// Spans with up to `most` attributes each, whose keys are drawn from `keys`.
    pub(crate) fn with_keys(seed: u64, keys: u64, most: u64) -> Self {
        Self { keys, most, ..Self::new(seed) }
    }

    pub(crate) fn traces(&mut self, groups: u64, spans: u64) -> ExportTraceServiceRequest {
        let resource_spans = (0..groups).map(|_| ResourceSpans {
            resource: self.random.pick(&self.resources).clone(),
            schema_url: text(&mut self.random),
            scope_spans: (0..1 + self.random.below(3))
                .map(|_| ScopeSpans {
                    scope: self.random.pick(&self.scopes).clone(),
                    schema_url: text(&mut self.random),
                    spans: self.spans(spans),
                })
                .collect(),
        });
        ExportTraceServiceRequest { resource_spans: resource_spans.collect() }
    }

    fn spans(&mut self, at_most: u64) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for _ in 0..self.random.below(at_most + 1) {
            let span = match spans.last() {
                // Sent twice.
                Some(last) if self.random.one_in(30) => last.clone(),
                _ => self.span(),
            };
            spans.push(span);
        }
        spans
    }

    fn span(&mut self) -> Span {
        let span_id = if self.random.one_in(20) { self.known_span() } else { id(&mut self.random) };
        let parent = match self.random.below(8) {
            0 => Vec::new(),
            1 => id::<8>(&mut self.random).to_vec(),
            // Its own parent.
            2 if self.random.one_in(10) => span_id.to_vec(),
            _ => self.known_span().to_vec(),
        };
        self.span_ids.push(span_id);
        let trace_id = self.random.pick(&self.traces).to_vec();
        let attributes = self.attributes();
        let (keys, most) = (self.keys, self.most / 2);
        let r = &mut self.random;
        let start = time(r);
        Span {
            trace_id,
            span_id: span_id.to_vec(),
            trace_state: rarely_text(r),
            parent_span_id: parent,
            flags: rarely(r),
            name: text(r),
            kind: if r.one_in(20) { r.next() as i32 } else { r.below(6) as i32 },
            start_time_unix_nano: start,
            end_time_unix_nano: if r.one_in(10) { time(r) } else { start + r.below(1 << 30) },
            attributes,
            dropped_attributes_count: rarely(r),
            events: r.many(most, |r| event(r, keys)),
            dropped_events_count: rarely(r),
            links: r.many(most, |r| link(r, keys)),
            dropped_links_count: rarely(r),
            status: match r.below(3) {
                0 => None,
                1 => Some(Status { message: String::new(), code: r.below(3) as i32 }),
                _ => Some(Status { message: text(r), code: r.below(5) as i32 - 1 }),
            },
        }
    }

    fn known_span(&mut self) -> [u8; 8] {
        let recent = self.span_ids.len().saturating_sub(200);
        *self.random.pick(&self.span_ids[recent..])
    }

    fn attributes(&mut self) -> Vec<KeyValue> {
        let keys = self.keys;
        let mut list = self.random.many(self.most, |r| key_value(r, keys, 0));
        if self.random.one_in(4) {
            list.extend(list.first().cloned());
        }
        list
    }

    pub(crate) fn logs(&mut self, groups: u64, records: u64) -> ExportLogsServiceRequest {
        let resource_logs = (0..groups).map(|_| ResourceLogs {
            resource: self.random.pick(&self.resources).clone(),
            schema_url: text(&mut self.random),
            scope_logs: (0..1 + self.random.below(3))
                .map(|_| ScopeLogs {
                    scope: self.random.pick(&self.scopes).clone(),
                    schema_url: text(&mut self.random),
                    log_records: (0..self.random.below(records + 1))
                        .map(|_| self.record())
                        .collect(),
                })
                .collect(),
        });
        ExportLogsServiceRequest { resource_logs: resource_logs.collect() }
    }

    fn record(&mut self) -> LogRecord {
        let attributes = self.attributes();
        let trace_id = self.random.pick(&self.traces).to_vec();
        let keys = self.keys;
        let r = &mut self.random;
        LogRecord {
            time_unix_nano: if r.one_in(4) { 0 } else { time(r) },
            observed_time_unix_nano: if r.one_in(4) { 0 } else { time(r) },
            severity_number: if r.one_in(9) { r.next() as i32 } else { r.below(25) as i32 },
            severity_text: text(r),
            body: match r.below(3) {
                0 => None,
                1 => Some(AnyValue { value: Some(Value::StringValue(text(r))) }),
                _ => Some(any_value(r, keys, 0)),
            },
            attributes,
            dropped_attributes_count: rarely(r),
            flags: rarely(r),
            trace_id: if r.one_in(3) { Vec::new() } else { trace_id },
            span_id: if r.one_in(3) { Vec::new() } else { id::<8>(r).to_vec() },
            event_name: rarely_text(r),
        }
    }
}

fn id<const N: usize>(r: &mut Random) -> [u8; N] {
    std::array::from_fn(|nth| if nth == 0 { 1 } else { r.next() as u8 })
}

fn text(r: &mut Random) -> String {
    if r.one_in(8) {
        return "long ".repeat(r.below(60) as usize);
    }
    (*r.pick(TEXTS)).to_owned()
}

fn rarely(r: &mut Random) -> u32 {
    if r.one_in(4) { r.next() as u32 } else { 0 }
}

fn rarely_text(r: &mut Random) -> String {
    if r.one_in(4) { text(r) } else { String::new() }
}

fn time(r: &mut Random) -> u64 {
    match r.below(40) {
        0 => 0,
        1 => r.below(1 << 40),
        // Another day.
        2 => SOME_TIME_NANOS + (1 << 47),
        _ => SOME_TIME_NANOS + r.below(1 << 34),
    }
}

fn key_value(r: &mut Random, keys: u64, depth: u32) -> KeyValue {
    // Low numbers are frequent, high ones rare.
    let number = r.below(keys).min(r.below(keys));
    let key = if r.one_in(50) { String::new() } else { format!("key.{number}") };
    KeyValue {
        key,
        value: if r.one_in(12) { None } else { Some(any_value(r, keys, depth)) },
        key_strindex: if r.one_in(40) { r.next() as i32 } else { 0 },
    }
}

fn any_value(r: &mut Random, keys: u64, depth: u32) -> AnyValue {
    let kinds = if depth < 3 { 11 } else { 9 };
    let value = match r.below(kinds) {
        0 => None,
        1..=3 => Some(Value::StringValue(text(r))),
        4 => Some(Value::BoolValue(r.one_in(2))),
        5 => Some(Value::IntValue(if r.one_in(2) { r.next() as i64 } else { 200 })),
        6 if r.one_in(2) => Some(Value::DoubleValue(f64::from_bits(r.next()))),
        6 => Some(Value::DoubleValue(*r.pick(DOUBLES))),
        7 => Some(Value::BytesValue(r.many(20, |r| r.next() as u8))),
        8 => Some(Value::StringValueStrindex(r.next() as i32)),
        9 => Some(Value::ArrayValue(ArrayValue {
            values: r.many(3, |r| any_value(r, keys, depth + 1)),
        })),
        _ => Some(Value::KvlistValue(KeyValueList {
            values: r.many(3, |r| key_value(r, keys, depth + 1)),
        })),
    };
    AnyValue { value }
}

fn event(r: &mut Random, keys: u64) -> Event {
    Event {
        time_unix_nano: time(r),
        name: text(r),
        attributes: r.many(3, |r| key_value(r, keys, 0)),
        dropped_attributes_count: rarely(r),
    }
}

fn link(r: &mut Random, keys: u64) -> Link {
    Link {
        trace_id: id::<16>(r).to_vec(),
        span_id: id::<8>(r).to_vec(),
        trace_state: rarely_text(r),
        attributes: r.many(2, |r| key_value(r, keys, 0)),
        dropped_attributes_count: rarely(r),
        flags: rarely(r),
    }
}

fn resource(r: &mut Random) -> Resource {
    if r.one_in(4) {
        return Resource::default();
    }
    Resource {
        attributes: r.many(4, |r| key_value(r, 5, 0)),
        dropped_attributes_count: rarely(r),
        entity_refs: r.many(2, |r| EntityRef {
            schema_url: text(r),
            r#type: text(r),
            id_keys: r.many(3, text),
            description_keys: r.many(3, text),
        }),
    }
}

fn scope(r: &mut Random) -> InstrumentationScope {
    InstrumentationScope {
        name: text(r),
        version: text(r),
        attributes: r.many(3, |r| key_value(r, 5, 0)),
        dropped_attributes_count: rarely(r),
    }
}
