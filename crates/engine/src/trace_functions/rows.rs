//! Rows of trees and paths to batches.

use std::sync::Arc;

use arrow_array::builder::{FixedSizeBinaryBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, TimestampNanosecondArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::common::Result;
use kymo_traceview::forest::Forest;
use kymo_traceview::path::Stretch;
use kymo_traceview::rows::Row;

use super::spans::Span;
use crate::limits::TREE_MAX_INDENT;
use crate::tables::text_type;

/// Columns around those that tell of the span.
fn schema_of(before: &[(&str, DataType)], behind: &[(&str, DataType)]) -> SchemaRef {
    let of_span = [
        ("span_id", DataType::FixedSizeBinary(8)),
        ("parent_span_id", DataType::FixedSizeBinary(8)),
        ("name", text_type()),
        ("service", text_type()),
        ("kind", text_type()),
        ("status", text_type()),
    ];
    let field = |(name, data_type): &(&str, DataType)| Field::new(*name, data_type.clone(), true);
    let columns = before.iter().chain(&of_span).chain(behind);
    Arc::new(Schema::new(columns.map(field).collect::<Vec<_>>()))
}

fn time_type() -> DataType {
    DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
}

/// Columns of `trace_tree`.
pub(super) fn tree_schema() -> SchemaRef {
    let before =
        [("position", DataType::Int64), ("depth", DataType::Int64), ("tree", DataType::Utf8)];
    let behind = [
        ("start_time", time_type()),
        ("end_time", time_type()),
        ("offset_nanos", DataType::Int64),
        ("duration_nanos", DataType::Int64),
        ("self_nanos", DataType::Int64),
        ("child_count", DataType::Int64),
        ("descendant_count", DataType::Int64),
        ("note", text_type()),
    ];
    schema_of(&before, &behind)
}

/// Columns of `critical_path`.
pub(super) fn path_schema() -> SchemaRef {
    let before = [("position", DataType::Int64), ("depth", DataType::Int64)];
    let behind = [
        ("from_time", time_type()),
        ("to_time", time_type()),
        ("self_nanos", DataType::Int64),
        ("share", DataType::Float64),
        ("slack_nanos", DataType::Int64),
    ];
    schema_of(&before, &behind)
}

/// Rows of a tree from the position `first` on.
pub(super) fn tree_batch(
    spans: &[Span],
    forest: &Forest,
    rows: &[Row],
    first: usize,
) -> Result<RecordBatch> {
    let span = |row: &Row| &spans[row.span as usize];
    let begin = spans.first().map_or(0, |span| span.start);
    let numbers = |number: &dyn Fn(&Row) -> i64| integers(rows.iter().map(number));
    let mut tree = StringBuilder::new();
    for row in rows {
        let indent = "  ".repeat(row.depth.min(TREE_MAX_INDENT) as usize);
        tree.append_value(format!("{indent}{}", span(row).name));
    }
    let notes = rows.iter().map(|row| forest.notes[row.span as usize].text());
    let mut columns: Vec<ArrayRef> = vec![
        integers((first..).take(rows.len()).map(|nth| nth as i64 + 1)),
        numbers(&|row| i64::from(row.depth)),
        Arc::new(tree.finish()),
    ];
    columns.extend(of_spans(rows.iter().map(|row| Some(span(row))))?);
    columns.extend([
        times(rows.iter().map(|row| span(row).start)),
        times(rows.iter().map(|row| span(row).start.saturating_add(span(row).duration))),
        numbers(&|row| span(row).start.saturating_sub(begin)),
        numbers(&|row| span(row).duration),
        numbers(&|row| row.self_nanos),
        numbers(&|row| i64::from(row.children)),
        numbers(&|row| i64::from(row.descendants)),
        texts(notes),
    ]);
    Ok(RecordBatch::try_new(tree_schema(), columns)?)
}

/// Rows of a path of `whole_nanos` from the position `first` on.
pub(super) fn path_batch(
    spans: &[Span],
    rows: &[Stretch],
    first: usize,
    whole_nanos: i64,
) -> Result<RecordBatch> {
    let span = |row: &Stretch| row.span.map(|span| &spans[span as usize]);
    let nanos = |row: &Stretch| row.to_nanos.saturating_sub(row.from_nanos);
    let share = |row: &Stretch| nanos(row) as f64 / whole_nanos.max(1) as f64;
    let mut columns: Vec<ArrayRef> = vec![
        integers((first..).take(rows.len()).map(|nth| nth as i64 + 1)),
        Arc::new(
            rows.iter().map(|row| row.span.map(|_| i64::from(row.depth))).collect::<Int64Array>(),
        ),
    ];
    columns.extend(of_spans(rows.iter().map(span))?);
    let slack = rows.iter().map(|row| row.span.map(|_| row.room_nanos));
    columns.extend([
        times(rows.iter().map(|row| row.from_nanos)),
        times(rows.iter().map(|row| row.to_nanos)),
        integers(rows.iter().map(nanos)),
        Arc::new(Float64Array::from_iter_values(rows.iter().map(share))),
        Arc::new(slack.collect::<Int64Array>()),
    ]);
    Ok(RecordBatch::try_new(path_schema(), columns)?)
}

/// What the spans of rows are; NULL where a row has none.
fn of_spans<'s>(spans: impl Iterator<Item = Option<&'s Span>> + Clone) -> Result<[ArrayRef; 6]> {
    Ok([
        ids(spans.clone().map(|span| Some(span?.span_id)))?,
        ids(spans.clone().map(|span| span?.parent_span_id))?,
        texts(spans.clone().map(|span| Some(&*span?.name))),
        texts(spans.clone().map(|span| span?.service.as_deref())),
        texts(spans.clone().map(|span| span?.kind.as_deref())),
        texts(spans.map(|span| span?.status.as_deref())),
    ])
}

fn integers(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn times(nanos: impl Iterator<Item = i64>) -> ArrayRef {
    let times: TimestampNanosecondArray = nanos.map(Some).collect();
    Arc::new(times.with_timezone("UTC"))
}

fn ids(values: impl Iterator<Item = Option<[u8; 8]>>) -> Result<ArrayRef> {
    let mut builder = FixedSizeBinaryBuilder::new(8);
    for value in values {
        match value {
            Some(id) => builder.append_value(id)?,
            None => builder.append_null(),
        }
    }
    Ok(Arc::new(builder.finish()))
}

fn texts<'t>(values: impl Iterator<Item = Option<&'t str>>) -> ArrayRef {
    let mut builder = StringDictionaryBuilder::<Int32Type>::new();
    values.for_each(|value| builder.append_option(value));
    Arc::new(builder.finish())
}
