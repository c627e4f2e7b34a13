//! What runs, what was slow, and how it is ended.

use std::time::UNIX_EPOCH;

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use kymo_engine::RunningQuery;
use serde_json::{Value, json};

use super::document;
use crate::reply::json_error;
use crate::router::Shared;

pub(super) async fn show(State(shared): State<Shared>) -> Response {
    let stats = shared.engine.stats();
    let running: Vec<Value> = shared.engine.running_queries().iter().map(query).collect();
    let slow = shared.engine.slow_queries().into_iter().map(|slow| {
        let mut shown = query(&slow.query);
        shown["outcome"] = slow.outcome.into();
        shown
    });
    document(&json!({
        "running": running,
        "slow": slow.collect::<Vec<_>>(),
        "waiting": stats.waiting,
        "memory_bytes": stats.memory_bytes,
        "finished": stats.finished,
        "cancelled": stats.cancelled,
        "failed": stats.failed.iter().map(|(kind, count)| json!({ "kind": kind, "count": count }))
            .collect::<Vec<_>>(),
        "rows_scanned": stats.rows_scanned,
        "rows_answered": stats.rows_answered,
    }))
}

pub(super) async fn cancel(State(shared): State<Shared>, Path(id): Path<String>) -> Response {
    let is_told = id.parse().is_ok_and(|id| shared.engine.cancel_query(id));
    if !is_told {
        let message = format!("no query {id} runs: it may have ended meanwhile");
        return json_error(StatusCode::NOT_FOUND, &message);
    }
    tracing::info!(id, "a query was ended by an admin");
    document(&json!({ "cancelled": id }))
}

fn query(query: &RunningQuery) -> Value {
    let began = query.began.duration_since(UNIX_EPOCH).unwrap_or_default();
    json!({
        "id": query.id.to_string(),
        "kind": query.kind,
        "text": query.text,
        "is_cut": query.is_cut,
        "tenants": query.tenants,
        "began_millis": began.as_millis() as u64,
        "seconds": query.took.as_secs_f64(),
        "rows_scanned": query.rows_scanned,
        "is_ending": query.is_ending,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_query_is_shown_with_its_numbers() {
        let shown = query(&RunningQuery {
            id: 7,
            kind: "sql",
            text: "SELECT 1".to_owned(),
            is_cut: false,
            tenants: "a|b".to_owned(),
            began: SystemTime::UNIX_EPOCH + Duration::from_millis(1_500),
            took: Duration::from_millis(250),
            rows_scanned: 9,
            is_ending: false,
        });
        assert_eq!((&shown["id"], &shown["is_cut"]), (&json!("7"), &json!(false)));
        assert_eq!((&shown["began_millis"], &shown["seconds"]), (&json!(1_500), &json!(0.25)));
    }
}
