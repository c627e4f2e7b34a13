//! Values with their units, mappings and thresholds by a golden file: `tests/display.test`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use kymo_dash::fields::display;
use kymo_dash::fields::units::Clock;
use kymo_dash::frame::{Field, Frame};
use serde_json::{Value as Json, json};

#[test]
fn values_are_shown_as_grafana_shows_them() {
    let mut field = Field::number("v", []);
    let (mut row, mut count, mut failures) = (0, 0, Vec::new());
    for line in include_str!("display.test").lines().filter(|line| !line.starts_with('#')) {
        let Some((key, rest)) = line.split_once(": ") else { continue };
        let json: Json = serde_json::from_str(rest).unwrap();
        if key == "field" {
            let frame = Frame::from_json(&json!({"fields": [json]})).unwrap();
            field = frame.fields.into_iter().next().unwrap();
            row = 0;
            continue;
        }
        let found = display(&field, field.at(row), &Clock::default());
        let same = json["text"].as_str() == Some(found.whole().as_str())
            && json["color"].as_str().is_none_or(|color| found.color.as_deref() == Some(color))
            && json["percent"].as_f64().is_none_or(|percent| found.percent == Some(percent));
        if !same {
            failures.push(format!(
                "{:?} of {:?}: {found:?}, expected {json}",
                field.at(row),
                field.config
            ));
        }
        row += 1;
        count += 1;
    }
    assert!(count > 40, "only {count} values were found");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
