//! Tags of a search, and what they are in TraceQL.
//!
//! Jaeger compares tags as text, with those of the span, of its process, and with the fields of its
//! logs. Some of its tags are not attributes in OTLP:
//!
//! | tag | is |
//! |---|---|
//! | `error=true` | the status `error` |
//! | `span.kind` | the kind |
//! | `otel.status_code`, `otel.status_description` | the status and its message |
//! | `otel.scope.name`, `otel.scope.version` (also `otel.library.…`) | the instrumentation scope |
//! | `event` | the name of an event |
//!
//! An attribute of such a name is found as well.

use std::collections::BTreeMap;

use kymo_traceql::ast::{BinaryOp, Expr, Intrinsic, Kind, Literal, Name, Scope, Status};

use crate::parameters::{Parameters, invalid};

/// Tags of the JSON API: `tags={"key":"value"}` and `tag=key:value`, each as often as wanted.
pub(super) fn of_parameters(parameters: &Parameters) -> Result<BTreeMap<String, String>, String> {
    let mut tags = BTreeMap::new();
    for tag in parameters.all("tag") {
        let Some((key, value)) = tag.split_once(':') else {
            return Err(invalid("tag", "key:value", tag));
        };
        tags.insert(key.to_owned(), value.to_owned());
    }
    for json in parameters.all("tags") {
        tags.extend(of_json("tags", json)?);
    }
    Ok(tags)
}

/// Tags as a JSON object of texts.
pub(super) fn of_json(name: &str, json: &str) -> Result<BTreeMap<String, String>, String> {
    serde_json::from_str(json).map_err(|error| {
        let expected = "an object such as {\"key\": \"value\"}";
        format!("{}: {error}", invalid(name, expected, json))
    })
}

/// Spans that have a tag.
pub(super) fn filter(key: &str, value: &str) -> Expr {
    let mut ways: Vec<Expr> = meaning(key, value).into_iter().collect();
    for scope in [Scope::Span, Scope::Resource, Scope::Event, Scope::Instrumentation] {
        let of_scope = literals(value).into_iter();
        ways.extend(of_scope.map(|value| compare(keyed(scope, key), BinaryOp::Equal, value)));
    }
    Expr::any(ways)
}

/// What a tag says that is not an attribute.
fn meaning(key: &str, value: &str) -> Option<Expr> {
    let text = || Literal::Text(value.to_owned());
    let (intrinsic_name, literal) = match (key, value) {
        ("error", "true") => (Intrinsic::Status, Literal::Status(Status::Error)),
        ("otel.status_code", "ERROR") => (Intrinsic::Status, Literal::Status(Status::Error)),
        ("otel.status_code", "OK") => (Intrinsic::Status, Literal::Status(Status::Ok)),
        ("otel.status_description", _) => (Intrinsic::StatusMessage, text()),
        ("span.kind", _) => (Intrinsic::Kind, Literal::Kind(kind(value)?)),
        ("otel.scope.name" | "otel.library.name", _) => (Intrinsic::InstrumentationName, text()),
        ("otel.scope.version" | "otel.library.version", _) => {
            (Intrinsic::InstrumentationVersion, text())
        }
        ("event", _) => (Intrinsic::EventName, text()),
        _ => return None,
    };
    Some(compare(intrinsic(intrinsic_name), BinaryOp::Equal, literal))
}

/// A kind that Jaeger shows: spans without one have no such tag.
fn kind(name: &str) -> Option<Kind> {
    Kind::from_name(name).filter(|kind| *kind != Kind::Unspecified)
}

/// The values that are written as this text.
fn literals(text: &str) -> Vec<Literal> {
    let mut literals = vec![Literal::Text(text.to_owned())];
    let is_same = |written: String| written == text;
    if let Ok(value) = text.parse::<bool>() {
        literals.push(Literal::Bool(value));
    } else if let Some(value) = text.parse::<i64>().ok().filter(|int| is_same(int.to_string())) {
        literals.push(Literal::Int(value));
    } else if let Some(value) = text.parse::<f64>().ok().filter(|float| {
        // `1e3` and `inf` are not how a double is written.
        float.is_finite() && is_same(float.to_string())
    }) {
        literals.push(Literal::Float(value));
    }
    literals
}

/// An attribute.
pub(super) fn keyed(scope: Scope, key: &str) -> Expr {
    Expr::attribute(Name::Keyed { scope, key: key.to_owned() })
}

/// What every span has.
pub(super) fn intrinsic(intrinsic: Intrinsic) -> Expr {
    Expr::attribute(Name::Intrinsic(intrinsic))
}

/// A comparison with a constant.
pub(super) fn compare(of_span: Expr, op: BinaryOp, literal: Literal) -> Expr {
    Expr::compare(op, of_span, Expr::Literal(literal))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(query: &str) -> Result<BTreeMap<String, String>, String> {
        of_parameters(&Parameters::parse(query).unwrap())
    }

    #[test]
    fn tags_are_read_in_both_ways_and_repeatedly() {
        let found = tags("tag=a:1:2&tag=b:&tags=%7B%22c%22:%22d%22%7D&tags=%7B%22a%22:%22x%22%7D");
        let found = found.unwrap();
        let found: Vec<_> = found.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(found, [("a", "x"), ("b", ""), ("c", "d")]);
        assert!(tags("tags=%7B%22a%22:1%7D").unwrap_err().contains("object such as"));
    }

    #[test]
    fn a_text_is_compared_with_what_is_written_so() {
        let text = |text: &str| Literal::Text(text.to_owned());
        assert_eq!(literals("x"), [text("x")]);
        assert_eq!(literals("200"), [text("200"), Literal::Int(200)]);
        assert_eq!(literals("-2.5"), [text("-2.5"), Literal::Float(-2.5)]);
        assert_eq!(literals("true"), [text("true"), Literal::Bool(true)]);
        for only_text in ["0200", "+1", "1e3", "inf", "NaN", "True", "1.50"] {
            assert_eq!(literals(only_text), [text(only_text)]);
        }
    }

    #[test]
    fn tags_of_jaeger_are_what_they_stand_for() {
        for (key, value, part) in [
            ("error", "true", "Status(Error)"),
            ("otel.status_code", "OK", "Status(Ok)"),
            ("span.kind", "server", "Kind(Server)"),
            ("otel.scope.name", "lib", "InstrumentationName"),
            ("otel.status_description", "m", "StatusMessage"),
            ("event", "retry", "EventName"),
        ] {
            let filter = format!("{:?}", filter(key, value));
            assert!(filter.contains(part), "{filter}");
            assert!(filter.contains("scope: Event"), "{filter}");
        }
        assert!(!format!("{:?}", filter("error", "false")).contains("Status("));
    }
}
