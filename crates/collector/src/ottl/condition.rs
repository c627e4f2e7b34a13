//! Conditions said in TraceQL.

use super::ast::{Call, Comparison, Condition, Literal, Operand, Path};
use super::fields::{Context, Field, FieldType, field};
use super::{OttlError, Result, parse_condition};
use crate::pattern;
use crate::traceql::{all_of, any_of, check, not, quoted};

const KINDS: [&str; 6] = ["unspecified", "internal", "server", "client", "producer", "consumer"];
const STATUSES: [&str; 3] = ["unset", "ok", "error"];

/// A condition in TraceQL, which is known to parse.
pub(crate) fn said(text: &str, context: Context) -> Result<String> {
    condition(&parse_condition(text)?, context)
}

/// The same of a tree.
pub(crate) fn condition(tree: &Condition, context: Context) -> Result<String> {
    let said = Teller { context }.condition(tree)?;
    check(&said).map_err(|why| OttlError::new(0, why))?;
    Ok(said)
}

struct Teller {
    context: Context,
}

impl Teller {
    fn condition(&self, tree: &Condition) -> Result<String> {
        let each = |conditions: &[Condition]| -> Result<Vec<String>> {
            conditions.iter().map(|condition| self.condition(condition)).collect()
        };
        Ok(match tree {
            // The parser makes none that is empty; of none, all hold and not any.
            Condition::All(conditions) => all_of(&each(conditions)?).unwrap_or("true".to_owned()),
            Condition::Any(conditions) => any_of(&each(conditions)?).unwrap_or("false".to_owned()),
            Condition::Not(inner) => not(&self.condition(inner)?),
            Condition::Constant(value) => value.to_string(),
            Condition::Call(call) => self.call(call)?,
            Condition::Compare { op, left, right, at } => self.compare(*op, left, right, *at)?,
        })
    }

    fn field(&self, path: &Path) -> Result<Field> {
        field(path, self.context)
    }

    fn compare(
        &self,
        op: Comparison,
        left: &Operand,
        right: &Operand,
        at: usize,
    ) -> Result<String> {
        match (left, right) {
            (Operand::Path(path), other) if !matches!(other, Operand::Path(_)) => {
                self.field_with(op, path, other, at)
            }
            (other, Operand::Path(path)) if !matches!(other, Operand::Path(_)) => {
                self.field_with(op.mirrored(), path, other, at)
            }
            (Operand::Arithmetic { .. }, other) => self.duration(op, left, other, at),
            (other, Operand::Arithmetic { .. }) => self.duration(op.mirrored(), right, other, at),
            (Operand::Call(call), Operand::Literal(Literal::Bool(value)))
            | (Operand::Literal(Literal::Bool(value)), Operand::Call(call)) => {
                let is_equal = match op {
                    Comparison::Equal => true,
                    Comparison::NotEqual => false,
                    _ => return Err(OttlError::new(at, "true and false have no order")),
                };
                let said = self.call(call)?;
                Ok(if is_equal == *value { said } else { not(&said) })
            }
            (Operand::Path(_), Operand::Path(_)) => {
                Err(OttlError::new(at, "two fields are compared, which has no counterpart here"))
            }
            (Operand::Call(call), _) | (_, Operand::Call(call)) => Err(no_function(call)),
            _ => Err(OttlError::new(at, "expected a field on one side of the comparison")),
        }
    }

    /// `field op value`.
    fn field_with(
        &self,
        op: Comparison,
        path: &Path,
        value: &Operand,
        at: usize,
    ) -> Result<String> {
        let field = self.field(path)?;
        let is_equality = matches!(op, Comparison::Equal | Comparison::NotEqual);
        if let Operand::Literal(Literal::Nil) = value {
            return nil(op, &field, at);
        }
        if field.kind != FieldType::Attribute && !is_equality {
            return Err(OttlError::new(at, format!("{} has no order here", path.dotted())));
        }
        let value = value_for(&field, value, at)?;
        if op != Comparison::NotEqual {
            // What is empty is missing for TraceQL.
            if field.may_be_missing && field.kind != FieldType::Attribute && value == "\"\"" {
                return Ok(not(&format!("{} =~ \".+\"", field.name)));
            }
            return Ok(format!("{} {} {value}", field.name, op.sign()));
        }
        // A missing value differs from every other in OTTL, and from none in TraceQL.
        if field.may_be_missing {
            if field.kind != FieldType::Attribute && value == "\"\"" {
                return Ok(format!("{} =~ \".+\"", field.name));
            }
            return Ok(not(&format!("{} = {value}", field.name)));
        }
        Ok(format!("{} != {value}", field.name))
    }

