//! The search of old: `tags=service.name=frontend error=true`, in logfmt, with `minDuration` and
//! `maxDuration` of the whole trace. It becomes TraceQL.
//!
//! As in Tempo, each tag has to be somewhere in the trace, not all on one span:
//! `{ .a = "1" } && { .b = "2" }`. A value that looks like a number or a boolean matches those too.

use kymo_traceql::ast::{
    BinaryOp, Body, Expr, Intrinsic, Literal, Name, Pipeline, Query, Scope, SpansetOp, Spansets,
    Stage, Status,
};

use crate::limits::MAX_TAGS;

/// Keys and values of a search of old.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TagSearch {
    pub(super) tags: Vec<(String, String)>,
    pub(super) min_duration_nanos: Option<i64>,
    pub(super) max_duration_nanos: Option<i64>,
}

impl TagSearch {
    /// The query that finds those traces.
    pub(super) fn query(&self) -> Query {
        let mut of_trace = Vec::new();
        let mut of_spans = Vec::new();
        for (key, value) in &self.tags {
            let condition = condition(key, value);
            let is_of_trace = matches!(key.as_str(), "root.name" | "root.service.name");
            if is_of_trace { &mut of_trace } else { &mut of_spans }.push(condition);
        }
        let duration = |op, nanos| {
            let literal = Expr::Literal(Literal::Duration(nanos));
            Expr::compare(op, intrinsic(Intrinsic::TraceDuration), literal)
        };
        of_trace.extend(self.min_duration_nanos.map(|n| duration(BinaryOp::GreaterEqual, n)));
        of_trace.extend(self.max_duration_nanos.map(|n| duration(BinaryOp::LessEqual, n)));
        // What is true of a trace is true of each of its spans.
        let mut of_spans = of_spans.into_iter();
        let first = Expr::all(of_spans.next().into_iter().chain(of_trace));
        let both = |left, right| Spansets::Binary {
            op: SpansetOp::And,
            left: Box::new(left),
            right: Box::new(Spansets::Filter(right)),
        };
        let spansets = of_spans.fold(Spansets::Filter(first), both);
        let pipeline = Pipeline { stages: vec![Stage::Spansets(spansets)] };
        Query { body: Body::Spans(pipeline), hints: Vec::new() }
    }
}

fn intrinsic(intrinsic: Intrinsic) -> Expr {
    Expr::attribute(Name::Intrinsic(intrinsic))
}

fn keyed(scope: Scope, key: &str) -> Expr {
    Expr::attribute(Name::Keyed { scope, key: key.to_owned() })
}

fn equal(left: Expr, right: Literal) -> Expr {
    Expr::compare(BinaryOp::Equal, left, Expr::Literal(right))
}

/// What a tag asks of a span.
fn condition(key: &str, value: &str) -> Expr {
    let text = || Literal::Text(value.to_owned());
    let status = |status| equal(intrinsic(Intrinsic::Status), Literal::Status(status));
    match (key, value) {
        ("name", _) => equal(intrinsic(Intrinsic::Name), text()),
        ("root.name", _) => equal(intrinsic(Intrinsic::RootName), text()),
        ("root.service.name", _) => equal(intrinsic(Intrinsic::RootServiceName), text()),
        ("service.name", _) => equal(keyed(Scope::Resource, key), text()),
        ("status.code", "unset") => status(Status::Unset),
        ("status.code", "ok") => status(Status::Ok),
        ("status.code", "error") => status(Status::Error),
        ("error", "true") => Expr::any([attribute(key, value), status(Status::Error)]),
        _ => attribute(key, value),
    }
}

/// An attribute that has the value as text, or as what the text looks like.
fn attribute(key: &str, value: &str) -> Expr {
    let is = |literal| equal(keyed(Scope::Any, key), literal);
    let text = is(Literal::Text(value.to_owned()));
    let other = match (value.parse::<bool>(), value.parse::<i64>(), value.parse::<f64>()) {
        (Ok(flag), _, _) => Literal::Bool(flag),
        (_, Ok(number), _) => Literal::Int(number),
        (_, _, Ok(number)) if number.is_finite() => Literal::Float(number),
        _ => return text,
    };
    Expr::any([text, is(other)])
}

