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

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{any, get, post};
use http::header::{ETAG, HeaderValue, RETRY_AFTER};
use http::{Method, Request, StatusCode};
use kymo_admit::Signal;
use kymo_admit::audience::AudienceSettings;
use kymo_engine::{Engine, EngineError};
use kymo_forward::destination::Destinations;
use kymo_identity::Identity;
use kymo_store::Store;
use kymo_yaml::Secret;
use tokio::sync::{Mutex, Semaphore};
use tower_http::compression::CompressionLayer;
use tower_http::cors::{AllowHeaders, AllowOrigin, Any, CorsLayer};

use crate::access::{request_id, tokens};
use crate::body::Budget;
use crate::collect::{Collecting, Configured};
use crate::demo::Demos;
use crate::derive::{self, Deriving};
use crate::limits::{DIFFS_AT_ONCE, PAGE_FILES_BYTES, PREFLIGHT_AGE};
use crate::options::Parts;
use crate::otlp::{grpc as otlp_grpc, http as otlp_http};
use crate::receive::Receiver;
use crate::reply::{json_error, plain, typed};
use crate::start::{About, Listeners};
use crate::telemetry::Telemetry;
use crate::{
    admin, audience, ci, correlate, deletion, demo, export, flight, grpc, jaeger, loki, mcp, page,
    page_api, prometheus, sessions, sql, start, tempo,
};

const SIGNALS: [Signal; 3] = [Signal::Traces, Signal::Metrics, Signal::Logs];

/// What handlers share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) receiver: Arc<Receiver>,
    pub(crate) engine: Engine,
    pub(crate) telemetry: Arc<Telemetry>,
    /// Room for traces in answers of Jaeger's APIs.
    pub(crate) jaeger: jaeger::Room,
    /// Room for files that the page shows.
    pub(crate) files: Arc<Budget>,
    /// Turns at reading what is asked.
    reading: Arc<Semaphore>,
    /// Turns at comparing traces.
    pub(crate) comparing: Arc<Semaphore>,
    /// When the server was started, in milliseconds since 1970.
    pub(crate) started_millis: i64,
    /// What scrapes targets, and rules that are evaluated.
    pub(crate) configured: Arc<Configured>,
    /// Who there is to be known.
    pub(crate) identity: Arc<Identity>,
    /// How a new flag of the audience starts.
    pub(crate) audience: Arc<AudienceSettings>,
    /// Turns at changing documents of the server.
    pub(crate) changing: Arc<Mutex<()>>,
    /// Where records are sent.
    pub(crate) destinations: Arc<Destinations>,
    /// What makes metrics of spans, if something does.
    pub(crate) deriving: Option<Deriving>,
    /// What is stored.
    pub(crate) store: Arc<Store>,
    /// What this server is.
    pub(crate) about: Arc<About>,
    /// Pages that are told what comes in.
    pub(crate) listeners: Listeners,
    /// The demo, if one was started.
    pub(crate) demo: Demos,
}

/// What a server is put together from.
pub(crate) struct Assembled<'a> {
    pub(crate) receiver: Arc<Receiver>,
    pub(crate) engine: Engine,
    pub(crate) telemetry: Arc<Telemetry>,
    pub(crate) collecting: &'a Collecting,
    pub(crate) identity: Arc<Identity>,
    pub(crate) audience: AudienceSettings,
    pub(crate) destinations: Arc<Destinations>,
    pub(crate) deriving: Option<Deriving>,
    pub(crate) store: Arc<Store>,
    pub(crate) about: About,
}

