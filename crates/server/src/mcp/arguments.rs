//! What a tool is given: each argument is declared once, for the schema that models see and for the
//! check of what they send.
//!
//! Models make mistakes. Each is answered with what was expected, so that the next try is better; an
//! argument that does not exist is refused, since a filter that is passed over gives wrong answers.

use serde_json::{Map, Value, json};

use crate::limits::DEFAULT_METRICS_RANGE;
use crate::parameters::{invalid, quoted};
use crate::times::{self, NANOS_PER_SECOND, TIME};

/// What may be given.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Text,
    /// A moment, as RFC 3339 has it.
    Time,
    Count,
    Switch,
    /// One of these.
    Choice(&'static [&'static str]),
}

#[derive(Debug)]
pub(super) struct Argument {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) is_required: bool,
    /// What a model is told about it.
    pub(super) about: &'static str,
}

impl Argument {
    pub(super) const fn required(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, is_required: true, about }
    }

    pub(super) const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, is_required: false, about }
    }

    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Text => json!({ "type": "string" }),
            Kind::Time => json!({ "type": "string", "format": "date-time" }),
            Kind::Count => json!({ "type": "integer", "minimum": 1 }),
            Kind::Switch => json!({ "type": "boolean" }),
            Kind::Choice(names) => json!({ "type": "string", "enum": names }),
        };
        schema["description"] = json!(self.about);
        schema
    }

    /// The value as a text, or what was expected instead.
    fn read(&self, value: &Value) -> Result<String, String> {
        let (read, expected) = match (self.kind, value) {
            (Kind::Text, Value::String(text)) => return Ok(text.clone()),
            (Kind::Text, _) => (None, "a text".to_owned()),
            (Kind::Time, value) => {
                let is_time = |text: &&str| text.is_empty() || times::rfc3339(text).is_some();
                (value.as_str().filter(is_time).map(str::to_owned), TIME.to_owned())
            }
            // Some models write numbers and switches as texts.
            (Kind::Count, value) => {
                let count = value.as_u64().or_else(|| value.as_str()?.parse().ok());
                let read = count.filter(|count| *count > 0).map(|count| count.to_string());
                (read, "a whole number above 0".to_owned())
            }
            (Kind::Switch, value) => {
                let switch = value.as_bool().or_else(|| value.as_str()?.parse().ok());
                (switch.map(|on| on.to_string()), "true or false".to_owned())
            }
            (Kind::Choice(names), value) => {
                let chosen = names.iter().find(|name| value.as_str() == Some(name));
                (chosen.map(|&name| name.to_owned()), format!("one of {}", names.join(", ")))
            }
        };
        read.ok_or_else(|| {
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            invalid(self.name, &expected, &shown)
        })
    }
}

/// The schema of all arguments of a tool.
pub(super) fn schema(arguments: &[Argument]) -> Value {
    let properties: Map<String, Value> =
        arguments.iter().map(|argument| (argument.name.to_owned(), argument.schema())).collect();
    let required: Vec<&str> = arguments
        .iter()
        .filter(|argument| argument.is_required)
        .map(|argument| argument.name)
        .collect();
    let mut schema =
        json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// What a call gives, checked. As in URLs, an empty text is as good as none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Given(Vec<(&'static str, String)>);

impl Given {
    pub(super) fn read(declared: &[Argument], sent: &Map<String, Value>) -> Result<Self, String> {
        let find = |name: &str| declared.iter().find(|argument| argument.name == name);
        if let Some(name) = sent.keys().find(|name| find(name).is_none()) {
            let names: Vec<&str> = declared.iter().map(|argument| argument.name).collect();
            let name = quoted(name);
            return Err(format!("there is no argument {name}; there are {}", names.join(", ")));
        }
        let mut given = Self::default();
        for argument in declared {
            let value = sent.get(argument.name).filter(|value| !value.is_null());
            let text = value.map(|value| argument.read(value)).transpose()?.unwrap_or_default();
            if !text.trim().is_empty() {
                given.0.push((argument.name, text));
            } else if argument.is_required {
                return Err(format!(
                    "the argument {} is required: {}",
                    argument.name, argument.about
                ));
            }
        }
        Ok(given)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| *given == name).map(|(_, value)| value.as_str())
    }

    /// A text; empty if there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    fn time(&self, name: &str) -> Option<i64> {
        self.get(name).and_then(times::rfc3339)
    }

    /// `start` and `end` in nanoseconds since 1970; the hour before `end`, or before now.
    pub(super) fn range(&self, now_nanos: i64) -> Result<(i64, i64), String> {
        let hour_nanos = DEFAULT_METRICS_RANGE.as_nanos() as i64;
        let end = self.time("end").unwrap_or(now_nanos);
        let start = self.time("start").unwrap_or(end.saturating_sub(hour_nanos));
        match start < end {
            true => Ok((start, end)),
            false => Err("start must be before end, which is now unless it is given".to_owned()),
        }
    }

    /// Two times that belong together, in seconds since 1970.
    pub(super) fn seconds(&self, start: &str, end: &str) -> Result<Option<(i64, i64)>, String> {
        match (self.time(start), self.time(end)) {
            (None, None) => Ok(None),
            (Some(start), Some(end)) => Ok(Some(whole_seconds(start, end))),
            _ => Err(format!("{start} and {end} must be given together")),
        }
    }
}

