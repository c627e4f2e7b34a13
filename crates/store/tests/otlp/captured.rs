//! Requests that real clients sent, if the environment names a directory of
//! them: `KYMO_TEST_DATA` holds `tuft/<number>.<protocol>.<signal>.pb`.

use std::io::Write;
use std::path::Path;

use kymo_store::otlp;
use kymo_store::schema::Signal;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;

use crate::place::Place;
use crate::{assert_traces_come_back, flat};

/// The captured requests of a signal; `None` if there is no directory of them.
fn captured(ending: &str) -> Option<Vec<Vec<u8>>> {
    let Some(root) = std::env::var_os("KYMO_TEST_DATA") else {
        // Not `eprintln!`, which is shown of failures only.
        let _ = writeln!(
            std::io::stderr(),
            "left out: captured requests (KYMO_TEST_DATA names no directory)"
        );
        return None;
    };
    let entries = std::fs::read_dir(Path::new(&root).join("tuft")).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(ending));
    paths.sort();
    assert!(!paths.is_empty(), "there are captured requests");
    Some(paths.iter().map(|path| std::fs::read(path).unwrap()).collect())
}

#[test]
fn captured_traces_come_back() {
    let Some(encoded) = captured(".traces.pb") else { return };
    let requests: Vec<_> =
        encoded.iter().map(|r| ExportTraceServiceRequest::decode(&r[..]).unwrap()).collect();
    let place = Place::new(Signal::Spans);
    for (way, sources) in place.ways(&encoded) {
        assert_traces_come_back(&requests, &sources, way);
    }
}

#[test]
fn captured_logs_come_back() {
    let Some(encoded) = captured(".logs.pb") else { return };
    let sent = ExportLogsServiceRequest {
        resource_logs: encoded
            .iter()
            .flat_map(|r| ExportLogsServiceRequest::decode(&r[..]).unwrap().resource_logs)
            .collect(),
    };
    let place = Place::new(Signal::Logs);
    for (way, sources) in place.ways(&encoded) {
        let mut records = otlp::Records::default();
        for source in &sources {
            let rows: Vec<u32> = (0..source.rows() as u32).collect();
            records.add_logs(source, &rows).unwrap();
        }
        let back = ExportLogsServiceRequest::decode(&records.request()[..]).unwrap();
        assert!(flat::logs(&back) == flat::logs(&sent), "{way}");
    }
}
