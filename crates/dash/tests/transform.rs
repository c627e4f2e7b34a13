//! Transformations by golden files: `tests/transform/*.test`.
//!
//! A file holds cases. Each says what is done to which frames, and what comes out:
//!
//! ```text
//! frame: name {…}    a frame that several cases use
//! case: what is true
//! do:   {"id": …, "options": …}    once for each transformation
//! in:   a frame as JSON, or the name of one
//! out:  a frame as JSON
//! ```
//!
//! In an expected frame, `shown` is the name that people see where it differs from `name`; values
//! that Grafana leaves undefined or makes NaN are null.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::collections::HashMap;
use std::path::PathBuf;

use chrono_tz::Tz;
use kymo_dash::fields::Names;
use kymo_dash::frame::{Frame, Value};
use kymo_dash::transform::{Context, apply};
use serde_json::{Value as Json, json};

/// A case of a golden file.
#[derive(Default)]
struct Case {
    name: String,
    transformations: Vec<Json>,
    input: Vec<Frame>,
    expected: Vec<Json>,
}

fn read(text: &str, file: &str) -> Vec<Case> {
    let mut frames: HashMap<String, Json> = HashMap::new();
    let mut cases: Vec<Case> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some((key, rest)) = line.split_once(':').filter(|_| !line.starts_with('#')) else {
            assert!(line.is_empty() || line.starts_with('#'), "{file}:{}", number + 1);
            continue;
        };
        let rest = rest.trim();
        let json = |text: &str| -> Json {
            serde_json::from_str(text).unwrap_or_else(|e| panic!("{file}:{}: {e}", number + 1))
        };
        match key {
            "frame" => {
                let (name, frame) = rest.split_once(' ').unwrap();
                frames.insert(name.to_owned(), json(frame));
                continue;
            }
            "case" => {
                cases.push(Case { name: format!("{file}: {rest}"), ..Case::default() });
                continue;
            }
            _ => {}
        }
        let case = cases.last_mut().expect("a case begins with its name");
        match key {
            "do" => case.transformations.push(json(rest)),
            "in" => {
                let frame = frames.get(rest).cloned().unwrap_or_else(|| json(rest));
                case.input.push(Frame::from_json(&frame).unwrap());
            }
            "out" => case.expected.push(json(rest)),
            other => panic!("{file}:{}: {other:?} is not known", number + 1),
        }
    }
    cases
}

/// What is compared of a frame.
fn outline(frames: &[Frame]) -> Vec<Json> {
    let names = Names::new(frames);
    let frame = |(index, frame): (usize, &Frame)| {
        let seen = names.of_frame(index);
        let field = |(field, shown): (&kymo_dash::frame::Field, &String)| {
            let values: Vec<Json> = field.values.iter().map(without_nan).collect();
            json!({"name": field.name, "shown": shown, "type": field.kind,
                "labels": field.labels, "values": values})
        };
        json!({"fields": frame.fields.iter().zip(seen).map(field).collect::<Vec<_>>()})
    };
    frames.iter().enumerate().map(frame).collect()
}

fn without_nan(value: &Value) -> Json {
    match value {
        Value::Number(number) if number.is_nan() => Json::Null,
        value => value.to_json(),
    }
}

fn completed(frame: &Json) -> Json {
    let field = |field: &Json| {
        json!({"name": field["name"], "shown": field.get("shown").unwrap_or(&field["name"]),
            "type": field["type"], "labels": field.get("labels").unwrap_or(&json!({})),
            "values": field["values"]})
    };
    json!({"fields": frame["fields"].as_array().unwrap().iter().map(field).collect::<Vec<_>>()})
}

/// Whether two values are the same but for the last digits of numbers.
fn same(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => {
            let (left, right) = (left.as_f64().unwrap(), right.as_f64().unwrap());
            (left - right).abs() <= 1e-9 * left.abs().max(right.abs()).max(1.0)
        }
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (Json::Object(left), Json::Object(right)) => {
            let same =
                |(key, value): (&String, &Json)| right.get(key).is_some_and(|r| same(value, r));
            left.len() == right.len() && left.iter().all(same)
        }
        _ => left == right,
    }
}

#[test]
fn every_case_of_the_golden_files_holds() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/transform");
    let interpolate = |text: &str| text.to_owned();
    let context = Context { interpolate: &interpolate, zone: Tz::UTC };
    let (mut count, mut failures) = (0, Vec::new());
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        for case in read(&std::fs::read_to_string(&path).unwrap(), &file) {
            count += 1;
            let made = apply(&case.transformations, case.input, &context);
            let found = outline(&made.frames);
            let expected: Vec<Json> = case.expected.iter().map(completed).collect();
            if !same(&json!(found), &json!(expected)) {
                let lines = |frames: &[Json]| {
                    frames.iter().map(|frame| format!("  {frame}\n")).collect::<String>()
                };
                failures.push(format!(
                    "{}\nfound\n{}expected\n{}{:?}\n",
                    case.name,
                    lines(&found),
                    lines(&expected),
                    made.notices
                ));
            }
        }
    }
    assert!(count > 100, "only {count} cases were found");
    assert!(
        failures.is_empty(),
        "{} of {count} cases fail:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
