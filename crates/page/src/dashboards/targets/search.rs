//! The forms of Tempo's and Jaeger's search, as TraceQL.

use kymo_dash::interpolate::{Context, Style};
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
    let fill = |text: &str| context.fill(text, Style::Traceql);
    let written = |value: &str| if is_text { quoted(value) } else { value.to_owned() };
    match filter.get("value")? {
        Value::Array(values) => {
            let values: Vec<String> =
                values.iter().filter_map(read::text_of).map(|value| fill(&value)).collect();
            match values.as_slice() {
                [] => None,
                [one] => Some(format!("{name}{operator}{}", written(one))),
                // One of several: as a regular expression, or any of the conditions.
                many if is_text => {
                    let negated = operator.starts_with('!');
                    let escaped: Vec<String> =
                        many.iter().map(|value| regex_escape(value)).collect();
                    let operator = if negated { "!~" } else { "=~" };
                    Some(format!("{name}{operator}{}", quoted(&escaped.join("|"))))
                }
                many => {
                    let any: Vec<String> =
                        many.iter().map(|value| format!("{name}{operator}{value}")).collect();
                    Some(format!("({})", any.join(" || ")))
                }
            }
        }
        value => {
            let value = fill(&read::text_of(value)?);
            (!value.is_empty()).then(|| format!("{name}{operator}{}", written(&value)))
        }
    }
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
    let mut conditions = Vec::new();
    for (keys, name) in
        [(["serviceName", "service"], "resource.service.name"), (["spanName", "operation"], "name")]
    {
        let value = keys.iter().find_map(|key| text(key)).filter(|value| value != "All");
        conditions.extend(value.map(|value| format!("{name}={}", quoted(&value))));
    }
    for (key, operator) in [("minDuration", ">="), ("maxDuration", "<=")] {
        conditions.extend(text(key).map(|value| format!("duration{operator}{}", value.trim())));
    }
    let tags = text("search").or_else(|| text("tags")).unwrap_or_default();
    for (key, value) in pairs(&tags) {
        conditions.push(format!(".{key}={}", quoted(&value)));
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
    use serde_json::json;

    use super::*;

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
