//! Starting and stopping a server.

use std::net::SocketAddr;
use std::sync::Arc;

use kymo_engine::Engine;
use kymo_journal::OsDisk;
use kymo_store::Store;
use tokio::net::TcpListener;

use crate::collect::Collecting;
use crate::error::ServerError;
use crate::limits::LAST_FLUSH_TIMEOUT;
use crate::listen::{Listeners, bind};
use crate::mcp;
use crate::options::ServerOptions;
use crate::prometheus;
use crate::receive::Receiver;
use crate::router::{self, Shared};
use crate::telemetry::Telemetry;
use crate::upkeep::Upkeep;

/// Where a server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// The main port.
    pub http: SocketAddr,
    /// OTLP over gRPC.
    pub otlp_grpc: SocketAddr,
    /// OTLP over HTTP.
    pub otlp_http: SocketAddr,
    /// Where received metrics are shown, if anywhere.
    pub expose_metrics: Option<SocketAddr>,
}

/// A running server.
pub struct Server {
    addresses: Addresses,
    listeners: Listeners,
    receiver: Arc<Receiver>,
    engine: Engine,
    upkeep: Upkeep,
    collecting: Collecting,
    store: Arc<Store>,
    options: ServerOptions,
}

impl Server {
    /// Binds the ports, opens the store, and serves, on a runtime of several threads. Records that
    /// a crash left in the journal are taken over by a thread, not before this returns; a query
    /// waits for them.
    pub async fn start(options: ServerOptions) -> Result<Self, ServerError> {
        let base_path = base_path(&options.base_path)?;
        let cors = router::query_cors(&options.allowed_origins).map_err(ServerError::Setting)?;
        // Ports first: if one is taken, the data directory stays untouched.
        let http = bind("--http", &options.http).await?;
        let grpc = bind("--otlp-grpc", &options.otlp_grpc).await?;
        let otlp = bind("--otlp-http", &options.otlp_http).await?;
        let exposed = match &options.expose_metrics {
            Some(asked) if options.expose => Some((bind("--expose-metrics", asked).await?, asked)),
            _ => None,
        };
        let exposed_address = exposed.as_ref();
        let exposed_address = exposed_address
            .map(|(listener, asked)| address(listener, "--expose-metrics", asked))
            .transpose()?;
        let addresses = Addresses {
            expose_metrics: exposed_address,
            http: address(&http, "--http", &options.http)?,
            otlp_grpc: address(&grpc, "--otlp-grpc", &options.otlp_grpc)?,
            otlp_http: address(&otlp, "--otlp-http", &options.otlp_http)?,
        };

        let store = Arc::new(open_store(&options).await?);
        let engine = Engine::new(store.clone(), options.engine.clone())?;
        let telemetry = Arc::new(Telemetry::new());
        let receiver = Arc::new(Receiver::new(
            options.admission.clone(),
            store.journal().clone(),
            telemetry.clone(),
            options.max_receiving_bytes,
            options.request_timeout,
        ));
        let url = format!("http://{}{base_path}/prometheus", addresses.http);
        let collecting = Collecting::start(&options.collect, &receiver, &engine, url).await?;
        let shared = Shared::new(receiver.clone(), engine.clone(), telemetry.clone(), &collecting);
        let (receiving, jaeger) = (receiver.budget.clone(), shared.jaeger.budget.clone());
        telemetry.watch(store.clone(), engine.clone(), receiving, jaeger);
        let upkeep = Upkeep::start(store.clone(), receiver.clone(), engine.clone(), &options)?;

        let allowed_origins = options.allowed_origins.clone();
        let mcp = mcp::Access { is_on: options.mcp, allowed_origins };
        let secret = options.github_webhook_secret.clone();
        let main = router::main(&shared, &base_path, cors, mcp, options.tempo_overrides, secret);
        let otlp_only = router::otlp(&shared);
        let mut listeners = Listeners::new(options.max_connections, shared.telemetry.clone());
        listeners.serve(http, main);
        listeners.serve(grpc, otlp_only.clone());
        listeners.serve(otlp, otlp_only);
        if let Some((listener, _)) = exposed {
            listeners.serve(listener, prometheus::exposition(&shared));
        }
        Ok(Self { addresses, listeners, receiver, engine, upkeep, collecting, store, options })
    }

    /// Where it listens; a port that was asked for as 0 is named.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Reads the configuration of Prometheus again, with its rules. If something in it is wrong,
    /// everything stays as it was.
    pub async fn reload(&self) -> Result<(), String> {
        self.collecting.configured().reload().await
    }

    /// Accepts no more, ends what is under way, flushes, and lets go of the directory. A flush that
    /// fails or takes long is left to the next start: the journal has everything.
    pub async fn stop(self) {
        let Self { listeners, receiver, engine, upkeep, collecting, store, options, .. } = self;
        collecting.stop().await;
        // Who watches would hold up the end of its connection.
        receiver.live.close();
        listeners.stop(options.shutdown_timeout).await;
        receiver.stop();
        drop(engine);
        let journal = store.journal().clone();
        let flushing = tokio::task::spawn_blocking(move || {
            drop(upkeep);
            store.flush()
        });
        match tokio::time::timeout(LAST_FLUSH_TIMEOUT, flushing).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::warn!(%error, "the last flush failed; {LEFT}"),
            Ok(Err(error)) => tracing::error!(%error, "the last flush failed; {LEFT}"),
            Err(_) => tracing::warn!("the last flush takes long; {LEFT}"),
        }
        if let Err(error) = tokio::task::spawn_blocking(move || journal.close()).await {
            tracing::error!(%error, "the journal was not closed; its next start takes care of that");
        }
    }
}

/// What becomes of records that are not in blocks when a server stops.
const LEFT: &str = "what it held is in the journal, and in queries again after the next start";

async fn open_store(options: &ServerOptions) -> Result<Store, ServerError> {
    let options = options.clone();
    let opened = tokio::task::spawn_blocking(move || {
        Store::open_dir(
            Arc::new(OsDisk),
            &options.data,
            options.store_url.as_deref(),
            options.journal,
            options.store,
        )
    });
    match opened.await {
        Ok(store) => Ok(store?),
        Err(error) => Err(ServerError::Setting(format!("opening the store failed: {error}"))),
    }
}

fn address(
    listener: &TcpListener,
    flag: &'static str,
    asked: &str,
) -> Result<SocketAddr, ServerError> {
    listener.local_addr().map_err(|source| ServerError::Listen {
        flag,
        address: asked.to_owned(),
        source,
    })
}

/// A prefix as routers want it: nothing, or a slash in front and none behind.
fn base_path(setting: &str) -> Result<String, ServerError> {
    let inner = setting.trim_matches('/');
    if inner.is_empty() {
        return Ok(String::new());
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    if inner.contains("//") || !inner.bytes().all(is_plain) {
        return Err(ServerError::Setting(format!(
            "--base-path is {setting:?}: expected a path of letters, digits, - _ . ~ and /, as in /kymo"
        )));
    }
    Ok(format!("/{inner}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_path_is_brought_into_shape() {
        assert_eq!(base_path("").unwrap(), "");
        assert_eq!(base_path("/").unwrap(), "");
        assert_eq!(base_path("kymo/").unwrap(), "/kymo");
        assert_eq!(base_path("/a/b").unwrap(), "/a/b");
        assert!(base_path("/a{b}").unwrap_err().to_string().contains("--base-path"));
    }
}
