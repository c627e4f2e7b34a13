//! Found spans as a flat table: what a search gives whoever wants to compute with it.
//!
//! A row is a span of a spanset of a trace. What a query names, selects or computes is a column of
//! its own, of the type that its values have; a mixture of types is text. Columns and their types
//! are known when all is found, so nothing is sent before.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, FixedSizeBinaryBuilder, Float64Builder, Int64Builder, StringBuilder,
    TimestampNanosecondBuilder, UInt32Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use bytes::Bytes;
use kymo_engine::traceql::{FoundSet, FoundSpan, FoundTrace};
use kymo_traceql::value::OwnedValue;

use crate::format::Format;
use crate::limits::TABLE_BATCH_ROWS;

/// Columns that every table has.
const FIXED: [&str; 10] = [
    "trace_id",
    "root_service",
    "root_name",
    "trace_start_time",
    "trace_duration_nanos",
    "span_set",
    "span_id",
    "name",
    "start_time",
    "duration_nanos",
];

/// A row.
#[derive(Clone, Copy)]
struct Row<'a> {
    trace: &'a FoundTrace,
    /// Which of the trace's spansets, and that.
    nth: usize,
    set: &'a FoundSet,
    span: &'a FoundSpan,
}

impl<'a> Row<'a> {
    fn all(traces: &'a [FoundTrace]) -> impl Iterator<Item = Self> {
        traces.iter().flat_map(|trace| {
            let sets = trace.span_sets.iter().enumerate();
            sets.flat_map(move |(nth, set)| {
                set.spans.iter().map(move |span| Self { trace, nth, set, span })
            })
        })
    }

    /// Keys and values that are columns: those of the spanset, then those of the span.
    fn attributes(self) -> impl Iterator<Item = &'a (String, OwnedValue)> {
        self.set.attributes.iter().chain(&self.span.attributes)
    }
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Float,
    Bool,
    Text,
}

impl Kind {
    fn of(value: &OwnedValue) -> Option<Self> {
        match value {
            OwnedValue::Nil => None,
            OwnedValue::Int(_) => Some(Self::Int),
            OwnedValue::Float(_) => Some(Self::Float),
            OwnedValue::Bool(_) => Some(Self::Bool),
            _ => Some(Self::Text),
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Int => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Bool => DataType::Boolean,
            Self::Text => DataType::Utf8,
        }
    }
}

