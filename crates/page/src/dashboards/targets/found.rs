//! Traces that a search found, as tables: a row for each span, or for each trace.
//!
//! Columns are Tempo's, in its order, so that transformations written for it find them. Values keep
//! their types, and 0, false and empty texts are values.

use std::collections::BTreeMap;
use std::sync::Arc;

use kymo_dash::frame::{Field, Frame, Kind, Value};
use kymo_engine::traceql::{FoundSpan, FoundTrace};
use kymo_traceql::metrics::Series;
use kymo_traceql::{Element, OwnedValue};
use serde_json::json;

use super::series::millis;
use crate::dashboards::limits::MAX_ROWS;

/// A row for each span, and how many matching spans are left out.
pub(super) fn spans(traces: &[FoundTrace]) -> (Frame, usize) {
    spans_within(traces, MAX_ROWS)
}

/// The same with so many rows at most.
fn spans_within(traces: &[FoundTrace], most_rows: usize) -> (Frame, usize) {
    let mut rows: Vec<(&FoundTrace, &FoundSpan)> = Vec::new();
    let mut left_out = 0;
    for trace in traces {
        for set in &trace.span_sets {
            left_out += set.matched.saturating_sub(set.spans.len());
            rows.extend(set.spans.iter().map(|span| (trace, span)));
        }
    }
    left_out += rows.len().saturating_sub(most_rows);
    rows.truncate(most_rows);
    let has_names = rows.iter().any(|(_, span)| span.name.is_some());
    let text =
        |value: Option<&String>| value.map(|text| Value::from(text.as_str())).unwrap_or_default();
    let column =
        |name: &str, shown: &str, kind, cell: &dyn Fn(&FoundTrace, &FoundSpan) -> Value| {
            let cells = rows.iter().map(|(trace, span)| cell(trace, span)).collect();
            Field::new(name, kind, cells).with_config("displayNameFromDS", shown)
        };
    let mut fields = vec![
        column("traceIdHidden", "Trace ID", Kind::String, &|trace, _| hex(&trace.trace_id))
            .with_config("custom", json!({"hidden": true, "hideFrom": {"viz": true}})),
        column("traceService", "Trace Service", Kind::String, &|trace, _| {
            text(trace.root_service.as_ref())
        }),
        column("traceName", "Trace Name", Kind::String, &|trace, _| text(trace.root_name.as_ref())),
        column("spanID", "Span ID", Kind::String, &|_, span| hex(&span.span_id))
            .with_config("links", span_links()),
        column("time", "Start time", Kind::Time, &|_, span| millis(span.start_nanos)),
    ];
    if has_names {
        fields.push(column("name", "Name", Kind::String, &|_, span| text(span.name.as_ref())));
    }
    let attributes: Vec<&[(String, OwnedValue)]> =
        rows.iter().map(|(_, span)| span.attributes.as_slice()).collect();
    fields.extend(attribute_columns(&attributes));
    fields.push(
        column("duration", "Duration", Kind::Number, &|_, span| {
            Value::Number(span.duration_nanos as f64)
        })
        .with_config("unit", "ns"),
    );
    (Frame::new(fields), left_out)
}

/// A link to the span in its trace: the page puts the ids in.
fn span_links() -> serde_json::Value {
    json!([{"title": "Open trace", "url": "/trace/${__data.fields.traceIdHidden}?span=${__value.raw}"}])
}

/// A row for each trace, with its spans within, and how many matching spans are left out. There are no more
/// spans in all traces together than in a table of them.
pub(super) fn traces(found: &[FoundTrace]) -> (Frame, usize) {
    let rows = &found[..found.len().min(MAX_ROWS)];
    let (mut left_rows, mut left_out) = (MAX_ROWS, found.len() - rows.len());
    let nested = rows.iter().map(|trace| {
        let (spans, cut) = spans_within(std::slice::from_ref(trace), left_rows);
        left_rows -= spans.rows();
        left_out += cut;
        Value::Frame(Arc::new(spans))
    });
    let nested = Field::new("nested", Kind::Frame, nested.collect());
    let text = |value: &Option<String>| value.as_deref().map(Value::from).unwrap_or_default();
    let column = |name: &str, shown: &str, kind, cell: &dyn Fn(&FoundTrace) -> Value| {
        Field::new(name, kind, rows.iter().map(cell).collect())
            .with_config("displayNameFromDS", shown)
    };
    let link = json!([{"title": "Open trace", "url": "/trace/${__value.raw}"}]);
    let fields = vec![
        column("traceID", "Trace ID", Kind::String, &|trace| hex(&trace.trace_id))
            .with_config("links", link),
        column("startTime", "Start time", Kind::Time, &|trace| millis(trace.start_nanos)),
        column("traceService", "Service", Kind::String, &|trace| text(&trace.root_service)),
        column("traceName", "Name", Kind::String, &|trace| text(&trace.root_name)),
        column("traceDuration", "Duration", Kind::Number, &|trace| millis(trace.duration_nanos))
            .with_config("unit", "ms"),
        nested.with_config("displayNameFromDS", "Spans"),
    ];
    (Frame::new(fields), left_out)
}

