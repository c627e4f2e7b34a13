//! What is asked for: `{"where": "…", "signal": "traces", …}`.

use std::ops::Range;

use kymo_engine::deletion::{Condition, Language};
use kymo_store::Signal;
use ring::digest::{SHA256, digest};
use serde::Deserialize;

use crate::limits::DELETE_MAX_CONDITION_BYTES;
use crate::times;

/// What is asked for, checked.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) condition: Condition,
    pub(super) dry_run: bool,
    /// Whether everything may go.
    pub(super) all: bool,
    /// Whether only a hash of the condition is kept.
    pub(super) redact: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "where")]
    condition: String,
    language: Option<String>,
    signal: Option<String>,
    start: Option<Moment>,
    end: Option<Moment>,
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    whole_traces: bool,
    #[serde(default)]
    all: bool,
    #[serde(default)]
    redact: bool,
}

/// A time, as text or as a number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Moment {
    Number(u64),
    Text(String),
}

impl Moment {
    fn nanos(&self) -> Result<i64, String> {
        let text = match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        };
        times::timestamp(&text).ok_or_else(|| {
            format!(
                "\"{text}\" is no time: expected {}, or seconds or nanoseconds since 1970",
                times::TIME
            )
        })
    }
}

impl Asked {
    pub(super) fn read(body: &[u8]) -> Result<Self, String> {
        let document: Document = serde_json::from_slice(body).map_err(|error| {
            format!(
                "{error}: expected {{\"where\": \"…\", \"signal\": \"traces\", \"dry_run\": true}}, and \
                 \"language\", \"start\", \"end\", \"whole_traces\", \"all\" and \"redact\" if needed"
            )
        })?;
        let text = document.condition.trim();
        if text.is_empty() {
            return Err(
                "\"where\" is empty: expected a condition; true means everything".to_owned()
            );
        }
        if text.len() > DELETE_MAX_CONDITION_BYTES {
            let bytes = text.len();
            return Err(format!(
                "the condition has {bytes} bytes, at most {DELETE_MAX_CONDITION_BYTES} are possible"
            ));
        }
        let language = match document.language.as_deref() {
            None => Language::guess(text),
            Some("sql") => Language::Sql,
            Some("traceql") => Language::TraceQl,
            Some(other) => {
                return Err(format!("\"{other}\" is no language: expected sql or traceql"));
            }
        };
        let signals = signals(document.signal.as_deref(), language, document.whole_traces)?;
        let condition = Condition {
            text: text.to_owned(),
            language,
            signals,
            time: range(document.start.as_ref(), document.end.as_ref())?,
            whole_traces: document.whole_traces,
        };
        let Document { dry_run, all, redact, .. } = document;
        Ok(Self { condition, dry_run, all, redact })
    }
}

fn signals(
    named: Option<&str>,
    language: Language,
    whole_traces: bool,
) -> Result<Vec<Signal>, String> {
    match (named, language) {
        (Some("traces"), _) | (None, Language::TraceQl) => Ok(vec![Signal::Spans]),
        (Some("logs"), _) => Ok(vec![Signal::Logs]),
        (Some("metrics"), _) => Ok(vec![Signal::Series]),
        // Metrics belong to no trace.
        (Some("all"), _) if whole_traces => Ok(vec![Signal::Spans, Signal::Logs]),
        (Some("all"), _) => Ok(Signal::ALL.to_vec()),
        (Some(other), _) => {
            Err(format!("\"{other}\" is no signal: expected traces, logs, metrics or all"))
        }
        (None, Language::Sql) => {
            Err("a condition in SQL needs a signal: traces, logs, metrics or all".to_owned())
        }
    }
}

fn range(start: Option<&Moment>, end: Option<&Moment>) -> Result<Option<Range<i64>>, String> {
    if start.is_none() && end.is_none() {
        return Ok(None);
    }
    let start = start.map_or(Ok(i64::MIN), Moment::nanos)?;
    let end = end.map_or(Ok(i64::MAX), Moment::nanos)?;
    match start < end {
        true => Ok(Some(start..end)),
        false => Err("the time is empty: start must be before end".to_owned()),
    }
}

/// What tells a condition again to who knows it.
pub(super) fn hash(text: &str) -> String {
    let bytes = digest(&SHA256, text.as_bytes());
    let hex: String = bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Asked, String> {
        Asked::read(text.as_bytes())
    }

    #[test]
    fn a_filter_is_about_traces_and_sql_says_what_it_is_about() {
        let asked = read(r#"{"where": "{ span.user = \"ada\" }"}"#).unwrap();
        assert_eq!(asked.condition.language, Language::TraceQl);
        assert_eq!(asked.condition.signals, [Signal::Spans]);
        assert!(!asked.dry_run && !asked.all && asked.condition.time.is_none());
        let refused = read(r#"{"where": "name = 'x'"}"#).unwrap_err();
        assert!(refused.contains("needs a signal"), "{refused}");
        let all = read(r#"{"where": "true", "signal": "all", "whole_traces": true}"#).unwrap();
        assert_eq!(all.condition.signals, [Signal::Spans, Signal::Logs]);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (text, why) in [
            ("", "expected {\"where\""),
            ("{}", "where"),
            (r#"{"where": " "}"#, "is empty"),
            (r#"{"where": "true", "signal": "spans"}"#, "is no signal"),
            (r#"{"where": "true", "language": "english"}"#, "is no language"),
            (r#"{"where": "{}", "dryrun": true}"#, "unknown field"),
            (r#"{"where": "{}", "start": "yesterday"}"#, "is no time"),
            (r#"{"where": "{}", "start": 20, "end": 10}"#, "before end"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
        let long = format!(r#"{{"where": "{}"}}"#, "x".repeat(DELETE_MAX_CONDITION_BYTES + 1));
        assert!(read(&long).unwrap_err().contains("at most"));
    }

    #[test]
    fn times_are_seconds_nanoseconds_or_text() {
        let text = r#"{"where": "{}", "start": 1700000000, "end": "2023-11-14T22:13:21Z"}"#;
        let nanos = 1_700_000_000_000_000_000;
        assert_eq!(read(text).unwrap().condition.time, Some(nanos..nanos + 1_000_000_000));
        let open = read(r#"{"where": "{}", "end": 10}"#).unwrap();
        assert_eq!(open.condition.time, Some(i64::MIN..10_000_000_000));
    }

    #[test]
    fn a_condition_is_known_by_its_hash() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hash(""), empty);
    }
}
