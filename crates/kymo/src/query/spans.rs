//! Spans as a table, a line for each, with what the query names, selects or computes as columns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType, UInt32Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use kymo_engine::traceql::Search;
use kymo_traceql::ast::{Attribute, Body, Intrinsic, Name, Stage};

use super::ask::{Asker, Limited};
use crate::failure::Failure;
use crate::frame::{Reader, in_millis, right};
use crate::sql::answer::Answer;
use crate::units;

/// Columns about the trace, which people see in the table of traces.
const OF_TRACE: [&str; 4] =
    ["root_service", "root_name", "trace_start_time", "trace_duration_nanos"];
/// Which of a trace's spansets a span is in. Mostly there is one.
const SPAN_SET: &str = "span_set";
const START: &str = "start_time";
const DURATION: &str = "duration_nanos";

/// Looks for spans. People get columns that they can read, programs all of them.
pub(super) fn find<'a>(
    asker: &Asker<'a>,
    mut search: Search,
    reader: Reader,
) -> Result<Limited<Answer<'a>>, Failure> {
    if let Body::Spans(pipeline) = &mut search.query.body {
        // A span is shown with its name, also where the query does not speak of it.
        let name = Attribute { of_parent: false, name: Name::Intrinsic(Intrinsic::Name) };
        if !pipeline.attributes().contains(&&name) {
            pipeline.stages.push(Stage::Select(vec![name]));
        }
    }
    let mut spans = asker.spans(search)?;
    if reader.is_person() {
        spans.found = for_people(spans.found)?;
    }
    Ok(spans)
}

/// Leaves out what is about the trace, and gives durations units.
fn for_people(answer: Answer<'_>) -> Result<Answer<'_>, Failure> {
    let Answer { schema, mut batches } = answer;
    // Spansets are told apart if there are several, which the first rows show.
    let first = batches.next().transpose()?;
    let has_sets = first.as_ref().is_some_and(|batch| {
        let sets = batch.column_by_name(SPAN_SET);
        sets.and_then(|sets| sets.as_primitive_opt::<UInt32Type>())
            .is_some_and(|sets| sets.values().iter().any(|set| *set > 0))
    });
    let kept: Vec<usize> = (0..schema.fields().len())
        .filter(|nth| {
            let name = schema.field(*nth).name().as_str();
            !OF_TRACE.contains(&name) && (has_sets || name != SPAN_SET)
        })
        .collect();
    let shown = readable_schema(&schema, &kept);
    let shown_schema = shown.clone();
    let unreadable = |error| Failure::Other(format!("the spans cannot be shown: {error}"));
    let batches = first
        .map(Ok)
        .into_iter()
        .chain(batches)
        .map(move |batch| readable(&batch?, &kept, &shown).map_err(unreadable));
    Ok(Answer { schema: shown_schema, batches: Box::new(batches) })
}

fn readable_schema(schema: &SchemaRef, kept: &[usize]) -> SchemaRef {
    let fields = kept.iter().map(|nth| match schema.field(*nth) {
        field if field.name() == DURATION => Field::new("duration", DataType::Utf8, true),
        field if field.name() == START => Field::new(START, millis(), true),
        field => field.clone(),
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn readable(
    batch: &RecordBatch,
    kept: &[usize],
    schema: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let columns = kept.iter().map(|nth| {
        let column = batch.column(*nth);
        match batch.schema_ref().field(*nth).name().as_str() {
            DURATION => durations(column),
            START => starts(column),
            _ => column.clone(),
        }
    });
    RecordBatch::try_new(schema.clone(), columns.collect())
}

fn millis() -> DataType {
    DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))
}

fn starts(column: &ArrayRef) -> ArrayRef {
    match column.as_primitive_opt::<TimestampNanosecondType>() {
        Some(nanos) => Arc::new(in_millis(nanos.iter())),
        None => new_null_array(&millis(), column.len()),
    }
}

fn durations(column: &ArrayRef) -> ArrayRef {
    let Some(nanos) = column.as_primitive_opt::<Int64Type>() else {
        return Arc::new(StringArray::new_null(column.len()));
    };
    let texts = nanos.iter().map(|nanos| nanos.map(|nanos| units::nanos(i128::from(nanos))));
    Arc::new(StringArray::from(right("duration", texts.collect())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::written;
    use crate::sql::table::Table;
    use kymo_engine::traceql::{FoundSet, FoundSpan, FoundTrace};
    use kymo_server::format::Format;
    use kymo_traceql::value::OwnedValue;

    fn traces(sets: usize) -> Vec<FoundTrace> {
        let span = |id: u8, duration_nanos| FoundSpan {
            span_id: [id; 8],
            name: Some("GET /".to_owned()),
            start_nanos: 1_767_323_045_000_000_000,
            duration_nanos,
            attributes: vec![("http.method".to_owned(), OwnedValue::Text("GET".to_owned()))],
            names: vec!["span.http.method".into()],
        };
        let set = FoundSet {
            matched: 2,
            attributes: Vec::new(),
            spans: vec![span(1, 1_500_000), span(2, 12_000_000_000)],
        };
        vec![FoundTrace {
            trace_id: [7; 16],
            root_service: Some("shop".to_owned()),
            root_name: None,
            start_nanos: 0,
            duration_nanos: 5,
            span_sets: vec![set; sets],
            services: Vec::new(),
            orphans: 0,
            newest_nanos: 0,
        }]
    }

    fn shown(sets: usize) -> String {
        let pieces = kymo_server::spans_table(&traces(sets), Format::Arrow).unwrap().concat();
        let answer = Answer::of_stream(std::io::Cursor::new(pieces)).unwrap();
        written(for_people(answer).unwrap(), &mut Table::new(None))
    }

    #[test]
    fn people_see_spans_with_their_attributes() {
        assert_eq!(
            shown(1),
            "\
trace_id                          span_id           name   start_time            duration  http.method
07070707070707070707070707070707  0101010101010101  GET /  2026-01-02T03:04:05Z   1.50 ms  GET
07070707070707070707070707070707  0202020202020202  GET /  2026-01-02T03:04:05Z    12.0 s  GET
(2 rows)
"
        );
    }

    #[test]
    fn several_spansets_are_told_apart() {
        let shown = shown(2);
        assert!(shown.lines().next().unwrap().contains("span_set"), "{shown}");
        assert!(shown.ends_with("(4 rows)\n"), "{shown}");
    }
}
