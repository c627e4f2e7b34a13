//! Which path goes where.
//!
//! | port | paths |
//! |---|---|
//! | main | all below |
//! | OTLP gRPC, OTLP HTTP | OTLP over gRPC and over HTTP, both on both |
//!
//! On the main port HTTP paths lie under `base_path`; gRPC's do not, since its clients cannot prefix
//! them. OTLP may be sent from web pages of any origin; queries may be asked by those that are
//! configured.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use http::header::{HeaderValue, RETRY_AFTER};
use http::{Method, Request, StatusCode};
use kymo_admit::Signal;
use kymo_engine::Engine;
use tower_http::compression::CompressionLayer;
use tower_http::cors::{AllowHeaders, AllowOrigin, Any, CorsLayer};

use crate::limits::PREFLIGHT_AGE;
use crate::otlp::{grpc as otlp_grpc, http as otlp_http};
use crate::receive::Receiver;
use crate::reply::{json_error, plain, typed};
use crate::telemetry::Telemetry;
use crate::{grpc, jaeger, sql, tempo};

const SIGNALS: [Signal; 3] = [Signal::Traces, Signal::Metrics, Signal::Logs];

/// What handlers share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) receiver: Arc<Receiver>,
    pub(crate) engine: Engine,
    pub(crate) telemetry: Arc<Telemetry>,
}

impl Shared {
    /// Makes a response on the engine's threads, where it delays no acknowledgement.
    pub(crate) async fn encode(
        &self,
        make: impl FnOnce() -> Response + Send + 'static,
    ) -> Response {
        match self.engine.blocking(make).await {
            Ok(response) => response,
            Err(error) => {
                tracing::error!(%error, "a response could not be made");
                plain(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
            }
        }
    }
}

/// OTLP over HTTP and gRPC: the dedicated ports.
pub(crate) fn otlp(shared: &Shared) -> Router {
    otlp_over_http().merge(otlp_over_grpc()).fallback(unknown).with_state(shared.clone())
}

/// Everything: the main port.
pub(crate) fn main(shared: &Shared, base_path: &str, cors: CorsLayer) -> Router {
    let queries = Router::new()
        .route("/api/sql", post(sql::post))
        .merge(tempo::over_http())
        .merge(jaeger::over_http())
        .layer(CompressionLayer::new())
        .layer(cors);
    let own = Router::new()
        .route("/ready", get(|| async { "ready\n" }))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/metrics", get(metrics));
    let all = otlp_over_http().merge(queries).merge(own);
    let prefixed = if base_path.is_empty() { all } else { Router::new().nest(base_path, all) };
    let over_grpc = otlp_over_grpc().merge(tempo::over_grpc()).merge(jaeger::over_grpc());
    prefixed.merge(over_grpc).fallback(unknown).with_state(shared.clone())
}

fn otlp_over_http() -> Router<Shared> {
    let cors = CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([RETRY_AFTER])
        .max_age(PREFLIGHT_AGE);
    let route = |router: Router<Shared>, signal| {
        let answer = move |State(shared), request| otlp_http::answer(shared, signal, request);
        router.route(otlp_http::path(signal), post(answer))
    };
    SIGNALS.into_iter().fold(Router::new(), route).layer(cors)
}

fn otlp_over_grpc() -> Router<Shared> {
    let route = |router: Router<Shared>, signal| {
        let answer = move |State(shared), request| otlp_grpc::answer(shared, signal, request);
        router.route(otlp_grpc::path(signal), post(answer))
    };
    SIGNALS.into_iter().fold(Router::new(), route)
}

/// Which web pages may ask queries.
pub(crate) fn query_cors(allowed_origins: &[String]) -> Result<CorsLayer, String> {
    let layer = CorsLayer::new()
        .allow_methods([Method::GET, Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([tempo::NEXT_CURSOR, tempo::DAMAGED_BLOCKS])
        .max_age(PREFLIGHT_AGE);
    if allowed_origins.iter().any(|origin| origin == "*") {
        return Ok(layer.allow_origin(Any));
    }
    let origins: Result<Vec<HeaderValue>, _> =
        allowed_origins.iter().map(|origin| origin.parse()).collect();
    let origins =
        origins.map_err(|_| format!("allowed origins are not URLs: {allowed_origins:?}"))?;
    Ok(layer.allow_origin(AllowOrigin::list(origins)))
}

async fn metrics(State(shared): State<Shared>) -> Response {
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    typed(StatusCode::OK, content_type, shared.telemetry.text())
}

async fn unknown(request: Request<Body>) -> Response {
    let path = request.uri().path();
    if grpc::is_grpc(request.headers()) {
        return grpc::unimplemented(path);
    }
    json_error(StatusCode::NOT_FOUND, &format!("there is nothing at {path}"))
}
