//! Settings of a server. The command line maps flags, environment and files to these.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use kymo_admit::Admission;
use kymo_engine::EngineOptions;
use kymo_store::Signal;
use kymo_store::garbage::Retention;

use kymo_admit::audience::AudienceSettings;
use kymo_forward::destination::DestinationSettings;
use kymo_yaml::Secret;

use crate::access::AccessOptions;
use crate::alias::Alias;
use crate::collect::CollectOptions;
use crate::derive::DeriveOptions;

/// How long the file of a replaced block stays in a directory. Queries of the server keep the files
/// that they read; a command that reads beside it plans again when one is gone.
const DIRECTORY_GRACE: Duration = Duration::from_secs(10);

/// How a server behaves.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Journal and, without `store_url`, blocks.
    pub data: PathBuf,
    /// Where blocks are instead: a directory or `s3://BUCKET/PREFIX`.
    pub store_url: Option<String>,
    /// Whether records are kept here.
    pub store_enabled: bool,
    /// Whether anything is kept or forwarded at all.
    pub is_recording: bool,
    /// Where records are sent.
    pub destinations: Vec<DestinationSettings>,
    /// Who may connect and ask.
    pub access: AccessOptions,
    /// How a new flag of the audience starts.
    pub audience: AudienceSettings,
    /// Parts of the main port.
    pub parts: Parts,
    /// Folders with dashboards: JSON, and ConfigMaps in YAML.
    pub dashboard_paths: Vec<String>,
    /// Further addresses for a prefix of the main port: `ADDRESS=PREFIX`.
    pub aliases: Vec<String>,
    /// Address of the main port: queries, and OTLP too.
    pub http: String,
    /// Address for OTLP over gRPC.
    pub otlp_grpc: String,
    /// Address for OTLP over HTTP.
    pub otlp_http: String,
    /// Whether what was received is shown, if there is an address for it.
    pub expose: bool,
    /// Address where what was received is shown as a target shows its metrics; nowhere if none.
    pub expose_metrics: Option<String>,
    /// Address for PostgreSQL's protocol; nowhere if none.
    pub postgres: Option<String>,
    /// A prefix of the HTTP paths of the main port, for a reverse proxy: empty, or `/x`.
    pub base_path: String,
    /// What is let in.
    pub admission: Admission,
    /// Threads, memory and time of queries.
    pub engine: EngineOptions,
    /// Flush, blocks, caches.
    pub store: kymo_store::Options,
    /// Durability, segments.
    pub journal: kymo_journal::Options,
    /// What is kept, and how long.
    pub retention: RetentionOptions,
    /// Whether blocks are joined.
    pub compaction: bool,
    /// Time without requests after which everything is flushed.
    pub idle_flush_after: Duration,
    /// Connections at once, over all ports.
    pub max_connections: usize,
    /// Bytes of request bodies that are being received, over all connections. More is refused, to be
    /// sent again.
    pub max_receiving_bytes: usize,
    /// Time for receiving a request's body, and again for making it durable.
    pub request_timeout: Duration,
    /// Time for requests under way when the server stops.
    pub shutdown_timeout: Duration,
    /// Origins of web pages that may query. OTLP is accepted from every origin.
    pub allowed_origins: Vec<String>,
    /// Whether language models may query, over MCP.
    pub mcp: bool,
    /// Whether tenants may set things for themselves, as in Tempo.
    pub tempo_overrides: bool,
    /// What the server gathers itself.
    pub collect: CollectOptions,
    /// What is derived from spans, where they are kept.
    pub span_metrics: DeriveOptions,
    /// The secret of GitHub's webhooks; none are taken without.
    pub github_webhook_secret: Option<Secret>,
    /// The configuration that holds, as admins see it: YAML without secrets.
    pub shown_config: Option<String>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            data: PathBuf::from("kymo-data"),
            store_url: None,
            store_enabled: true,
            is_recording: true,
            destinations: Vec::new(),
            access: AccessOptions::default(),
            audience: AudienceSettings::default(),
            parts: Parts::default(),
            dashboard_paths: Vec::new(),
            aliases: Vec::new(),
            http: "127.0.0.1:3200".to_owned(),
            otlp_grpc: "127.0.0.1:4317".to_owned(),
            otlp_http: "127.0.0.1:4318".to_owned(),
            expose: true,
            expose_metrics: None,
            postgres: None,
            base_path: String::new(),
            admission: Admission::default(),
            engine: EngineOptions::default(),
            store: kymo_store::Options { grace: DIRECTORY_GRACE, ..Default::default() },
            journal: kymo_journal::Options::default(),
            retention: RetentionOptions::default(),
            compaction: true,
            idle_flush_after: Duration::from_secs(15),
            max_connections: 20_000,
            max_receiving_bytes: 128 << 20,
            request_timeout: Duration::from_secs(60),
            shutdown_timeout: Duration::from_secs(5),
            allowed_origins: Vec::new(),
            mcp: false,
            tempo_overrides: false,
            collect: CollectOptions::default(),
            span_metrics: DeriveOptions::default(),
            github_webhook_secret: None,
            shown_config: None,
        }
    }
}

