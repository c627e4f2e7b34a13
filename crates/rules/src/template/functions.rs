//! The functions of templates: those of Go, and those that Prometheus adds.
//!
//! `html`, `js` and `tmpl`, which are for pages of HTML, and `call` are left out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use super::value::{Arguments, Value};
use super::{compare, humanize, printf};
use crate::limits::{MAX_ARGS_DEPTH, MAX_TEMPLATE_OUTPUT_BYTES, MAX_TEMPLATE_REGEX_BYTES};
use crate::url::{graph_link, path_of, query_escape, table_link};

/// What queries of a template gave, by their text.
pub(super) type Answers = HashMap<String, Result<Vec<Value>, String>>;

/// What functions know.
#[derive(Debug)]
pub(super) struct Surroundings<'a> {
    pub(super) time_nanos: i64,
    pub(super) external_url: &'a str,
    pub(super) answers: &'a Answers,
}

/// Why a function gives nothing.
#[derive(Debug)]
pub(super) enum CallError {
    Failed(String),
    /// A query has to be answered first.
    Asks(String),
}

impl From<String> for CallError {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

/// Functions with the number of their arguments; `None` is any number.
const FUNCTIONS: [(&str, Option<usize>); 48] = [
    ("and", None),
    ("or", None),
    ("not", Some(1)),
    ("eq", None),
    ("ne", None),
    ("lt", None),
    ("le", None),
    ("gt", None),
    ("ge", None),
    ("len", Some(1)),
    ("index", None),
    ("print", None),
    ("println", None),
    ("printf", None),
    ("urlquery", None),
    ("query", Some(1)),
    ("first", Some(1)),
    ("label", Some(2)),
    ("value", Some(1)),
    ("strvalue", Some(1)),
    ("sortByLabel", Some(2)),
    ("args", None),
    ("humanize", Some(1)),
    ("humanize1024", Some(1)),
    ("humanizeDuration", Some(1)),
    ("humanizePercentage", Some(1)),
    ("humanizeTimestamp", Some(1)),
    ("toTime", Some(1)),
    ("toDuration", Some(1)),
    ("now", Some(0)),
    ("parseDuration", Some(1)),
    ("title", Some(1)),
    ("toUpper", Some(1)),
    ("toLower", Some(1)),
    ("match", Some(2)),
    ("reReplaceAll", Some(3)),
    ("graphLink", Some(1)),
    ("tableLink", Some(1)),
    ("stripPort", Some(1)),
    ("stripDomain", Some(1)),
    ("urlQueryEscape", Some(1)),
    ("externalURL", Some(0)),
    ("pathPrefix", Some(0)),
    ("safeHtml", Some(1)),
    ("slice", None),
    ("html", None),
    ("js", None),
    ("call", None),
];

/// Functions that are known, so that templates with them are read, and refused where they run.
const REFUSED: [&str; 3] = ["html", "js", "call"];

/// Whether there is such a function.
pub(super) fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|(known, _)| *known == name)
}

/// Calls a function. `and` and `or` are not called: they may not look at all of their arguments.
pub(super) fn call(
    name: &str,
    arguments: &[Value],
    around: &Surroundings<'_>,
) -> Result<Value, CallError> {
    let wanted = FUNCTIONS.iter().find(|(known, _)| *known == name).and_then(|(_, count)| *count);
    if let Some(wanted) = wanted.filter(|wanted| *wanted != arguments.len()) {
        let got = arguments.len();
        let message = format!("wrong number of args for {name}: want {wanted} got {got}");
        return Err(CallError::Failed(message));
    }
    let called = |message: String| CallError::Failed(format!("error calling {name}: {message}"));
    match name {
        "query" => query(&text(arguments, 0)?, around),
        "eq" | "ne" | "lt" | "le" | "gt" | "ge" => {
            compare::compare(name, arguments).map_err(called)
        }
        _ if REFUSED.contains(&name) => Err(called("not supported in alerts".to_owned())),
        _ => match numbers(name, arguments, around).transpose() {
            Some(found) => found.map_err(called),
            None => match texts(name, arguments, around)? {
                Some(found) => found.map_err(called),
                None => others(name, arguments)?.map_err(called),
            },
        },
    }
}

