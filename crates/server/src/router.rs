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
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use http::header::{ETAG, HeaderValue, RETRY_AFTER};
use http::{Method, Request, StatusCode};
use kymo_admit::Signal;
use kymo_engine::{Engine, EngineError};
use tokio::sync::Semaphore;
use tower_http::compression::CompressionLayer;
use tower_http::cors::{AllowHeaders, AllowOrigin, Any, CorsLayer};

use crate::collect::{Collecting, Configured};
use crate::limits::{DIFFS_AT_ONCE, PREFLIGHT_AGE};
use crate::options::Secret;
use crate::otlp::{grpc as otlp_grpc, http as otlp_http};
use crate::receive::Receiver;
use crate::reply::{json_error, plain, typed};
use crate::telemetry::Telemetry;
use crate::{ci, grpc, jaeger, mcp, prometheus, sessions, sql, tempo};

const SIGNALS: [Signal; 3] = [Signal::Traces, Signal::Metrics, Signal::Logs];

/// What handlers share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) receiver: Arc<Receiver>,
    pub(crate) engine: Engine,
    pub(crate) telemetry: Arc<Telemetry>,
    /// Room for traces in answers of Jaeger's APIs.
    pub(crate) jaeger: jaeger::Room,
    /// Turns at reading what is asked.
    reading: Arc<Semaphore>,
    /// Turns at comparing traces.
    pub(crate) comparing: Arc<Semaphore>,
    /// When the server was started, in milliseconds since 1970.
    pub(crate) started_millis: i64,
    /// What scrapes targets, and rules that are evaluated.
    pub(crate) configured: Arc<Configured>,
}

impl Shared {
    pub(crate) fn new(
        receiver: Arc<Receiver>,
        engine: Engine,
        telemetry: Arc<Telemetry>,
        collecting: &Collecting,
    ) -> Self {
        let configured = collecting.configured().clone();
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let (jaeger, reading) = (jaeger::Room::default(), Arc::new(Semaphore::new(cores)));
        let comparing = Arc::new(Semaphore::new(DIFFS_AT_ONCE));
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let started_millis = since.map_or(0, |since| since.as_millis() as i64);
        Self { receiver, engine, telemetry, jaeger, reading, comparing, started_millis, configured }
    }

    /// Reads what is asked, on the engine's threads, whose stacks are large. It may be long: no
    /// more are read at once than there are cores, whoever waits for them.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        let Ok(turn) = self.reading.clone().acquire_owned().await else {
            return Err(EngineError::Cancelled);
        };
        let in_turn = move || {
            let _turn = turn;
            work()
        };
        self.engine.blocking(in_turn).await
    }

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
pub(crate) fn main(
    shared: &Shared,
    base_path: &str,
    cors: CorsLayer,
    mcp: mcp::Access,
    has_overrides: bool,
    github_secret: Option<Secret>,
) -> Router {
    let queries = Router::new()
        .route("/api/sql", post(sql::post))
        .merge(tempo::over_http(has_overrides))
        .merge(jaeger::over_http())
        .merge(prometheus::over_http())
        .merge(sessions::over_http());
    let tools = mcp::over_http(mcp, queries.clone().with_state(shared.clone()));
    let queries = queries.merge(tools).layer(CompressionLayer::new()).layer(cors);
    let own = Router::new()
        .route("/ready", get(|| async { "ready\n" }))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/metrics", get(metrics));
    let receiving =
        otlp_over_http().merge(prometheus::receiving()).merge(ci::over_http(github_secret));
    let all = receiving.merge(queries).merge(own);
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
        router.route(signal.http_path(), post(answer))
    };
    SIGNALS.into_iter().fold(Router::new(), route).layer(cors)
}

fn otlp_over_grpc() -> Router<Shared> {
    let route = |router: Router<Shared>, signal| {
        let answer = move |State(shared), request| otlp_grpc::answer(shared, signal, request);
        router.route(signal.grpc_path(), post(answer))
    };
    SIGNALS.into_iter().fold(Router::new(), route)
}

/// Which web pages may ask queries.
pub(crate) fn query_cors(allowed_origins: &[String]) -> Result<CorsLayer, String> {
    let layer = CorsLayer::new()
        .allow_methods([Method::GET, Method::POST, Method::PATCH, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([ETAG, tempo::NEXT_CURSOR, tempo::DAMAGED_BLOCKS])
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::ServerOptions;
    use kymo_journal::OsDisk;
    use kymo_store::Store;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    fn shared(data: &std::path::Path) -> Shared {
        let options = ServerOptions::default();
        let (journal, store) = (options.journal, options.store);
        let store = Store::open_dir(Arc::new(OsDisk), data, None, journal, store).unwrap();
        let store = Arc::new(store);
        let telemetry = Arc::new(Telemetry::new());
        let (journal, admission) = (store.journal().clone(), options.admission);
        let timeout = options.request_timeout;
        let receiver = Receiver::new(admission, journal, telemetry.clone(), 1 << 20, timeout);
        let engine = Engine::new(store, options.engine).unwrap();
        let collecting = Collecting::none();
        Shared::new(Arc::new(receiver), engine, telemetry, &collecting)
    }

    #[tokio::test]
    async fn no_more_questions_are_read_at_once_than_there_are_cores() {
        let place = tempfile::tempdir().unwrap();
        let shared = shared(place.path());
        let cores = std::thread::available_parallelism().unwrap().get();
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let reading = (0..4 * cores).map(|_| {
            let (running, most) = (running.clone(), most.clone());
            shared.read(move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(20));
                running.fetch_sub(1, Ordering::SeqCst);
            })
        });
        for read in futures::future::join_all(reading).await {
            read.unwrap();
        }
        assert!(most.load(Ordering::SeqCst) <= cores);
    }
}