/// Columns of attributes in the order of their first values.
fn columns(traces: &[FoundTrace]) -> Vec<(&str, Kind)> {
    let mut columns: Vec<(&str, Option<Kind>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (key, value) in Row::all(traces).flat_map(Row::attributes) {
        let place = *places.entry(key).or_insert_with(|| {
            columns.push((key, None));
            columns.len() - 1
        });
        let known = &mut columns[place].1;
        *known = match (*known, Kind::of(value)) {
            (None, kind) | (kind, None) => kind,
            (Some(one), Some(other)) if one == other => Some(one),
            _ => Some(Kind::Text),
        };
    }
    columns.into_iter().map(|(key, kind)| (key, kind.unwrap_or(Kind::Text))).collect()
}

fn schema(columns: &[(&str, Kind)]) -> SchemaRef {
    let time = || DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    let fixed = FIXED.map(|name| {
        let data_type = match name {
            "trace_id" => DataType::FixedSizeBinary(16),
            "span_id" => DataType::FixedSizeBinary(8),
            "trace_start_time" | "start_time" => time(),
            "trace_duration_nanos" | "duration_nanos" => DataType::Int64,
            "span_set" => DataType::UInt32,
            _ => DataType::Utf8,
        };
        Field::new(name, data_type, matches!(name, "root_service" | "root_name" | "name"))
    });
    let named = columns.iter().map(|(key, kind)| {
        // An attribute may have the name of a column.
        let name = match FIXED.contains(key) {
            true => format!("attributes.{key}"),
            false => (*key).to_owned(),
        };
        Field::new(name, kind.data_type(), true)
    });
    Arc::new(Schema::new(fixed.into_iter().chain(named).collect::<Vec<_>>()))
}

/// The table of some traces in pieces: a beginning, one for each batch of rows, an end.
pub fn pieces(traces: &[FoundTrace], format: Format) -> Result<Vec<Bytes>, ArrowError> {
    let columns = columns(traces);
    let schema = schema(&columns);
    let mut encoder = format.encoder();
    let mut pieces = vec![encoder.begin(&schema)?.into()];
    let mut rows = Row::all(traces).peekable();
    while rows.peek().is_some() {
        let some: Vec<Row<'_>> = rows.by_ref().take(TABLE_BATCH_ROWS).collect();
        pieces.push(encoder.batch(&batch(&some, &columns, &schema)?)?.into());
    }
    pieces.push(encoder.end()?.into());
    Ok(pieces)
}

fn batch(
    rows: &[Row<'_>],
    columns: &[(&str, Kind)],
    schema: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let mut arrays = fixed(rows)?;
    arrays.extend(columns.iter().map(|(key, kind)| attribute(rows, key, *kind)));
    RecordBatch::try_new(schema.clone(), arrays)
}

fn fixed(rows: &[Row<'_>]) -> Result<Vec<ArrayRef>, ArrowError> {
    let time = || TimestampNanosecondBuilder::with_capacity(rows.len()).with_timezone("UTC");
    let text = || StringBuilder::with_capacity(rows.len(), rows.len() * 16);
    let mut trace_ids = FixedSizeBinaryBuilder::with_capacity(rows.len(), 16);
    let mut span_ids = FixedSizeBinaryBuilder::with_capacity(rows.len(), 8);
    let (mut root_services, mut root_names, mut names) = (text(), text(), text());
    let (mut trace_starts, mut starts) = (time(), time());
    let mut trace_durations = Int64Builder::with_capacity(rows.len());
    let mut durations = Int64Builder::with_capacity(rows.len());
    let mut sets = UInt32Builder::with_capacity(rows.len());
    for Row { trace, nth, span, .. } in rows {
        trace_ids.append_value(trace.trace_id)?;
        root_services.append_option(trace.root_service.as_deref());
        root_names.append_option(trace.root_name.as_deref());
        trace_starts.append_value(trace.start_nanos);
        trace_durations.append_value(trace.duration_nanos);
        sets.append_value(u32::try_from(*nth).unwrap_or(u32::MAX));
        span_ids.append_value(span.span_id)?;
        names.append_option(span.name.as_deref());
        starts.append_value(span.start_nanos);
        durations.append_value(span.duration_nanos);
    }
    Ok(vec![
        Arc::new(trace_ids.finish()),
        Arc::new(root_services.finish()),
        Arc::new(root_names.finish()),
        Arc::new(trace_starts.finish()),
        Arc::new(trace_durations.finish()),
        Arc::new(sets.finish()),
        Arc::new(span_ids.finish()),
        Arc::new(names.finish()),
        Arc::new(starts.finish()),
        Arc::new(durations.finish()),
    ])
}

fn attribute(rows: &[Row<'_>], key: &str, kind: Kind) -> ArrayRef {
    let values = rows.iter().map(|row| {
        let mut attributes = row.attributes();
        attributes.find(|(name, _)| name == key).map(|(_, value)| value)
    });
    match kind {
        Kind::Int => {
            let mut column = Int64Builder::with_capacity(rows.len());
            values.for_each(|value| {
                column.append_option(match value {
                    Some(OwnedValue::Int(number)) => Some(*number),
                    _ => None,
                });
            });
            Arc::new(column.finish())
        }
        Kind::Float => {
            let mut column = Float64Builder::with_capacity(rows.len());
            values.for_each(|value| {
                column.append_option(match value {
                    Some(OwnedValue::Float(number)) => Some(*number),
                    _ => None,
                });
            });
            Arc::new(column.finish())
        }
        Kind::Bool => {
            let mut column = BooleanBuilder::with_capacity(rows.len());
            values.for_each(|value| {
                column.append_option(match value {
                    Some(OwnedValue::Bool(flag)) => Some(*flag),
                    _ => None,
                });
            });
            Arc::new(column.finish())
        }
        Kind::Text => {
            let mut column = StringBuilder::with_capacity(rows.len(), rows.len() * 16);
            values.for_each(|value| match value {
                None | Some(OwnedValue::Nil) => column.append_null(),
                Some(OwnedValue::Text(text)) => column.append_value(text),
                Some(other) => column.append_value(other.to_string()),
            });
            Arc::new(column.finish())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tempo::convert::tests::found;
    use arrow_array::cast::AsArray;
    use arrow_ipc::reader::StreamReader;

    fn written(traces: &[FoundTrace], format: Format) -> Vec<u8> {
        pieces(traces, format).unwrap().concat()
    }

    #[test]
    fn spans_are_rows_of_csv() {
        let text = String::from_utf8(written(&found().traces, Format::Csv)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let header = "trace_id,root_service,root_name,trace_start_time,trace_duration_nanos,\
                      span_set,span_id,name,start_time,duration_nanos,count(),status,took,num,\
                      ratio,flag,none,list";
        assert_eq!(lines[0], header);
        let row = "000000000000000a0000000000000001,,,2026-01-02T03:04:05.000000000Z,1999999999,\
                   0,000000000000002a,\"GET \"\"/\"\"\",2026-01-02T03:04:05.000000001Z,1500000,\
                   3,error,1.5ms,-7,0.5,false,,\"[1, ]\"";
        assert_eq!(lines[1], row);
        assert_eq!(lines.len(), 2);
        let empty = String::from_utf8(written(&[], Format::Csv)).unwrap();
        assert_eq!(empty.trim_end(), FIXED.join(","));
    }

    #[test]
    fn columns_have_the_type_of_their_values_and_mixtures_are_text() {
        let mut traces = found().traces;
        let mut other = traces[0].clone();
        let span = &mut other.span_sets[0].spans[0];
        span.attributes = vec![
            ("num".to_owned(), OwnedValue::Text("many".to_owned())),
            ("ratio".to_owned(), OwnedValue::Float(2.0)),
            ("name".to_owned(), OwnedValue::Int(5)),
        ];
        traces.push(other);
        let bytes = written(&traces, Format::Arrow);
        let batches: Vec<RecordBatch> =
            StreamReader::try_new(&bytes[..], None).unwrap().map(Result::unwrap).collect();
        let batch = &batches[0];
        assert_eq!((batches.len(), batch.num_rows()), (1, 2));
        let texts = batch.column_by_name("num").unwrap().as_string::<i32>();
        assert_eq!((texts.value(0), texts.value(1)), ("-7", "many"));
        let numbers = batch.column_by_name("ratio").unwrap();
        let numbers = numbers.as_primitive::<arrow_array::types::Float64Type>();
        assert_eq!(numbers.values(), &[0.5, 2.0]);
        assert!(batch.column_by_name("flag").unwrap().is_null(1));
        assert_eq!(batch.column_by_name("attributes.name").unwrap().data_type(), &DataType::Int64);
    }
}