    /// `end_time_unix_nano - start_time_unix_nano op 1000000000`.
    fn duration(
        &self,
        op: Comparison,
        difference: &Operand,
        value: &Operand,
        at: usize,
    ) -> Result<String> {
        let wrong =
            || OttlError::new(at, "of arithmetic, only a span's end less its start can be said");
        let Operand::Arithmetic { sign: '-', left, right, .. } = difference else {
            return Err(wrong());
        };
        let is_named = |operand: &Operand, names: [&str; 2]| {
            let Operand::Path(path) = operand else { return false };
            let name = path.dotted();
            path.keys.is_empty() && names.contains(&name.trim_start_matches("span."))
        };
        if self.context != Context::Span
            || !is_named(left, ["end_time_unix_nano", "end_time"])
            || !is_named(right, ["start_time_unix_nano", "start_time"])
        {
            return Err(wrong());
        }
        let nanos = match value {
            Operand::Literal(Literal::Number(number)) => number.parse::<u64>().ok(),
            Operand::Call(call) if call.name == "Duration" && call.is_plain => {
                match call.arguments.as_slice() {
                    [Operand::Literal(Literal::Text(text))] => crate::durations::nanos(text),
                    _ => None,
                }
            }
            _ => None,
        };
        let nanos =
            nanos.ok_or_else(|| OttlError::new(at, "expected nanoseconds or Duration(\"1s\")"))?;
        let value = match nanos % 1000 {
            0 => crate::durations::shown(nanos),
            _ => format!("{nanos}ns"),
        };
        Ok(format!("duration {} {value}", op.sign()))
    }

    /// A function that is true or false.
    fn call(&self, call: &Call) -> Result<String> {
        if !call.is_plain {
            return Err(no_function(call));
        }
        match (call.name.as_str(), call.arguments.as_slice()) {
            ("IsMatch", [Operand::Path(path), Operand::Literal(Literal::Text(searched))]) => {
                self.matched(path, &pattern::whole(searched))
            }
            ("HasPrefix", [Operand::Path(path), Operand::Literal(Literal::Text(prefix))]) => {
                self.matched(path, &format!("{}.*", pattern::escaped(prefix)))
            }
            ("HasSuffix", [Operand::Path(path), Operand::Literal(Literal::Text(suffix))]) => {
                self.matched(path, &format!(".*{}", pattern::escaped(suffix)))
            }
            ("IsString", [Operand::Path(path)]) => self.matched(path, ".*"),
            ("IsBool", [Operand::Path(path)]) => {
                let name = self.field(path)?.name;
                Ok(format!("({name} = true || {name} = false)"))
            }
            ("ContainsValue", [Operand::Path(path), value @ Operand::Literal(_)]) => {
                self.field_with(Comparison::Equal, path, value, call.at)
            }
            ("IsRootSpan", []) if self.context == Context::Span => {
                Ok("span:parentID = \"\"".to_owned())
            }
            ("HasAttrKeyOnDatapoint", [Operand::Literal(Literal::Text(key))]) => {
                Ok(format!("{} != nil", crate::traceql::attribute("", key)))
            }
            (
                "HasAttrOnDatapoint",
                [Operand::Literal(Literal::Text(key)), Operand::Literal(Literal::Text(value))],
            ) => Ok(format!("{} = {}", crate::traceql::attribute("", key), quoted(value))),
            _ => Err(no_function(call)),
        }
    }

    fn matched(&self, path: &Path, whole: &str) -> Result<String> {
        let field = self.field(path)?;
        match field.kind {
            FieldType::Attribute | FieldType::Text => {
                Ok(format!("{} =~ {}", field.name, quoted(whole)))
            }
            _ => Err(OttlError::new(path.at, format!("{} is no text here", path.dotted()))),
        }
    }
}

