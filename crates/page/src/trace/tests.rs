//! Answers about traces, over a store of its own.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use http::{Request, StatusCode};
use kymo_engine::Tenants;
use kymo_journal::Signal;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::kept::Kept;
use super::limits::UPLOADS_AT_ONCE;
use crate::over_http;
use crate::tested::Place;

const ID: &str = "0102030405060708090a0b0c0d0e0f10";

/// Three spans of two services.
fn document(trace_id: &str, extra_nanos: u64) -> Value {
    let span = |id: &str, parent: &str, name: &str, from: u64, to: u64| {
        json!({
            "traceId": trace_id, "spanId": id, "parentSpanId": parent, "name": name, "kind": 2,
            "startTimeUnixNano": from.to_string(), "endTimeUnixNano": (to + extra_nanos).to_string(),
            "attributes": [{"key": "zero", "value": {"intValue": "0"}}],
            "events": [{"timeUnixNano": from.to_string(), "name": "begun"}],
        })
    };
    let resource = |service: &str| json!({"attributes": [{"key": "service.name", "value": {"stringValue": service}}]});
    let start = 1_700_000_000_000_000_000;
    json!({"resourceSpans": [
        {"resource": resource("shop"), "scopeSpans": [{"spans": [
            span("00000000000000a1", "", "GET", start, start + 1_000),
            span("00000000000000a2", "00000000000000a1", "auth", start + 100, start + 200),
        ]}]},
        {"resource": resource("db"), "scopeSpans": [{"spans": [
            span("00000000000000a3", "00000000000000a1", "SELECT", start + 300, start + 900),
        ]}]},
    ]})
}

struct Asking {
    router: Router,
    _place: Place,
}

impl Asking {
    fn new() -> Self {
        let place = Place::new();
        place.send_json(Signal::Traces, &document(ID, 0));
        place.send_json(Signal::Traces, &document("0f0e0d0c0b0a09080706050403020100", 500));
        place.store.ingest().unwrap();
        Self { router: over_http(place.page.clone()), _place: place }
    }

    async fn send(&self, mut request: Request<Body>, tenant: &str) -> (StatusCode, Vec<u8>) {
        request.extensions_mut().insert(Tenants::from(tenant));
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        (status, to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec())
    }

    async fn bytes(&self, path: &str) -> (StatusCode, Vec<u8>) {
        self.send(Request::get(path).body(Body::empty()).unwrap(), "default").await
    }

    async fn get(&self, path: &str) -> Value {
        let (status, bytes) = self.bytes(path).await;
        let document = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(status, StatusCode::OK, "{path}: {document}");
        document
    }

    async fn refused(&self, path: &str) -> (StatusCode, String) {
        let (status, bytes) = self.bytes(path).await;
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        (status, document["error"].as_str().unwrap().to_owned())
    }
}

