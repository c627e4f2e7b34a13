//! `/api/v1/query_exemplars`: single observations of the series that an expression is about.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::Request;
use kymo_engine::prometheus::{Exemplar, SeriesQuery};
use kymo_promql::labels::Labels;
use kymo_promql::walk::selectors;

use super::asked::{Unanswered, ask, success};
use super::json::{write_float, write_labels, write_list, write_time};
use crate::router::Shared;

/// Answers the path.
pub(super) async fn answer(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_query_exemplars", async |shared, asked| {
        let (start, end) = (asked.time("start")?, asked.time("end")?);
        let (start, end) = (start.unwrap_or(0), end.unwrap_or_else(super::query::now_millis));
        if end < start {
            return Err(Unanswered::Wrong(
                "end timestamp must not be before start timestamp".to_owned(),
            ));
        }
        let (_, expr) = asked.expression(&shared)?;
        let matchers: Vec<_> =
            selectors(&expr).iter().map(|selector| selector.matchers.clone()).collect();
        if matchers.is_empty() {
            return Ok(success("[]"));
        }
        let query = SeriesQuery { matchers, start, end };
        let found = shared.engine.prom_exemplars(asked.tenants, query).await?;
        let found: Vec<(Labels, Vec<Exemplar>)> = found.into_iter().collect();
        let respond = move || {
            let mut data = String::new();
            write_list(&found, &mut data, |(labels, exemplars), out| {
                out.push_str("{\"seriesLabels\":");
                write_labels(labels, out);
                out.push_str(",\"exemplars\":");
                write_list(exemplars, out, |exemplar, out| {
                    out.push_str("{\"labels\":");
                    write_labels(&exemplar.labels, out);
                    out.push_str(",\"value\":");
                    write_float(exemplar.value, out);
                    out.push_str(",\"timestamp\":");
                    write_time(exemplar.time, out);
                    out.push('}');
                });
                out.push('}');
            });
            success(&data)
        };
        Ok(shared.encode(respond).await)
    })
    .await
}