fn query(text: &str, around: &Surroundings<'_>) -> Result<Value, CallError> {
    match around.answers.get(text) {
        None => Err(CallError::Asks(text.to_owned())),
        Some(Ok(samples)) => Ok(Value::List(samples.as_slice().into())),
        Some(Err(message)) => Err(CallError::Failed(format!("error calling query: {message}"))),
    }
}

/// Functions of numbers and times.
fn numbers(
    name: &str,
    arguments: &[Value],
    around: &Surroundings<'_>,
) -> Result<Option<Value>, String> {
    let number = || to_float(arguments.first().unwrap_or(&Value::Nil));
    Ok(Some(match name {
        "humanize" => Value::text(humanize::metric(number()?)),
        "humanize1024" => Value::text(humanize::binary(number()?)),
        "humanizeDuration" => Value::text(humanize::duration(number()?)),
        "humanizePercentage" => Value::text(humanize::percentage(number()?)),
        "humanizeTimestamp" => match to_time(number()?)? {
            Some(nanos) => Value::text(crate::time::go_time(nanos)),
            None => Value::text(humanize::not_a_time(number()?)),
        },
        "toTime" => match to_time(number()?)? {
            Some(nanos) => Value::Time(nanos),
            None => return Err("value is NaN or Inf".to_owned()),
        },
        "toDuration" => match to_nanos(number()?)? {
            Some(nanos) => Value::Duration(nanos),
            None => return Err("value is NaN or Inf".to_owned()),
        },
        "now" => Value::Float(around.time_nanos as f64 / 1e9),
        _ => return Ok(None),
    }))
}

/// Functions of texts.
fn texts(
    name: &str,
    arguments: &[Value],
    around: &Surroundings<'_>,
) -> Result<Option<Result<Value, String>>, CallError> {
    let first = || text(arguments, 0);
    let found = match name {
        "title" => Value::text(title(&first()?)),
        "toUpper" => Value::text(first()?.to_uppercase()),
        "toLower" => Value::text(first()?.to_lowercase()),
        "stripPort" => Value::text(strip_port(&first()?)),
        "stripDomain" => Value::text(strip_domain(&first()?)),
        "urlQueryEscape" => Value::text(query_escape(&first()?)),
        "graphLink" => Value::text(graph_link(&first()?)),
        "tableLink" => Value::text(table_link(&first()?)),
        "safeHtml" => Value::text(first()?),
        "externalURL" => Value::text(around.external_url),
        "pathPrefix" => Value::text(path_of(around.external_url)),
        "parseDuration" => {
            let written = first()?;
            let found = kymo_scrape::config::parse_duration(&written);
            let wrong = || format!("not a valid duration string: {written:?}");
            return Ok(Some(
                found.map(|found| Value::Float(found.as_secs_f64())).ok_or_else(wrong),
            ));
        }
        "match" => {
            let (pattern, subject) = (first()?, text(arguments, 1)?);
            return Ok(Some(regex(&pattern).map(|regex| Value::Bool(regex.is_match(&subject)))));
        }
        "reReplaceAll" => {
            let (pattern, by, subject) = (first()?, text(arguments, 1)?, text(arguments, 2)?);
            // Each letter of the text may become as much as the replacement.
            let longest = by.len().saturating_mul(subject.len() + 1);
            if longest > 64 * MAX_TEMPLATE_OUTPUT_BYTES {
                return Ok(Some(Err("replacement and text are too long".to_owned())));
            }
            let replaced = |regex: Regex| Value::text(regex.replace_all(&subject, &*by));
            return Ok(Some(regex(&pattern).map(replaced)));
        }
        "print" => Value::text(print(arguments)),
        "println" => {
            let shown: Vec<String> = arguments.iter().map(Value::show).collect();
            Value::text(format!("{}\n", shown.join(" ")))
        }
        "printf" => Value::text(printf::sprintf(&first()?, arguments.get(1..).unwrap_or_default())),
        "urlquery" => Value::text(query_escape(&print(arguments))),
        _ => return Ok(None),
    };
    Ok(Some(Ok(found)))
}

