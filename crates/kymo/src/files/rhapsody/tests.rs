use kymo_wire::{AnyValueView, Limits, LogsView, TracesView, View, inspect::inspect, text};

use super::*;

fn read(file: &str) -> (Vec<Found>, Vec<String>, Option<String>) {
    let mut reader = Rhapsody::new(file.as_bytes());
    let (mut requests, mut faults) = (Vec::new(), Vec::new());
    while let Some(found) = reader.next() {
        match found {
            Ok(found) => requests.push(found),
            Err(fault) => faults.push(fault.to_string()),
        }
    }
    assert_eq!(reader.offset(), file.len() as u64);
    (requests, faults, reader.note().map(ToString::to_string))
}

/// Records of each signal, all of them admitted as they are.
fn counts(requests: &[Found]) -> [u64; 3] {
    Signal::ALL.map(|signal| {
        let of_it = requests.iter().filter(|request| request.signal == Some(signal));
        of_it
            .map(|request| {
                let inspected = inspect(signal, &request.body, &Limits::default()).unwrap();
                assert!(inspected.refused.is_empty() && inspected.repaired.is_empty());
                inspected.items
            })
            .sum()
    })
}

const FILE: &str = r#"{"event_id": "e1", "event_type": "TaskFailed", "event_time": 100.5, "emit_time": 100.75, "session_id": "s.1", "backend": "", "task_id": "t1", "node_id": null, "attributes": {"executable": "x", "error_type": "other", "nested": {"a": [1, null, {"b": NaN}]}, "nothing": null}, "error_type": "ValueError", "loss": Infinity, "trace_id": "0x1f5a7738a2392773e3c0411681c369a", "span_id": "0xa74f64b56610a6", "name": "TaskFailed", "section": "event"}
{"event_type": "my.Note", "event_time": 100.6, "emit_time": 100.6, "session_id": "s.1", "attributes": {}, "trace_id": null, "span_id": null, "section": "event"}
{"event_type": "my.Note", "event_time": 102.6, "emit_time": 102.6, "session_id": "s.1", "attributes": {}, "trace_id": null, "span_id": null, "section": "event"}
{"checkpoint_time": 103.0, "tasks_running": -1, "tasks_failed": 1, "task_duration_seconds_sum": 1.5e-05, "section": "metric"}
{"name": "task", "span_id": "0xa74f64b56610a6", "trace_id": "0x1f5a7738a2392773e3c0411681c369a", "parent_span_id": null, "start_ns": 100000000001, "end_ns": 103000000000, "start_time_s": 100.0, "end_time_s": 103.0, "duration_ms": 3000.0, "status_code": "ERROR", "status_description": "ValueError", "attributes": {"task_id": "t1"}, "later": true, "section": "span"}
{"name": "task", "span_id": "0xa74f64b56610a6", "trace_id": "0x1f5a7738a2392773e3c0411681c369a", "parent_span_id": null, "start_ns": 100000000001, "end_ns": 103000000000, "status_code": "ERROR", "status_description": "ValueError", "attributes": {"task_id": "t1"}, "section": "span"}
"#;

#[test]
fn events_spans_and_metrics_become_records_and_repeated_spans_one() {
    let (requests, faults, note) = read(FILE);
    assert_eq!((faults, note), (vec![], None));
    assert_eq!(counts(&requests), [1, 3, 3], "spans, points, log records");
    // Two events at about the same time, one later, the gauges, the span.
    let places: Vec<_> = requests.iter().map(|request| request.place).collect();
    assert_eq!(places, [1, 3, 4, 5].map(Place::line));
}

