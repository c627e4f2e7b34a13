//! Starting and stopping a server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use kymo_edge::forwarded::WrongNetwork;
use kymo_edge::{AllowedHosts, SecurityHeaders, TrustedProxies};
use kymo_engine::Engine;
use kymo_forward::destination::{Destinations, StartOptions};
use kymo_identity::Identity;
use kymo_journal::OsDisk;
use kymo_store::Store;
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::access::{Entrance, Failures, Provider, tokens};
use crate::bound::{Bound, Serving, open_addresses};
use crate::collect::Collecting;
use crate::derive::Deriving;
use crate::error::ServerError;
use crate::limits::{LAST_FLUSH_TIMEOUT, SETTINGS_POLL_EVERY};
use crate::listen::Listeners;
use crate::options::ServerOptions;
use crate::receive::Receiver;
use crate::router::{self, Assembled, Shared};
use crate::start::{self, About};
use crate::telemetry::{Telemetry, Watched};
use crate::upkeep::Upkeep;
use crate::{audience, mcp, postgres};

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    /// The main port.
    pub http: SocketAddr,
    /// OTLP over gRPC.
    pub otlp_grpc: SocketAddr,
    /// OTLP over HTTP.
    pub otlp_http: SocketAddr,
    /// Where received metrics are shown, if anywhere.
    pub expose_metrics: Option<SocketAddr>,
    /// PostgreSQL's protocol, if it is spoken.
    pub postgres: Option<SocketAddr>,
    /// Further addresses, and the prefix that each is for.
    pub aliases: Vec<(SocketAddr, &'static str)>,
    /// Which of them speak TLS: the main port, OTLP over gRPC and over HTTP.
    pub is_secure: [bool; 3],
}

/// A running server.
pub struct Server {
    addresses: Addresses,
    listeners: Listeners,
    receiver: Arc<Receiver>,
    engine: Engine,
    upkeep: Upkeep,
    collecting: Collecting,
    destinations: Arc<Destinations>,
    deriving: Option<Deriving>,
    /// What looks after certificates and settings.
    watching: JoinSet<()>,
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
        let wrong = options.access.check(&options.listening());
        if !wrong.is_empty() {
            return Err(ServerError::Setting(wrong.join("; ")));
        }
        if let Some(warning) = open_addresses(&options) {
            tracing::warn!("{warning}");
        }
        let doors = options.access.doors().map_err(ServerError::Setting)?;
        let entrance = entrance(&options)?;
        // Ports first: if one is taken, the data directory stays untouched.
        let bound = Bound::new(&options, &doors).await?;
        let addresses = bound.addresses()?;

        let store = Arc::new(open_store(&options).await?);
        let engine = Engine::new(store.clone(), options.engine.clone())?;
        let telemetry = Arc::new(Telemetry::new());
        let receiver = Arc::new(Receiver::new(
            options.admission.clone(),
            store.journal().clone(),
            options.is_recording,
            telemetry.clone(),
            options.max_receiving_bytes,
            options.request_timeout,
        ));
        let mut refreshing = Refreshing {
            engine: engine.clone(),
            receiver: receiver.clone(),
            identity: entrance.identity.clone(),
            tokens: 0,
            audience: 0,
        };
        refreshing.refresh().await.map_err(ServerError::Setting)?;
        let deriving = start_deriving(&options, &store, &receiver).await?;
        let destinations = start_destinations(&options, &store).await?;
        let was_received = start::was_noted(&engine).await;
        let url = format!("http://{}{base_path}/prometheus", addresses.http);
        let mut collecting = if options.is_recording {
            Collecting::start(&options.collect, &receiver, &engine, url).await?
        } else {
            tracing::warn!(
                "nothing is recorded or forwarded: recording.enabled is false (ENABLE_OPEN_TELEMETRY \
                 in a file of Graphistry's variables)"
            );
            Collecting::none()
        };
        let shared = Shared::new(Assembled {
            receiver: receiver.clone(),
            engine: engine.clone(),
            telemetry: telemetry.clone(),
            collecting: &collecting,
            identity: entrance.identity.clone(),
            audience: options.audience.clone(),
            destinations: destinations.clone(),
            deriving: deriving.clone(),
            store: store.clone(),
            about: about(&options, &addresses, &base_path, was_received),
        });
        telemetry.watch(Watched {
            store: store.clone(),
            engine: engine.clone(),
            receiving: receiver.budget.clone(),
            jaeger: shared.jaeger.budget.clone(),
            destinations: destinations.clone(),
            derived: deriving.as_ref().map(|deriving| deriving.status().clone()),
        });
        if options.is_recording {
            collecting.watch_itself(&options.collect, &receiver, &telemetry);
        }
        let upkeep = Upkeep::start(store.clone(), receiver.clone(), engine.clone(), &options)?;

