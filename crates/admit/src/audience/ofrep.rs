//! OFREP, the remote evaluation protocol of OpenFeature: clients ask before they send.
//!
//! | question | answered by |
//! |---|---|
//! | `POST /ofrep/v1/evaluate/flags/{key}` | [`evaluate`] |
//! | `POST /ofrep/v1/evaluate/flags` | [`evaluate_all`] |
//!
//! A flag is a boolean: whether records of the user are kept. The answer is what admission decides,
//! apart from `where` and `signals`, since the question is about a user and not about a record. The
//! user is whom the flag's attributes name in the context, else its `targetingKey`; if it has
//! neither, the user is not known.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_128;

use super::answer::Answer;
use super::book::FlagBook;
use super::limits::MAX_REQUEST_BYTES;
use super::rule::{Decision, Rule};

/// The key of a context that names whom the question is about.
const TARGETING_KEY: &str = "targetingKey";

type Context = Map<String, Value>;

#[derive(Serialize)]
struct Evaluated<'a> {
    key: &'a str,
    reason: &'static str,
    variant: &'static str,
    value: bool,
    metadata: Metadata,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    mode: &'static str,
    updated_at_millis: u64,
}

#[derive(Serialize)]
struct AllEvaluated<'a> {
    flags: Vec<Evaluated<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Failure<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    error_code: &'static str,
    error_details: String,
}

/// Why a question is not answered.
struct Unanswerable {
    code: &'static str,
    details: String,
}

impl Unanswerable {
    fn answer(self, status: u16, key: Option<&str>) -> Answer {
        let failure = Failure { key, error_code: self.code, error_details: self.details };
        Answer::json(status, &failure)
    }
}

/// A question that could not be read at all.
#[must_use]
pub fn failed(status: u16, details: String) -> Answer {
    Unanswerable { code: "GENERAL", details }.answer(status, None)
}

/// Evaluates one flag: 200, 400 if the question is wrong, 404 if there is no such flag.
#[must_use]
pub fn evaluate(book: &FlagBook, key: &str, body: &[u8]) -> Answer {
    let context = match read(body) {
        Ok(context) => context,
        Err(wrong) => return wrong.answer(400, Some(key)),
    };
    match book.rule(key) {
        Some(rule) => Answer::json(200, &evaluated(rule, &context)),
        None => {
            let details = format!("there is no flag {key:?}");
            Unanswerable { code: "FLAG_NOT_FOUND", details }.answer(404, Some(key))
        }
    }
}

/// Evaluates all flags: 200 with an `ETag`, 304 if `if_none_match` has that, 400 if the question is
/// wrong.
#[must_use]
pub fn evaluate_all(book: &FlagBook, body: &[u8], if_none_match: Option<&str>) -> Answer {
    let context = match read(body) {
        Ok(context) => context,
        Err(wrong) => return wrong.answer(400, None),
    };
    let flags = book.rules().map(|rule| evaluated(rule, &context)).collect();
    let mut answer = Answer::json(200, &AllEvaluated { flags });
    let etag = format!("\"{:032x}\"", xxh3_128(&answer.body));
    if if_none_match.is_some_and(|tags| names(tags, &etag)) {
        answer = Answer::empty(304);
    }
    answer.etag = Some(etag);
    answer
}

/// Whether a header `If-None-Match` names a tag. Weak tags are compared as strong ones, as that
/// header wants it.
fn names(tags: &str, etag: &str) -> bool {
    let strong = |tag: &str| tag.trim().trim_start_matches("W/") == etag;
    tags.trim() == "*" || tags.split(',').any(strong)
}

fn read(body: &[u8]) -> Result<Context, Unanswerable> {
    if body.len() > MAX_REQUEST_BYTES {
        let details = format!("the question has more than {MAX_REQUEST_BYTES} bytes");
        return Err(Unanswerable { code: "GENERAL", details });
    }
    let mut question: Map<String, Value> = serde_json::from_slice(body).map_err(|error| {
        let details = format!("expected {{\"context\": {{…}}}}: {error}");
        Unanswerable { code: "PARSE_ERROR", details }
    })?;
    let invalid =
        |details: &str| Unanswerable { code: "INVALID_CONTEXT", details: details.to_owned() };
    let context = match question.remove("context") {
        Some(Value::Object(context)) => context,
        None | Some(Value::Null) => Context::new(),
        Some(_) => return Err(invalid("the context must be an object")),
    };
    match context.get(TARGETING_KEY) {
        None | Some(Value::Null | Value::String(_)) => Ok(context),
        Some(_) => Err(invalid("targetingKey must be a text")),
    }
}

fn evaluated<'a>(rule: &'a Rule, context: &Context) -> Evaluated<'a> {
    let flag = rule.flag();
    let Decision { is_recorded, reason } = decided(rule, context);
    Evaluated {
        key: &flag.key,
        reason: reason.name(),
        variant: if is_recorded { "on" } else { "off" },
        value: is_recorded,
        metadata: Metadata { mode: flag.mode.name(), updated_at_millis: flag.updated_at_millis },
    }
}

/// What admission decides on a record with these attributes: everybody whom it names has to be
/// allowed.
fn decided(rule: &Rule, context: &Context) -> Decision {
    let mut names = Vec::new();
    for attribute in &rule.flag().attributes {
        each_name(context.get(attribute), &mut names);
    }
    if names.is_empty() {
        each_name(context.get(TARGETING_KEY), &mut names);
    }
    let decisions = || names.iter().map(|name| rule.decide(Some(name)));
    let refused = decisions().find(|decision| !decision.is_recorded);
    refused.or_else(|| decisions().next()).unwrap_or_else(|| rule.decide(None))
}

/// The names that a value has, as it is for attributes of records. JSON is not nested deeper than its
/// reader allows.
fn each_name<'a>(value: Option<&'a Value>, names: &mut Vec<Cow<'a, str>>) {
    match value {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) if text.is_empty() => {}
        Some(Value::String(text)) => names.push(Cow::Borrowed(text.as_str())),
        // A record would have such a number as a double, and its text is without the fraction.
        Some(Value::Number(number)) => names.push(match number.as_f64() {
            Some(double) if number.is_f64() => Cow::Owned(double.to_string()),
            _ => Cow::Owned(number.to_string()),
        }),
        Some(Value::Bool(value)) => names.push(Cow::Owned(value.to_string())),
        Some(Value::Array(members)) => members.iter().for_each(|one| each_name(Some(one), names)),
        Some(Value::Object(members)) => {
            members.values().for_each(|one| each_name(Some(one), names))
        }
    }
}