#[test]
fn an_event_keeps_everything_that_is_not_null() {
    let (requests, ..) = read(FILE);
    let group =
        LogsView::parse(&requests[0].body).unwrap().resources.into_iter().next().unwrap().unwrap();
    let shown = |key: &[u8], value: &AnyValueView<'_>| format!("{}={value:?}", text(key));
    let resource: Vec<String> = group
        .resource
        .unwrap()
        .attributes
        .into_iter()
        .map(|kv| text(kv.unwrap().key).into_owned())
        .collect();
    assert_eq!(resource, ["service.name", "session_id"]);
    let scope = group.scopes.into_iter().next().unwrap().unwrap();
    assert_eq!(scope.scope.unwrap().name, b"rhapsody");
    let log = scope.items.into_iter().next().unwrap().unwrap();
    assert_eq!(
        (log.time_unix_nano, log.observed_time_unix_nano),
        (100_500_000_000, 100_750_000_000)
    );
    assert_eq!((log.event_name, log.severity_number), (&b"TaskFailed"[..], 17));
    assert_eq!((log.trace_id[0], log.trace_id[15]), (0x01, 0x9a), "31 digits are filled up to 32");
    assert_eq!(log.span_id, [0x00, 0xa7, 0x4f, 0x64, 0xb5, 0x66, 0x10, 0xa6]);
    let mut attributes: Vec<String> = log
        .attributes
        .into_iter()
        .map(|kv| kv.map(|kv| shown(kv.key, &kv.value)).unwrap())
        .collect();
    attributes.sort();
    let keys: Vec<&str> = attributes.iter().map(|pair| pair.split('=').next().unwrap()).collect();
    assert_eq!(
        keys,
        ["backend", "error_type", "event_id", "executable", "loss", "nested", "task_id"],
        "without null, and a member goes before an attribute of its name"
    );
    assert!(attributes[4].contains("Double(inf)"), "{attributes:?}");
    assert!(attributes[1].contains(&format!("{:?}", AnyValueView::String(b"ValueError"))));
}

#[test]
fn a_span_has_its_times_its_status_and_members_of_later_versions() {
    let (requests, ..) = read(FILE);
    let group = TracesView::parse(&requests[3].body)
        .unwrap()
        .resources
        .into_iter()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(
        group.resource.unwrap().attributes.into_iter().count(),
        2,
        "the session is that of the events"
    );
    let scope = group.scopes.into_iter().next().unwrap().unwrap();
    let span = scope.items.into_iter().next().unwrap().unwrap();
    assert_eq!(text(span.name), "task");
    assert_eq!(
        (span.start_time_unix_nano, span.end_time_unix_nano),
        (100_000_000_001, 103_000_000_000)
    );
    assert!(span.parent_span_id.is_empty());
    let status = span.status.unwrap();
    assert_eq!((status.code, text(status.message).as_ref()), (2, "ValueError"));
    let keys: Vec<String> =
        span.attributes.into_iter().map(|kv| text(kv.unwrap().key).into_owned()).collect();
    assert_eq!(keys, ["later", "task_id"]);
}

#[test]
fn a_wrong_line_is_a_fault_and_a_cut_last_line_a_note() {
    let lines: Vec<&str> = FILE.lines().collect();
    let file = format!(
        "{}\n{{\"section\": \"event\"}}\noops\n{{\"section\": \"span\", \"trace_id\": 5}}\n{}\n{}",
        lines[1],
        lines[2],
        &lines[0][..50]
    );
    let (requests, faults, note) = read(&file);
    assert_eq!(counts(&requests), [0, 0, 2]);
    assert_eq!(
        faults,
        [
            ":2: expected a member event_type",
            ":3: is not JSON: expected value",
            ":4: trace_id is 5: expected 0x and at most 32 hexadecimal digits",
        ]
    );
    assert_eq!(note.as_deref(), Some(":6: the last line is cut off after 50 bytes"));
}

#[test]
fn many_lines_are_divided_into_requests() {
    let line = FILE.lines().next().unwrap();
    let file = format!("{line}\n").repeat(5_000);
    let (requests, ..) = read(&file);
    assert_eq!(counts(&requests), [0, 0, 5_000]);
    assert!(requests.len() > 3, "{}", requests.len());
    assert!(requests.iter().all(|request| request.body.len() < RHAPSODY_REQUEST_BYTES + 4_096));
}

#[test]
fn a_value_that_nests_too_deep_is_kept_as_text() {
    let deep = format!("{}1{}", "[".repeat(60), "]".repeat(60));
    let file = format!(
        "{{\"event_type\": \"a.B\", \"event_time\": 1, \"deep\": {deep}, \"section\": \"event\"}}\n"
    );
    let (requests, faults, _) = read(&file);
    assert_eq!((counts(&requests), faults.len()), ([0, 0, 1], 0));
}
