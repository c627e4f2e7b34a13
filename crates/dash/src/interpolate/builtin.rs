//! What every dashboard can name: its time, intervals, itself, who looks at it.

use super::Context;
use super::format::{date_text, percent_encode, query_parameters};
use super::interval::short;
use super::syntax::Named;

/// The value of a name that every dashboard knows.
pub(super) fn value(context: &Context, named: &Named<'_>) -> Option<String> {
    let time = &context.time;
    let range_millis = time.to_millis.saturating_sub(time.from_millis).max(0);
    let (title, uid) = &context.dashboard;
    Some(match (named.name, named.field) {
        ("__from", _) => time_text(context, named, time.from_millis),
        ("__to", _) => time_text(context, named, time.to_millis),
        ("__interval", _) => short(context.interval_millis),
        ("__interval_ms", _) => context.interval_millis.to_string(),
        ("__rate_interval", _) => short(context.rate_interval_millis),
        ("__rate_interval_ms", _) => context.rate_interval_millis.to_string(),
        ("__range", _) => format!("{}s", rounded_seconds(range_millis)),
        ("__range_s", _) => rounded_seconds(range_millis).to_string(),
        ("__range_ms", _) => range_millis.to_string(),
        ("__timezone", _) => context.zone.name().to_owned(),
        ("__dashboard", Some("uid")) => uid.clone(),
        ("__dashboard", _) => title.clone(),
        ("__user", Some("id")) => "1".to_owned(),
        ("__user", Some("email")) => String::new(),
        ("__user", _) => context.user.clone(),
        ("__org", Some("name")) => context.organisation.clone(),
        ("__org", _) => "1".to_owned(),
        ("__url_time_range", _) => url_time_range(context),
        ("__all_variables", _) => all_variables(context),
        _ => return None,
    })
}

/// The time as a link's parameters: one that moves on goes on moving.
fn url_time_range(context: &Context) -> String {
    match &context.written_time {
        Some((from, to)) => format!("from={}&to={}", percent_encode(from), percent_encode(to)),
        None => format!("from={}&to={}", context.time.from_millis, context.time.to_millis),
    }
}

fn rounded_seconds(millis: i64) -> i64 {
    (millis + 500) / 1000
}

fn time_text(context: &Context, named: &Named<'_>, millis: i64) -> String {
    let format = named.format.and_then(|format| match format.split_once(':') {
        Some(("date", pattern)) => Some(Some(pattern)),
        None if format == "date" => Some(None),
        _ => None,
    });
    let text = format.and_then(|pattern| date_text(millis as f64, pattern, context.zone));
    text.unwrap_or_else(|| millis.to_string())
}

/// All variables as a link's parameters.
fn all_variables(context: &Context) -> String {
    let mut parts = Vec::new();
    for (name, held) in &context.variables {
        let held = context.scoped.get(name).unwrap_or(held);
        if held.skips_url {
            continue;
        }
        let values: Vec<&str> = held.values.iter().map(|choice| choice.value.as_str()).collect();
        parts.push(query_parameters(&format!("var-{}", percent_encode(name)), held, &values));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("&")
}
