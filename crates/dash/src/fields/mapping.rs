//! Value mappings: texts and colours for values, ranges, patterns and what is missing.

use serde_json::{Map, Value as Json};

use super::pattern::{self, Pattern};
use crate::frame::{Value, parse_number};
use crate::limits;

/// What a mapping gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapped {
    /// The text that is shown instead.
    pub text: Option<String>,
    /// The colour, by Grafana's name or as CSS has it.
    pub color: Option<String>,
    /// The icon, by its path in Grafana.
    pub icon: Option<String>,
}

/// Mappings of one field, in order.
#[derive(Debug, Default)]
pub struct Mappings(Vec<Mapping>);

#[derive(Debug)]
enum Mapping {
    Values(Map<String, Json>),
    Range { from: f64, to: f64, result: Mapped },
    Pattern { regex: Pattern, all: bool, result: Mapped },
    Special { matches: String, result: Mapped },
}

impl Mappings {
    /// Reads a field's `mappings`; what cannot be read is left out.
    pub fn read(json: &Json) -> Self {
        let list = json.as_array().map_or(&[][..], Vec::as_slice);
        Self(list.iter().take(limits::MAX_MAPPINGS).filter_map(read).collect())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What the first mapping that matches a value gives.
    pub fn find(&self, value: &Value) -> Option<Mapped> {
        self.0.iter().find_map(|mapping| mapping.apply(value))
    }
}

fn read(json: &Json) -> Option<Mapping> {
    let options = json.get("options")?;
    let result = || mapped(options.get("result").unwrap_or(&Json::Null));
    // Bounds are written as numbers, or in older dashboards as texts; what is missing is no bound.
    let bound = |key: &str, missing: f64| match options.get(key) {
        Some(Json::Number(number)) => number.as_f64().unwrap_or(missing),
        Some(Json::String(text)) => parse_number(text).unwrap_or(missing),
        _ => missing,
    };
    Some(match json.get("type")?.as_str()? {
        "value" => Mapping::Values(options.as_object()?.clone()),
        "range" => Mapping::Range {
            from: bound("from", f64::NEG_INFINITY),
            to: bound("to", f64::INFINITY),
            result: result(),
        },
        "regex" => {
            let text = options.get("pattern")?.as_str()?;
            let regex = pattern::compile(text).ok()?;
            Mapping::Pattern { regex, all: pattern::is_global(text), result: result() }
        }
        "special" => {
            let matches = options.get("match")?.as_str()?.to_owned();
            Mapping::Special { matches, result: result() }
        }
        _ => return None,
    })
}

fn mapped(json: &Json) -> Mapped {
    let text = |key: &str| match json.get(key) {
        Some(Json::String(text)) => Some(text.clone()),
        Some(Json::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    Mapped { text: text("text"), color: text("color"), icon: text("icon") }
}

impl Mapping {
    fn apply(&self, value: &Value) -> Option<Mapped> {
        match self {
            Self::Values(_) | Self::Range { .. } | Self::Pattern { .. } if value.is_null() => None,
            Self::Values(values) => values.get(&value.to_text()).map(mapped),
            Self::Range { from, to, result } => {
                if matches!(value, Value::Boolean(_)) {
                    return None;
                }
                let number = value.to_number().filter(|number| !number.is_nan())?;
                (*from <= number && number <= *to).then(|| result.clone())
            }
            Self::Pattern { regex, all, result } => {
                let Value::Text(text) = value else { return None };
                if !regex.is_match(text) {
                    return None;
                }
                let replaced = |template: &String| regex.replace(text, template, *all);
                Some(Mapped { text: result.text.as_ref().map(replaced), ..result.clone() })
            }
            Self::Special { matches, result } => {
                let nan = value.as_number().is_some_and(f64::is_nan);
                let is = |truth: bool, text: &str| {
                    *value == Value::Boolean(truth) || *value == Value::from(text)
                };
                let found = match matches.as_str() {
                    "null" => value.is_null(),
                    "nan" => nan,
                    "null+nan" => value.is_null() || nan,
                    "true" => is(true, "true"),
                    "false" => is(false, "false"),
                    "empty" => *value == Value::from(""),
                    _ => false,
                };
                found.then(|| result.clone())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(mappings: &Json, value: impl Into<Value>) -> Option<String> {
        Mappings::read(mappings).find(&value.into()).and_then(|mapped| mapped.text)
    }

    #[test]
    fn the_first_that_matches_is_taken() {
        let mappings = json!([
            {"type": "value", "options": {"0": {"text": "down", "color": "red"}, "a": {"text": "A"}}},
            {"type": "range", "options": {"from": 1, "to": 10, "result": {"text": "few"}}},
            {"type": "range", "options": {"from": 10, "to": null, "result": {"text": "many"}}},
            {"type": "regex", "options": {"pattern": "/^gpu-(\\d+)$/", "result": {"text": "GPU $1"}}},
            {"type": "special", "options": {"match": "null+nan", "result": {"text": "N/A"}}},
            {"type": "special", "options": {"match": "empty", "result": {"text": "none"}}}
        ]);
        assert_eq!(text(&mappings, 0.0).as_deref(), Some("down"));
        assert_eq!(text(&mappings, "a").as_deref(), Some("A"));
        assert_eq!(text(&mappings, 10.0).as_deref(), Some("few"));
        assert_eq!(text(&mappings, 11.0).as_deref(), Some("many"));
        assert_eq!(text(&mappings, "gpu-7").as_deref(), Some("GPU 7"));
        assert_eq!(text(&mappings, Value::Null).as_deref(), Some("N/A"));
        assert_eq!(text(&mappings, f64::NAN).as_deref(), Some("N/A"));
        assert_eq!(text(&mappings, "").as_deref(), Some("none"));
        assert_eq!(text(&mappings, -1.0), None);
        assert_eq!(text(&mappings, true), None);
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        let mappings =
            json!([1, {"type": "regex", "options": {"pattern": "/(/"}}, {"type": "value"}]);
        assert!(Mappings::read(&mappings).is_empty());
    }
}
