//! Requests of a few spans, log records or points, each with a number of its own, and how they are found
//! again: the number is the span id, or an attribute of points, and time and name follow from it.

use std::collections::BTreeMap;

use bytes::Bytes;
use kymo_journal::{Compression, Format, Record};
use kymo_store::block::source::Source;
use kymo_store::column::Values;
use kymo_store::deletion::{Order, Target};
use kymo_store::scan::{ColumnRef, Op, Predicate, Scalar};
use kymo_store::snapshot::Snapshot;
use kymo_store::tables::{logs, series, spans};
use kymo_store::{Signal, Store, StoreError};
use kymo_wire::AnyValueView;
use kymo_wire::encode::{SpanFields, Writer};

use crate::points;

/// Times of sent records begin here: the simulated clock's start, less some days.
pub const START_NANOS: u64 = 1_700_000_000_000_000_000;

/// A record to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Unique.
    pub id: u64,
    /// Its trace.
    pub trace: u64,
    /// Its time.
    pub time_nanos: u64,
}

/// Names end with a number below this.
pub const NAMES: u64 = 11;

/// The condition of the records with a name.
pub fn named(signal: Signal, number: u64) -> Predicate {
    let field = match signal {
        Signal::Spans => spans::field::NAME,
        Signal::Logs => logs::field::BODY,
        Signal::Series => series::field::NAME,
    };
    let value = Scalar::String(name(number));
    Predicate::Compare { column: ColumnRef::Field(field), op: Op::Eq, value }
}

/// The name of a record. None is part of another, so that it can be looked for in files.
pub fn name(id: u64) -> String {
    format!("operation {:02}", id % NAMES)
}

/// The deletion of the records with a name.
pub fn order(signals: &[Signal], number: u64) -> Order {
    let target = |signal: &Signal| Target { signal: *signal, predicate: named(*signal, number) };
    Order {
        by: "the simulation".to_owned(),
        condition: None,
        condition_hash: "sha256:none".to_owned(),
        language: "sql".to_owned(),
        time: None,
        whole_traces: false,
        targets: signals.iter().map(target).collect(),
    }
}

/// Encodes a request.
pub fn encode(signal: Signal, records: &[Sent]) -> Bytes {
    if signal == Signal::Series {
        return points::encode(records);
    }
    let mut w = Writer::new();
    w.resource_group(|w| {
        w.resource(|w| w.resource_attribute(b"service.name", &AnyValueView::String(b"shop")));
        w.scope_group(|w| {
            w.scope(b"library", b"1", |_| ());
            for record in records {
                match signal {
                    Signal::Spans => span(w, record),
                    _ => log_record(w, record),
                }
            }
        });
    });
    w.into_bytes().into()
}

/// A request of spans or log records that is whole until the last attribute of its last record, which is cut short.
pub fn encode_broken(signal: Signal, records: &[Sent]) -> Bytes {
    let attributes = if signal == Signal::Spans { 9 } else { 6 };
    let mut w = Writer::new();
    w.resource_group(|w| {
        w.scope_group(|w| {
            for record in records {
                match signal {
                    Signal::Spans => span(w, record),
                    _ => log_record(w, record),
                }
            }
            w.message(2, |w| {
                w.key_value(attributes, b"whole", &AnyValueView::Int(1));
                w.bytes_field(attributes, &[0x0a, 0x50, b'k']);
            });
        });
    });
    w.into_bytes().into()
}

fn span(w: &mut Writer, record: &Sent) {
    let (name, trace_id) = (name(record.id), u128::from(record.trace + 1).to_be_bytes());
    let span_id = record.id.to_be_bytes();
    let fields = SpanFields {
        trace_id: &trace_id,
        span_id: &span_id,
        name: name.as_bytes(),
        kind: 1 + (record.id % 5) as i32,
        start_time_unix_nano: record.time_nanos,
        end_time_unix_nano: record.time_nanos + record.id % 1000,
        ..SpanFields::default()
    };
    w.span(&fields, |w| {
        w.span_attribute(b"number", &AnyValueView::Int(record.id as i64));
        if record.id.is_multiple_of(3) {
            w.span_attribute(b"name", &AnyValueView::String(name.as_bytes()));
        }
    });
}

fn log_record(w: &mut Writer, record: &Sent) {
    // The numbers of LogRecord's fields in opentelemetry/proto/logs/v1.
    w.message(2, |w| {
        w.fixed64_field(1, record.time_nanos);
        w.log_body(&AnyValueView::String(name(record.id).as_bytes()));
        w.bytes_field(10, &record.id.to_be_bytes());
    });
}

/// A request as the journal takes it.
pub fn record(signal: Signal, tenant: &str, body: Bytes, received_nanos: i64) -> Record<'_> {
    Record {
        signal: match signal {
            Signal::Spans => kymo_journal::Signal::Traces,
            Signal::Logs => kymo_journal::Signal::Logs,
            Signal::Series => kymo_journal::Signal::Metrics,
        },
        format: Format::OtlpProtobuf,
        compression: Compression::None,
        tenant,
        body,
        received_nanos: received_nanos as u64,
    }
}

/// How often each record is there, by its number and time.
pub type Found = BTreeMap<(u64, u64), usize>;

/// How often each record is there. Blocks that cannot be read are left out, as
/// every query leaves them out.
pub fn found(store: &Store, snapshot: &Snapshot) -> Result<Found, StoreError> {
    found_in(snapshot.signal, &store.sources(snapshot, None)?)
}

/// As [`found`], in sources that were opened before.
pub fn found_in(signal: Signal, sources: &[Source]) -> Result<Found, StoreError> {
    let mut counts = BTreeMap::new();
    for source in sources {
        match rows(signal, source) {
            Ok(rows) => rows.into_iter().for_each(|row| *counts.entry(row).or_default() += 1),
            Err(StoreError::Corrupt(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(counts)
}

/// Number and time of each row of a source.
fn rows(signal: Signal, source: &Source) -> Result<Vec<(u64, u64)>, StoreError> {
    if signal == Signal::Series {
        return points::rows(source);
    }
    let (id, time, text) = match signal {
        Signal::Spans => (spans::field::SPAN_ID, spans::field::START_TIME, spans::field::NAME),
        _ => (logs::field::SPAN_ID, logs::field::TIME, logs::field::BODY),
    };
    let ids = source.field(id)?.expect("every row has an id");
    let times = source.field(time)?.expect("every row has a time");
    let texts = source.field(text)?.expect("every row has a text");
    let (Values::Id8(ids), Values::Int(times), Values::Bytes(codes, dict)) =
        (&ids.values, &times.values, &texts.values)
    else {
        panic!("columns have the types of their table");
    };
    assert!(ids.len() == source.rows() && times.len() == ids.len() && codes.len() == ids.len());
    let rows = ids.iter().zip(times).zip(codes).map(|((id, time), code)| {
        let id = u64::from_be_bytes(*id);
        assert_eq!(dict.get(*code), name(id).as_bytes(), "the text of record {id}");
        (id, *time as u64)
    });
    let hidden = if let Source::Block(block) = source { block.hidden() } else { None };
    let is_shown = |row: usize| hidden.is_none_or(|hidden| !hidden[row]);
    Ok(rows.enumerate().filter(|(row, _)| is_shown(*row)).map(|(_, shown)| shown).collect())
}
