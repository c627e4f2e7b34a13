//! Queries with the answers that Tempo gives, or should give: `KYMO_TEST_DATA` holds
//! `traceql/conformance-sample.json` and `traceql/examples.yaml`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod common;

use std::collections::BTreeMap;
use std::path::PathBuf;

use common::{Model, Span, Values, intrinsic, search};
use kymo_traceql::ast::{Intrinsic, Kind, Name, Scope, Status};
use kymo_traceql::{Element, OwnedValue, QueryError, parse};
use serde::Deserialize;
use serde_json::Value as Json;

fn data(name: &str) -> Option<String> {
    let Some(root) = std::env::var_os("KYMO_TEST_DATA") else {
        eprintln!("left out: {name} (KYMO_TEST_DATA names no directory)");
        return None;
    };
    let path = PathBuf::from(root).join("traceql").join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) => {
            eprintln!("left out: {} ({error})", path.display());
            None
        }
    }
}

#[derive(Deserialize)]
struct Examples {
    valid: Vec<String>,
    unsupported: Vec<String>,
    parse_fails: Vec<String>,
    validate_fails: Vec<String>,
}

#[test]
fn queries_are_accepted_and_refused_as_tempo_does() {
    let Some(text) = data("examples.yaml") else { return };
    let examples: Examples = serde_saphyr::from_str(&text).unwrap();
    // What has no value in Tempo, and none here.
    let meaningless = ["{ 1 >= parent }"];
    for query in examples.valid.iter().chain(&examples.unsupported) {
        let parsed = match parse(query) {
            Ok(parsed) => parsed,
            Err(_) if meaningless.contains(&query.as_str()) => continue,
            Err(error) => panic!("{query}: {error}"),
        };
        let printed = parsed.to_string();
        let again = parse(&printed).unwrap_or_else(|error| panic!("{query}: {printed}: {error}"));
        assert_eq!(again, parsed, "{query} is printed as {printed}");
    }
    // Types are checked on the way, so that some are refused for theirs first.
    for query in &examples.parse_fails {
        assert!(parse(query).is_err(), "{query}");
    }
    for query in &examples.validate_fails {
        match parse(query) {
            Err(QueryError::Type { .. }) => {}
            other => panic!("{query}: {other:?}"),
        }
    }
}

#[test]
fn searches_find_what_they_should() {
    let Some(text) = data("conformance-sample.json") else { return };
    let suite: Json = serde_json::from_str(&text).unwrap();
    let traces: Vec<Model> = suite["traces"].as_array().unwrap().iter().map(model).collect();
    let mut failures = Vec::new();
    let mut asked = 0;
    for case in suite["cases"].as_array().unwrap() {
        let Some(query) = case["query"].as_str() else { continue };
        let answers = [&case["ideal"], &case["expect"]];
        let wanted: Vec<&Json> = answers.into_iter().filter(|answer| answer.is_object()).collect();
        let kind = wanted[0]["kind"].as_str().unwrap();
        let found = match kind {
            "search" | "search_groups" => describe(search(query, &traces), &traces, kind),
            _ => match parse(query) {
                Ok(_) => "accepted".to_owned(),
                Err(_) => "refused".to_owned(),
            },
        };
        let expected: Vec<String> = wanted.iter().map(|answer| expectation(answer)).collect();
        asked += 1;
        // Some of Tempo's limits are not ours.
        if !expected.contains(&found) && !is_beyond_tempo(query) {
            failures.push(format!("{query}\n  expected {expected:?}\n  found {found}"));
        }
    }
    assert!(asked > 100, "{asked}");
    assert!(failures.is_empty(), "{} of {asked}:\n{}", failures.len(), failures.join("\n"));
}

/// What Tempo refuses although it has a meaning.
fn is_beyond_tempo(query: &str) -> bool {
    query.contains("parent.")
        || query.contains("5 < count()")
        || query == "({} | count()) > ({} | count())"
}