/// A column for each attribute, by key, of the type that its values have.
fn attribute_columns(rows: &[&[(String, OwnedValue)]]) -> Vec<Field> {
    let mut columns: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (row, attributes) in rows.iter().enumerate() {
        for (key, value) in *attributes {
            let column = columns.entry(key).or_insert_with(|| vec![Value::Null; rows.len()]);
            // The same key of another scope does not overwrite what is there.
            if column[row].is_null() {
                column[row] = cell(value);
            }
        }
    }
    columns.into_iter().map(|(key, values)| Field::new(key, kind_of(&values), values)).collect()
}

/// The kind that all values have; a mix is shown as it is.
fn kind_of(values: &[Value]) -> Kind {
    let kind = |value: &Value| match value {
        Value::Null => None,
        Value::Number(_) => Some(Kind::Number),
        Value::Text(_) => Some(Kind::String),
        Value::Boolean(_) => Some(Kind::Boolean),
        _ => Some(Kind::Other),
    };
    let mut kinds = values.iter().filter_map(kind);
    let first = kinds.next().unwrap_or(Kind::String);
    if kinds.all(|kind| kind == first) { first } else { Kind::Other }
}

/// A value of a span as a cell.
pub(super) fn cell(value: &OwnedValue) -> Value {
    match value {
        OwnedValue::Nil => Value::Null,
        OwnedValue::Bool(value) => Value::Boolean(*value),
        OwnedValue::Int(value) => Value::Number(*value as f64),
        OwnedValue::Float(value) => Value::Number(*value),
        OwnedValue::Duration(nanos) => Value::Number(*nanos as f64),
        OwnedValue::Text(text) => Value::from(text.as_str()),
        OwnedValue::Status(status) => Value::from(status.name()),
        OwnedValue::Kind(kind) => Value::from(kind.name()),
        OwnedValue::Array(elements) => Value::List(elements.iter().map(element).collect()),
    }
}

fn element(element: &Element) -> Value {
    match element {
        Element::Bool(value) => Value::Boolean(*value),
        Element::Int(value) => Value::Number(*value as f64),
        Element::Float(value) => Value::Number(*value),
        Element::Text(text) => Value::from(&**text),
    }
}

fn hex(id: &[u8]) -> Value {
    Value::from(id.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// Examples of spans beside series, as a frame of their own.
pub(super) fn exemplars(series: &[Series]) -> Option<Frame> {
    let all: Vec<_> = series.iter().flat_map(|series| &series.exemplars).collect();
    if all.is_empty() {
        return None;
    }
    let label = |name: &str| -> Vec<Option<String>> {
        let find = |labels: &[(String, OwnedValue)]| {
            labels.iter().find(|(key, _)| key == name).map(|(_, value)| cell(value).to_text())
        };
        all.iter().map(|exemplar| find(&exemplar.labels)).collect()
    };
    let mut frame = Frame::new(vec![
        Field::new("Time", Kind::Time, all.iter().map(|one| millis(one.time_nanos)).collect()),
        Field::number("Value", all.iter().map(|one| Some(one.value))),
        Field::text("traceID", label("trace:id")),
    ])
    .with_name(super::EXEMPLARS);
    frame.meta.insert("custom".to_owned(), json!({"resultType": "exemplar"}));
    Some(frame)
}

#[cfg(test)]
mod tests {
    use kymo_engine::traceql::FoundSet;

    use super::*;

    fn trace(spans: usize) -> FoundTrace {
        let span = FoundSpan {
            span_id: [1; 8],
            name: None,
            start_nanos: 0,
            duration_nanos: 1,
            attributes: Vec::new(),
            names: Vec::new(),
        };
        let set = FoundSet { matched: spans + 1, attributes: Vec::new(), spans: vec![span; spans] };
        FoundTrace {
            trace_id: [1; 16],
            root_service: None,
            root_name: None,
            start_nanos: 0,
            duration_nanos: 1,
            span_sets: vec![set],
            services: Vec::new(),
            orphans: 0,
            newest_nanos: 0,
        }
    }

    #[test]
    fn spans_within_traces_are_bounded_together_and_those_left_out_are_said() {
        let (frame, left_out) = traces(&[trace(MAX_ROWS - 2), trace(5), trace(3)]);
        let nested = frame.fields.iter().find(|field| field.name == "nested").unwrap();
        let rows = nested.values.iter().map(|value| match value {
            Value::Frame(frame) => frame.rows(),
            _ => 0,
        });
        assert_eq!(rows.collect::<Vec<_>>(), [MAX_ROWS - 2, 2, 0]);
        assert_eq!(left_out, 3 + 3 + 3);
    }
}
