//! `kymo serve`: the server, from its configuration to its end.
//!
//! The lines on stdout are for those who started it, people and programs: one says that it is
//! ready, the others where it listens and where its data is. Logs go to stderr.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use kymo_forward::destination::DestinationSettings;
use kymo_server::{Addresses, Server, ServerError, ServerOptions};
use kymo_store::StoreError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::config::{self, Config, ConfigArgs, command};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::{logging, output, units};

/// Threads for connections. They wait more than they work, and acknowledging is bound by the disk:
/// more of them do not make it faster.
const MAX_RUNTIME_THREADS: usize = 16;
/// One thread that decodes a large request must not stop the others from being read.
const MIN_RUNTIME_THREADS: usize = 2;
/// Files that connections leave: blocks that queries read, segments of the journal, destinations.
const KEPT_FILES: usize = 512;
/// What a start that was broken off may still do.
const ABANDON_AFTER: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Every setting is also a key of the YAML file and a variable; kymo serve --help names them, and
kymo config show prints what holds. Ctrl-C or SIGTERM stops the server after a last flush; a second
one ends it at once, which loses nothing that was acknowledged. SIGHUP reads prometheus.config again.

Examples:
  kymo serve
  kymo serve --data /var/lib/kymo --http 127.0.0.1:80 --retention-logs-max-age 30d
  kymo serve --config /etc/kymo.yaml --store s3://telemetry/prod
  kymo serve --http 127.0.0.1:0 --otlp-grpc 127.0.0.1:0 --otlp-http 127.0.0.1:0   free ports";

/// Receive, keep and query traces, metrics and logs
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
}

/// Serves until somebody wants it to end; false if the configuration is wrong.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    let began = Instant::now();
    let Some(resolved) = command::good(config::resolve(&args.config)) else { return Ok(false) };
    start_logging(&resolved.config)?;
    for warning in &resolved.warnings {
        tracing::warn!("{warning}");
    }
    let cannot_listen = |source| Failure::Io { act: "listen to", what: "signals".into(), source };
    // Ends the process at the second signal, whatever it is doing then.
    Interrupt::listen().map_err(cannot_listen)?;
    raise_open_files();
    let shown_config = config::show::yaml(&resolved);
    let mut options = resolved.config.server;
    options.shown_config = Some(shown_config);
    options.max_connections = connections_within(options.max_connections, open_files());
    let runtime = runtime()?;
    let signals = {
        let _inside = runtime.enter();
        Signals::listen().map_err(cannot_listen)?
    };
    let served = runtime.block_on(serve(options, signals, began));
    // Nothing of value is left to do, and a start that was broken off may take long.
    runtime.shutdown_timeout(ABANDON_AFTER);
    served.map(|()| true)
}

async fn serve(
    options: ServerOptions,
    mut signals: Signals,
    began: Instant,
) -> Result<(), Failure> {
    let place = Place::of(&options);
    let server = tokio::select! {
        started = Server::start(options) => started.map_err(|error| explain(error, &place))?,
        name = signals.next() => {
            tracing::info!(signal = name, "ended before it was ready");
            return Ok(());
        }
    };
    output::text(&place.ready_lines(server.addresses(), began.elapsed()))?;
    let mut hangup = signal(SignalKind::hangup()).map_err(|source| Failure::Io {
        act: "listen to",
        what: "signals".into(),
        source,
    })?;
    let name = loop {
        tokio::select! {
            name = signals.next() => break name,
            _ = hangup.recv() => {
                if let Err(why) = server.reload().await {
                    tracing::error!("SIGHUP: nothing was changed: {why}");
                }
            }
        }
    };
    tracing::info!(signal = name, "stopping: a last flush, then the end");
    let stopping = Instant::now();
    server.stop().await;
    tracing::info!(millis = stopping.elapsed().as_millis() as u64, "stopped");
    Ok(())
}

/// Says what to do about a directory that another server has, or had.
fn explain(error: ServerError, place: &Place) -> Failure {
    match error {
        ServerError::Store(StoreError::Journal(kymo_journal::Error::InUse { .. })) => {
            Failure::Other(format!(
                "the data directory {} is in use by another kymo: stop that one, or choose another \
                 directory with --data DIR",
                place.data
            ))
        }
        ServerError::Store(StoreError::OtherNode { data, owner, node }) => Failure::Other(format!(
            "the data directory {data} belongs to the node \"{owner}\", not to \"{node}\": start it \
                 with --store-node {owner}, or choose another directory with --data DIR"
        )),
        error => error.into(),
    }
}

fn start_logging(config: &Config) -> Result<(), Failure> {
    let filter = config::log::filter(&config.log_level)
        .map_err(|why| Failure::Other(format!("log.level: {why}")))?;
    logging::start(filter, config.log_format);
    Ok(())
}

/// Threads for connections.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    let cores = std::thread::available_parallelism().map_or(MIN_RUNTIME_THREADS, usize::from);
    let threads = cores.clamp(MIN_RUNTIME_THREADS, MAX_RUNTIME_THREADS);
    let built = Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("kymo-net")
        .enable_all()
        .build();
    built.map_err(|source| Failure::Io { act: "start", what: "threads".into(), source })
}

