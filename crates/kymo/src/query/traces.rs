//! Traces as a table, a line for each.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder, StructBuilder};
use arrow_schema::{DataType, Field};
use kymo_engine::traceql::FoundTrace;

use crate::failure::Failure;
use crate::frame::{Frame, Reader, right};
use crate::sql::answer::Answer;
use crate::units;

/// A trace that was found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trace {
    pub(super) id: u128,
    pub(super) start_nanos: i64,
    pub(super) duration_nanos: i64,
    /// Whether the duration was cut to milliseconds on its way.
    pub(super) is_rounded: bool,
    pub(super) root_service: Option<String>,
    pub(super) root_name: Option<String>,
    /// Spans that match.
    pub(super) matched: u64,
    pub(super) services: Vec<Service>,
}

/// Spans of a service in a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Service {
    pub(super) name: String,
    pub(super) spans: u64,
    pub(super) errors: u64,
}

impl From<FoundTrace> for Trace {
    fn from(found: FoundTrace) -> Self {
        let services = found.services.into_iter().map(|stats| Service {
            name: stats.service,
            spans: stats.spans as u64,
            errors: stats.errors as u64,
        });
        Self {
            id: u128::from_be_bytes(found.trace_id),
            start_nanos: found.start_nanos,
            duration_nanos: found.duration_nanos,
            is_rounded: false,
            root_service: found.root_service.filter(|name| !name.is_empty()),
            root_name: found.root_name,
            matched: found.span_sets.iter().map(|set| set.matched as u64).sum(),
            services: services.collect(),
        }
    }
}

/// The table.
pub(super) fn frame(traces: Vec<Trace>, reader: Reader) -> Result<Answer<'static>, Failure> {
    let mut frame = Frame::new(reader);
    let texts = |text: fn(&Trace) -> Option<String>| traces.iter().map(text).collect::<Vec<_>>();
    frame.ids("trace_id", &traces.iter().map(|trace| trace.id).collect::<Vec<_>>())?;
    frame.times("start_time", traces.iter().map(|trace| trace.start_nanos).collect());
    match reader.is_person() {
        true => frame.texts("duration", right("duration", texts(duration))),
        false => frame.durations("duration", traces.iter().map(|t| t.duration_nanos).collect()),
    }
    frame.texts("root_service", texts(|trace| trace.root_service.clone()));
    frame.texts("root_name", texts(|trace| trace.root_name.clone()));
    let matched = traces.iter().map(|trace| i64::try_from(trace.matched).ok());
    frame.integers("matched", matched.collect());
    match reader.is_person() {
        true => frame.texts("services", texts(|trace| Some(services(&trace.services)))),
        false => frame.push("services", service_lists(&traces)),
    }
    frame.answer()
}

fn duration(trace: &Trace) -> Option<String> {
    Some(match trace.is_rounded && trace.duration_nanos == 0 {
        true => "< 1 ms".to_owned(),
        false => units::nanos(i128::from(trace.duration_nanos)),
    })
}

/// `shop 3, billing 2 (1 error)`.
fn services(services: &[Service]) -> String {
    let texts = services.iter().map(|Service { name, spans, errors }| {
        let name = if name.is_empty() { "?" } else { name };
        match errors {
            0 => format!("{name} {spans}"),
            1 => format!("{name} {spans} (1 error)"),
            _ => format!("{name} {spans} ({errors} errors)"),
        }
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// Services as lists of objects.
fn service_lists(traces: &[Trace]) -> ArrayRef {
    let fields = vec![
        Field::new("name", DataType::Utf8, true),
        Field::new("spans", DataType::Int64, true),
        Field::new("errors", DataType::Int64, true),
    ];
    let mut lists = ListBuilder::new(StructBuilder::from_fields(fields, traces.len()));
    for trace in traces {
        let services = lists.values();
        for service in &trace.services {
            if let Some(names) = services.field_builder::<StringBuilder>(0) {
                names.append_value(&service.name);
            }
            for (nth, number) in [(1, service.spans), (2, service.errors)] {
                if let Some(numbers) = services.field_builder::<Int64Builder>(nth) {
                    numbers.append_option(i64::try_from(number).ok());
                }
            }
            services.append(true);
        }
        lists.append(true);
    }
    Arc::new(lists.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::written;
    use crate::sql::json::Objects;
    use crate::sql::table::Table;

    fn traces() -> Vec<Trace> {
        let service = |name: &str, spans, errors| Service { name: name.to_owned(), spans, errors };
        let trace = Trace {
            id: 0xab,
            start_nanos: 1_767_323_045_250_000_000,
            duration_nanos: 1_240_000_000,
            is_rounded: false,
            root_service: Some("shop".to_owned()),
            root_name: Some("GET /\n".to_owned()),
            matched: 12,
            services: vec![service("billing", 2, 1), service("shop", 10, 0)],
        };
        let other = Trace {
            duration_nanos: 0,
            is_rounded: true,
            root_service: None,
            root_name: None,
            matched: 1,
            services: vec![service("", 3, 2)],
            ..trace.clone()
        };
        vec![trace, other]
    }

    #[test]
    fn a_trace_is_a_line_of_a_table() {
        let answer = frame(traces(), Reader::Person { columns: None }).unwrap();
        assert_eq!(
            written(answer, &mut Table::new(None)),
            "\
trace_id                          start_time                duration  root_service  root_name  matched  services
000000000000000000000000000000ab  2026-01-02T03:04:05.250Z    1.24 s  shop          GET /\\n         12  billing 2 (1 error), shop 10
000000000000000000000000000000ab  2026-01-02T03:04:05.250Z    < 1 ms  NULL          NULL             1  ? 3 (2 errors)
(2 rows)
"
        );
    }

    #[test]
    fn programs_get_numbers_and_lists() {
        let answer = frame(traces(), Reader::Program).unwrap();
        let text = written(answer, &mut Objects::array());
        let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(rows[0]["duration_nanos"], 1_240_000_000);
        assert_eq!(rows[0]["start_time"], "2026-01-02T03:04:05.250000000Z");
        let services = serde_json::json!([
            {"name": "billing", "spans": 2, "errors": 1},
            {"name": "shop", "spans": 10, "errors": 0},
        ]);
        assert_eq!(rows[0]["services"], services);
        assert_eq!(rows[1]["root_service"], serde_json::Value::Null);
        assert_eq!(rows[1]["matched"], 1);
    }

    #[test]
    fn no_traces_are_a_table_too() {
        let answer = frame(Vec::new(), Reader::Person { columns: None }).unwrap();
        assert!(written(answer, &mut Table::new(None)).ends_with("(0 rows)\n"));
    }
}
