//! `/federate`: the newest sample of each series that is asked for, as targets show theirs.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Request, StatusCode};
use kymo_promql::labels::{Labels, NAME};
use kymo_promql::sample::is_stale;
use kymo_promql::source::{Select, Series};
use kymo_wire::exposition::{MetricKind, TextWriter, negotiate};

use super::asked::{Unanswered, ask};
use super::query::now_millis;
use crate::reply::typed;
use crate::router::Shared;

/// Answers the path.
pub(super) async fn answer(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let negotiated = negotiate(accept.unwrap_or_default());
    ask(shared, request, "prometheus_federate", async |shared, asked| {
        let matchers = asked.matchers()?;
        if matchers.is_empty() {
            return Err(Unanswered::Wrong("no match[] parameter provided".to_owned()));
        }
        let end = now_millis();
        let lookback = shared.engine.prometheus().lookback.as_millis() as i64;
        let select =
            |matchers| Select { matchers, start: end - lookback + 1, end, only_totals: false };
        let selects = matchers.into_iter().map(select).collect();
        let found = shared.engine.prom_select(asked.tenants, selects).await?;
        let respond = move || {
            let mut newest: BTreeMap<(String, Labels), (i64, f64)> = BTreeMap::new();
            for series in found.iter().flatten() {
                if let Some(sample) = newest_of(series, end) {
                    let name = series.labels.metric_name().to_owned();
                    newest.insert((name, series.labels.clone()), sample);
                }
            }
            let mut writer = TextWriter::new(negotiated.format, negotiated.escaping);
            let mut family = None;
            for ((name, labels), (time, value)) in &newest {
                if family != Some(name) {
                    writer.family(name, MetricKind::Unknown, "", "");
                    family = Some(name);
                }
                let others = labels.iter().filter(|label| &*label.name != NAME);
                let others: Vec<(&str, &str)> =
                    others.map(|label| (&*label.name, &*label.value)).collect();
                writer.sample(name, others, *value, Some(*time), None);
            }
            let mut response = typed(StatusCode::OK, "text/plain", writer.finish());
            if let Ok(content_type) = HeaderValue::from_str(&negotiated.content_type()) {
                response.headers_mut().insert(CONTENT_TYPE, content_type);
            }
            response
        };
        Ok(shared.encode(respond).await)
    })
    .await
}

/// The newest float of a series that has not ended.
fn newest_of(series: &Series, end: i64) -> Option<(i64, f64)> {
    let samples = &series.samples;
    let nth = samples.times.partition_point(|time| *time <= end).checked_sub(1)?;
    let value = samples.values[nth];
    (!is_stale(value)).then_some((samples.times[nth], value))
}
