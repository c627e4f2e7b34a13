//! One cell of a frame, and how it reads as a number, a text or a truth.
//!
//! Numbers are written as JavaScript writes them, since names and texts made from values have to be
//! those that a dashboard's matchers and mappings were written for.

use std::cmp::Ordering;
use std::sync::Arc;

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use super::Frame;

/// A cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Value {
    /// Nothing.
    #[default]
    Null,
    /// A number, a time in milliseconds or the index of an enumeration.
    Number(f64),
    /// A text.
    Text(Arc<str>),
    /// True or false.
    Boolean(bool),
    /// Several cells, as the reducer `allValues` makes them.
    List(Arc<[Value]>),
    /// A nested frame, as `groupToNestedTable` and `timeSeriesTable` make them.
    Frame(Arc<Frame>),
    /// An object as it came.
    Object(Arc<Json>),
}

/// A cell as the key of a group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// Nothing.
    Null,
    /// The bits of a number.
    Number(u64),
    /// A text.
    Text(Arc<str>),
    /// True or false.
    Boolean(bool),
    /// Anything else, as JSON.
    Other(String),
}

impl Value {
    /// Whether there is nothing in the cell.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The number in the cell, if it is one.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The cell as a number: truths are 1 and 0, texts are read, all else is none.
    pub fn to_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Boolean(truth) => Some(f64::from(u8::from(*truth))),
            Self::Text(text) => parse_number(text),
            _ => None,
        }
    }

    /// The cell as a text; null is empty.
    pub fn to_text(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Number(number) => write_number(*number),
            Self::Text(text) => text.to_string(),
            Self::Boolean(truth) => truth.to_string(),
            Self::List(values) => values.iter().map(Self::to_text).collect::<Vec<_>>().join(","),
            Self::Frame(_) => "[frame]".to_owned(),
            Self::Object(json) => json.to_string(),
        }
    }

    /// The cell as JSON.
    pub fn to_json(&self) -> Json {
        serde_json::to_value(self).unwrap_or(Json::Null)
    }

    /// The cell that a JSON value is. Depth is that of the JSON, which its reader has bounded.
    pub fn from_json(json: &Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(truth) => Self::Boolean(*truth),
            Json::Number(number) => Self::from(number.as_f64()),
            Json::String(text) => Self::from(text.as_str()),
            Json::Array(values) => Self::List(values.iter().map(Self::from_json).collect()),
            Json::Object(_) => Self::Object(Arc::new(json.clone())),
        }
    }

    /// What makes two cells the same group. It tells kinds apart, so that 1 and "1" are two groups.
    pub fn key(&self) -> Key {
        match self {
            Self::Null => Key::Null,
            // Both zeroes are one, and all that is not a number is one.
            Self::Number(number) if *number == 0.0 => Key::Number(0),
            Self::Number(number) if number.is_nan() => Key::Number(f64::NAN.to_bits()),
            Self::Number(number) => Key::Number(number.to_bits()),
            Self::Text(text) => Key::Text(text.clone()),
            Self::Boolean(truth) => Key::Boolean(*truth),
            other => Key::Other(other.to_json().to_string()),
        }
    }

    /// Order for sorting: nulls first, numbers by value, texts without regard to case and then with.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Null, Self::Null) => Ordering::Equal,
            (Self::Null, _) => Ordering::Less,
            (_, Self::Null) => Ordering::Greater,
            (Self::Number(left), Self::Number(right)) => {
                left.partial_cmp(right).unwrap_or_else(|| right.is_nan().cmp(&left.is_nan()))
            }
            (Self::Boolean(left), Self::Boolean(right)) => left.cmp(right),
            (Self::Text(left), Self::Text(right)) => {
                let folded = left.to_lowercase().cmp(&right.to_lowercase());
                folded.then_with(|| right.cmp(left))
            }
            // Cells of different kinds are ordered by kind first, so that the order is total.
            _ => self.rank().cmp(&other.rank()).then_with(|| self.to_text().cmp(&other.to_text())),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Number(_) => 1,
            Self::Boolean(_) => 2,
            Self::Text(_) => 3,
            Self::List(_) => 4,
            Self::Object(_) => 5,
            Self::Frame(_) => 6,
        }
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<Option<f64>> for Value {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Null, Self::Number)
    }
}

impl From<usize> for Value {
    fn from(count: usize) -> Self {
        Self::Number(count as f64)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Boolean(truth)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Arc::from(text))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Arc::from(text))
    }
}

impl From<Arc<str>> for Value {
    fn from(text: Arc<str>) -> Self {
        Self::Text(text)
    }
}

impl FromIterator<Value> for Value {
    fn from_iter<T: IntoIterator<Item = Value>>(values: T) -> Self {
        Self::List(values.into_iter().collect())
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Number(number) if !number.is_finite() => {
                serializer.serialize_str(&write_number(*number))
            }
            // Whole numbers without ".0": shorter, and what JavaScript writes.
            Self::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
                serializer.serialize_i64(*number as i64)
            }
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Boolean(truth) => serializer.serialize_bool(*truth),
            Self::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                values.iter().try_for_each(|value| list.serialize_element(value))?;
                list.end()
            }
            Self::Frame(frame) => frame.serialize(serializer),
            Self::Object(json) => json.serialize(serializer),
        }
    }
}

/// A number as JavaScript's `Number(text)` reads it, none where that is not a number. An empty text
/// is none rather than 0.
pub fn parse_number(text: &str) -> Option<f64> {
    let text = text.trim();
    match text {
        "" => return None,
        "NaN" => return Some(f64::NAN),
        "Infinity" | "+Infinity" | "+Inf" => return Some(f64::INFINITY),
        "-Infinity" | "-Inf" => return Some(f64::NEG_INFINITY),
        _ => {}
    }
    // Rust would also read words such as "inf" and "nan".
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    if plain { text.parse().ok() } else { None }
}

/// A number as JavaScript writes it: no exponent between 1e-6 and 1e21, no trailing zeros.
pub fn write_number(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let size = number.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if (1e-6..1e21).contains(&size) {
        return format!("{number}");
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_javascript_writes_them() {
        let cases = [
            (0.1 + 0.2, "0.30000000000000004"),
            (1e21, "1e+21"),
            (1.5e-7, "1.5e-7"),
            (1e-6, "0.000001"),
            (123456789012345680000.0, "123456789012345680000"),
            (-0.0, "0"),
        ];
        for (number, text) in cases {
            assert_eq!(write_number(number), text);
        }
    }

    #[test]
    fn words_and_empty_texts_are_no_numbers() {
        for text in ["", " ", "inf", "nan", "1a", "--1", "1e"] {
            assert_eq!(parse_number(text), None, "{text:?}");
        }
        assert_eq!(parse_number(" 1.5e3 "), Some(1500.0));
    }

    #[test]
    fn sorting_puts_nulls_first_and_ignores_case() {
        let mut values = [Value::from("b"), Value::Null, Value::from("A"), Value::from(2.0)];
        values.sort_by(Value::compare);
        assert_eq!(values, [Value::Null, Value::from(2.0), Value::from("A"), Value::from("b")]);
    }
}