/// Functions of samples, lists and maps.
fn others(name: &str, arguments: &[Value]) -> Result<Result<Value, String>, CallError> {
    let first = arguments.first().unwrap_or(&Value::Nil);
    Ok(match name {
        "not" => Ok(Value::Bool(!first.is_true())),
        "len" => length(first),
        "slice" => slice(first, arguments.get(1..).unwrap_or_default()),
        "index" => index(first, arguments.get(1..).unwrap_or_default()),
        "args" => args(arguments),
        "first" => match list(first)?.first() {
            Some(sample) => Ok(sample.clone()),
            None => Err("first() called on vector with no elements".to_owned()),
        },
        "value" => Ok(sample(first)?.value.clone()),
        "strvalue" => Ok(label("__value__", first)?),
        "label" => Ok(label(&text(arguments, 0)?, arguments.get(1).unwrap_or(&Value::Nil))?),
        "sortByLabel" => {
            let name = text(arguments, 0)?;
            let mut samples = list(arguments.get(1).unwrap_or(&Value::Nil))?.to_vec();
            samples.sort_by_cached_key(|sample| {
                label(&name, sample).map(|value| value.show()).unwrap_or_default()
            });
            Ok(Value::List(samples.into()))
        }
        _ => Err("no such function".to_owned()),
    })
}

/// Values by the names `arg0`, `arg1` and so on.
fn args(values: &[Value]) -> Result<Value, String> {
    let depth_of = |value: &Value| match value {
        Value::Map(inner) => inner.depth,
        _ => 0,
    };
    let depth = 1 + values.iter().map(depth_of).max().unwrap_or(0);
    if depth > MAX_ARGS_DEPTH {
        return Err(format!("more than {MAX_ARGS_DEPTH} within each other"));
    }
    let named = values.iter().enumerate();
    let by_name = named.map(|(nth, value)| (format!("arg{nth}"), value.clone())).collect();
    Ok(Value::Map(Arc::new(Arguments { by_name, depth })))
}

fn wrong_type(expected: &str, found: &Value) -> CallError {
    let found = found.type_name();
    CallError::Failed(format!("wrong type for value; expected {expected}; got {found}"))
}

fn text(arguments: &[Value], nth: usize) -> Result<String, CallError> {
    match arguments.get(nth).unwrap_or(&Value::Nil) {
        Value::Text(text) => Ok(text.to_string()),
        other => Err(wrong_type("string", other)),
    }
}

fn list(value: &Value) -> Result<&[Value], CallError> {
    match value {
        Value::List(list) => Ok(list),
        other => Err(wrong_type("template.queryResult", other)),
    }
}

fn sample(value: &Value) -> Result<&super::value::Sample, CallError> {
    match value {
        Value::Sample(sample) => Ok(sample),
        other => Err(wrong_type("*template.sample", other)),
    }
}

fn label(name: &str, of: &Value) -> Result<Value, CallError> {
    Ok(Value::text(sample(of)?.labels.get(name).map_or("", |value| value.as_str())))
}

