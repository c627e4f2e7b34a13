//! Rows of SQL as the requests of OTLP that they were: of logs, spans and points only what a report
//! looks at, or tells repetitions by.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use kymo_report::limits::{Limits, MAX_TEXT_BYTES};
use kymo_wire::encode::{EventFields, LogFields, PointFields, PointValue, SpanFields, Writer};
use kymo_wire::{AnyValueView, NumberValue, text};

use super::StoredError;
use super::attributes::{each_attribute, write_attributes};
use kymo_engine::table::integers;

/// A request of logs.
pub(super) fn logs(rows: &RecordBatch) -> Result<Vec<u8>, StoredError> {
    let (times, observed) = (moments(rows, "time")?, moments(rows, "observed_time")?);
    let (traces, spans) = (ids(rows, "trace_id")?, ids(rows, "span_id")?);
    let (names, bodies) = (texts(rows, "event_name")?, texts(rows, "body")?);
    let attributes = texts(rows, "attributes")?;
    by_resource(rows, |w, row| {
        let time_unix_nano = times.nanos(row);
        // Some senders repeat the time there and others do not: the record is the same.
        let observed = Some(observed.nanos(row)).filter(|nanos| *nanos != time_unix_nano);
        let fields = LogFields {
            time_unix_nano,
            observed_time_unix_nano: observed.unwrap_or(0),
            trace_id: traces.get(row),
            span_id: spans.get(row),
            event_name: names.get(row).unwrap_or_default().as_bytes(),
            ..LogFields::default()
        };
        w.log(&fields, |w| {
            if let Some(body) = bodies.get(row) {
                w.log_body(&AnyValueView::String(body.as_bytes()));
            }
            write_attributes(w, attributes.get(row), Writer::log_attribute);
        });
    })
}

/// A request of spans, with what is known of their events.
pub(super) fn spans(rows: &RecordBatch, events: &SpanEvents) -> Result<Vec<u8>, StoredError> {
    let (starts, ends) = (moments(rows, "start_time")?, moments(rows, "end_time")?);
    let (traces, spans) = (ids(rows, "trace_id")?, ids(rows, "span_id")?);
    let (parents, names) = (ids(rows, "parent_span_id")?, texts(rows, "name")?);
    let (statuses, messages) = (texts(rows, "status")?, texts(rows, "status_message")?);
    let attributes = texts(rows, "attributes")?;
    by_resource(rows, |w, row| {
        let fields = SpanFields {
            trace_id: traces.get(row),
            span_id: spans.get(row),
            parent_span_id: parents.get(row),
            name: names.get(row).unwrap_or_default().as_bytes(),
            start_time_unix_nano: starts.nanos(row),
            end_time_unix_nano: ends.nanos(row),
            ..SpanFields::default()
        };
        w.span(&fields, |w| {
            write_attributes(w, attributes.get(row), Writer::span_attribute);
            events.write(w, fields.span_id);
            let code = match statuses.get(row) {
                Some("error") => 2,
                Some("ok") => 1,
                _ => 0,
            };
            w.status(code, messages.get(row).unwrap_or_default().as_bytes());
        });
    })
}

/// A request of metrics.
pub(super) fn points(rows: &RecordBatch) -> Result<Vec<u8>, StoredError> {
    let (times, starts) = (moments(rows, "time")?, moments(rows, "start_time")?);
    let (names, kinds) = (texts(rows, "name")?, texts(rows, "type")?);
    let (values, counts) = (numbers(rows, "value")?, numbers(rows, "count")?);
    let (sums, labels) = (numbers(rows, "sum")?, texts(rows, "attributes")?);
    by_resource(rows, |w, row| {
        let number = |of: &Float64Array| of.is_valid(row).then(|| of.value(row));
        let single = number(&values).map_or(NumberValue::None, NumberValue::Double);
        let value = match (kinds.get(row), number(&counts)) {
            (Some("gauge"), _) => PointValue::Gauge(single),
            (Some("sum"), _) => PointValue::Sum(single),
            (Some("histogram"), Some(count)) => {
                PointValue::Histogram { count: count as u64, sum: number(&sums).unwrap_or(0.0) }
            }
            // A kind that no report looks at, or a histogram that says that it has no value.
            _ => return,
        };
        let fields = PointFields {
            name: names.get(row).unwrap_or_default().as_bytes(),
            start_time_unix_nano: starts.nanos(row),
            time_unix_nano: times.nanos(row),
            value,
        };
        w.point(&fields, |w, write| write_attributes(w, labels.get(row), write));
    })
}

