//! Runs the real binary on temporary directories, and makes the files it reads.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::{
    Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use tempfile::TempDir;

#[path = "../../../../tests/harness/programs.rs"]
#[allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]
mod programs;

pub(crate) use programs::Ran;

/// 2026-01-02T03:04:05Z.
pub(crate) const START_NANOS: u64 = 1_767_323_045_000_000_000;

/// A directory with files to import and a data directory.
pub(crate) struct Place {
    pub(crate) dir: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("a file");
        path
    }

    pub(crate) fn command(&self) -> Command {
        command(Path::new(env!("CARGO_BIN_EXE_kymo")), self.dir.path())
    }

    pub(crate) fn kymo(&self, args: &[&str]) -> Ran {
        self.command().args(args).output().expect("kymo runs").into()
    }

    /// Imports files of this place into its directory `data`.
    pub(crate) fn import(&self, files: &[&str], more: &[&str]) -> Ran {
        let args = [&["import"], files, &["--data", "data"], more].concat();
        self.kymo(&args)
    }

    /// With something on stdin.
    pub(crate) fn kymo_with(&self, args: &[&str], stdin: &[u8]) -> Ran {
        use std::io::Write;
        let mut command = self.command();
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("kymo runs");
        child.stdin.take().expect("stdin").write_all(stdin).expect("kymo reads");
        child.wait_with_output().expect("kymo ends").into()
    }

    /// All blocks, with their paths below the place.
    pub(crate) fn blocks(&self) -> Vec<String> {
        self.files("data/blocks").into_iter().filter(|name| name.ends_with(".parquet")).collect()
    }

    /// All files below a directory, sorted.
    pub(crate) fn files(&self, below: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut dirs = vec![below.to_owned()];
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(self.path(&dir)).expect("a directory") {
                let entry = entry.expect("an entry");
                let path = format!("{dir}/{}", entry.file_name().to_string_lossy());
                if entry.path().is_dir() { dirs.push(path) } else { found.push(path) }
            }
        }
        found.sort();
        found
    }
}

/// A command that sees nothing of the environment's settings.
pub(crate) fn command(binary: &Path, dir: &Path) -> Command {
    let mut command = Command::new(binary);
    command.current_dir(dir).stdin(Stdio::null());
    programs::clean(&mut command);
    command
}

pub(crate) fn attribute(key: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(any_value::Value::StringValue(value.to_owned())) };
    KeyValue { key: key.to_owned(), value: Some(value), ..Default::default() }
}

pub(crate) fn resource() -> Option<Resource> {
    Some(Resource { attributes: vec![attribute("service.name", "shop")], ..Default::default() })
}

/// A request of so many spans, of traces of four spans each.
pub(crate) fn traces(first: u64, count: u64) -> ExportTraceServiceRequest {
    let spans = (first..first + count).map(|nth| Span {
        trace_id: u128::from(nth / 4 + 1).to_be_bytes().to_vec(),
        span_id: (nth + 1).to_be_bytes().to_vec(),
        parent_span_id: if nth % 4 == 0 { Vec::new() } else { nth.to_be_bytes().to_vec() },
        name: format!("step {}", nth % 4),
        kind: 2,
        start_time_unix_nano: START_NANOS + nth * 1000,
        end_time_unix_nano: START_NANOS + nth * 1000 + 500,
        attributes: vec![attribute("http.route", "/cart")],
        ..Default::default()
    });
    let scope_spans = vec![ScopeSpans { spans: spans.collect(), ..Default::default() }];
    let group = ResourceSpans { resource: resource(), scope_spans, ..Default::default() };
    ExportTraceServiceRequest { resource_spans: vec![group] }
}

pub(crate) fn logs(count: u64) -> ExportLogsServiceRequest {
    let log_records = (0..count).map(|nth| LogRecord {
        time_unix_nano: START_NANOS + nth,
        severity_text: "INFO".into(),
        body: attribute("", &format!("line {nth}")).value,
        ..Default::default()
    });
    let scope_logs = vec![ScopeLogs { log_records: log_records.collect(), ..Default::default() }];
    let group = ResourceLogs { resource: resource(), scope_logs, ..Default::default() };
    ExportLogsServiceRequest { resource_logs: vec![group] }
}

pub(crate) fn metrics(count: u64) -> ExportMetricsServiceRequest {
    let data_points = (0..count).map(|nth| NumberDataPoint {
        time_unix_nano: START_NANOS + nth * 1_000_000_000,
        value: Some(number_data_point::Value::AsDouble(nth as f64)),
        ..Default::default()
    });
    let gauge = Gauge { data_points: data_points.collect() };
    let metric = Metric {
        name: "load".into(),
        data: Some(metric::Data::Gauge(gauge)),
        ..Default::default()
    };
    let scope_metrics = vec![ScopeMetrics { metrics: vec![metric], ..Default::default() }];
    let group = ResourceMetrics { resource: resource(), scope_metrics, ..Default::default() };
    ExportMetricsServiceRequest { resource_metrics: vec![group] }
}

/// Requests, each after its length.
pub(crate) fn frames(requests: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for request in requests {
        prost::encoding::encode_varint(request.len() as u64, &mut bytes);
        bytes.extend_from_slice(request);
    }
    bytes
}

/// Requests of so many spans each, in frames.
pub(crate) fn trace_frames(requests: u64, spans_each: u64) -> Vec<u8> {
    let requests: Vec<Vec<u8>> =
        (0..requests).map(|nth| traces(nth * spans_each, spans_each).encode_to_vec()).collect();
    frames(&requests)
}

/// A request as OTLP/JSON on one line.
pub(crate) fn json_line(signal: kymo_wire::Signal, body: &[u8]) -> String {
    let mut line = Vec::new();
    kymo_wire::json::encode(signal, body, &mut line).expect("a good request");
    String::from_utf8(line).expect("JSON is text")
}
