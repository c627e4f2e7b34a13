//! The forms of Tempo's and Jaeger's search, as TraceQL.

use kymo_dash::interpolate::{Context, Style, names};
use kymo_dash::model::read::{self, Object};
use kymo_pattern::names::quoted;
use serde_json::Value;

/// The query that Tempo's search form makes: conditions that all hold.
pub(super) fn of_filters(query: &Object, context: &Context) -> String {
    let filters = read::list(query, "filters").iter().filter_map(Value::as_object);
    let conditions: Vec<String> = filters.filter_map(|filter| condition(filter, context)).collect();
    if conditions.is_empty() { "{}".to_owned() } else { format!("{{{}}}", conditions.join(" && ")) }
}

fn condition(filter: &Object, context: &Context) -> Option<String> {
    let tag = read::text(filter, "tag")?;
    let operator = read::text(filter, "operator").unwrap_or("=");
    let name = match read::text(filter, "scope").unwrap_or("unscoped") {
        "intrinsic" => tag.to_owned(),
        "unscoped" => format!(".{tag}"),
        scope => format!("{scope}.{tag}"),
    };
    let is_text = !matches!(
        read::text(filter, "valueType"),
        Some("duration" | "int" | "float" | "bool" | "keyword")
    );
    // Put in within quotes, where variables are escaped for them.
    let written = |value: &str| match is_text {
        true => context.fill(&quoted(value), Style::Traceql),
        false => context.fill(value, Style::Traceql),
    };
    match filter.get("value")? {
        Value::Array(values) => {
            let values: Vec<String> = values.iter().filter_map(read::text_of).collect();
            match values.as_slice() {
                [] => None,
                [one] => compared(&name, operator, one, &written(one), context),
                // One of several: as a regular expression, or any of the conditions.
                many if is_text => {
                    let operator = of_patterns(operator);
                    let patterns: Vec<String> = many.iter().map(|one| pattern(one)).collect();
                    Some(format!("{name}{operator}{}", written(&patterns.join("|"))))
                }
                many => {
                    let any = many.iter().map(|one| format!("{name}{operator}{}", written(one)));
                    Some(format!("({})", any.collect::<Vec<_>>().join(" || ")))
                }
            }
        }
        value => {
            let value = read::text_of(value)?;
            compared(&name, operator, &value, &written(&value), context)
        }
    }
}

/// A comparison with one value. A variable that may hold several is put in as a pattern, so that it is
/// compared as one. What is empty is no condition.
fn compared(
    name: &str,
    operator: &str,
    value: &str,
    written: &str,
    context: &Context,
) -> Option<String> {
    if written.is_empty() || written == "\"\"" {
        return None;
    }
    let is_list = |name: &String| context.held(name).is_some_and(|held| held.is_list);
    let is_pattern = names(value).iter().any(is_list);
    let operator = if is_pattern { of_patterns(operator) } else { operator };
    Some(format!("{name}{operator}{written}"))
}

/// The operator that compares with a pattern as another does with a text.
fn of_patterns(operator: &str) -> &str {
    match operator {
        "=" => "=~",
        "!=" => "!~",
        other => other,
    }
}

/// A value as a pattern; one with a variable is put in as such.
fn pattern(value: &str) -> String {
    if names(value).is_empty() { regex_escape(value) } else { value.to_owned() }
}