/// Reads `key=value key="quoted value"`.
pub(super) fn logfmt(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(pairs);
        }
        let at = |rest: &str| text.len() - rest.len() + 1;
        let unexpected = |rest: &str| match rest.chars().next() {
            Some(found) => format!("invalid tags: unexpected {found:?} at pos {}", at(rest)),
            None => "invalid tags: a quote is missing at the end".to_owned(),
        };
        let ends_key = |c: char| c == '=' || c == '"' || c.is_whitespace();
        let (key, behind) = rest.split_at(rest.find(ends_key).unwrap_or(rest.len()));
        if key.is_empty() {
            return Err(unexpected(behind));
        }
        let value;
        (value, rest) = match behind.strip_prefix('=') {
            None if behind.starts_with('"') => return Err(unexpected(behind)),
            None => (String::new(), behind),
            Some(behind) => match behind.strip_prefix('"') {
                Some(inside) => quoted(inside).map_err(unexpected)?,
                None => {
                    let ends = |c: char| c == '=' || c == '"' || c.is_whitespace();
                    let (value, next) = behind.split_at(behind.find(ends).unwrap_or(behind.len()));
                    if next.starts_with(['=', '"']) {
                        return Err(unexpected(next));
                    }
                    (value.to_owned(), next)
                }
            },
        };
        if pairs.iter().any(|(known, _)| known == key) {
            return Err(format!("invalid tags: tag {key} has been set twice"));
        }
        if pairs.len() == MAX_TAGS {
            return Err(format!("invalid tags: more than {MAX_TAGS} are too many"));
        }
        pairs.push((key.to_owned(), value));
    }
}

/// The text up to the closing quote, and what follows; or where it goes wrong.
fn quoted(inside: &str) -> Result<(String, &str), &str> {
    let mut value = String::new();
    let mut chars = inside.char_indices();
    while let Some((at, found)) = chars.next() {
        match found {
            '"' => {
                let rest = &inside[at + 1..];
                let ends = rest.is_empty() || rest.starts_with(char::is_whitespace);
                return if ends { Ok((value, rest)) } else { Err(rest) };
            }
            '\\' => {
                let (_, escaped) = chars.next().ok_or("")?;
                match escaped {
                    'n' => value.push('\n'),
                    't' => value.push('\t'),
                    'r' => value.push('\r'),
                    '"' | '\\' | '/' => value.push(escaped),
                    'u' => {
                        let digits = inside.get(at + 2..at + 6).ok_or("")?;
                        let code = u32::from_str_radix(digits, 16).map_err(|_| digits)?;
                        value.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                        for _ in 0..digits.chars().count() {
                            chars.next();
                        }
                    }
                    _ => return Err(&inside[at..]),
                }
            }
            _ => value.push(found),
        }
    }
    Err("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        logfmt(text).unwrap()
    }

    #[test]
    fn logfmt_has_bare_and_quoted_values() {
        let owned = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            list.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
        };
        let text =
            r#" service.name=frontend  error=true http.method="GET \"x\"\n" flag u="\u00e9"  "#;
        let expected = owned(&[
            ("service.name", "frontend"),
            ("error", "true"),
            ("http.method", "GET \"x\"\n"),
            ("flag", ""),
            ("u", "é"),
        ]);
        assert_eq!(pairs(text), expected);
        assert_eq!(pairs(""), []);
        assert_eq!(pairs("a= b=\"\""), owned(&[("a", ""), ("b", "")]));
    }

    #[test]
    fn wrong_logfmt_is_named() {
        for (bad, word) in [
            ("=x", "'='"),
            ("a=b=c", "'='"),
            ("\"a\"=b", "'\"'"),
            ("a=\"b", "missing"),
            ("a=\"b\"c", "'c'"),
            ("a=1 a=2", "twice"),
            ("a=\"\\q\"", "'\\\\'"),
        ] {
            let error = logfmt(bad).unwrap_err();
            assert!(error.starts_with("invalid tags: ") && error.contains(word), "{bad}: {error}");
        }
    }

    fn same(search: TagSearch, text: &str) {
        assert_eq!(search.query(), kymo_traceql::parse(text).unwrap(), "{text}");
    }

    #[test]
    fn tags_become_traceql() {
        let of = |text: &str| TagSearch { tags: pairs(text), ..TagSearch::default() };
        same(of(""), "{ true }");
        same(of("foo=bar"), "{ .foo = \"bar\" }");
        same(
            of("foo=7 bar=0.5"),
            "{ .foo = \"7\" || .foo = 7 } && { .bar = \"0.5\" || .bar = 0.5 }",
        );
        same(
            of("error=true service.name=x"),
            "{ (.error = \"true\" || .error = true) || status = error } && { resource.service.name = \"x\" }",
        );
        same(
            of("name=a root.name=b status.code=ok"),
            "{ name = \"a\" && rootName = \"b\" } && { status = ok }",
        );
        let timed = TagSearch {
            tags: Vec::new(),
            min_duration_nanos: Some(1_000_000_000),
            max_duration_nanos: Some(2_000_000_000),
        };
        same(timed, "{ traceDuration >= 1s && traceDuration <= 2s }");
    }
}