fn expectation(answer: &Json) -> String {
    match answer["kind"].as_str().unwrap() {
        "search" => {
            let mut spans: Vec<&str> =
                answer["spans"].as_array().unwrap().iter().map(|s| s.as_str().unwrap()).collect();
            spans.sort_unstable();
            spans.join(" ")
        }
        "search_groups" => {
            let mut groups: Vec<String> = answer["groups"]
                .as_array()
                .unwrap()
                .iter()
                .map(|group| {
                    let mut spans: Vec<&str> = group["spans"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|s| s.as_str().unwrap())
                        .collect();
                    spans.sort_unstable();
                    let by: BTreeMap<String, String> = group["by"]
                        .as_object()
                        .unwrap()
                        .iter()
                        .map(|(key, value)| {
                            (key.clone(), value.as_str().map_or(value.to_string(), str::to_owned))
                        })
                        .collect();
                    format!("{by:?} {}", spans.join(" "))
                })
                .collect();
            groups.sort_unstable();
            groups.join("; ")
        }
        kind if kind.ends_with("error") => "refused".to_owned(),
        _ => "accepted".to_owned(),
    }
}

fn describe(found: Result<Vec<common::Found>, QueryError>, traces: &[Model], kind: &str) -> String {
    let Ok(found) = found else { return "refused".to_owned() };
    let labels = |trace: usize, spans: &[u32]| -> Vec<String> {
        let mut labels: Vec<String> =
            spans.iter().map(|span| traces[trace].spans[*span as usize].label.clone()).collect();
        labels.sort_unstable();
        labels
    };
    let sets = found.iter().flat_map(|(trace, sets)| sets.iter().map(move |set| (*trace, set)));
    if kind == "search" {
        let mut all: Vec<String> =
            sets.flat_map(|(trace, set)| labels(trace, &set.spans)).collect();
        all.sort_unstable();
        return all.join(" ");
    }
    let mut groups: Vec<String> = sets
        .map(|(trace, set)| {
            let by: BTreeMap<String, String> = set
                .attributes
                .iter()
                .filter(|(key, _)| key.starts_with("by("))
                .map(|(key, value)| (key.clone(), value.to_string()))
                .collect();
            format!("{by:?} {}", labels(trace, &set.spans).join(" "))
        })
        .collect();
    groups.sort_unstable();
    groups.join("; ")
}

/// A trace of OTLP/JSON.
fn model(trace: &Json) -> Model {
    let mut model = Model::default();
    let mut ids = Vec::new();
    let mut times = Vec::new();
    let mut services = Vec::new();
    for resource in array(&trace["otlp"]["resourceSpans"]) {
        let resource_values = attributes(&resource["resource"], Scope::Resource);
        for scope in array(&resource["scopeSpans"]) {
            let mut shared = resource_values.clone();
            shared.extend(attributes(&scope["scope"], Scope::Instrumentation));
            for (which, key) in [
                (Intrinsic::InstrumentationName, "name"),
                (Intrinsic::InstrumentationVersion, "version"),
            ] {
                shared.insert(intrinsic(which), OwnedValue::Text(text(&scope["scope"][key])));
            }
            for json in array(&scope["spans"]) {
                let start = json["startOffsetNano"].as_i64().unwrap();
                let end = json["endOffsetNano"].as_i64().unwrap();
                ids.push((text(&json["spanId"]), text(&json["parentSpanId"])));
                times.push((start, end));
                let name = Name::Keyed { scope: Scope::Resource, key: "service.name".to_owned() };
                services
                    .push(shared.get(&name).cloned().unwrap_or(OwnedValue::Text(String::new())));
                model.spans.push(span(json, &shared, start, end));
            }
        }
    }
    let root = ids.iter().position(|(_, parent)| parent.is_empty());
    let duration =
        times.iter().map(|t| t.1).max().unwrap() - times.iter().map(|t| t.0).min().unwrap();
    for number in 0..model.spans.len() {
        let (_, parent) = &ids[number];
        let root_name = root.map_or(OwnedValue::Nil, |root| {
            model.spans[root].values[&Name::Intrinsic(Intrinsic::Name)].clone()
        });
        let span = &mut model.spans[number];
        span.is_root = parent.is_empty();
        span.parent = ids.iter().position(|(id, _)| id == parent);
        let id = text(&trace["traceID"]).trim_start_matches('0').to_owned();
        for (which, value) in [
            (Intrinsic::TraceDuration, OwnedValue::Duration(duration)),
            (Intrinsic::TraceId, OwnedValue::Text(id)),
            (Intrinsic::RootName, root_name),
            (
                Intrinsic::RootServiceName,
                root.map_or(OwnedValue::Nil, |root| services[root].clone()),
            ),
        ] {
            span.values.insert(intrinsic(which), value);
        }
    }
    model
}