/// The whole seconds around a range in nanoseconds.
pub(super) fn whole_seconds(start_nanos: i64, end_nanos: i64) -> (i64, i64) {
    let before = |nanos: i64| nanos.div_euclid(NANOS_PER_SECOND);
    (before(start_nanos), -before(-end_nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: &[Argument] = &[
        Argument::required("query", Kind::Text, "what to find"),
        Argument::optional("start", Kind::Time, "from when"),
        Argument::optional("end", Kind::Time, "until when"),
        Argument::optional("limit", Kind::Count, "how many"),
        Argument::optional("deep", Kind::Switch, "how deep"),
        Argument::optional("format", Kind::Choice(&["long", "short"]), "how it looks"),
    ];

    fn given(sent: Value) -> Result<Given, String> {
        Given::read(DECLARED, sent.as_object().unwrap())
    }

    #[test]
    fn the_schema_names_types_choices_and_what_is_required() {
        let schema = schema(DECLARED);
        assert_eq!(schema["required"], json!(["query"]));
        assert_eq!(schema["additionalProperties"], json!(false));
        let properties = &schema["properties"];
        assert_eq!(properties["query"], json!({"type": "string", "description": "what to find"}));
        assert_eq!(properties["format"]["enum"], json!(["long", "short"]));
        assert_eq!(properties["limit"]["type"], "integer");
        assert_eq!(properties["deep"]["type"], "boolean");
    }

    #[test]
    fn values_are_read_also_where_models_write_them_as_texts() {
        let sent = json!({"query": "{ }", "limit": "5", "deep": true, "format": "long"});
        let read = given(sent).unwrap();
        assert_eq!((read.text("query"), read.text("limit")), ("{ }", "5"));
        assert_eq!((read.get("deep"), read.get("format")), (Some("true"), Some("long")));
        let read = given(json!({"query": "x", "start": "", "end": null, "deep": "false"})).unwrap();
        assert_eq!((read.get("start"), read.get("end")), (None, None));
        assert_eq!((read.get("limit"), read.text("limit")), (None, ""));
        assert_eq!(read.get("deep"), Some("false"));
    }

    #[test]
    fn a_mistake_is_answered_with_what_was_expected() {
        for (sent, words) in [
            (json!({}), ["query is required", "what to find"]),
            (json!({"query": " "}), ["query is required", "what to find"]),
            (json!({"query": 5}), ["invalid query", "a text"]),
            (json!({"query": "x", "start": "yesterday"}), ["invalid start", "2026-01-02"]),
            (json!({"query": "x", "start": 5}), ["invalid start", "2026-01-02"]),
            (json!({"query": "x", "limit": 0}), ["invalid limit", "above 0"]),
            (json!({"query": "x", "limit": -1}), ["invalid limit", "whole number"]),
            (json!({"query": "x", "deep": "yes"}), ["invalid deep", "true or false"]),
            (json!({"query": "x", "format": ""}), ["invalid format", "long, short"]),
            (json!({"query": "x", "service": "a"}), ["no argument \"service\"", "query, start"]),
        ] {
            let message = given(sent.clone()).unwrap_err();
            assert!(words.iter().all(|word| message.contains(word)), "{sent}: {message}");
        }
    }

    #[test]
    fn without_times_the_past_hour_is_meant() {
        const SECOND: i64 = NANOS_PER_SECOND;
        let range = |start: &str, end: &str| {
            let sent = json!({"query": "x", "start": start, "end": end});
            given(sent).unwrap().range(7200 * SECOND)
        };
        assert_eq!(range("", ""), Ok((3600 * SECOND, 7200 * SECOND)));
        assert_eq!(range("1970-01-01T01:30:00Z", ""), Ok((5400 * SECOND, 7200 * SECOND)));
        assert_eq!(range("", "1970-01-01T01:30:00Z"), Ok((1800 * SECOND, 5400 * SECOND)));
        assert!(range("1970-01-01T03:00:00Z", "").unwrap_err().contains("before end"));
    }

    #[test]
    fn times_in_pairs_are_whole_seconds_around_them() {
        let seconds = |start: &str, end: &str| {
            let sent = json!({"query": "x", "start": start, "end": end});
            given(sent).unwrap().seconds("start", "end")
        };
        assert_eq!(seconds("", ""), Ok(None));
        let (start, end) = ("1970-01-01T00:00:01.5Z", "1970-01-01T00:00:02.5Z");
        assert_eq!(seconds(start, end), Ok(Some((1, 3))));
        assert!(seconds(start, "").unwrap_err().contains("together"));
    }
}
