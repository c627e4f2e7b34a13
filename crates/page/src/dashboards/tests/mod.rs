//! Dashboards over a store with data: kept, laid out, asked.

mod asked;
mod ci;
mod kept;
mod shipped;

use axum::body::{Body, to_bytes};
use http::{Method, Request, StatusCode};
use kymo_engine::Tenants;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::over_http;
use crate::tested::Place;

/// What a path answers to a request with a body.
async fn send(place: &Place, method: Method, path: &str, body: &str) -> (StatusCode, String) {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(Body::from(body.to_owned()))
        .unwrap();
    request.extensions_mut().insert(Tenants::from("default"));
    let response = over_http::<()>(place.page.clone()).oneshot(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

async fn post(place: &Place, path: &str, body: &Value) -> (StatusCode, Value) {
    let (status, text) = send(place, Method::POST, path, &body.to_string()).await;
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

/// The lines that a question about panels is answered with, by key.
async fn panels(place: &Place, mut question: Value, keys: &[&str]) -> Vec<Value> {
    question["panels"] = keys.iter().map(|key| json!({"key": key, "maxDataPoints": 100})).collect();
    let (status, text) =
        send(place, Method::POST, "/api/dashboards/query", &question.to_string()).await;
    assert_eq!(status, StatusCode::OK, "{text}");
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.sort_by_key(|line| keys.iter().position(|key| line["panel"] == **key));
    lines
}