        let mut watching = JoinSet::new();
        for certificates in doors.certificates() {
            watching.spawn(certificates.watch());
        }
        // Who only forwards has nothing that a page would show.
        if options.is_recording && options.store_enabled && !was_received {
            watching.spawn(start::note(engine.clone(), telemetry.clone()));
        }
        // Others may write where the store is not in our own directory.
        if options.store_url.is_some() {
            watching.spawn(keep_fresh(refreshing, shared.changing.clone()));
        }
        let main = router::main(
            &shared,
            router::Main {
                base_path: base_path.clone(),
                cors,
                mcp: mcp::Access {
                    is_on: options.mcp,
                    allowed_origins: options.allowed_origins.clone(),
                },
                has_overrides: options.tempo_overrides,
                github_secret: options.github_webhook_secret.clone(),
                parts: options.parts,
                dashboard_paths: options.dashboard_paths.iter().map(Into::into).collect(),
                has_store: options.store_enabled,
            },
        );
        let mut listeners = Listeners::new(options.max_connections, shared.telemetry.clone());
        let postgres = postgres::over(&shared, &doors, &entrance, options.store_enabled);
        let serving = Serving { shared, main, doors, entrance, base_path, postgres };
        bound.serve(&mut listeners, &serving);
        Ok(Self {
            addresses,
            listeners,
            receiver,
            engine,
            upkeep,
            collecting,
            destinations,
            deriving,
            watching,
            store,
            options,
        })
    }

    /// Where it listens; a port that was asked for as 0 is named.
    #[must_use]
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
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
        // All that was acknowledged is there to be counted, and its metrics are still taken.
        if let Some(deriving) = &self.deriving {
            deriving.stop().await;
        }
        receiver.stop();
        self.destinations.stop().await;
        drop(self.watching);
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

/// What the server is, for those who use it.
fn about(
    options: &ServerOptions,
    addresses: &Addresses,
    base_path: &str,
    was_received: bool,
) -> About {
    About {
        addresses: addresses.clone(),
        external_url: options.collect.external_url.clone(),
        base_path: base_path.to_owned(),
        parts: options.parts,
        has_store: options.store_enabled,
        is_recording: options.is_recording,
        is_compacting: options.compaction,
        retention: options.retention.clone(),
        config: options.shown_config.clone(),
        data: options.data.display().to_string(),
        has_stored: AtomicBool::new(was_received),
    }
}

/// What stands before all routers.
fn entrance(options: &ServerOptions) -> Result<Arc<Entrance>, ServerError> {
    let setting = ServerError::Setting;
    let settings = options.access.identity().map_err(setting)?;
    let provider = Arc::new(Provider::new().map_err(setting)?);
    let identity = Identity::new(&settings, Arc::default(), Some(provider));
    let identity = identity.map_err(|wrong| {
        let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        setting(wrong.join("; "))
    })?;
    let networks: Result<Vec<_>, _> =
        options.access.trusted_proxies.iter().map(|network| network.parse()).collect();
    let networks =
        networks.map_err(|error: WrongNetwork| setting(format!("trusted_proxies: {error}")))?;
    let headers = SecurityHeaders::new(&options.access.security_headers);
    let hosts = AllowedHosts::new(&options.access.allowed_hosts);
    let hosts = hosts.map_err(|error| setting(error.to_string()))?;
    let listening = options.listening();
    let names = listening.iter().map(|(_, address)| *address);
    let names = names.chain(options.collect.external_url.as_deref());
    Ok(Arc::new(Entrance {
        identity: Arc::new(identity),
        trusted: TrustedProxies::new(networks),
        hosts: names.fold(hosts, AllowedHosts::with),
        headers: headers.map_err(|error| setting(error.to_string()))?,
        allowed_origins: options.allowed_origins.clone(),
        failures: Failures::default(),
    }))
}