impl ServerOptions {
    /// What is wrong with further addresses.
    #[must_use]
    pub fn wrong_aliases(&self) -> Vec<String> {
        self.aliases.iter().filter_map(|alias| Alias::parse(alias).err()).collect()
    }

    /// Listeners by name, and the addresses that they were asked for at.
    #[must_use]
    pub fn listening(&self) -> Vec<(&'static str, &str)> {
        let mut all: Vec<(&'static str, &str)> = vec![
            ("http", self.http.as_str()),
            ("otlp_grpc", &self.otlp_grpc),
            ("otlp_http", &self.otlp_http),
        ];
        let exposed = self.expose_metrics.as_deref().filter(|_| self.expose);
        all.extend(exposed.map(|address| ("expose_metrics", address)));
        all.extend(self.postgres.as_deref().map(|address| ("postgres", address)));
        for text in &self.aliases {
            let (Ok(alias), Some((address, _))) = (Alias::parse(text), text.split_once('=')) else {
                continue;
            };
            all.push((alias.listener(), address.trim()));
        }
        all
    }
}

/// Parts of the main port that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Pages for browsers.
    pub page: bool,
    /// SQL.
    pub sql: bool,
    /// Sessions.
    pub sessions: bool,
    /// Tempo's API.
    pub tempo: bool,
    /// Jaeger's APIs.
    pub jaeger: bool,
    /// Prometheus' API.
    pub prometheus: bool,
    /// Loki's API.
    pub loki: bool,
    /// Links of Grafana.
    pub grafana: bool,
    /// Flags for clients.
    pub ofrep: bool,
}

impl Default for Parts {
    fn default() -> Self {
        Self {
            page: true,
            sql: true,
            sessions: true,
            tempo: true,
            jaeger: true,
            prometheus: true,
            loki: true,
            grafana: true,
            ofrep: true,
        }
    }
}

/// What is kept of each tenant and signal.
#[derive(Debug, Clone, Default)]
pub struct RetentionOptions {
    /// For tenants that are not named.
    pub default: BTreeMap<Signal, Retention>,
    /// For one tenant; a signal that is missing here has the default.
    pub tenants: BTreeMap<String, BTreeMap<Signal, Retention>>,
}

impl RetentionOptions {
    /// What holds for a tenant's signal.
    #[must_use]
    pub fn of(&self, tenant: &str, signal: Signal) -> Retention {
        let own = self.tenants.get(tenant).and_then(|signals| signals.get(&signal));
        own.or_else(|| self.default.get(&signal)).copied().unwrap_or_default()
    }

    /// Whether anything is ever given up.
    #[must_use]
    pub fn is_any(&self) -> bool {
        !self.default.is_empty() || !self.tenants.is_empty()
    }
}
