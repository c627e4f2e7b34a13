//! Summaries of traces to batches.

use std::sync::Arc;

use arrow_array::builder::{
    FixedSizeBinaryBuilder, ListBuilder, StringBuilder, StringDictionaryBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, TimestampNanosecondArray,
};
use arrow_schema::SchemaRef;
use datafusion::common::Result;

use super::TraceColumn;
use super::summary::{Summary, Text, Texts};

/// The columns of some traces.
pub(super) fn batch(
    traces: &[&Summary],
    texts: &Texts,
    columns: &[TraceColumn],
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let arrays =
        columns.iter().map(|of| column(*of, traces, texts)).collect::<Result<Vec<ArrayRef>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(traces.len()));
    Ok(RecordBatch::try_new_with_options(schema.clone(), arrays, &options)?)
}

fn column(column: TraceColumn, traces: &[&Summary], texts: &Texts) -> Result<ArrayRef> {
    let of_root = |text: fn(&super::summary::Root) -> Option<Text>| -> ArrayRef {
        let mut builder = StringDictionaryBuilder::<Int32Type>::new();
        for trace in traces {
            let text = trace.root.as_ref().and_then(text);
            builder.append_option(text.map(|text| texts.get(text)));
        }
        Arc::new(builder.finish())
    };
    let times = |nanos: fn(&Summary) -> i64| -> ArrayRef {
        let nanos: TimestampNanosecondArray =
            traces.iter().map(|trace| Some(nanos(trace))).collect();
        Arc::new(nanos.with_timezone("UTC"))
    };
    let numbers = |number: fn(&Summary) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(traces.iter().map(|trace| number(trace))))
    };
    Ok(match column {
        TraceColumn::TraceId => {
            let mut builder = FixedSizeBinaryBuilder::with_capacity(traces.len(), 16);
            for trace in traces {
                builder.append_value(trace.trace_id)?;
            }
            Arc::new(builder.finish())
        }
        TraceColumn::RootName => of_root(|root| root.name),
        TraceColumn::RootService => of_root(|root| root.service),
        TraceColumn::Status => of_root(|root| root.status),
        TraceColumn::StartTime => times(|trace| trace.start),
        TraceColumn::EndTime => times(|trace| trace.end),
        TraceColumn::Duration => numbers(|trace| trace.end.saturating_sub(trace.start)),
        TraceColumn::SpanCount => numbers(|trace| trace.spans),
        TraceColumn::ErrorCount => numbers(|trace| trace.errors),
        TraceColumn::ServiceCount => numbers(|trace| trace.services.len() as i64),
        TraceColumn::Services => {
            let mut builder = ListBuilder::new(StringBuilder::new());
            for trace in traces {
                let mut services: Vec<&str> =
                    trace.services.iter().map(|service| texts.get(*service)).collect();
                services.sort_unstable();
                builder.append_value(services.into_iter().map(Some));
            }
            Arc::new(builder.finish())
        }
    })
}