/// Takes as many open files as the system lets it have: each connection is one, and many systems
/// start a process with 1,024.
pub(crate) fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, open_files = limit.current, "cannot raise the limit of open files");
    }
}

/// How many files may be open; none if there is no limit.
fn open_files() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Connections that leave files for the store, however many clients there are: without them nothing
/// could be written or read any more.
fn connections_within(wanted: usize, open_files: Option<u64>) -> usize {
    let Some(files) = open_files.and_then(|files| usize::try_from(files).ok()) else {
        return wanted;
    };
    let room = files.saturating_sub(KEPT_FILES).max(files / 2).max(1);
    if room < wanted {
        tracing::warn!(
            "max_connections is {wanted}, but a process may open {files} files: {room} connections \
             are taken at once, others wait; raise the limit (ulimit -n, LimitNOFILE=)"
        );
    }
    wanted.min(room)
}

/// What asks the server to end.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for one.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }
}

/// Where things are, for the lines at the start.
struct Place {
    data: String,
    store: Option<String>,
    is_recording: bool,
    is_kept: bool,
    destinations: Vec<String>,
    base_path: String,
    is_exposed_secure: bool,
}

impl Place {
    fn of(options: &ServerOptions) -> Self {
        Self {
            data: options.data.display().to_string(),
            store: options.store_url.as_deref().map(config::url_without_secrets),
            is_recording: options.is_recording,
            is_kept: options.store_enabled,
            destinations: options
                .destinations
                .iter()
                .filter(|d| d.enabled && options.is_recording)
                .map(DestinationSettings::describe)
                .collect(),
            base_path: options.base_path.clone(),
            is_exposed_secure: options.access.is_secure("expose_metrics"),
        }
    }

    /// What is said once the server is ready. Programs read these lines: their first words stay.
    fn ready_lines(&self, addresses: &Addresses, took: Duration) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let mut lines = format!("kymo {version} ready in {} ms\n", took.as_millis());
        let url = |address: SocketAddr, is_secure: bool| {
            format!("{}://{address}", if is_secure { "https" } else { "http" })
        };
        let [main, grpc, otlp] = addresses.is_secure;
        let mut add = |name: &str, value: &str| {
            // Writing to memory cannot fail.
            let _ = writeln!(lines, "{name:<10} {}", units::printable(value));
        };
        add("http", &format!("{}{}", url(addresses.http, main), self.base_path));
        add("otlp grpc", &url(addresses.otlp_grpc, grpc));
        add("otlp http", &url(addresses.otlp_http, otlp));
        if let Some(exposed) = addresses.expose_metrics {
            add("metrics", &format!("{}/metrics", url(exposed, self.is_exposed_secure)));
        }
        if let Some(postgres) = addresses.postgres {
            add("postgres", &format!("postgresql://{postgres}/default"));
        }
        for (address, prefix) in &addresses.aliases {
            add("alias", &format!("{} for {prefix}", url(*address, main)));
        }
        add("data", &self.data);
        match &self.store {
            _ if !self.is_recording => {
                add("recording", "off: nothing is kept or forwarded");
            }
            _ if !self.is_kept => add("store", "off: records are only forwarded"),
            Some(store) => add("store", store),
            None => {}
        }
        for destination in &self.destinations {
            add("forward", destination);
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_the_store() {
        assert_eq!(connections_within(20_000, None), 20_000);
        assert_eq!(connections_within(20_000, Some(1_000_000)), 20_000);
        assert_eq!(connections_within(20_000, Some(4096)), 3584);
        assert_eq!(connections_within(20_000, Some(256)), 128);
        assert_eq!(connections_within(10, Some(256)), 10);
    }

    #[test]
    fn the_first_lines_say_where_everything_is() {
        let place = Place {
            data: "./kymo-data".into(),
            store: Some("s3://bucket/x".into()),
            is_recording: true,
            is_kept: true,
            destinations: vec!["hub: traces to https://hub.test:4317 (grpc)".into()],
            base_path: "/kymo".into(),
            is_exposed_secure: false,
        };
        let addresses = Addresses {
            http: "127.0.0.1:3200".parse().unwrap(),
            otlp_grpc: "[::1]:4317".parse().unwrap(),
            otlp_http: "0.0.0.0:4318".parse().unwrap(),
            expose_metrics: None,
            postgres: Some("127.0.0.1:5432".parse().unwrap()),
            aliases: vec![("127.0.0.1:16686".parse().unwrap(), "/jaeger")],
            is_secure: [false, true, false],
        };
        let expected = format!(
            "kymo {} ready in 12 ms\n\
             http       http://127.0.0.1:3200/kymo\n\
             otlp grpc  https://[::1]:4317\n\
             otlp http  http://0.0.0.0:4318\n\
             postgres   postgresql://127.0.0.1:5432/default\n\
             alias      http://127.0.0.1:16686 for /jaeger\n\
             data       ./kymo-data\n\
             store      s3://bucket/x\n\
             forward    hub: traces to https://hub.test:4317 (grpc)\n",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(place.ready_lines(&addresses, Duration::from_millis(12)), expected);
    }
}
