//! What the page needs at its start, and what it follows while it is open.
//!
//! | path | what |
//! |---|---|
//! | `GET /api/start` | version, who asks and what he may, parts that are on, addresses that listen, whether anything was recorded |
//! | `GET /api/live` | records of each second, as server-sent events ([`live`]) |

mod first;
mod live;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::{Request, StatusCode};
use kymo_engine::EngineError;
use kymo_identity::{Grant, Role, Tenants};
use kymo_store::schema::Signal;
use serde_json::{Value, json};

use crate::options::{Parts, RetentionOptions};
use crate::reply::{failed, json_error, typed};
use crate::router::Shared;
use crate::server::Addresses;

pub(crate) use first::{note, was_noted};
pub(crate) use live::Listeners;

/// What a server is, as far as people who use it want to know.
#[derive(Debug)]
pub(crate) struct About {
    /// Where it listens.
    pub(crate) addresses: Addresses,
    /// Where others reach it, if somebody said so.
    pub(crate) external_url: Option<String>,
    pub(crate) base_path: String,
    pub(crate) parts: Parts,
    pub(crate) has_store: bool,
    pub(crate) is_recording: bool,
    pub(crate) is_compacting: bool,
    pub(crate) retention: RetentionOptions,
    /// The configuration that holds, without secrets, as YAML.
    pub(crate) config: Option<String>,
    /// Where data and blocks are, without secrets.
    pub(crate) data: String,
    /// Whether something was received before the start, or found in the store, that the server did
    /// not tell of itself.
    pub(crate) has_stored: AtomicBool,
}

/// The paths.
pub(crate) fn over_http() -> Router<Shared> {
    Router::new().route("/api/start", get(start)).route("/api/live", get(live::watch))
}

async fn start(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let grant = request.extensions().get::<Grant>().cloned().unwrap_or_else(Grant::open);
    match document(&shared, &grant).await {
        Ok(document) => typed(StatusCode::OK, "application/json", document.to_string()),
        Err(error) => failed(&error, |status, message| json_error(status, &message)),
    }
}

async fn document(shared: &Shared, grant: &Grant) -> Result<Value, EngineError> {
    let about = &shared.about;
    let tenants = match &grant.tenants {
        Tenants::All if about.has_store => shared.engine.tenants().await?,
        Tenants::All => Vec::new(),
        Tenants::Named(names) => names.iter().cloned().collect(),
    };
    let counted = shared.telemetry.totals().read();
    let roles: Vec<&str> = Role::ALL
        .into_iter()
        .filter(|role| grant.roles.contains(role) || grant.roles.contains(&Role::Admin))
        .map(Role::word)
        .collect();
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "started_millis": shared.started_millis,
        "user": {
            "name": grant.name,
            "is_known": grant.method.is_some(),
            "roles": roles,
            "tenants": tenants,
        },
        "parts": parts(about),
        "base_path": about.base_path,
        "external_url": about.external_url,
        "addresses": addresses(&about.addresses),
        "recording": about.is_recording,
        "store": about.has_store,
        "has_data": has_data(shared).await?,
        "received": {
            "traces": counted.records[0],
            "metrics": counted.records[1],
            "logs": counted.records[2],
        },
        "demo": shared.demo.state(),
    }))
}

fn parts(about: &About) -> Value {
    let parts = &about.parts;
    json!({
        "sql": parts.sql,
        "sessions": parts.sessions,
        "tempo": parts.tempo,
        "jaeger": parts.jaeger,
        "prometheus": parts.prometheus,
        "loki": parts.loki,
        "grafana": parts.grafana,
        "ofrep": parts.ofrep,
    })
}

fn addresses(addresses: &Addresses) -> Value {
    let address = |address: &SocketAddr| address.to_string();
    let [http, otlp_grpc, otlp_http] = addresses.is_secure;
    let aliases = addresses.aliases.iter();
    json!({
        "http": { "address": address(&addresses.http), "secure": http },
        "otlp_grpc": { "address": address(&addresses.otlp_grpc), "secure": otlp_grpc },
        "otlp_http": { "address": address(&addresses.otlp_http), "secure": otlp_http },
        "expose_metrics": addresses.expose_metrics.as_ref().map(address),
        "postgres": addresses.postgres.as_ref().map(address),
        "aliases": aliases
            .map(|(at, prefix)| json!({ "address": address(at), "prefix": prefix }))
            .collect::<Vec<_>>(),
    })
}

/// Whether anything was recorded that the server did not tell of itself: metrics of its own machine
/// are always there. Others of the tenant that has those are not looked for in the store: that they
/// came was noted ([`first`]).
pub(crate) async fn has_data(shared: &Shared) -> Result<bool, EngineError> {
    let about = &shared.about;
    if shared.telemetry.totals().read().any() || about.has_stored.load(Ordering::Relaxed) {
        return Ok(true);
    }
    if !about.has_store {
        return Ok(false);
    }
    let store = shared.store.clone();
    let looking = move || {
        let tenants = store.tenants()?;
        for tenant in &tenants {
            for signal in [Signal::Spans, Signal::Logs] {
                let snapshot = store.snapshot(tenant, signal)?;
                if snapshot.blocks().next().is_some() || snapshot.chunks().next().is_some() {
                    return Ok(true);
                }
            }
        }
        // Only one tenant has what the server gathers.
        Ok(tenants.iter().any(|tenant| tenant != crate::tenant::DEFAULT))
    };
    let found: Result<bool, kymo_store::StoreError> = shared.engine.blocking(looking).await?;
    let is_any = found.map_err(EngineError::Store)?;
    // What is there once stays, as far as a first page is concerned.
    about.has_stored.fetch_or(is_any, Ordering::Relaxed);
    Ok(is_any)
}

#[cfg(test)]
impl About {
    /// A server that does not listen.
    pub(crate) fn for_tests() -> Self {
        let nowhere: SocketAddr = ([127, 0, 0, 1], 0).into();
        Self {
            addresses: Addresses {
                http: nowhere,
                otlp_grpc: nowhere,
                otlp_http: nowhere,
                expose_metrics: None,
                postgres: None,
                aliases: Vec::new(),
                is_secure: [false; 3],
            },
            external_url: None,
            base_path: String::new(),
            parts: Parts::default(),
            has_store: true,
            is_recording: true,
            is_compacting: true,
            retention: RetentionOptions::default(),
            config: None,
            data: String::new(),
            has_stored: AtomicBool::new(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::tests::shared;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_server_without_records_says_so_and_who_may_what() {
        let place = tempfile::tempdir().unwrap();
        let shared = shared(place.path());
        let document = document(&shared, &Grant::open()).await.unwrap();
        assert_eq!((&document["has_data"], &document["store"]), (&json!(false), &json!(true)));
        assert_eq!(document["user"]["roles"], json!(["write", "read", "admin"]));
        assert_eq!(document["addresses"]["otlp_grpc"]["address"], "127.0.0.1:0");
        assert_eq!(document["demo"]["running"], false);
    }
}