/// A request of lines of logs, at the first and at the last moment at which a session was heard.
pub(super) fn heard(rows: &RecordBatch, session_id: &str) -> Result<Vec<u8>, StoredError> {
    let (firsts, lasts) = (moments(rows, "first")?, moments(rows, "last")?);
    let (names, services) = (texts(rows, "name")?, texts(rows, "service")?);
    let hosts = texts(rows, "host")?;
    let mut request = Writer::new();
    for row in 0..rows.num_rows() {
        let said = [
            ("session_id", Some(session_id)),
            ("session.name", names.get(row)),
            ("service.name", services.get(row)),
            ("host.name", hosts.get(row)),
        ];
        request.resource_group(|w| {
            w.resource(|w| {
                for (key, value) in said {
                    if let Some(value) = value {
                        let value = AnyValueView::String(value.as_bytes());
                        w.resource_attribute(key.as_bytes(), &value);
                    }
                }
            });
            w.scope_group(|w| {
                for time_unix_nano in [firsts.nanos(row), lasts.nanos(row)] {
                    w.log(&LogFields { time_unix_nano, ..LogFields::default() }, |_| ());
                }
            });
        });
    }
    Ok(request.into_bytes())
}

/// The moment in the first row.
pub(super) fn first_moment(
    rows: &RecordBatch,
    name: &'static str,
) -> Result<Option<i64>, StoredError> {
    let moments = moments(rows, name)?.0;
    Ok((!moments.is_empty() && moments.is_valid(0)).then(|| moments.value(0)))
}

/// Events of spans that have not come yet.
#[derive(Debug)]
pub(super) struct SpanEvents {
    of_spans: HashMap<[u8; 8], Steps>,
    max_spans: usize,
}

/// What the events of one span say: when its task reached a state, and the first exception.
#[derive(Debug, Default)]
struct Steps {
    nanos: [u64; STEPS.len()],
    exception: Option<Box<Exception>>,
}

/// What is reported of an exception; its stack, which may be long, is not.
#[derive(Debug)]
struct Exception {
    nanos: u64,
    /// By the keys in [`TOLD`].
    told: [Option<Box<str>>; TOLD.len()],
}

const STEPS: [&str; 3] = ["TaskSubmitted", "TaskQueued", "TaskStarted"];
const EXCEPTION: &str = "exception";
/// Events of spans that say something of tasks.
pub(super) const SPAN_EVENTS: [&str; 4] = [STEPS[0], STEPS[1], STEPS[2], EXCEPTION];
/// Attributes of an exception that are reported.
const TOLD: [&str; 2] = ["exception.type", "exception.message"];

impl Exception {
    fn read(nanos: u64, attributes: Option<&str>) -> Self {
        let mut told = TOLD.map(|_| None);
        each_attribute(attributes, |key, value| {
            let place = TOLD.iter().position(|told| told.as_bytes() == key);
            if let (Some(place), AnyValueView::String(said)) = (place, value) {
                let said = text(said);
                let end = said.floor_char_boundary(MAX_TEXT_BYTES);
                told[place] = Some(said[..end].into());
            }
        });
        Self { nanos, told }
    }

    fn write(&self, w: &mut Writer) {
        let fields = EventFields {
            time_unix_nano: self.nanos,
            name: EXCEPTION.as_bytes(),
            ..EventFields::default()
        };
        w.event(&fields, |w| {
            for (key, said) in TOLD.iter().zip(&self.told) {
                if let Some(said) = said {
                    w.event_attribute(key.as_bytes(), &AnyValueView::String(said.as_bytes()));
                }
            }
        });
    }
}

impl SpanEvents {
    pub(super) fn within(limits: Limits) -> Self {
        Self { of_spans: HashMap::new(), max_spans: limits.spans }
    }

