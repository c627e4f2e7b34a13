//! The spans of one trace, read once and held in memory.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampNanosecondType};
use arrow_array::{Array, RecordBatch};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::execution::memory_pool::MemoryReservation;
use kymo_store::scan::{ColumnRef, Predicate, Prepared, Scalar, Scan, ScanStats};
use kymo_store::schema::Signal;
use kymo_store::snapshot::Snapshot;
use kymo_store::tables::spans::field;
use kymo_traceview::forest::Place;

use crate::scan::reading::{Stop, context};
use crate::state::{QueryState, Reading};

/// A span.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Span {
    pub(super) span_id: [u8; 8],
    pub(super) parent_span_id: Option<[u8; 8]>,
    pub(super) name: Arc<str>,
    pub(super) service: Option<Arc<str>>,
    pub(super) kind: Option<Arc<str>>,
    pub(super) status: Option<Arc<str>>,
    pub(super) start: i64,
    /// As it was sent: less than nothing if its clock went back.
    pub(super) duration: i64,
}

impl Span {
    /// Where it belongs.
    pub(super) fn place(&self) -> Place {
        Place {
            span_id: self.span_id,
            parent_span_id: self.parent_span_id,
            start_nanos: self.start,
            end_nanos: self.start.saturating_add(self.duration.max(0)),
        }
    }

    /// Bytes of one, with what is found out about it.
    fn bytes(&self) -> usize {
        let texts = [Some(&self.name), self.service.as_ref()];
        // Most texts are shared; a name that is not costs its letters.
        2 * size_of::<Self>()
            + 4 * size_of::<Place>()
            + texts.into_iter().flatten().map(|text| text.len()).sum::<usize>()
    }
}

/// What is read.
const COLUMNS: [usize; 8] = [
    field::SPAN_ID,
    field::PARENT_SPAN_ID,
    field::NAME,
    field::SERVICE,
    field::KIND,
    field::STATUS,
    field::START_TIME,
    field::DURATION,
];

/// Reads the spans of a trace, each once, by start.
pub(super) fn read(
    trace_id: [u8; 16],
    snapshot: &Snapshot,
    reading: &Reading,
    state: &QueryState,
    cancel: &Arc<AtomicBool>,
    memory: &MemoryReservation,
) -> Result<Vec<Span>, Stop> {
    let sources = reading.store.sources(snapshot, None)?;
    let id = Scalar::Bytes(trace_id.to_vec());
    let scan = Scan {
        columns: COLUMNS.map(ColumnRef::Field).to_vec(),
        predicate: Some(Predicate::equal(ColumnRef::Field(field::TRACE_ID), id)),
        ..Scan::default()
    };
    let context = context(reading, cancel.clone());
    let prepared = Prepared::new(&sources, Signal::Spans, &scan, context)?;
    let mut spans = HashSet::new();
    let mut stop = None;
    let stats = prepared.run(&mut |batch| {
        Ok(match add(&mut spans, &batch, memory) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                stop = Some(Stop::Batch(error));
                ControlFlow::Break(())
            }
        })
    })?;
    state.scanned(&ScanStats::default(), &stats);
    match stop {
        Some(stop) => Err(stop),
        None => Ok(sorted(spans)),
    }
}

/// By start, the longer first: a parent comes before the children that began with it. Beyond that
/// by what they are, so that the answer does not depend on where they lie.
pub(super) fn sorted(spans: impl IntoIterator<Item = Span>) -> Vec<Span> {
    let mut spans: Vec<Span> = spans.into_iter().collect();
    spans.sort_by(|a, b| {
        let order = a.start.cmp(&b.start).then(b.duration.cmp(&a.duration));
        let order = order.then_with(|| a.span_id.cmp(&b.span_id)).then_with(|| a.name.cmp(&b.name));
        let order = order.then_with(|| a.parent_span_id.cmp(&b.parent_span_id));
        order.then_with(|| (&a.service, &a.kind, &a.status).cmp(&(&b.service, &b.kind, &b.status)))
    });
    spans
}

/// Adds the spans of a batch. Who was sent twice is there once.
fn add(spans: &mut HashSet<Span>, batch: &RecordBatch, memory: &MemoryReservation) -> Result<()> {
    let wrong = || internal_datafusion_err!("a span has other columns");
    let mut ids = [0, 1].map(|place| batch.column(place).as_fixed_size_binary_opt()).into_iter();
    let (Some(Some(own)), Some(Some(parents))) = (ids.next(), ids.next()) else {
        return Err(wrong());
    };
    let starts = batch.column(6).as_primitive_opt::<TimestampNanosecondType>().ok_or_else(wrong)?;
    let durations = batch.column(7).as_primitive_opt::<Int64Type>().ok_or_else(wrong)?;
    let mut texts = Vec::new();
    for place in 2..6 {
        texts.push(Texts::new(batch, place).ok_or_else(wrong)?);
    }
    let mut bytes = 0;
    for row in 0..batch.num_rows() {
        let id = |bytes: &[u8]| <[u8; 8]>::try_from(bytes).map_err(|_| wrong());
        let parent = parents.is_valid(row).then(|| id(parents.value(row))).transpose()?;
        let mut text = |nth: usize| texts[nth].at(row);
        let span = Span {
            span_id: id(own.value(row))?,
            parent_span_id: parent,
            name: text(0).unwrap_or_default(),
            service: text(1),
            kind: text(2),
            status: text(3),
            start: starts.value(row),
            duration: durations.value(row),
        };
        bytes += span.bytes();
        spans.insert(span);
    }
    memory.try_grow(bytes)
}

/// Texts by code, each made once.
struct Texts<'a> {
    codes: &'a arrow_array::Int32Array,
    values: &'a arrow_array::StringArray,
    made: Vec<Option<Arc<str>>>,
}

impl<'a> Texts<'a> {
    fn new(batch: &'a RecordBatch, place: usize) -> Option<Self> {
        let column = batch.column(place).as_dictionary_opt::<Int32Type>()?;
        let values = column.values().as_string_opt()?;
        Some(Self { codes: column.keys(), values, made: vec![None; values.len()] })
    }

    fn at(&mut self, row: usize) -> Option<Arc<str>> {
        let code = self.codes.is_valid(row).then(|| self.codes.value(row) as usize)?;
        Some(self.made[code].get_or_insert_with(|| self.values.value(code).into()).clone())
    }
}
