//! Options of a transformation: read leniently, with variables put in.

use serde_json::{Map, Value as Json};

use crate::limits;

/// The options of one transformation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options<'a>(pub(super) &'a Json);

impl<'a> Options<'a> {
    pub(super) fn get(self, key: &str) -> &'a Json {
        self.0.get(key).unwrap_or(&Json::Null)
    }

    /// The options under a key.
    pub(super) fn within(self, key: &str) -> Self {
        Self(self.get(key))
    }

    /// A text that is not empty.
    pub(super) fn text(self, key: &str) -> Option<&'a str> {
        self.get(key).as_str().filter(|text| !text.is_empty())
    }

    pub(super) fn truth(self, key: &str) -> bool {
        self.get(key).as_bool().unwrap_or(false)
    }

    /// A number, also where it is written as a text.
    pub(super) fn number(self, key: &str) -> Option<f64> {
        number(self.get(key))
    }

    pub(super) fn list(self, key: &str) -> &'a [Json] {
        self.get(key).as_array().map_or(&[], Vec::as_slice)
    }

    /// The texts of a list.
    pub(super) fn texts(self, key: &str) -> Vec<&'a str> {
        self.list(key).iter().filter_map(Json::as_str).collect()
    }

    pub(super) fn map(self, key: &str) -> Option<&'a Map<String, Json>> {
        self.get(key).as_object()
    }

    /// Refuses an option that is there but of the wrong type.
    pub(super) fn expect(self, key: &str, what: &str, is: fn(&Json) -> bool) -> Result<(), String> {
        let value = self.get(key);
        if value.is_null() || is(value) {
            return Ok(());
        }
        Err(format!("expected the option \"{key}\" to be {what}"))
    }
}

/// A number, also where it is written as a text.
pub(super) fn number(json: &Json) -> Option<f64> {
    match json {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => crate::frame::parse_number(text),
        _ => None,
    }
}

/// Puts variables into every text of some options, as deep as options go.
pub(super) fn interpolated(json: &Json, interpolate: &dyn Fn(&str) -> String) -> Json {
    at_depth(json, interpolate, 0)
}

fn at_depth(json: &Json, interpolate: &dyn Fn(&str) -> String, depth: usize) -> Json {
    if depth > limits::MAX_DEPTH {
        return json.clone();
    }
    match json {
        Json::String(text) if text.contains('$') || text.contains("[[") => interpolate(text).into(),
        Json::Array(list) => {
            list.iter().map(|value| at_depth(value, interpolate, depth + 1)).collect()
        }
        Json::Object(map) => {
            let entry = |(key, value): (&String, &Json)| {
                (key.clone(), at_depth(value, interpolate, depth + 1))
            };
            Json::Object(map.iter().map(entry).collect())
        }
        other => other.clone(),
    }
}