    /// Remembers events, of as many spans as can be reported on.
    pub(super) fn add(&mut self, rows: &RecordBatch) -> Result<(), StoredError> {
        let (spans, times) = (ids(rows, "span_id")?, moments(rows, "time")?);
        let (names, attributes) = (texts(rows, "name")?, texts(rows, "attributes")?);
        for row in 0..rows.num_rows() {
            let Ok(span) = <[u8; 8]>::try_from(spans.get(row)) else { continue };
            if self.of_spans.len() >= self.max_spans && !self.of_spans.contains_key(&span) {
                continue;
            }
            let (name, nanos) = (names.get(row).unwrap_or_default(), times.nanos(row));
            let steps = self.of_spans.entry(span).or_default();
            if let Some(step) = STEPS.iter().position(|step| *step == name) {
                let known = &mut steps.nanos[step];
                *known = if *known == 0 { nanos } else { nanos.min(*known) };
            } else if name == EXCEPTION
                && steps.exception.as_ref().is_none_or(|known| nanos < known.nanos)
            {
                let exception = Exception::read(nanos, attributes.get(row));
                steps.exception = Some(Box::new(exception));
            }
        }
        Ok(())
    }

    fn write(&self, w: &mut Writer, span: &[u8]) {
        let Some(steps) = self.of_spans.get(span) else { return };
        for (name, nanos) in STEPS.iter().zip(steps.nanos).filter(|(_, nanos)| *nanos > 0) {
            let fields = EventFields {
                time_unix_nano: nanos,
                name: name.as_bytes(),
                ..EventFields::default()
            };
            w.event(&fields, |_| ());
        }
        if let Some(exception) = &steps.exception {
            exception.write(w);
        }
    }
}

/// A request of all rows: neighbours with the same resource share it.
fn by_resource(
    rows: &RecordBatch,
    mut write: impl FnMut(&mut Writer, usize),
) -> Result<Vec<u8>, StoredError> {
    let resources = texts(rows, "resource")?;
    let mut request = Writer::new();
    let mut row = 0;
    while row < rows.num_rows() {
        let resource = resources.get(row);
        request.resource_group(|w| {
            w.resource(|w| write_attributes(w, resource, Writer::resource_attribute));
            w.scope_group(|w| {
                while row < rows.num_rows() && resources.get(row) == resource {
                    write(w, row);
                    row += 1;
                }
            });
        });
    }
    Ok(request.into_bytes())
}

/// Moments; where there is none, 0.
struct Moments(Int64Array);

impl Moments {
    fn nanos(&self, row: usize) -> u64 {
        let nanos = if self.0.is_valid(row) { self.0.value(row) } else { 0 };
        u64::try_from(nanos).unwrap_or(0)
    }
}

/// Ids; where there is none, nothing.
struct Ids(ArrayRef);

impl Ids {
    fn get(&self, row: usize) -> &[u8] {
        let ids = self.0.as_fixed_size_binary();
        if ids.is_valid(row) { ids.value(row) } else { &[] }
    }
}

/// Texts, as they are or by dictionary.
struct Texts {
    keys: Option<ArrayRef>,
    values: StringArray,
}

impl Texts {
    fn get(&self, row: usize) -> Option<&str> {
        let at = match &self.keys {
            None => row,
            Some(keys) => {
                let keys = keys.as_primitive::<Int32Type>();
                usize::try_from(keys.is_valid(row).then(|| keys.value(row))?).ok()?
            }
        };
        (at < self.values.len() && self.values.is_valid(at)).then(|| self.values.value(at))
    }
}

fn column<'a>(
    rows: &'a RecordBatch,
    name: &'static str,
    expected: &'static str,
) -> Result<&'a ArrayRef, StoredError> {
    rows.column_by_name(name).ok_or(StoredError::Column { name, expected })
}

fn moments(rows: &RecordBatch, name: &'static str) -> Result<Moments, StoredError> {
    let expected = "times";
    let nanos = integers(column(rows, name, expected)?);
    Ok(Moments(nanos.map_err(|_| StoredError::Column { name, expected })?))
}

fn numbers(rows: &RecordBatch, name: &'static str) -> Result<Float64Array, StoredError> {
    let expected = "numbers";
    let numbers = cast(column(rows, name, expected)?, &DataType::Float64);
    let numbers = numbers.map_err(|_| StoredError::Column { name, expected })?;
    Ok(numbers.as_primitive::<Float64Type>().clone())
}

