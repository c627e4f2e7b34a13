//! Reducers by a golden file: `tests/reducers.test`.
//!
//! Where results differ from Grafana's by design, the file says so behind the expected one: what
//! Grafana gives is in the comment.

use kymo_dash::frame::{Field, Frame, Value};
use kymo_dash::reduce::Reducer;
use serde_json::{Value as Json, json};

fn without_nan(value: &Value) -> Json {
    match value {
        Value::Number(number) if number.is_nan() => Json::Null,
        Value::List(values) => values.iter().map(without_nan).collect(),
        value => value.to_json(),
    }
}

#[test]
fn columns_are_reduced_as_grafana_reduces_them() {
    let mut field = Field::number("v", []);
    let (mut count, mut failures) = (0, Vec::new());
    for line in include_str!("reducers.test").lines().filter(|line| !line.starts_with('#')) {
        let Some((id, rest)) = line.split_once(": ") else { continue };
        if id == "column" {
            let column: Json = serde_json::from_str(&rest[rest.find('{').unwrap()..]).unwrap();
            let frame = Frame::from_json(&json!({"fields": [column]})).unwrap();
            field = frame.fields.into_iter().next().unwrap();
            continue;
        }
        count += 1;
        let expected = rest.split(" # ").next().unwrap_or_default();
        let expected: Json = serde_json::from_str(expected).unwrap();
        let found = without_nan(&Reducer::from_id(id).unwrap().reduce(&field));
        let same = match (found.as_f64(), expected.as_f64()) {
            (Some(found), Some(expected)) => (found - expected).abs() <= 1e-12 * expected.abs(),
            _ => found == expected,
        };
        if !same {
            failures.push(format!("{:?} {id}: found {found}, expected {expected}", field.values));
        }
    }
    assert!(count > 400, "only {count} results were found");
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
}