fn length(value: &Value) -> Result<Value, String> {
    let length = match value {
        Value::Text(text) => text.len(),
        Value::Labels(labels) => labels.len(),
        Value::Map(map) => map.by_name.len(),
        Value::List(list) => list.len(),
        Value::Nil => return Err("len of nil pointer".to_owned()),
        other => return Err(format!("len of type {}", other.type_name())),
    };
    Ok(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

fn index(value: &Value, by: &[Value]) -> Result<Value, String> {
    let mut value = value.clone();
    for by in by {
        value = match (&value, by) {
            (Value::List(list), Value::Int(at)) => {
                let found = usize::try_from(*at).ok().and_then(|at| list.get(at)).cloned();
                found.ok_or_else(|| format!("index out of range: {at}"))?
            }
            (Value::Text(text), Value::Int(at)) => {
                let found = usize::try_from(*at).ok().and_then(|at| text.as_bytes().get(at));
                let byte = found.ok_or_else(|| format!("index out of range: {at}"))?;
                Value::Int(i64::from(*byte))
            }
            (Value::Labels(_) | Value::Map(_), Value::Text(name)) => value.field(name)?,
            (Value::Nil, _) => return Err("index of untyped nil".to_owned()),
            (Value::List(_) | Value::Text(_), by) => {
                return Err(format!("cannot index slice/array with type {}", by.type_name()));
            }
            (Value::Labels(_) | Value::Map(_), by) => {
                return Err(format!("value has type {}; should be string", by.type_name()));
            }
            (other, _) => return Err(format!("can't index item of type {}", other.type_name())),
        };
    }
    Ok(value)
}

/// A part of a text or of a list: from where, and up to where.
fn slice(value: &Value, bounds: &[Value]) -> Result<Value, String> {
    let length = match value {
        Value::Text(text) => text.len(),
        Value::List(list) => list.len(),
        other => return Err(format!("can't slice item of type {}", other.type_name())),
    };
    let bound = |nth: usize, default: usize| match bounds.get(nth) {
        None => Ok(default),
        Some(Value::Int(at)) => {
            let found = usize::try_from(*at).ok().filter(|at| *at <= length);
            found.ok_or_else(|| format!("index out of range: {at}"))
        }
        Some(other) => Err(format!("cannot index slice/array with type {}", other.type_name())),
    };
    let (start, end) = (bound(0, 0)?, bound(1, length)?);
    if start > end {
        return Err(format!("invalid slice index: {start} > {end}"));
    }
    Ok(match value {
        Value::List(list) => Value::List(list.get(start..end).unwrap_or_default().into()),
        // Letters that are cut in two are shown as such.
        other => {
            let text = other.show();
            Value::text(String::from_utf8_lossy(text.as_bytes().get(start..end).unwrap_or(&[])))
        }
    })
}

/// As Go's `Sprint`: a space between two of which neither is a text.
fn print(values: &[Value]) -> String {
    let mut out = String::new();
    let mut was_text = true;
    for (nth, value) in values.iter().enumerate() {
        let is_text = matches!(value, Value::Text(_));
        if nth > 0 && !is_text && !was_text {
            out.push(' ');
        }
        out.push_str(&value.show());
        was_text = is_text;
    }
    out
}

fn to_float(value: &Value) -> Result<f64, String> {
    match value {
        Value::Float(number) => Ok(*number),
        Value::Int(number) => Ok(*number as f64),
        Value::Duration(nanos) => Ok(*nanos as f64 / 1e9),
        Value::Text(text) => text
            .parse()
            .map_err(|_| format!("strconv.ParseFloat: parsing {text:?}: invalid syntax")),
        other => Err(format!("can't convert {} to float", other.type_name())),
    }
}

/// Seconds as nanoseconds; `None` for what is no number.
fn to_nanos(secs: f64) -> Result<Option<i64>, String> {
    if !secs.is_finite() {
        return Ok(None);
    }
    let nanos = secs * 1e9;
    if nanos.abs() >= i64::MAX as f64 {
        let secs = kymo_promql::number::format_g(secs);
        return Err(format!(
            "{secs} cannot be represented as a nanoseconds timestamp since it overflows int64"
        ));
    }
    Ok(Some(nanos as i64))
}

/// The same in whole milliseconds, as times are.
fn to_time(secs: f64) -> Result<Option<i64>, String> {
    Ok(to_nanos(secs)?.map(|nanos| nanos / 1_000_000 * 1_000_000))
}

/// The first letter of each word in upper case.
fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_inside = false;
    for c in text.chars() {
        if is_inside {
            out.push(c);
        } else {
            out.extend(c.to_uppercase());
        }
        is_inside = c.is_alphanumeric() || matches!(c, '_' | '\'');
    }
    out
}

/// Host and port, as Go takes addresses apart; `None` if there is no port.
fn host_and_port(address: &str) -> Option<(&str, &str)> {
    if let Some(behind) = address.strip_prefix('[') {
        let (host, port) = behind.split_once(']')?;
        return Some((host, port.strip_prefix(':')?));
    }
    let (host, port) = address.split_once(':')?;
    (!port.contains(':')).then_some((host, port))
}

fn strip_port(address: &str) -> String {
    host_and_port(address).map_or(address, |(host, _)| host).to_owned()
}

fn strip_domain(address: &str) -> String {
    let (host, port) = match host_and_port(address) {
        Some((host, port)) => (host, Some(port)),
        None => (address, None),
    };
    if host.parse::<IpAddr>().is_ok() {
        return address.to_owned();
    }
    let host = host.split_once('.').map_or(host, |(name, _)| name);
    match port {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn regex(pattern: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(pattern).size_limit(MAX_TEMPLATE_REGEX_BYTES).build();
    built.map_err(|error| {
        let text = error.to_string();
        let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("error parsing regexp: {reason}")
    })
}