fn ids(rows: &RecordBatch, name: &'static str) -> Result<Ids, StoredError> {
    let expected = "ids";
    let column = column(rows, name, expected)?;
    match column.data_type() {
        DataType::FixedSizeBinary(_) => Ok(Ids(column.clone())),
        _ => Err(StoredError::Column { name, expected }),
    }
}

fn texts(rows: &RecordBatch, name: &'static str) -> Result<Texts, StoredError> {
    let expected = "texts";
    let column = column(rows, name, expected)?;
    let (keys, values) = match column.data_type() {
        DataType::Dictionary(key, _) if **key == DataType::Int32 => {
            let dictionary = column.as_dictionary::<Int32Type>();
            let keys: ArrayRef = Arc::new(dictionary.keys().clone());
            (Some(keys), dictionary.values().clone())
        }
        _ => (None, column.clone()),
    };
    let values = cast(&values, &DataType::Utf8);
    let values = values.map_err(|_| StoredError::Column { name, expected })?;
    Ok(Texts { keys, values: values.as_string::<i32>().clone() })
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::FixedSizeBinaryBuilder;
    use arrow_array::{DictionaryArray, TimestampNanosecondArray};
    use kymo_report::Recording;
    use kymo_report::recording::Status;
    use kymo_wire::Signal;

    use super::*;

    const RESOURCE: &str = r#"{"session_id":"s","host.name":"n"}"#;

    fn times(nanos: &[i64]) -> ArrayRef {
        Arc::new(TimestampNanosecondArray::from(nanos.to_vec()))
    }

    fn strings(texts: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(texts.to_vec()))
    }

    fn by_code(texts: &[&str]) -> ArrayRef {
        Arc::new(texts.iter().copied().collect::<DictionaryArray<Int32Type>>())
    }

    fn binary<const SIZE: usize>(values: &[u8]) -> ArrayRef {
        let mut builder = FixedSizeBinaryBuilder::new(SIZE as i32);
        for value in values {
            match value {
                0 => builder.append_null(),
                value => builder.append_value([*value; SIZE]).unwrap(),
            }
        }
        Arc::new(builder.finish())
    }

    fn event_rows(observed: &[i64]) -> RecordBatch {
        let attributes = r#"{"task_id":"t","lr":0.5,"tags":["a"],"node_id":"a\"b"}"#;
        RecordBatch::try_from_iter([
            ("time", times(&[1_000, 2_000])),
            ("observed_time", times(observed)),
            ("event_name", by_code(&["TaskStarted", "TaskCompleted"])),
            ("trace_id", binary::<16>(&[7, 7])),
            ("span_id", binary::<8>(&[2, 2])),
            ("body", strings(&[None, None])),
            ("attributes", strings(&[Some(attributes), Some(r#"{"task_id":"t"}"#)])),
            ("resource", by_code(&[RESOURCE, RESOURCE])),
        ])
        .unwrap()
    }

    #[test]
    fn rows_of_events_are_recorded_as_the_events_they_were() {
        let mut recording = Recording::new();
        recording.add(Signal::Logs, &logs(&event_rows(&[1_000, 2_500])).unwrap()).unwrap();
        // The time of the first is repeated, or left out: it is the same record.
        recording.add(Signal::Logs, &logs(&event_rows(&[0, 2_500])).unwrap()).unwrap();
        let (sessions, found) = recording.finish();
        assert_eq!((found.records, sessions[0].repeated), (4, 2));
        let task = &sessions[0].tasks[0];
        assert_eq!((task.status, task.node.as_deref()), (Status::Completed, Some("a\"b")));
        assert_eq!((task.started_nanos, task.ended_nanos), (Some(1_000), Some(2_000)));
        assert_eq!(sessions[0].emit_nanos, [0, 500]);
        assert_eq!(sessions[0].host.as_deref(), Some("n"));
    }

    #[test]
    fn events_of_spans_come_back_to_their_spans() {
        let mut events = SpanEvents::within(Limits::default());
        let said = r#"{"exception.type":"E","exception.stacktrace":"at","exception.message":"no"}"#;
        let rows = RecordBatch::try_from_iter([
            ("span_id", binary::<8>(&[2, 2, 2])),
            ("time", times(&[30, 20, 90])),
            ("name", by_code(&["TaskStarted", "TaskStarted", "exception"])),
            ("attributes", strings(&[None, None, Some(said)])),
        ]);
        events.add(&rows.unwrap()).unwrap();
        let rows = RecordBatch::try_from_iter([
            ("trace_id", binary::<16>(&[7])),
            ("span_id", binary::<8>(&[2])),
            ("parent_span_id", binary::<8>(&[0])),
            ("name", by_code(&["fit"])),
            ("start_time", times(&[10])),
            ("end_time", times(&[100])),
            ("status", by_code(&["error"])),
            ("status_message", strings(&[None])),
            ("attributes", strings(&[Some(r#"{"task_id":5}"#)])),
            ("resource", by_code(&[RESOURCE])),
        ]);
        let request = spans(&rows.unwrap(), &events).unwrap();
        let has = |text: &[u8]| request.windows(text.len()).any(|window| window == text);
        assert!(has(b"exception.message") && !has(b"exception.stacktrace"));
        let mut recording = Recording::new();
        recording.add(Signal::Traces, &request).unwrap();
        let session = recording.finish().0.remove(0);
        let task = &session.tasks[0];
        assert_eq!((&*task.id, task.status, task.started_nanos), ("5", Status::Failed, Some(20)));
        assert_eq!(
            (task.error_type.as_deref(), task.error_message.as_deref()),
            (Some("E"), Some("no"))
        );
    }

    #[test]
    fn points_of_counters_and_histograms_are_counted() {
        const DURATION: &str = "task_duration_seconds";
        let labels = Some(r#"{"executable":"a"}"#);
        let numbers =
            |values: &[Option<f64>]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
        let rows = RecordBatch::try_from_iter([
            ("time", times(&[10, 20, 20, 30])),
            ("start_time", times(&[1; 4])),
            ("name", by_code(&["tasks_started", "tasks_started", DURATION, DURATION])),
            ("type", by_code(&["sum", "sum", "histogram", "histogram"])),
            ("value", numbers(&[Some(1.0), Some(3.0), None, None])),
            // The last says that it has no value.
            ("count", numbers(&[None, None, Some(2.0), None])),
            ("sum", numbers(&[None, None, Some(0.5), None])),
            ("attributes", strings(&[None, None, labels, labels])),
            ("resource", by_code(&[RESOURCE; 4])),
        ]);
        let mut recording = Recording::new();
        recording.add(Signal::Metrics, &points(&rows.unwrap()).unwrap()).unwrap();
        let counters = recording.finish().0.remove(0).counters;
        assert_eq!(counters["tasks_started"], 3.0);
        assert_eq!(counters["task_duration_seconds_count"], 2.0);
        assert_eq!(counters["task_duration_seconds_sum"], 0.5);
    }

    #[test]
    fn a_session_is_known_from_when_it_was_heard() {
        let rows = |first: Option<i64>, last: Option<i64>| {
            let time = |of| Arc::new(TimestampNanosecondArray::from(vec![of])) as ArrayRef;
            let rows = RecordBatch::try_from_iter([
                ("first", time(first)),
                ("last", time(last)),
                ("name", strings(&[None])),
                ("service", by_code(&["train"])),
                ("host", strings(&[Some("n")])),
            ]);
            rows.unwrap()
        };
        let mut recording = Recording::new();
        recording.add(Signal::Logs, &heard(&rows(None, None), "s").unwrap()).unwrap();
        recording.add(Signal::Logs, &heard(&rows(Some(10), Some(90)), "s").unwrap()).unwrap();
        let session = recording.finish().0.remove(0);
        assert_eq!((session.start_nanos, session.end_nanos), (Some(10), Some(90)));
        assert_eq!((&*session.id, &*session.name), ("s", "train"));
        assert_eq!(session.host.as_deref(), Some("n"));
        let mut nothing = Recording::new();
        nothing.add(Signal::Logs, &heard(&rows(None, None), "s").unwrap()).unwrap();
        assert!(nothing.finish().0.is_empty());
    }

    #[test]
    fn a_column_that_is_missing_is_named() {
        let error = logs(&RecordBatch::try_from_iter([("time", times(&[1]))]).unwrap());
        assert!(error.unwrap_err().to_string().contains("a column observed_time of times"));
    }
}
