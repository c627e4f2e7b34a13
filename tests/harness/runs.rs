//! `kymo run` in a directory of its own, and what it recorded there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::programs::{Ran, kymo, run};

/// A directory to run in.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// `kymo run` with flags, in this directory.
    pub fn command(&self, flags: &[&str], words: &[&str]) -> Command {
        let mut command = kymo();
        command.current_dir(self.path()).arg("run").args(flags).arg("--").args(words);
        command
    }

    pub fn run(&self, flags: &[&str], words: &[&str]) -> Ran {
        run(&mut self.command(flags, words))
    }

    /// A shell script.
    pub fn sh(&self, flags: &[&str], script: &str) -> Ran {
        self.run(flags, &["sh", "-c", script])
    }

    pub fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(self.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.to_string_lossy().ends_with(".kymo.jsonl"))
            .collect();
        files.sort();
        files
    }

    /// The only file.
    pub fn recorded(&self) -> Recorded {
        let files = self.files();
        assert_eq!(files.len(), 1, "{files:?}");
        Recorded::read(&files[0])
    }
}

/// A checkpoint, read.
pub struct Recorded {
    pub head: Value,
    pub lines: Vec<Value>,
}

impl Recorded {
    #[track_caller]
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        // What follows the last line break was cut off.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut lines = whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let head = lines.next().expect("a first line");
        assert_eq!(head["kymo"], "checkpoint");
        let lines: Vec<Value> = lines.collect();
        for line in &lines {
            let members = ["resourceSpans", "resourceLogs", "resourceMetrics"];
            let known = members.iter().filter(|member| line[**member].is_array()).count();
            assert_eq!(known, 1, "not one request of OTLP: {line}");
        }
        Self { head, lines }
    }

    /// Records of a kind: the member of a line, of a group, and of a scope.
    pub fn records<'a>(&'a self, members: [&str; 3]) -> Vec<&'a Value> {
        let [groups, scopes, records] = members;
        let list = |value: &'a Value, member: &str| value[member].as_array().into_iter().flatten();
        let mut found = Vec::new();
        for line in &self.lines {
            for group in list(line, groups) {
                for scope in list(group, scopes) {
                    found.extend(list(scope, records));
                }
            }
        }
        found
    }

    pub fn spans(&self) -> Vec<&Value> {
        self.records(["resourceSpans", "scopeSpans", "spans"])
    }

    pub fn logs(&self) -> Vec<&Value> {
        self.records(["resourceLogs", "scopeLogs", "logRecords"])
    }

    pub fn metrics(&self) -> Vec<&Value> {
        self.records(["resourceMetrics", "scopeMetrics", "metrics"])
    }

    pub fn events(&self, name: &str) -> Vec<&Value> {
        self.logs().into_iter().filter(|log| log["eventName"] == name).collect()
    }

    /// The session's own span.
    #[track_caller]
    pub fn session(&self) -> &Value {
        let session = self.spans().into_iter().find(|span| span["spanId"] == self.head["span_id"]);
        session.expect("the session's span")
    }

    pub fn trace_ids(&self) -> BTreeSet<String> {
        let ids = |records: Vec<&Value>| -> Vec<String> {
            records.iter().filter_map(|one| Some(one["traceId"].as_str()?.to_owned())).collect()
        };
        ids(self.spans()).into_iter().chain(ids(self.logs())).collect()
    }
}

/// An attribute of a record.
pub fn attribute(record: &Value, key: &str) -> Value {
    let attributes = record["attributes"].as_array().into_iter().flatten();
    let found = attributes.into_iter().find(|attribute| attribute["key"] == key);
    let value = found.map_or(Value::Null, |found| found["value"].clone());
    value.as_object().and_then(|value| value.values().next().cloned()).unwrap_or(Value::Null)
}

pub fn number(record: &Value, key: &str) -> f64 {
    let value = attribute(record, key);
    let text = value.as_str().and_then(|text| text.parse().ok());
    text.or_else(|| value.as_f64()).unwrap_or(f64::NAN)
}
