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

/// Puts variables into every text of some options, as deep as options go. Refuses what becomes too long
/// by that, and lists that are too long anyway.
pub(super) fn interpolated(
    json: &Json,
    interpolate: &dyn Fn(&str) -> String,
) -> Result<Json, String> {
    Interpolated { interpolate, bytes: 0 }.at_depth(json, 0)
}

struct Interpolated<'a> {
    interpolate: &'a dyn Fn(&str) -> String,
    /// What variables brought.
    bytes: usize,
}

impl Interpolated<'_> {
    fn at_depth(&mut self, json: &Json, depth: usize) -> Result<Json, String> {
        if depth > limits::MAX_DEPTH {
            return Ok(json.clone());
        }
        Ok(match json {
            Json::String(text) if text.contains('$') || text.contains("[[") => {
                let filled = (self.interpolate)(text);
                self.bytes += filled.len();
                if self.bytes > limits::MAX_INTERPOLATED_BYTES {
                    return Err("its options are too long with variables put in".to_owned());
                }
                filled.into()
            }
            Json::Array(list) if list.len() > limits::MAX_LISTED_OPTIONS => {
                let most = limits::MAX_LISTED_OPTIONS;
                return Err(format!("a list of its options has more than {most} elements"));
            }
            Json::Array(list) => {
                let values = list.iter().map(|value| self.at_depth(value, depth + 1));
                Json::Array(values.collect::<Result<_, _>>()?)
            }
            Json::Object(map) => {
                let mut made = Map::new();
                for (key, value) in map {
                    made.insert(key.clone(), self.at_depth(value, depth + 1)?);
                }
                Json::Object(made)
            }
            other => other.clone(),
        })
    }
}
