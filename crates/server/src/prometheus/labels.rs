//! Which series there are: label sets, names, values, metadata.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use http::Request;
use kymo_engine::prometheus::{Metadata, SeriesQuery};
use serde_json::json;

use super::asked::{Asked, Unanswered, ask, said, success};
use super::json::{write_labels, write_list, write_text};
use crate::router::Shared;

impl Asked {
    /// The series that a question is about.
    pub(super) fn series(&self) -> Result<SeriesQuery, Unanswered> {
        let start = self.time("start")?.unwrap_or(EARLIEST);
        let end = self.time("end")?.unwrap_or(LATEST);
        if end < start {
            return Err(Unanswered::parameter(
                "end",
                "end timestamp must not be before start time",
            ));
        }
        Ok(SeriesQuery { matchers: self.matchers()?, start, end })
    }
}

/// Far before and behind everything, and yet so that sums do not overflow.
const EARLIEST: i64 = i64::MIN / 4_000_000;
const LATEST: i64 = i64::MAX / 4_000_000;

/// `/api/v1/series`
pub(super) async fn series(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_series", async |shared, asked| {
        let query = asked.series()?;
        if query.matchers.is_empty() {
            return Err(Unanswered::Wrong("no match[] parameter provided".to_owned()));
        }
        let limit = asked.limit()?;
        let mut series = shared.engine.prom_series(asked.tenants, query).await?;
        let warnings = cut(&mut series, limit);
        let respond = move || {
            let mut data = String::new();
            write_list(&series, &mut data, write_labels);
            said(&data, &warnings, &[])
        };
        Ok(shared.encode(respond).await)
    })
    .await
}

/// `/api/v1/labels`
pub(super) async fn names(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_labels", async |shared, asked| {
        let (query, limit) = (asked.series()?, asked.limit()?);
        let names = shared.engine.prom_label_names(asked.tenants, query).await?;
        Ok(texts(names, limit))
    })
    .await
}

/// `/api/v1/label/{name}/values`
pub(super) async fn values(
    State(shared): State<Shared>,
    Path(name): Path<String>,
    request: Request<Body>,
) -> Response {
    ask(shared, request, "prometheus_label_values", async |shared, asked| {
        let name = unescaped(&name);
        if name.is_empty() {
            return Err(Unanswered::Wrong(format!("invalid label name: {name:?}")));
        }
        let (query, limit) = (asked.series()?, asked.limit()?);
        let values = shared.engine.prom_label_values(asked.tenants, name, query).await?;
        Ok(texts(values, limit))
    })
    .await
}

fn texts(mut texts: Vec<String>, limit: usize) -> Response {
    let warnings = cut(&mut texts, limit);
    let mut data = String::new();
    write_list(&texts, &mut data, |text, out| write_text(text, out));
    said(&data, &warnings, &[])
}

/// Leaves as many items as are asked for, and says so.
fn cut<T>(items: &mut Vec<T>, limit: usize) -> Vec<String> {
    if limit == 0 || items.len() <= limit {
        return Vec::new();
    }
    items.truncate(limit);
    vec!["results truncated due to limit".to_owned()]
}

/// A label's name as URLs have it: `U__a_2e_b` is `a.b`.
fn unescaped(name: &str) -> String {
    let Some(escaped) = name.strip_prefix("U__") else { return name.to_owned() };
    let mut text = String::new();
    let mut rest = escaped;
    while let Some(at) = rest.find('_') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('_') {
            text.push('_');
            rest = after;
            continue;
        }
        let Some((digits, after)) = rest.split_once('_') else { return name.to_owned() };
        let letter = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
        let Some(letter) = letter else { return name.to_owned() };
        text.push(letter);
        rest = after;
    }
    text.push_str(rest);
    text
}

/// `/api/v1/metadata`
pub(super) async fn metadata(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_metadata", async |shared, asked| {
        let metric = asked.parameters.get("metric").map(str::to_owned);
        let per_metric = asked.parameters.number::<usize>("limit_per_metric");
        let per_metric = per_metric.map_err(Unanswered::Wrong)?.filter(|limit| *limit > 0);
        // A negative limit means none.
        let limit = asked.parameters.number::<i64>("limit").map_err(Unanswered::Wrong)?;
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        let query = SeriesQuery { matchers: Vec::new(), start: EARLIEST, end: LATEST };
        let all = shared.engine.prom_metadata(asked.tenants, metric, query).await?;
        let of_metric = |metadata: BTreeSet<Metadata>| {
            let metadata = metadata.into_iter().take(per_metric.unwrap_or(usize::MAX));
            let shown = metadata.map(|Metadata { metric_type, help, unit }| {
                json!({ "type": metric_type, "help": help, "unit": unit })
            });
            shown.collect::<Vec<_>>()
        };
        let shown: serde_json::Map<String, serde_json::Value> = all
            .into_iter()
            .take(limit)
            .map(|(name, metadata)| (name, of_metric(metadata).into()))
            .collect();
        Ok(success(&serde_json::Value::Object(shown).to_string()))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_urls_cannot_have_are_escaped() {
        assert_eq!(unescaped("U__http_2e_method"), "http.method");
        assert_eq!(unescaped("U__a__b"), "a_b");
        assert_eq!(unescaped("job"), "job");
        assert_eq!(unescaped("U__a_zz_b"), "U__a_zz_b");
    }
}