/// The header of columns.
fn header(bytes: &[u8]) -> Value {
    assert_eq!(&bytes[..4], b"KYTC");
    let length = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
    serde_json::from_slice(&bytes[16..16 + length]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_trace_is_told_in_all_its_forms() {
    let asking = Asking::new();
    let (status, bytes) = asking.bytes(&format!("/api/trace/{ID}")).await;
    assert_eq!(status, StatusCode::OK);
    let header = header(&bytes);
    assert_eq!((&header["spans"], &header["main"]["name"]), (&json!(3), &json!("GET")));
    let details = asking.get(&format!("/api/trace/{ID}/spans?rows=2,0")).await;
    assert_eq!(details["revision"], header["revision"]);
    assert_eq!(details["spans"][0]["name"], "SELECT");
    assert_eq!(
        details["spans"][1]["attributes"],
        json!([{"key": "zero", "type": "int", "value": 0}])
    );
    let details = asking.get(&format!("/api/trace/{ID}/spans?ids=a2")).await;
    assert_eq!(details["spans"][0]["row"], 1);
    let keys = asking.get(&format!("/api/trace/{ID}/keys")).await;
    assert_eq!(
        keys["keys"][0],
        json!({"key": "resource.service.name", "type": "string", "spans": 3})
    );
    let column = asking.get(&format!("/api/trace/{ID}/column?key=resource.service.name")).await;
    assert_eq!((&column["values"], &column["rows"]), (&json!(["shop", "db"]), &json!([0, 0, 1])));
    let found = asking.get(&format!("/api/trace/{ID}/find?q=select")).await;
    assert_eq!(found["rows"], json!([2]));
    let stats = asking.get(&format!("/api/trace/{ID}/stats?by=service")).await;
    assert_eq!(stats["groups"][0]["service"], "db");
    let flame = asking.get(&format!("/api/trace/{ID}/flame")).await;
    assert_eq!(flame["nodes"][1]["name"], "SELECT");
    let events = asking.get(&format!("/api/trace/{ID}/events?limit=2")).await;
    assert_eq!((&events["total"], &events["next"]), (&json!(3), &json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_traces_are_compared_and_one_is_exported() {
    let asking = Asking::new();
    let path = format!("/api/trace/{ID}/compare?with=0f0e0d0c0b0a09080706050403020100");
    let found = asking.get(&path).await;
    assert_eq!((&found["paired"], &found["spans"][0]["deltaNanos"]), (&json!(3), &json!(500)));
    let exported = asking.get(&format!("/api/trace/{ID}/export?format=otlp")).await;
    assert_eq!(exported["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"], ID);
    let exported = asking.get(&format!("/api/trace/{ID}/export?format=perfetto")).await;
    assert_eq!(exported["traceEvents"].as_array().unwrap().len(), 2 + 3 + 3);
    let (status, error) = asking.refused(&format!("/api/trace/{ID}/export?format=zip")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(error.contains("otlp or perfetto"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_or_wrong_is_told() {
    let asking = Asking::new();
    for (path, expected, word) in [
        ("/api/trace/ffff", StatusCode::NOT_FOUND, "no span of the trace ffff is stored"),
        ("/api/trace/upload-1", StatusCode::NOT_FOUND, "open the file again"),
        ("/api/trace/xyz", StatusCode::BAD_REQUEST, "hexadecimal"),
        (&format!("/api/trace/{ID}/spans"), StatusCode::BAD_REQUEST, "rows or ids"),
        (&format!("/api/trace/{ID}/spans?rows=x"), StatusCode::BAD_REQUEST, "whole numbers"),
        (&format!("/api/trace/{ID}/column"), StatusCode::BAD_REQUEST, "key is missing"),
        (&format!("/api/trace/{ID}/compare?with=ffff"), StatusCode::NOT_FOUND, "ffff"),
    ] {
        let (status, error) = asking.refused(path).await;
        assert_eq!(status, expected, "{path}");
        assert!(error.contains(word), "{path}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_is_a_trace_for_its_tenant_only_and_is_not_stored() {
    let asking = Asking::new();
    let uploaded_id = "00000000000000000000000000000077";
    let file = document(uploaded_id, 0).to_string();
    let post = |body: String| Request::post("/api/trace/upload").body(Body::from(body)).unwrap();
    let (status, bytes) = asking.send(post(file), "default").await;
    let answer: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(status, StatusCode::OK, "{answer}");
    let trace = &answer["traces"][0];
    assert_eq!((&trace["traceId"], &trace["spans"]), (&json!(uploaded_id), &json!(3)));
    let path = format!("/api/trace/{}", trace["id"].as_str().unwrap());
    let (status, bytes) = asking.bytes(&path).await;
    assert_eq!((status, &header(&bytes)["trace"]), (StatusCode::OK, &trace["id"]));
    assert_eq!(asking.get(&format!("{path}/find?q=auth")).await["rows"], json!([1]));
    let by_other = Request::get(&path).body(Body::empty()).unwrap();
    assert_eq!(asking.send(by_other, "other").await.0, StatusCode::NOT_FOUND);
    assert_eq!(asking.refused(&format!("/api/trace/{uploaded_id}")).await.0, StatusCode::NOT_FOUND);
    let (status, bytes) = asking.send(post("hello".into()), "default").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(String::from_utf8(bytes).unwrap().contains("expected OTLP"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_file_is_the_same_upload_and_one_that_was_corrected_is_another() {
    let asking = Asking::new();
    let file = document("00000000000000000000000000000077", 0).to_string();
    let upload = async |body: String| {
        let post = Request::post("/api/trace/upload").body(Body::from(body)).unwrap();
        let (_, bytes) = asking.send(post, "default").await;
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        answer["traces"][0]["id"].as_str().unwrap().to_owned()
    };
    let first = upload(file.clone()).await;
    assert_eq!(upload(file.clone()).await, first);
    let corrected = upload(file.replace("\"zero\"", "\"none\"")).await;
    assert_ne!(corrected, first);
    for (id, key) in [(first, "zero"), (corrected, "none")] {
        let details = asking.get(&format!("/api/trace/{id}/spans?rows=0")).await;
        assert_eq!(details["spans"][0]["attributes"][0]["key"], key);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_waits_while_as_many_are_taken_apart_as_there_is_memory_for() {
    let place = Place::new();
    let kept = Arc::new(Kept::default());
    let turns = kept.turns.clone();
    assert_eq!(turns.available_permits(), UPLOADS_AT_ONCE);
    let all = turns.acquire_many(u32::try_from(UPLOADS_AT_ONCE).unwrap()).await.unwrap();
    let router = super::keeping(kept).with_state(place.page.clone());
    let text = document("00000000000000000000000000000077", 0).to_string();
    let sent: Arc<[u8]> = Arc::from(text.as_bytes());
    // As the server hands it on, which counts it as long as something of it is there.
    let body = Body::from(Bytes::from_owner(sent.clone()));
    let mut request = Request::post(super::UPLOAD_PATH).body(body).unwrap();
    request.extensions_mut().insert(Tenants::from("default"));
    let mut answered = std::pin::pin!(router.oneshot(request));
    let early = tokio::time::timeout(Duration::from_millis(100), &mut answered).await;
    assert!(early.is_err(), "it has no turn yet");
    assert_eq!(Arc::strong_count(&sent), 2, "it is not copied, and counts while it waits");
    drop(all);
    assert_eq!(answered.await.unwrap().status(), StatusCode::OK);
    assert_eq!(Arc::strong_count(&sent), 1, "what is kept is made of it, and holds none of it");
    assert_eq!(turns.available_permits(), UPLOADS_AT_ONCE);
}
