//! A server's paths over a store of a test, and documents as they answer.

use std::sync::Arc;

use axum::body::Body;
use axum::body::to_bytes;
use http::{Request, StatusCode};
use kymo_engine::{Engine, EngineOptions, Tenants};
use kymo_journal::{Compression, Format, OsDisk, Record, Signal};
use kymo_store::{Options, Store};
use serde_json::Value;
use tower::ServiceExt;

use crate::{Dashboards, Page, over_http};

/// Paths over a store in a directory that lives as long.
pub(crate) struct Place {
    pub(crate) page: Page,
    pub(crate) store: Arc<Store>,
    _dir: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let journal = kymo_journal::Options::default();
        let disk = Arc::new(OsDisk);
        let store = Store::open_dir(disk, dir.path(), None, journal, Options::default()).unwrap();
        let store = Arc::new(store);
        let options = EngineOptions { threads: 2, ..EngineOptions::default() };
        let engine = Engine::new(store.clone(), options).unwrap();
        let page = Page { engine, dashboards: Dashboards::default() };
        Self { page, store, _dir: dir }
    }

    /// Takes in a request of OTLP, in protobuf.
    pub(crate) fn send(&self, signal: Signal, body: Vec<u8>) {
        self.append(signal, Format::OtlpProtobuf, body);
    }

    /// Takes in a request of OTLP, in JSON.
    pub(crate) fn send_json(&self, signal: Signal, document: &Value) {
        self.append(signal, Format::OtlpJson, document.to_string().into_bytes());
    }

    fn append(&self, signal: Signal, format: Format, body: Vec<u8>) {
        let record = Record {
            signal,
            format,
            compression: Compression::None,
            tenant: "default",
            body: body.into(),
            received_nanos: 0,
        };
        self.store.journal().append(record).unwrap();
    }

    /// What a path answers.
    pub(crate) async fn ask(&self, path: &str) -> (StatusCode, Value) {
        self.answer(Request::get(path).body(Body::empty()).unwrap()).await
    }

    /// What is answered to a document.
    pub(crate) async fn post(&self, path: &str, document: &Value) -> (StatusCode, Value) {
        let request = Request::post(path).header("Content-Type", "application/json");
        self.answer(request.body(Body::from(document.to_string())).unwrap()).await
    }

    async fn answer(&self, mut request: Request<Body>) -> (StatusCode, Value) {
        request.extensions_mut().insert(Tenants::from("default"));
        let response = over_http::<()>(self.page.clone()).oneshot(request).await.unwrap();
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    /// The document that a path answers with.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> impl Future<Output = Value> {
        let (asked, path) = (self.ask(path), path.to_owned());
        async move {
            let (status, document) = asked.await;
            assert_eq!(status, StatusCode::OK, "{path}: {document}");
            document
        }
    }
}
