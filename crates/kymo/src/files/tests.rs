use std::fs;
use std::path::Path;

use kymo_wire::inspect::inspect;
use kymo_wire::{Limits, Signal};
use serde_json::Value;

use super::*;

fn read(path: &Path) -> (Vec<Request>, Vec<Fault>) {
    let mut all = requests(path, &ReadOptions::default()).unwrap();
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    for request in &mut all {
        match request {
            Ok(request) => found.push(request),
            Err(fault) => faults.push(fault),
        }
    }
    assert!(all.note().is_none());
    (found, faults)
}

fn count(requests: &[Request], signal: Signal) -> u64 {
    let of_it = requests.iter().filter(|request| request.signal == signal);
    let items = |request: &Request| {
        let inspected = inspect(signal, &request.body, &Limits::default()).unwrap();
        assert!(inspected.refused.is_empty() && inspected.repaired.is_empty(), "{inspected:?}");
        inspected.items
    };
    of_it.map(items).sum()
}

#[test]
fn a_file_is_read_by_what_it_is() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    let span = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"01010101010101010101010101010101","spanId":"0202020202020202","name":"n","startTimeUnixNano":"5"}]}]}]}"#;
    let header = r#"{"kymo":"checkpoint","version":1,"session_id":"a"}"#;
    let rhapsody = r#"{"event_type": "SessionStarted", "event_time": 1.5, "section": "event"}"#;
    let protobuf = kymo_wire::lines::decode_line(span.as_bytes()).unwrap().1;
    for (content, signal) in [
        (span.as_bytes(), Signal::Traces),
        (format!("{header}\n{span}\n").as_bytes(), Signal::Traces),
        (format!("{rhapsody}\n").as_bytes(), Signal::Logs),
        (&protobuf, Signal::Traces),
    ] {
        fs::write(&path, content).unwrap();
        let (found, faults) = read(&path);
        assert_eq!((found.len(), faults.len()), (1, 0));
        assert_eq!((found[0].signal, count(&found, signal)), (signal, 1));
    }
    let missing = requests(&place.path().join("none"), &ReadOptions::default());
    assert_eq!(missing.err().map(|fault| fault.place), Some(Place::WholeFile));
}

/// What a file of RHAPSODY holds, found with other means: a line is one of the three, and the
/// members of a metric line that are numbers are points.
fn expected(path: &Path) -> [u64; 3] {
    let text = fs::read_to_string(path).unwrap();
    let standard = text.replace(": NaN", ": null").replace(": Infinity", ": null");
    let (mut spans, mut points, mut logs) = (std::collections::HashSet::new(), 0, 0);
    for line in standard.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        match line["section"].as_str() {
            Some("span") => drop(spans.insert(line["span_id"].to_string())),
            Some("event") => logs += 1,
            _ => {
                let members = line.as_object().unwrap().values();
                points += members.filter(|value| value.is_number()).count() as u64 - 1;
            }
        }
    }
    [spans.len() as u64, points, logs]
}

#[test]
fn recorded_files_of_rhapsody_are_read_whole() {
    let Some(data) = std::env::var_os("KYMO_TEST_DATA") else {
        eprintln!("KYMO_TEST_DATA is not set: recorded files of RHAPSODY are left out");
        return;
    };
    let folder = Path::new(&data).join("rhapsody");
    let mut seen = 0;
    for folder in [folder.clone(), folder.join("edge")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if !path.to_string_lossy().ends_with(".telemetry.jsonl") {
                continue;
            }
            let (found, faults) = read(&path);
            assert_eq!(faults, [], "{}", path.display());
            let counts = Signal::ALL.map(|signal| count(&found, signal));
            assert_eq!(counts, expected(&path), "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 0, "there are files of RHAPSODY");
}
