//! Steps of a run in a part of its time, as spans: what a point of a chart that stands out was.
//!
//! A whole training may be one trace of thousands of steps, among which a search for traces would not
//! tell which was meant.

use std::ops::Range;

use kymo_engine::table::Table;
use kymo_engine::{Engine, Tenants};
use serde::Serialize;

use crate::answer::Failed;
use crate::sql::{moment, quoted};

/// Steps of an answer.
const MAX_STEPS: usize = 20;
/// How long before the time that is asked about a step may have begun that was in it: longer than any
/// takes.
const REACH_NANOS: i64 = 6 * 3_600_000_000_000;

/// The longest first.
#[derive(Debug, Serialize)]
pub(super) struct Steps {
    spans: Vec<Step>,
}

#[derive(Debug, Serialize)]
struct Step {
    trace_id: String,
    span_id: String,
    name: String,
    seconds: f64,
}

/// The longest spans of a run that are called a step and ran within a time.
pub(super) async fn longest(
    engine: &Engine,
    tenants: &Tenants,
    id: &str,
    range: &Range<i64>,
) -> Result<Steps, Failed> {
    let query = format!(
        "SELECT trace_id, span_id, name, duration_nanos FROM spans \
         WHERE CAST(\"resource.session_id\" AS VARCHAR) = {} AND name LIKE '%step%' \
         AND start_time >= '{}' AND start_time < '{}' AND end_time >= '{}' \
         ORDER BY duration_nanos DESC LIMIT {MAX_STEPS}",
        quoted(id),
        moment(range.start.saturating_sub(REACH_NANOS).max(0)),
        moment(range.end),
        moment(range.start)
    );
    let table = Table::ask(engine, tenants, &query).await?;
    let (traces, spans) = (table.texts("trace_id")?, table.texts("span_id")?);
    let (names, durations) = (table.texts("name")?, table.integers("duration_nanos")?);
    let rows = traces.into_iter().zip(spans).zip(names.into_iter().zip(durations));
    let spans = rows.filter_map(|((trace_id, span_id), (name, nanos))| {
        Some(Step {
            trace_id: trace_id?,
            span_id: span_id?,
            name: name.unwrap_or_default(),
            seconds: nanos.unwrap_or(0) as f64 / 1e9,
        })
    });
    Ok(Steps { spans: spans.collect() })
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use kymo_journal::Signal;
    use serde_json::{Value, json};

    use crate::tested::Place;

    #[tokio::test(flavor = "multi_thread")]
    async fn the_longest_step_of_a_moment_is_found_within_one_trace() {
        let place = Place::new();
        let second = |nth: u64| ((1_700_000_000 + nth) * 1_000_000_000).to_string();
        let span = |nth: u64, name: &str, from: u64, to: u64| {
            json!({
                "traceId": format!("{:032x}", 7), "spanId": format!("{nth:016x}"), "name": name,
                "startTimeUnixNano": second(from), "endTimeUnixNano": second(to),
            })
        };
        let of_run = |run: &str, spans: &[Value]| {
            let id = json!({"key": "session_id", "value": {"stringValue": run}});
            json!({"resourceSpans": [{
                "resource": {"attributes": [id]}, "scopeSpans": [{"spans": spans}],
            }]})
        };
        let spans = [
            span(1, "session", 0, 600),
            span(2, "train_step", 0, 10),
            span(3, "train_step", 10, 70),
            span(4, "optimizer_step", 60, 70),
            span(5, "train_step", 70, 300),
        ];
        place.send_json(Signal::Traces, &of_run("r,1", &spans));
        place.send_json(Signal::Traces, &of_run("other", &[span(6, "train_step", 0, 400)]));
        let path = "/api/runs/steps?id=r%2C1&start=1700000062&end=1700000068";
        let told = place.get(path).await;
        let found: Vec<&Value> =
            told["spans"].as_array().unwrap().iter().map(|step| &step["span_id"]).collect();
        assert_eq!(found, [&json!(format!("{:016x}", 3)), &json!(format!("{:016x}", 4))], "{told}");
        let longest = &told["spans"][0];
        assert_eq!((&longest["name"], &longest["seconds"]), (&json!("train_step"), &json!(60.0)));
        assert_eq!(longest["trace_id"], json!(format!("{:032x}", 7)));
        let none = place.get("/api/runs/steps?id=r%2C1&start=1600000000&end=1600000009").await;
        assert_eq!(none["spans"], json!([]));
        assert_eq!(place.ask("/api/runs/steps").await.0, StatusCode::BAD_REQUEST);
    }
}
