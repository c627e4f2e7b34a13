//! OFREP, the remote evaluation protocol of OpenFeature: clients ask before they send.
//!
//! | question | answered by |
//! |---|---|
//! | `POST /ofrep/v1/evaluate/flags/{key}` | [`evaluate`] |
//! | `POST /ofrep/v1/evaluate/flags` | [`evaluate_all`] |
//!
//! A flag is a boolean: whether records of the user are kept. The answer is what admission decides,
//! apart from `where` and `signals`, since the question is about a user and not about a record. The
//! user is the first of the flag's attributes that the context has, else its `targetingKey`; if it
//! has neither, the user is not known.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_128;

use super::answer::Answer;
use super::book::FlagBook;
use super::flag::Flag;
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
    let Decision { is_recorded, reason } = rule.decide(user(flag, context).as_deref());
    Evaluated {
        key: &flag.key,
        reason: reason.name(),
        variant: if is_recorded { "on" } else { "off" },
        value: is_recorded,
        metadata: Metadata { mode: flag.mode.name(), updated_at_millis: flag.updated_at_millis },
    }
}

fn user<'a>(flag: &Flag, context: &'a Context) -> Option<Cow<'a, str>> {
    let attributes = flag.attributes.iter().map(String::as_str);
    attributes.chain([TARGETING_KEY]).find_map(|name| name_of(context.get(name)?))
}

/// The name that a value is, as it is for attributes of records.
fn name_of(value: &Value) -> Option<Cow<'_, str>> {
    let name = match value {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        // A record would have such a number as a double, and its text is without the fraction.
        Value::Number(number) => match number.as_f64() {
            Some(double) if number.is_f64() => Cow::Owned(double.to_string()),
            _ => Cow::Owned(number.to_string()),
        },
        Value::Bool(value) => Cow::Owned(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    Some(name).filter(|name| !name.is_empty())
}