impl Shared {
    pub(crate) fn new(assembled: Assembled<'_>) -> Self {
        let configured = assembled.collecting.configured().clone();
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let (jaeger, reading) = (jaeger::Room::default(), Arc::new(Semaphore::new(cores)));
        let comparing = Arc::new(Semaphore::new(DIFFS_AT_ONCE));
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let started_millis = since.map_or(0, |since| since.as_millis() as i64);
        Self {
            receiver: assembled.receiver,
            engine: assembled.engine,
            telemetry: assembled.telemetry,
            jaeger,
            files: Budget::new(PAGE_FILES_BYTES),
            reading,
            comparing,
            started_millis,
            configured,
            identity: assembled.identity,
            audience: Arc::new(assembled.audience),
            changing: Arc::default(),
            destinations: assembled.destinations,
            deriving: assembled.deriving,
            store: assembled.store,
            about: Arc::new(assembled.about),
            listeners: Listeners::default(),
            demo: Demos::default(),
        }
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

/// What the main port has.
pub(crate) struct Main {
    pub(crate) base_path: String,
    pub(crate) cors: CorsLayer,
    pub(crate) mcp: mcp::Access,
    pub(crate) has_overrides: bool,
    pub(crate) github_secret: Option<Secret>,
    pub(crate) parts: Parts,
    /// Folders with dashboards.
    pub(crate) dashboard_paths: Vec<PathBuf>,
    /// Whether there is anything to ask.
    pub(crate) has_store: bool,
}

/// Everything: the main port.
pub(crate) fn main(shared: &Shared, main: Main) -> Router {
    let Main { base_path, cors, mcp, has_overrides, github_secret, parts, .. } = main;
    let has_store = main.has_store;
    let part = |is_on: bool, router: fn() -> Router<Shared>, off: Off| match (is_on, has_store) {
        (true, true) => router(),
        (true, false) => switched_off(off.prefix, "store.enabled"),
        (false, _) => switched_off(off.prefix, off.key),
    };
    let off = |prefix, key| Off { prefix, key };
    let sql_route = || Router::new().route("/api/sql", post(sql::post));
    let tempo_routes = match has_overrides {
        true => || tempo::over_http(true),
        false => || tempo::over_http(false),
    };
    let queries = part(parts.sql, sql_route, off("/api/sql", "api.sql.enabled"))
        .merge(part(parts.tempo, tempo_routes, off("/tempo", "api.tempo.enabled")))
        .merge(part(parts.jaeger, jaeger::over_http, off("/jaeger", "api.jaeger.enabled")))
        .merge(part(
            parts.prometheus,
            prometheus::over_http,
            off("/prometheus", "api.prometheus.enabled"),
        ))
        .merge(part(parts.loki, loki::over_http, off("/loki", "api.loki.enabled")))
        .merge(part(
            parts.sessions,
            sessions::over_http,
            off("/api/sessions", "api.sessions.enabled"),
        ))
        .merge(part(true, correlate::over_http, off("/api/correlate", "store.enabled")))
        .merge(part(true, export::over_http, off("/api/export", "store.enabled")));
    let queries = if has_store {
        queries.merge(page_api::over_http(shared, main.dashboard_paths))
    } else {
        queries
    };
    let tools = mcp::over_http(mcp, queries.clone().with_state(shared.clone()));
    let ofrep = match parts.ofrep {
        true => audience::ofrep_over_http(),
        false => switched_off("/ofrep", "api.ofrep.enabled"),
    };
    let administered = tokens::over_http()
        .merge(audience::over_http())
        .merge(derive::over_http())
        .merge(deletion::over_http())
        .merge(admin::over_http())
        .merge(demo::over_http())
        .merge(start::over_http())
        .route("/api/destinations", get(destinations));
    let queries = queries.merge(tools).merge(administered).merge(ofrep);
    let queries = queries.layer(CompressionLayer::new()).layer(cors);
    let own = Router::new()
        .route("/ready", get(|| async { "ready\n" }))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/metrics", get(metrics));
    let mut receiving = otlp_over_http().merge(ci::over_http(github_secret));
    if parts.prometheus {
        receiving = receiving.merge(prometheus::receiving());
    }
    if parts.loki {
        receiving = receiving.merge(loki::receiving());
    }
    let mut over_grpc = otlp_over_grpc();
    if has_store && parts.tempo {
        over_grpc = over_grpc.merge(tempo::over_grpc());
    }
    if has_store && parts.jaeger {
        over_grpc = over_grpc.merge(jaeger::over_grpc());
    }
    if has_store && parts.sql {
        over_grpc = over_grpc.merge(flight::over_grpc(shared));
    }
    let mut all = receiving.merge(queries).merge(own).merge(over_grpc);
    if parts.page {
        all = all.merge(page::over_http());
    } else {
        all = all.merge(switched_off("/admin", "page.enabled"));
    }
    let links = Links { base_path: base_path.into(), parts };
    let fallback = move |request| async move { links.answer(request).await };
    all.fallback(fallback).with_state(shared.clone())
}

/// A part that may be off: where it is, and which setting says so.
struct Off {
    prefix: &'static str,
    key: &'static str,
}

/// What a part answers that is off.
fn switched_off(prefix: &'static str, key: &'static str) -> Router<Shared> {
    let answer =
        move || async move { json_error(StatusCode::NOT_FOUND, &off_message(prefix, key)) };
    Router::new().route(prefix, any(answer)).route(&format!("{prefix}/{{*rest}}"), any(answer))
}

/// What is answered where nothing is: links of other systems lead to pages.
#[derive(Clone)]
struct Links {
    base_path: Arc<str>,
    parts: Parts,
}

impl Links {
    async fn answer(self, request: Request<Body>) -> Response {
        let redirected = page::redirected(&self.base_path, &request);
        if let Some(message) = self.off(request.uri().path(), redirected.is_some()) {
            return json_error(StatusCode::NOT_FOUND, &message);
        }
        match redirected.or_else(|| page::document(&self.base_path, &request)) {
            Some(response) => response,
            None => unknown(request).await,
        }
    }

    /// What is said of a path that would be something if its part were on. The rest of what is below
    /// the prefixes of systems has routes that say so.
    fn off(&self, path: &str, leads_to_page: bool) -> Option<String> {
        let parts = &self.parts;
        let systems = [
            ("/grafana", parts.grafana, "api.grafana.enabled"),
            ("/jaeger", parts.jaeger, "api.jaeger.enabled"),
            ("/loki", parts.loki, "api.loki.enabled"),
            ("/prometheus", parts.prometheus, "api.prometheus.enabled"),
            ("/tempo", parts.tempo, "api.tempo.enabled"),
        ];
        let is_below = |prefix: &str| {
            path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let off = systems.into_iter().find(|(prefix, is_on, _)| !is_on && is_below(prefix));
        if let Some((prefix, _, key)) = off {
            return Some(off_message(prefix, key));
        }
        let is_page = leads_to_page || page::is_one(path);
        (is_page && !parts.page).then(|| off_message("this page", "page.enabled"))
    }
}

fn off_message(what: &str, key: &str) -> String {
    format!("{what} is switched off here: {key} is false")
}

async fn destinations(State(shared): State<Shared>) -> Response {
    let document = serde_json::json!({ "destinations": shared.destinations.status() });
    typed(StatusCode::OK, "application/json", document.to_string())
}

fn otlp_over_http() -> Router<Shared> {
    // Beacons, by which SDKs send that were given no headers, are requests with credentials, and for
    // those browsers do not take `*`. The gate has refused what brings a login of the browser along.
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::mirror_request())
        .allow_credentials(true)
        .allow_methods([Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([RETRY_AFTER, request_id::HEADER])
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
        .expose_headers([ETAG, tempo::NEXT_CURSOR, tempo::DAMAGED_BLOCKS, request_id::HEADER])
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
pub(crate) mod tests {
    use super::*;
    use crate::options::ServerOptions;
    use kymo_journal::OsDisk;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    pub(crate) fn shared(data: &std::path::Path) -> Shared {
        let options = ServerOptions::default();
        let (journal, store) = (options.journal, options.store);
        let store = Store::open_dir(Arc::new(OsDisk), data, None, journal, store).unwrap();
        let store = Arc::new(store);
        let telemetry = Arc::new(Telemetry::new());
        let (journal, admission) = (store.journal().clone(), options.admission);
        let timeout = options.request_timeout;
        let receiver =
            Receiver::new(admission, journal.clone(), true, telemetry.clone(), 1 << 20, timeout);
        let engine = Engine::new(store.clone(), options.engine).unwrap();
        let collecting = Collecting::none();
        let identity = Identity::new(&Default::default(), Arc::default(), None).unwrap();
        let runtime = tokio::runtime::Handle::current();
        let context = kymo_forward::destination::StartOptions::new(data, runtime);
        let destinations = Destinations::start(&journal, &[], &context).unwrap();
        Shared::new(Assembled {
            receiver: Arc::new(receiver),
            engine,
            telemetry,
            collecting: &collecting,
            identity: Arc::new(identity),
            audience: AudienceSettings::default(),
            destinations: Arc::new(destinations),
            deriving: None,
            store,
            about: About::for_tests(),
        })
    }

    #[test]
    fn a_part_that_is_off_says_so_whatever_its_path() {
        let off = |parts: Parts, path: &str, leads_to_page| {
            Links { base_path: "".into(), parts }.off(path, leads_to_page).unwrap_or_default()
        };
        let no_page = Parts { page: false, ..Parts::default() };
        for path in ["/", "/traces", "/trace/1", "/d/x"] {
            assert!(off(no_page, path, false).contains("page.enabled is false"), "{path}");
        }
        assert!(off(no_page, "/jaeger/search", true).contains("page.enabled is false"));
        assert_eq!(off(no_page, "/elsewhere", false), "");
        let no_jaeger = Parts { jaeger: false, ..Parts::default() };
        assert!(off(no_jaeger, "/jaeger/", true).contains("api.jaeger.enabled is false"));
        assert_eq!(off(no_jaeger, "/jaegers", false), "");
        assert_eq!(off(Parts::default(), "/jaeger/", true), "");
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
