//! Where queries are asked: a server, or a directory read in place.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kymo_engine::{Engine, EngineOptions, Tenants};
use kymo_journal::OsDisk;
use kymo_server::joined_tenants;
use kymo_store::{Options, Store, owner};
use tokio::runtime::{Builder, Runtime};

use crate::client::{Client, DEFAULT_URL};
use crate::failure::Failure;

/// Memory of the one query that runs here.
const QUERY_MEMORY_BYTES: usize = 1 << 30;
/// Time of a query here, where Ctrl-C ends it. Less than the ten minutes for which files that a
/// server has replaced stay in a bucket. In a directory they stay for seconds, and a query that
/// misses one is planned again as long as no row of it was written.
const QUERY_TIMEOUT: Duration = Duration::from_secs(540);

/// Arguments that say which server.
#[derive(Debug, clap::Args)]
pub(crate) struct ServerArgs {
    /// Server to ask [default: http://127.0.0.1:3200] [env: KYMO_URL]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Whose data; several as A|B [default: default] [env: KYMO_TENANT]
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
}

/// Arguments that say where.
#[derive(Debug, clap::Args)]
pub(crate) struct SourceArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Directory to read without a server; also beside one that runs on it
    #[arg(long, value_name = "DIR", conflicts_with = "url", value_hint = clap::ValueHint::DirPath)]
    data: Option<PathBuf>,
    /// Where the blocks of --data are, if elsewhere: a directory or s3://BUCKET/PREFIX
    #[arg(long, value_name = "URL", requires = "data")]
    store: Option<String>,
}

/// A place that answers.
pub(crate) enum Source {
    Server(Client),
    Directory(Box<Directory>),
}

/// A data directory, opened for reading.
pub(crate) struct Directory {
    pub(crate) engine: Engine,
    pub(crate) runtime: Runtime,
    pub(crate) tenants: Tenants,
    pub(crate) path: PathBuf,
}

impl Source {
    /// The same, but that a server has so much time for an answer.
    pub(crate) fn within(self, timeout: Duration) -> Result<Self, Failure> {
        match self {
            Self::Server(client) => Ok(Self::Server(client.within(timeout)?)),
            Self::Directory(_) => Ok(self),
        }
    }
}

impl ServerArgs {
    pub(crate) fn open(&self) -> Result<Source, Failure> {
        Ok(Source::Server(self.client()?))
    }

    /// The server itself, for what no directory can answer.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        let url = self.url.clone().or_else(|| variable("KYMO_URL"));
        let tenants = self.tenants()?.to_string();
        Client::new(url.as_deref().unwrap_or(DEFAULT_URL), &tenants)
    }

    fn tenants(&self) -> Result<Tenants, Failure> {
        let tenant = self.tenant.clone().or_else(|| variable("KYMO_TENANT"));
        let tenant = tenant.unwrap_or_else(|| "default".to_owned());
        joined_tenants(&tenant).map_err(|why| Failure::Usage(format!("--tenant: {why}")))
    }
}

impl SourceArgs {
    pub(crate) fn open(&self) -> Result<Source, Failure> {
        let Some(data) = &self.data else { return self.server.open() };
        let tenants = self.server.tenants()?;
        if !data.is_dir() {
            let path = data.display();
            let hint = "name the directory that kymo serve or kymo import was given as --data";
            return Err(Failure::Other(format!("there is no directory {path}: {hint}")));
        }
        let url = self.store.as_deref();
        let store = Store::open_read_only(Arc::new(OsDisk), data, url, store_options(data)?)?;
        let options = EngineOptions {
            memory_bytes: QUERY_MEMORY_BYTES,
            query_memory_bytes: QUERY_MEMORY_BYTES,
            query_timeout: QUERY_TIMEOUT,
            ..EngineOptions::default()
        };
        let engine = Engine::new(Arc::new(store), options)?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|source| Failure::Io {
            act: "start",
            what: "a runtime for the query".into(),
            source,
        })?;
        Ok(Source::Directory(Box::new(Directory { engine, runtime, tenants, path: data.clone() })))
    }
}

/// The options with which commands open a data directory: it belongs to a node, and they are that
/// node.
pub(crate) fn store_options(data: &Path) -> Result<Options, Failure> {
    let mut options = Options::default();
    if let Some(node) = owner::recorded(&OsDisk, data)? {
        options.node = node;
    }
    Ok(options)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