fn no_function(call: &Call) -> OttlError {
    OttlError::new(call.at, format!("{}() with these arguments has no counterpart", call.name))
}

fn nil(op: Comparison, field: &Field, at: usize) -> Result<String> {
    if field.kind != FieldType::Attribute {
        return Err(OttlError::new(at, format!("{} is never nil", field.name)));
    }
    let is_there = match op {
        Comparison::NotEqual => true,
        Comparison::Equal => false,
        _ => return Err(OttlError::new(at, "nil has no order")),
    };
    // TraceQL takes every resource to have a service name, even one that was sent without.
    if field.name == "resource.service.name" {
        let there = "resource.service.name =~ \".*\"";
        return Ok(if is_there { there.to_owned() } else { not(there) });
    }
    Ok(format!("{} {} nil", field.name, if is_there { "!=" } else { "=" }))
}

/// A value as TraceQL writes it where it is compared with a field.
fn value_for(field: &Field, value: &Operand, at: usize) -> Result<String> {
    let wrong = || OttlError::new(at, format!("{} cannot be compared with this", field.name));
    let literal = match value {
        Operand::Literal(literal) => literal,
        Operand::Call(call) => return id(field, call).ok_or_else(|| no_function(call)),
        _ => return Err(wrong()),
    };
    let named = |names: &[&str], prefix: &str| match literal {
        Literal::Enum(name) => {
            let name = name.strip_prefix(prefix)?.to_ascii_lowercase();
            names.contains(&name.as_str()).then_some(name)
        }
        Literal::Number(number) => {
            names.get(number.parse::<usize>().ok()?).map(|name| (*name).to_owned())
        }
        _ => None,
    };
    let said = match (field.kind, literal) {
        (FieldType::SpanKind, _) => named(&KINDS, "SPAN_KIND_"),
        (FieldType::Status, _) => named(&STATUSES, "STATUS_CODE_"),
        (FieldType::SpanKindText, Literal::Text(text)) => {
            let name = text.to_ascii_lowercase();
            KINDS.contains(&name.as_str()).then_some(name)
        }
        (FieldType::Attribute, Literal::Number(number)) => Some(number.clone()),
        (FieldType::Attribute, Literal::Bool(value)) => Some(value.to_string()),
        (FieldType::Attribute | FieldType::Text, Literal::Text(text)) => Some(quoted(text)),
        (FieldType::TraceId | FieldType::SpanId, Literal::Text(text)) => {
            Some(quoted(&text.to_ascii_lowercase()))
        }
        _ => None,
    };
    said.ok_or_else(wrong)
}