fn span(json: &Json, shared: &Values, start: i64, end: i64) -> Span {
    let mut values = shared.clone();
    values.extend(attributes(json, Scope::Span));
    let code = |value: &Json| value.as_u64().unwrap_or(0) as usize;
    let status = [Status::Unset, Status::Ok, Status::Error][code(&json["status"]["code"])];
    let kind = [
        Kind::Unspecified,
        Kind::Internal,
        Kind::Server,
        Kind::Client,
        Kind::Producer,
        Kind::Consumer,
    ][code(&json["kind"])];
    for (which, value) in [
        (Intrinsic::Name, OwnedValue::Text(text(&json["name"]))),
        (Intrinsic::Duration, OwnedValue::Duration(end - start)),
        (Intrinsic::Status, OwnedValue::Status(status)),
        (Intrinsic::StatusMessage, OwnedValue::Text(text(&json["status"]["message"]))),
        (Intrinsic::Kind, OwnedValue::Kind(kind)),
        (Intrinsic::SpanId, OwnedValue::Text(text(&json["spanId"]))),
        (Intrinsic::SpanParentId, OwnedValue::Text(text(&json["parentSpanId"]))),
    ] {
        values.insert(intrinsic(which), value);
    }
    let event = |json: &Json| {
        let mut values = attributes(json, Scope::Event);
        values.insert(intrinsic(Intrinsic::EventName), OwnedValue::Text(text(&json["name"])));
        let since = json["offsetNano"].as_i64().unwrap() - start;
        values.insert(intrinsic(Intrinsic::EventTimeSinceStart), OwnedValue::Duration(since));
        values
    };
    let link = |json: &Json| {
        let mut values = attributes(json, Scope::Link);
        let id = text(&json["traceId"]).trim_start_matches('0').to_owned();
        values.insert(intrinsic(Intrinsic::LinkTraceId), OwnedValue::Text(id));
        values.insert(intrinsic(Intrinsic::LinkSpanId), OwnedValue::Text(text(&json["spanId"])));
        values
    };
    Span {
        label: text(&json["_label"]),
        values,
        events: array(&json["events"]).iter().map(event).collect(),
        links: array(&json["links"]).iter().map(link).collect(),
        ..Span::default()
    }
}

fn attributes(json: &Json, scope: Scope) -> Values {
    let pair = |attribute: &Json| {
        let name = Name::Keyed { scope, key: text(&attribute["key"]) };
        (name, any_value(&attribute["value"]))
    };
    array(&json["attributes"]).iter().map(pair).collect()
}

fn any_value(json: &Json) -> OwnedValue {
    let (kind, value) = json.as_object().unwrap().iter().next().unwrap();
    match kind.as_str() {
        "stringValue" => OwnedValue::Text(text(value)),
        "intValue" => OwnedValue::Int(text(value).parse().unwrap()),
        "doubleValue" => OwnedValue::Float(value.as_f64().unwrap()),
        "boolValue" => OwnedValue::Bool(value.as_bool().unwrap()),
        "arrayValue" => OwnedValue::Array(
            array(&value["values"])
                .iter()
                .map(|value| match any_value(value) {
                    OwnedValue::Text(text) => Element::Text(text.into()),
                    OwnedValue::Int(value) => Element::Int(value),
                    OwnedValue::Float(value) => Element::Float(value),
                    OwnedValue::Bool(value) => Element::Bool(value),
                    other => panic!("{other:?}"),
                })
                .collect(),
        ),
        // Maps are not searchable.
        _ => OwnedValue::Nil,
    }
}

fn array(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_owned()
}