fn regex_escape(value: &str) -> String {
    let mut escaped = String::new();
    for c in value.chars() {
        if "\\^$*+?.()|[]{}".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// The query of the oldest search form, and of Jaeger's: service, name, tags, durations.
pub(super) fn of_parts(query: &Object, context: &Context) -> String {
    let text = |key: &str| {
        let filled = read::text(query, key).map(|text| context.fill(text, Style::Traceql));
        filled.filter(|text| !text.trim().is_empty())
    };
    // Within quotes, where variables are escaped for them.
    let in_quotes = |text: &str| context.fill(&quoted(text), Style::Traceql);
    let mut conditions = Vec::new();
    for (keys, name) in
        [(["serviceName", "service"], "resource.service.name"), (["spanName", "operation"], "name")]
    {
        let value = keys.iter().find_map(|key| read::text(query, key));
        let value = value.filter(|value| !["All", ""].contains(&value.trim()));
        conditions
            .extend(value.and_then(|value| compared(name, "=", value, &in_quotes(value), context)));
    }
    for (key, operator) in [("minDuration", ">="), ("maxDuration", "<=")] {
        conditions.extend(text(key).map(|value| format!("duration{operator}{}", value.trim())));
    }
    let tags = read::text(query, "search").or_else(|| read::text(query, "tags"));
    let tags = tags.unwrap_or_default();
    // A variable may stand for all of them.
    let tags = if tags.contains('=') { tags.to_owned() } else { context.fill(tags, Style::Text) };
    for (key, value) in pairs(&tags) {
        let name = format!(".{key}");
        conditions.extend(compared(&name, "=", &value, &in_quotes(&value), context));
    }
    if conditions.is_empty() { "{}".to_owned() } else { format!("{{{}}}", conditions.join(" && ")) }
}

/// `key=value other="two words"`.
fn pairs(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some((key, after)) = rest.split_once('=') {
        let (value, left) = match after.strip_prefix('"') {
            Some(inner) => inner.split_once('"').unwrap_or((inner, "")),
            None => after.split_once(' ').unwrap_or((after, "")),
        };
        if !key.trim().is_empty() {
            found.push((key.trim().to_owned(), value.to_owned()));
        }
        rest = left.trim_start();
    }
    found
}

#[cfg(test)]
mod tests {
    use kymo_dash::interpolate::Held;
    use kymo_dash::model::Choice;
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_are_put_in_once_escaped_and_compared_as_they_are_written() {
        let list = |values: &[&str]| Held {
            values: values.iter().map(|value| Choice::plain(*value)).collect(),
            is_list: true,
            ..Held::default()
        };
        let mut context = Context::default();
        context.variables.insert("one".to_owned(), Held::one("a\"b"));
        context.variables.insert("many".to_owned(), list(&["a.b", "c"]));
        let made = |query: Value| of_filters(query.as_object().unwrap(), &context);
        let filter = |operator: &str, value: Value| json!({"filters": [{"tag": "x", "operator": operator, "value": value}]});
        assert_eq!(made(filter("=", json!("$one"))), r#"{.x="a\"b"}"#);
        assert_eq!(made(filter("=", json!(["$many"]))), r#"{.x=~"a\\.b|c"}"#);
        assert_eq!(made(filter("!=", json!("$many"))), r#"{.x!~"a\\.b|c"}"#);
        assert_eq!(made(filter("=", json!(["$many", "d.e"]))), r#"{.x=~"a\\.b|c|d\\.e"}"#);
        let parts = json!({"service": "$many", "tags": "k=$one"});
        let parts = of_parts(parts.as_object().unwrap(), &context);
        assert_eq!(parts, r#"{resource.service.name=~"a\\.b|c" && .k="a\"b"}"#);
    }

    #[test]
    fn forms_are_queries() {
        let made = |query: Value| of_filters(query.as_object().unwrap(), &Context::default());
        assert_eq!(made(json!({})), "{}");
        let filters = json!({"filters": [
            {"scope": "resource", "tag": "service.name", "operator": "=", "value": ["a", "b.c"], "valueType": "string"},
            {"scope": "intrinsic", "tag": "duration", "operator": ">", "value": "1s", "valueType": "duration"},
            {"scope": "intrinsic", "tag": "status", "operator": "=", "value": "error", "valueType": "keyword"},
            {"tag": "x", "operator": "!=", "value": ["y\"z"]},
            {"tag": "empty"}
        ]});
        let query = made(filters);
        assert_eq!(
            query,
            r#"{resource.service.name=~"a|b\\.c" && duration>1s && status=error && .x!="y\"z"}"#
        );
        assert!(kymo_traceql::parse(&query).is_ok());
        let parts = json!({"serviceName": "s", "spanName": "n", "search": "a=b c=\"d e\"", "minDuration": "10ms"});
        let query = of_parts(parts.as_object().unwrap(), &Context::default());
        assert_eq!(
            query,
            r#"{resource.service.name="s" && name="n" && duration>=10ms && .a="b" && .c="d e"}"#
        );
        assert!(kymo_traceql::parse(&query).is_ok());
    }
}
