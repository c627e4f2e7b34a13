//! Series as targets show theirs: `/federate`, and the port that exposes what was received.
//!
//! Native histograms are shown with the bounds of their buckets, as classic ones: the text formats
//! have no others.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use kymo_engine::prometheus::{Metadata, SeriesQuery};
use kymo_promql::histogram::{Bucket, Histogram};
use kymo_promql::labels::{Labels, NAME};
use kymo_promql::matcher::{LabelMatcher, MatchOp};
use kymo_promql::number::format_float;
use kymo_promql::sample::{Samples, Value, is_stale};
use kymo_promql::source::{Select, Series};
use kymo_wire::exposition::{MetricKind, NegotiatedFormat, TextWriter, negotiate};

use super::asked::{Asked, Unanswered, ask};
use super::query::now_millis;
use crate::reply::typed;
use crate::router::Shared;

/// The newest sample of a series, and its time.
type Newest = (i64, Value);

/// `/federate`: the series that are asked for, without what is known of their metrics.
pub(super) async fn federate(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let format = format_of(request.headers());
    ask(shared, request, "prometheus_federate", async |shared, asked| {
        let matchers = asked.matchers()?;
        if matchers.is_empty() {
            return Err(Unanswered::Wrong("no match[] parameter provided".to_owned()));
        }
        let series = newest(&shared, &asked, matchers).await?;
        Ok(shared.encode(move || respond(&series, &BTreeMap::new(), &format)).await)
    })
    .await
}

/// The port that exposes all that was received, as an OpenTelemetry collector's does.
pub(crate) fn exposition(shared: &Shared) -> Router {
    Router::new().route("/metrics", get(everything)).with_state(shared.clone())
}

async fn everything(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let format = format_of(request.headers());
    ask(shared, request, "prometheus_expose", async |shared, asked| {
        let named = LabelMatcher::new(NAME, MatchOp::NotEqual, "");
        let named = named.map_err(|error| Unanswered::Wrong(error.to_string()))?;
        let series = newest(&shared, &asked, vec![vec![named]]).await?;
        let (start, end) = current(&shared);
        let query = SeriesQuery { matchers: Vec::new(), start, end };
        let metadata = shared.engine.prom_metadata(asked.tenants, None, query).await?;
        let first = |(name, all): (String, std::collections::BTreeSet<Metadata>)| {
            all.into_iter().next().map(|metadata| (name, metadata))
        };
        let metadata = metadata.into_iter().filter_map(first).collect();
        Ok(shared.encode(move || respond(&series, &metadata, &format)).await)
    })
    .await
}

fn format_of(headers: &HeaderMap) -> NegotiatedFormat {
    negotiate(headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default())
}

/// The time within which a sample is current.
fn current(shared: &Shared) -> (i64, i64) {
    let end = now_millis();
    let lookback = shared.engine.prometheus().lookback.as_millis() as i64;
    (end - lookback + 1, end)
}

/// The newest sample of series that have not ended, by labels.
async fn newest(
    shared: &Shared,
    asked: &Asked,
    matchers: Vec<Vec<LabelMatcher>>,
) -> Result<BTreeMap<Labels, Newest>, Unanswered> {
    let (start, end) = current(shared);
    let select = |matchers| Select { matchers, start, end, only_totals: false };
    let selects = matchers.into_iter().map(select).collect();
    let found = shared.engine.prom_select(&asked.tenants, selects).await?;
    let newest = |series: &Series| {
        let newest = newest_of(&series.samples, start, end)?;
        Some((series.labels.clone(), newest))
    };
    Ok(found.iter().flatten().filter_map(newest).collect())
}

/// The newest of some samples within a time, unless it says that the series ended.
fn newest_of(samples: &Samples, start: i64, end: i64) -> Option<Newest> {
    let float = samples.times.partition_point(|time| *time <= end).checked_sub(1);
    let float = float.map(|nth| (samples.times[nth], Value::Float(samples.values[nth])));
    let histogram = samples.histograms.partition_point(|sample| sample.time <= end).checked_sub(1);
    let histogram = histogram.map(|nth| {
        let sample = &samples.histograms[nth];
        (sample.time, Value::Histogram(sample.value.clone()))
    });
    let newest = float.into_iter().chain(histogram).max_by_key(|(time, _)| *time)?;
    let has_ended = match &newest.1 {
        Value::Float(value) => is_stale(*value),
        Value::Histogram(histogram) => histogram.is_stale(),
    };
    (newest.0 >= start && !has_ended).then_some(newest)
}

/// The family of a series' name: itself, or what a suffix was added to.
fn family_of<'a>(name: &'a str, metadata: &BTreeMap<String, Metadata>) -> &'a str {
    let stripped = ["_bucket", "_sum", "_count"].iter().filter_map(|s| name.strip_suffix(s));
    let mut families = [name].into_iter().chain(stripped);
    families.find(|family| metadata.contains_key(*family)).unwrap_or(name)
}

/// All labels but the name.
fn others(labels: &Labels) -> Vec<(&str, &str)> {
    let others = labels.iter().filter(|label| &*label.name != NAME);
    others.map(|label| (&*label.name, &*label.value)).collect()
}

/// A native histogram with its buckets, each with all below it.
fn write_native(writer: &mut TextWriter, labels: &Labels, time: i64, histogram: &Histogram) {
    let name = labels.metric_name();
    let mut within = 0.0;
    let bucket = |writer: &mut TextWriter, bound: &str, count: f64| {
        let mut labels = others(labels);
        labels.push(("le", bound));
        writer.sample(&format!("{name}_bucket"), labels, count, Some(time), None);
    };
    for Bucket { upper, count, .. } in histogram.buckets() {
        within += count;
        if upper.is_finite() {
            bucket(writer, &format_float(upper), within);
        }
    }
    bucket(writer, "+Inf", histogram.count);
    for (suffix, value) in [("_sum", histogram.sum), ("_count", histogram.count)] {
        writer.sample(&format!("{name}{suffix}"), others(labels), value, Some(time), None);
    }
}

fn respond(
    series: &BTreeMap<Labels, Newest>,
    metadata: &BTreeMap<String, Metadata>,
    format: &NegotiatedFormat,
) -> Response {
    let mut families: BTreeMap<&str, Vec<(&Labels, &Newest)>> = BTreeMap::new();
    for (labels, sample) in series {
        let family = family_of(labels.metric_name(), metadata);
        families.entry(family).or_default().push((labels, sample));
    }
    let mut writer = TextWriter::new(format.format, format.escaping);
    for (family, members) in families {
        match metadata.get(family) {
            Some(known) => {
                let kind = MetricKind::from_name(&known.metric_type).unwrap_or_default();
                writer.family(family, kind, &known.help, &known.unit);
            }
            None => {
                let is_native =
                    |(_, newest): &(_, &Newest)| matches!(newest.1, Value::Histogram(_));
                let kind = match members.iter().any(is_native) {
                    true => MetricKind::Histogram,
                    false => MetricKind::Unknown,
                };
                writer.family(family, kind, "", "");
            }
        }
        for (labels, (time, value)) in members {
            match value {
                Value::Float(value) => {
                    let name = labels.metric_name();
                    writer.sample(name, others(labels), *value, Some(*time), None);
                }
                Value::Histogram(histogram) => write_native(&mut writer, labels, *time, histogram),
            }
        }
    }
    let mut response = typed(StatusCode::OK, "text/plain", writer.finish());
    if let Ok(content_type) = HeaderValue::from_str(&format.content_type()) {
        response.headers_mut().insert(CONTENT_TYPE, content_type);
    }
    response
}
