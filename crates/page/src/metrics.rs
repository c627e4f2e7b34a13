//! Queries of PromQL that are explored: what `$__rate_interval` and the like mean in them.
//!
//! | path | what |
//! |---|---|
//! | `GET /api/metrics/filled?query&start&end&step_millis` | `{"query": "rate(x[4m])"}`: the query with its intervals put in |
//!
//! They mean what they mean on a dashboard; that of rates holds four samples of the metrics that the query
//! names, however often they come.

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use kymo_dash::interpolate::interval::{SCRAPE_MILLIS, rate_interval};
use kymo_dash::interpolate::{Context, Style, TimeRange};
use serde::{Deserialize, Serialize};

use crate::answer::{Failed, Query, Whose, json};
use crate::times::{NANOS_PER_MILLI, range};
use crate::{Page, paces};

/// Time that is looked at unless something else is said.
const USUAL_NANOS: i64 = 3_600_000_000_000;

#[derive(Debug, Deserialize)]
struct Asked {
    query: String,
    start: Option<String>,
    end: Option<String>,
    step_millis: i64,
}

#[derive(Debug, Serialize)]
struct Filled {
    query: String,
}

pub(crate) fn over_http() -> Router<Page> {
    Router::new().route("/api/metrics/filled", get(filled))
}

async fn filled(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Query(asked): Query<Asked>,
) -> Result<Response, Failed> {
    if asked.step_millis < 1 {
        return Err(Failed::Invalid("step_millis is not above 0".to_owned()));
    }
    let range = range(asked.start.as_deref(), asked.end.as_deref(), USUAL_NANOS)?;
    let [from_millis, to_millis] = [range.start, range.end].map(|nanos| nanos / NANOS_PER_MILLI);
    let mut context = Context {
        time: TimeRange { from_millis, to_millis },
        interval_millis: asked.step_millis,
        rate_interval_millis: rate_interval(asked.step_millis, SCRAPE_MILLIS),
        ..Context::default()
    };
    let mut query = context.fill(&asked.query, Style::Promql);
    let names_rates = kymo_dash::interpolate::names(&asked.query)
        .iter()
        .any(|name| name.starts_with("__rate_interval"));
    // What cannot be read is told by who answers the query, with its place.
    if let (true, Ok(expr)) = (names_rates, kymo_promql::parser::parse(&query))
        && let Some(pace_millis) = paces::pace(&page, &tenants, to_millis, &expr).await
    {
        let scrape_millis = pace_millis.max(SCRAPE_MILLIS);
        context.rate_interval_millis = rate_interval(asked.step_millis, scrape_millis);
        query = context.fill(&asked.query, Style::Promql);
    }
    json(&Filled { query })
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use kymo_journal::Signal;
    use serde_json::json;

    use crate::tested::Place;

    const NOON_SECS: u64 = 1_767_268_800;

    /// A counter that is told once a minute.
    fn slow() -> serde_json::Value {
        let point = |nth: u64| {
            json!({
                "timeUnixNano": ((NOON_SECS + 60 * nth) * 1_000_000_000).to_string(),
                "startTimeUnixNano": (NOON_SECS * 1_000_000_000).to_string(),
                "asDouble": nth as f64,
            })
        };
        let points: Vec<_> = (1..6).map(point).collect();
        let sum = json!({ "aggregationTemporality": 2, "isMonotonic": true, "dataPoints": points });
        let metric = json!({ "name": "slow", "sum": sum });
        json!({ "resourceMetrics": [{ "scopeMetrics": [{ "metrics": [metric] }] }] })
    }

    #[tokio::test]
    async fn rates_are_over_four_samples_of_what_is_asked_for() {
        let place = Place::new();
        place.send_json(Signal::Metrics, &slow());
        let end = NOON_SECS + 300;
        let filled = async |query: &str| {
            let query: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let path = format!(
                "/api/metrics/filled?step_millis=15000&start={NOON_SECS}&end={end}&query={query}"
            );
            place.get(&path).await["query"].as_str().unwrap().to_owned()
        };
        assert_eq!(filled("rate(slow_total[$__rate_interval])").await, "rate(slow_total[4m])");
        let in_braces = "rate({\"slow_total\"}[$__rate_interval])";
        assert_eq!(filled(in_braces).await, "rate({\"slow_total\"}[4m])");
        assert_eq!(filled("rate(other[$__rate_interval])").await, "rate(other[1m])");
        assert_eq!(filled("x[$__interval]+y[${__range}]").await, "x[15s]+y[300s]");
        assert_eq!(filled("rate(slow_total[$__rate_interval").await, "rate(slow_total[1m");
        assert_eq!(filled("a=~\"b$|$1\"").await, "a=~\"b$|$1\"");
        let (status, _) = place.ask("/api/metrics/filled?step_millis=0&query=x").await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
    }
}