/// `TraceID(0x…)`, `SpanID(0x…)`: all zero is none.
fn id(field: &Field, call: &Call) -> Option<String> {
    let wanted = match field.kind {
        FieldType::TraceId => ("TraceID", 32),
        FieldType::SpanId => ("SpanID", 16),
        _ => return None,
    };
    let [Operand::Literal(Literal::Bytes(digits) | Literal::Text(digits))] =
        call.arguments.as_slice()
    else {
        return None;
    };
    if !call.is_plain || (call.name.as_str(), digits.len()) != wanted {
        return None;
    }
    let digits = digits.to_ascii_lowercase();
    Some(quoted(if digits.bytes().all(|digit| digit == b'0') { "" } else { &digits }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(text: &str) -> String {
        said(text, Context::Span).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn comparisons_of_spans() {
        for (ottl, traceql) in [
            (
                r#"name == "readHandler" and attributes["http.status_code"] == 200"#,
                r#"name = "readHandler" && span.http.status_code = 200"#,
            ),
            (r#"attributes["a b"] != "x""#, r#"!(span."a b" = "x")"#),
            (r#"span.attributes["x"] >= -1.5"#, "span.x >= -1.5"),
            (r#"5 < attributes["x"]"#, "span.x > 5"),
            (r#"attributes["x"] != nil"#, "span.x != nil"),
            (r#"attributes["x"] == nil"#, "span.x = nil"),
            (
                r#"resource.attributes["service.name"] == nil"#,
                r#"!(resource.service.name =~ ".*")"#,
            ),
            (r#"resource.attributes["service.name"] == "a""#, r#"resource.service.name = "a""#),
            ("kind == SPAN_KIND_SERVER", "kind = server"),
            ("kind != 3", "kind != client"),
            (r#"kind.string == "Server""#, "kind = server"),
            ("status.code == STATUS_CODE_ERROR", "status = error"),
            (r#"instrumentation_scope.name != "x""#, r#"!(instrumentation:name = "x")"#),
            (r#"instrumentation_scope.version == """#, r#"!(instrumentation:version =~ ".+")"#),
            ("end_time_unix_nano - start_time_unix_nano > 1500000000", "duration > 1s500ms"),
            (r#"(end_time - start_time) < Duration("100ms")"#, "duration < 100ms"),
            ("parent_span_id == SpanID(0x0000000000000000)", r#"span:parentID = """#),
            ("IsRootSpan()", r#"span:parentID = """#),
            (r#"attributes["x"] == true"#, "span.x = true"),
            (r#"trace_id.string == "ABC""#, r#"trace:id = "abc""#),
        ] {
            assert_eq!(span(ottl), traceql, "{ottl}");
        }
    }

    #[test]
    fn functions_and_precedence() {
        for (ottl, traceql) in [
            (
                r#"IsMatch(attributes["http.route"], "/read.*")"#,
                r#"span.http.route =~ ".*/read.*""#,
            ),
            (r#"IsMatch(name, "^a\\?b$") == true"#, r#"name =~ "a\\?b""#),
            (r#"IsMatch(name, "x") != true"#, r#"!(name =~ ".*x.*")"#),
            (r#"not IsMatch(name, "a|b")"#, r#"!(name =~ ".*(?-s:a|b).*")"#),
            (r#"HasPrefix(name, "a.b")"#, r#"name =~ "a\\.b.*""#),
            (r#"IsString(attributes["x"])"#, r#"span.x =~ ".*""#),
            (
                r#"name == "a" or name == "b" and kind == 1"#,
                r#"name = "a" || (name = "b" && kind = internal)"#,
            ),
            (
                r#"(name == "a" or name == "b") and kind == 1"#,
                r#"(name = "a" || name = "b") && kind = internal"#,
            ),
            (r#"not (name == "a" or true)"#, r#"!(name = "a" || true)"#),
        ] {
            assert_eq!(span(ottl), traceql, "{ottl}");
        }
    }

    #[test]
    fn other_contexts_have_their_own_names() {
        let log = |text| said(text, Context::Log);
        assert_eq!(log(r#"attributes["x"] == "a""#).unwrap(), r#".x = "a""#);
        assert!(log(r#"body == "a""#).unwrap_err().message.contains("body"));
        assert!(log("severity_number < SEVERITY_NUMBER_WARN").is_err());
        let point = |text| said(text, Context::DataPoint);
        assert_eq!(point(r#"metric.name == "a""#).unwrap(), r#"name = "a""#);
        let metric = |text| said(text, Context::Metric);
        assert_eq!(metric(r#"HasAttrKeyOnDatapoint("x")"#).unwrap(), ".x != nil");
        assert!(metric(r#"attributes["x"] == 1"#).is_err());
        assert_eq!(said(r#"attributes["x"] == 1"#, Context::Resource).unwrap(), "resource.x = 1");
    }

    #[test]
    fn what_cannot_be_said_is_refused_with_its_place() {
        for text in [
            r#"attributes["a"] == attributes["b"]"#,
            r#"Len(attributes["a"]) > 3"#,
            r#"name == 5"#,
            r#"attributes["a"]["b"] == 1"#,
            r#"attributes["a"] == SPAN_KIND_SERVER"#,
            r#"name < "a""#,
            r#"IsMatch(name, "(")"#,
            r#"nil == nil"#,
            "attributes == nil",
            "span.dropped_attributes_count > 1",
            "log.body == 1",
        ] {
            assert!(said(text, Context::Span).is_err(), "{text}");
        }
        let error = said(r#"name == "a" and Len(name) > 1"#, Context::Span).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Len() with these arguments has no counterpart (character 17)"
        );
    }
}