/// What puts tokens and flags in force as they are kept.
struct Refreshing {
    engine: Engine,
    receiver: Arc<Receiver>,
    identity: Arc<Identity>,
    /// The versions that were last seen.
    tokens: u64,
    audience: u64,
}

impl Refreshing {
    /// Both are tried: flags that cannot be read must not keep a revoked token alive.
    async fn refresh(&mut self) -> Result<(), String> {
        let audience = self.refresh_audience().await;
        self.refresh_tokens().await.and(audience)
    }

    async fn refresh_audience(&mut self) -> Result<(), String> {
        let (version, book) = audience::load(&self.engine).await?;
        if self.audience != version {
            self.receiver.audience().replace(book);
            self.audience = version;
        }
        Ok(())
    }

    async fn refresh_tokens(&mut self) -> Result<(), String> {
        let (version, tokens) = tokens::load(&self.engine).await?;
        if self.tokens != version {
            self.identity.set_tokens(Arc::new(tokens));
            self.tokens = version;
        }
        Ok(())
    }
}

/// Looks again and again whether another node has changed them.
async fn keep_fresh(mut refreshing: Refreshing, changing: Arc<Mutex<()>>) {
    let mut last_failure = None;
    loop {
        tokio::time::sleep(SETTINGS_POLL_EVERY).await;
        // Not while this node changes them, or what was read before would undo the change.
        let turn = changing.lock().await;
        let failure = refreshing.refresh().await.err();
        drop(turn);
        if let Some(why) = failure.as_ref().filter(|_| failure != last_failure) {
            tracing::warn!("tokens and flags are not looked for: {why}");
        }
        last_failure = failure;
    }
}

/// Begins to make metrics of spans, where spans are kept: who only forwards leaves it to the other.
async fn start_deriving(
    options: &ServerOptions,
    store: &Store,
    receiver: &Arc<Receiver>,
) -> Result<Option<Deriving>, ServerError> {
    let mut derived = options.span_metrics.clone();
    if !derived.enabled || !options.is_recording || !options.store_enabled {
        return Ok(None);
    }
    // Other nodes may write metrics of the same services to the same store.
    let is_shared = options.store_url.as_deref().is_some_and(|url| url.contains("://"));
    if is_shared && derived.settings.instance.is_none() {
        derived.settings.instance = Some(options.store.node.clone());
    }
    Deriving::start(&derived, store.journal(), receiver).await.map(Some)
}

/// Begins to send, and gives up what nobody wants any more.
async fn start_destinations(
    options: &ServerOptions,
    store: &Arc<Store>,
) -> Result<Arc<Destinations>, ServerError> {
    let settings = if options.is_recording { options.destinations.clone() } else { Vec::new() };
    let journal = store.journal().clone();
    let context = StartOptions::new(&options.data, Handle::current());
    let started = Destinations::start(&journal, &settings, &context);
    let destinations = started.map_err(|error| ServerError::Setting(error.to_string()))?;
    let is_recording = options.is_recording;
    let retiring = tokio::task::spawn_blocking(move || {
        // Who is switched off for a while keeps what is there for his destinations.
        if is_recording {
            journal.retire_unregistered();
        }
    });
    retiring.await.map_err(|error| ServerError::Setting(error.to_string()))?;
    Ok(Arc::new(destinations))
}

/// What becomes of records that are not in blocks when a server stops.
const LEFT: &str = "what it held is in the journal, and in queries again after the next start";

async fn open_store(options: &ServerOptions) -> Result<Store, ServerError> {
    let options = options.clone();
    let store_options =
        kymo_store::Options { is_detached: !options.store_enabled, ..options.store };
    let opened = tokio::task::spawn_blocking(move || {
        Store::open_dir(
            Arc::new(OsDisk),
            &options.data,
            options.store_url.as_deref(),
            options.journal,
            store_options,
        )
    });
    match opened.await {
        Ok(store) => Ok(store?),
        Err(error) => Err(ServerError::Setting(format!("opening the store failed: {error}"))),
    }
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
