//! `filterByValue`: rows that meet conditions on their values stay, or go.
//!
//! A condition on a field that a frame has not is never met. Null meets no comparison; 0, false and
//! the empty text are values.

use serde_json::Value as Json;

use super::options::{self, Options};
use super::{Outcome, map_fields};
use crate::effort;
use crate::fields::Names;
use crate::fields::pattern::{self, Pattern};
use crate::frame::{Frame, Value};

/// A condition on one value.
enum Condition {
    IsNull,
    IsNotNull,
    Pattern(Pattern),
    Greater(f64),
    GreaterOrEqual(f64),
    Lower(f64),
    LowerOrEqual(f64),
    Equal(Json),
    NotEqual(Json),
    Substring(String),
    NotSubstring(String),
    Between(f64, f64),
}

pub(super) fn apply(options: Options<'_>, frames: &[Frame]) -> Outcome {
    options.expect("filters", "a list", Json::is_array)?;
    let filters: Vec<(&str, Condition)> =
        options.list("filters").iter().map(read).collect::<Result<_, _>>()?;
    if filters.is_empty() {
        return Ok(frames.to_vec());
    }
    let all = options.text("match") == Some("all");
    let include = options.text("type") != Some("exclude");
    let names = Names::new(frames);
    let kept: Vec<Vec<bool>> = frames
        .iter()
        .enumerate()
        .map(|(index, frame)| {
            let seen = names.of_frame(index);
            let column = |name: &str| {
                let place = seen.iter().rposition(|known| known == name);
                place.or_else(|| frame.fields.iter().position(|field| field.name == name))
            };
            let filters: Vec<(Option<usize>, &Condition)> =
                filters.iter().map(|(name, condition)| (column(name), condition)).collect();
            let met = |row: usize, (column, condition): &(Option<usize>, &Condition)| {
                column.is_some_and(|column| condition.holds(frame.fields[column].at(row)))
            };
            let matches = |row: usize| match all {
                true => filters.iter().all(|filter| met(row, filter)),
                false => filters.iter().any(|filter| met(row, filter)),
            };
            let keeps = |row| effort::check_at(row).map(|()| matches(row) == include);
            (0..frame.rows()).map(keeps).collect::<Result<Vec<bool>, String>>()
        })
        .collect::<Result<_, String>>()?;
    Ok(map_fields(frames, |frame, _, field| {
        let values = field.values.iter().zip(&kept[frame]).filter(|(_, kept)| **kept);
        field.with_values(values.map(|(value, _)| value.clone()).collect())
    }))
}

fn read(filter: &Json) -> Result<(&str, Condition), String> {
    let name = filter.get("fieldName").and_then(Json::as_str).unwrap_or_default();
    let config = filter.get("config").unwrap_or(&Json::Null);
    let options = Options(config.get("options").unwrap_or(&Json::Null));
    let value = options.get("value");
    let text = || match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    };
    // What is no number is greater and lower than nothing.
    let number = |key: &str| options.number(key).unwrap_or(f64::NAN);
    let condition = match config.get("id").and_then(Json::as_str).unwrap_or_default() {
        "isNull" => Condition::IsNull,
        "isNotNull" => Condition::IsNotNull,
        "regex" => Condition::Pattern(pattern::search(&text())?),
        "greater" => Condition::Greater(number("value")),
        "greaterOrEqual" => Condition::GreaterOrEqual(number("value")),
        "lower" => Condition::Lower(number("value")),
        "lowerOrEqual" => Condition::LowerOrEqual(number("value")),
        "equal" => Condition::Equal(value.clone()),
        "notEqual" => Condition::NotEqual(value.clone()),
        "substring" => Condition::Substring(text().to_lowercase()),
        "notSubstring" => Condition::NotSubstring(text().to_lowercase()),
        "between" | "range" => Condition::Between(number("from"), number("to")),
        other => return Err(format!("the condition \"{other}\" is not known")),
    };
    Ok((name, condition))
}

impl Condition {
    fn holds(&self, value: &Value) -> bool {
        let compares = |holds: &dyn Fn(f64) -> bool| value.to_number().is_some_and(holds);
        let contains = |part: &str| match value {
            Value::Text(text) => text.to_lowercase().contains(part),
            _ => false,
        };
        match self {
            Self::IsNull => value.is_null(),
            Self::IsNotNull => !value.is_null(),
            Self::Pattern(regex) => !value.is_null() && regex.is_match(&value.to_text()),
            Self::Greater(bound) => compares(&|number| number > *bound),
            Self::GreaterOrEqual(bound) => compares(&|number| number >= *bound),
            Self::Lower(bound) => compares(&|number| number < *bound),
            Self::LowerOrEqual(bound) => compares(&|number| number <= *bound),
            Self::Equal(other) => equal(value, other),
            Self::NotEqual(other) => !equal(value, other),
            Self::Substring(part) => part.is_empty() || contains(part),
            Self::NotSubstring(part) => {
                let text = matches!(value, Value::Text(text) if !text.is_empty());
                text && !part.is_empty() && !contains(part)
            }
            Self::Between(from, to) => compares(&|number| number > *from && number < *to),
        }
    }
}

/// Whether a value is what an option says: a number also where the option is its text.
fn equal(value: &Value, other: &Json) -> bool {
    match (value, other) {
        (Value::Null, _) => other.is_null(),
        (Value::Boolean(truth), Json::Bool(other)) => truth == other,
        (Value::Boolean(truth), Json::String(text)) if text == "true" || text == "false" => {
            *truth == (text == "true")
        }
        (Value::Text(text), Json::String(other)) => **text == **other,
        (Value::List(_) | Value::Frame(_) | Value::Object(_), _) => value.to_json() == *other,
        _ => value.to_number().zip(options::number(other)).is_some_and(|(a, b)| a == b),
    }
}
