//! `kymo ci` over captured runs of real workflows, if `KYMO_TEST_DATA` names a directory of them.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::actions::Job;
use harness::programs::{left_out, run};
use serde_json::{Value, json};

fn captured(what: &str) -> Option<PathBuf> {
    let data = std::env::var_os("KYMO_TEST_DATA").filter(|data| !data.is_empty());
    let directory = data.map(|data| Path::new(&data).join("gha")).filter(|path| path.is_dir());
    if directory.is_none() {
        left_out(&format!("{what} (set KYMO_TEST_DATA)"));
    }
    directory
}

/// Spans that a command shows, in the order and form of the expected ones.
fn shown(command: &mut Command) -> Vec<Value> {
    let printed = run(command.env("OTEL_TRACES_EXPORTER", "console")).expect(0).stdout;
    let mut spans = Vec::new();
    for line in printed.lines() {
        let document: Value = serde_json::from_str(line).unwrap();
        for group in document["resourceSpans"].as_array().unwrap() {
            for scope in group["scopeSpans"].as_array().unwrap() {
                for span in scope["spans"].as_array().unwrap() {
                    spans.push(normal(group, scope, span));
                }
            }
        }
    }
    let key = |span: &Value| {
        let number = |name: &str| span[name].as_u64();
        let text = |name: &str| span[name].as_str().unwrap_or_default().to_owned();
        (number("start_ns"), number("end_ns"), text("name"), text("span_id"))
    };
    spans.sort_by_key(key);
    spans
}

fn normal(group: &Value, scope: &Value, span: &Value) -> Value {
    let attributes = |list: &Value| -> BTreeMap<String, Value> {
        let pair = |attribute: &Value| {
            let value = attribute["value"].as_object().unwrap().values().next().unwrap().clone();
            (attribute["key"].as_str().unwrap().to_owned(), value)
        };
        list.as_array().into_iter().flatten().map(pair).collect()
    };
    let nanos = |name: &str| span[name].as_str().map_or(0, |text| text.parse::<u64>().unwrap());
    let code = match span["status"]["code"].as_u64() {
        Some(1) => json!({"code": "STATUS_CODE_OK"}),
        Some(2) => json!({"code": "STATUS_CODE_ERROR"}),
        _ => json!({}),
    };
    let kind = match span["kind"].as_u64() {
        Some(1) => "SPAN_KIND_INTERNAL",
        other => panic!("{other:?}"),
    };
    json!({
        "trace_id": span["traceId"], "span_id": span["spanId"], "parent_span_id": span["parentSpanId"],
        "name": span["name"], "kind": kind, "start_ns": nanos("startTimeUnixNano"),
        "end_ns": nanos("endTimeUnixNano"), "status": code, "attributes": attributes(&span["attributes"]),
        "resource": attributes(&group["resource"]["attributes"]), "scope": scope["scope"], "schema": null,
    })
}

fn compare(found: &[Value], expected: &Path) {
    let expected: Vec<Value> = serde_json::from_slice(&std::fs::read(expected).unwrap()).unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
}

#[test]
fn summaries_for_rapids_are_those_of_the_script() {
    let Some(gha) = captured("summaries as RAPIDS' script makes them") else { return };
    for (input, golden, run_id, attempt) in [
        ("codifycli_default-plugin_all_jobs.flat.json", "codifycli", "28322661987", "1"),
        ("drift_run23937259276_all_jobs.json", "drift_run23937259276", "23937259276", "1"),
        ("edge_all_jobs.synthetic.json", "edge", "777", "2"),
    ] {
        let mut job = Job::new();
        job.set("GITHUB_RUN_ID", run_id).set("GITHUB_RUN_ATTEMPT", attempt);
        job.set("OTEL_SERVICE_NAME", "pr-cudf").set("OTEL_RESOURCE_ATTRIBUTES", "not=this");
        let file = gha.join(input).display().to_string();
        let mut command = job.kymo(&["ci", "summarize", &file, "--compat", "rapids"]);
        if golden == "edge" {
            command.arg("--artifacts").arg(gha.join("edge_telemetry-artifacts"));
        }
        let spans = shown(&mut command);
        compare(&spans, &gha.join(format!("golden/{golden}.spans.json")));
    }
}

#[test]
fn a_run_is_called_as_its_jobs_were_told() {
    let Some(gha) = captured("the service of a captured run") else { return };
    let mut job = Job::new();
    job.set("GITHUB_WORKFLOW", "");
    let file = gha.join("edge_all_jobs.synthetic.json").display().to_string();
    let artifacts = gha.join("edge_telemetry-artifacts").display().to_string();
    let arguments = ["ci", "summarize", &file, "--artifacts", &artifacts];
    let shown = run(job.kymo(&arguments).env("OTEL_TRACES_EXPORTER", "console")).expect(0).stdout;
    let document: Value = serde_json::from_str(&shown).unwrap();
    let root = &document["resourceSpans"][0];
    let is_service = |attribute: &&Value| attribute["key"] == "service.name";
    let service = root["resource"]["attributes"].as_array().unwrap().iter().find(is_service);
    assert_eq!(service.unwrap()["value"]["stringValue"], "pr-cudf");
    assert_eq!(root["scopeSpans"][0]["spans"][0]["spanId"], "5e401f0bd8aa6d75");
}

#[test]
fn every_captured_file_is_summarized() {
    let Some(gha) = captured("summaries of captured runs") else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(&gha).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        for compat in [&[][..], &["--compat", "rapids"]] {
            let file = path.display().to_string();
            let job = Job::new();
            let arguments = [&["ci", "summarize", &file], compat].concat();
            let printed =
                run(job.kymo(&arguments).env("OTEL_TRACES_EXPORTER", "console")).expect(0);
            let document: Value =
                serde_json::from_str(printed.stdout.lines().next().unwrap()).unwrap();
            assert!(!document["resourceSpans"].as_array().unwrap().is_empty(), "{file}");
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
}
