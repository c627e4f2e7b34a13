//! `GET /api/traces/facets`: how many of the spans that match have which value of some attributes.
//!
//! `keys` are attributes of TraceQL with commas between; without any, service, name, status and kind.
//! Without a time it is the last day. Answers `{"facets":[{"key","values":[{"type","value","count"}],
//! "total","truncated"}]}`: values by count, the most frequent first; `total` counts the spans of all
//! values, those that are not listed too. Spans without the attribute have the value `null`, type `nil`.

use std::cmp::Reverse;

use axum::extract::State;
use axum::response::Response;
use kymo_engine::traceql::{MetricsQuery, Points};
use kymo_traceql::ast::{Attribute, Body, Metrics, MetricsFunction};
use kymo_traceql::metrics::Series;
use serde::Serialize;
use serde_json::Value;

use super::asked::{Parameters, attributes, parse, spans_of};
use super::limits::{FACET_MAX_VALUES, FACETS_MAX};
use super::value::{json_of, type_name};
use crate::Page;
use crate::answer::{Failed, Query, Whose, made};
use crate::times;

/// Attributes that are counted where nobody says which.
const USUAL_KEYS: &str = "resource.service.name,name,status,kind";
/// The time where nobody says which.
const USUAL_NANOS: i64 = 24 * 3_600 * 1_000_000_000;

#[derive(Serialize)]
struct Answer {
    facets: Vec<Facet>,
}

#[derive(Serialize)]
struct Facet {
    key: String,
    values: Vec<Counted>,
    total: u64,
    truncated: bool,
}

#[derive(Serialize)]
struct Counted {
    r#type: &'static str,
    value: Value,
    count: u64,
}

pub(super) async fn facets(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Query(asked): Query<Parameters>,
) -> Result<Response, Failed> {
    let mut query = parse(asked.q.as_deref())?;
    let pipeline = spans_of(&mut query)?.clone();
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (start, end) = (given(&asked.start), given(&asked.end));
    let time = times::range(start.as_deref(), end.as_deref(), USUAL_NANOS)?;
    let keys = given(&asked.keys).unwrap_or_else(|| USUAL_KEYS.to_owned());
    let mut found = Vec::new();
    for (_, attribute) in attributes("keys", Some(&keys), FACETS_MAX)? {
        let metrics = MetricsQuery {
            query: kymo_traceql::Query {
                body: Body::Metrics(Metrics::Query {
                    pipeline: pipeline.clone(),
                    function: MetricsFunction::CountOverTime,
                    by: vec![attribute.clone()],
                    stages: Vec::new(),
                }),
                hints: query.hints.clone(),
            },
            start_nanos: time.start,
            end_nanos: time.end,
            points: Points::One,
            exemplars: 0,
        };
        let answer = page.engine.metrics(&tenants, metrics).await?;
        found.push((attribute, answer.series));
    }
    let facets = move || Answer {
        facets: found.iter().map(|(key, series)| Facet::of(key, series)).collect(),
    };
    made(&page.engine, facets).await
}

impl Facet {
    fn of(attribute: &Attribute, series: &[Series]) -> Self {
        let key = attribute.to_string();
        let mut values: Vec<Counted> = series.iter().filter_map(Counted::of).collect();
        // An attribute may have as many values as there are spans: each is written once.
        values.sort_by_cached_key(|counted| (Reverse(counted.count), counted.value.to_string()));
        let total = values.iter().map(|counted| counted.count).sum();
        let truncated = values.len() > FACET_MAX_VALUES;
        values.truncate(FACET_MAX_VALUES);
        Self { key, values, total, truncated }
    }
}

impl Counted {
    fn of(series: &Series) -> Option<Self> {
        let (_, value) = series.labels.first()?;
        let count = series.points.iter().map(|(_, count)| *count).sum::<f64>();
        (count > 0.0).then(|| Self {
            r#type: type_name(value),
            value: json_of(value),
            count: count as u64,
        })
    }
}
