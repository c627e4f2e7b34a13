//! `kymo open`: recorded files in a private server.
//!
//! ```text
//!  files ──> store in a directory of its own ──> server on free ports of this machine ──> browser
//! ```
//!
//! The server is the one that `kymo serve` starts, without what it gathers by itself: everything
//! that can be asked of a server can be asked of a file. It listens on loopback only, keeps
//! everything however old it is, and ends with Ctrl-C or its terminal; then its data is removed,
//! unless it was told to keep it.

mod browser;
mod sessions;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kymo_server::{Addresses, CollectOptions, Server, ServerOptions};
use tempfile::TempDir;

use crate::client::Client;
use crate::failure::Failure;
use crate::files::{self, FORMATS_HELP, ReadArgs, Walk};
use crate::import::Loader;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::{output, serve, units};
use sessions::Session;

/// Whose data it is: that of whoever asks without saying so.
const TENANT: &str = "default";
/// How long is waited for Ctrl-C at once.
const WAIT: Duration = Duration::from_secs(3600);
/// What the server may still do once it was told to stop.
const ABANDON_AFTER: Duration = Duration::from_secs(1);
/// Pages that are opened by themselves; with more sessions than that it is the list of them.
const MAX_PAGES: usize = 4;

const EXAMPLES: &str = "\
The server listens on this machine only. While it runs, all commands that ask a server can ask it:
kymo query, kymo promql, kymo sql, kymo trace, kymo report, each with --url and the address that is
printed. Programs may also send to it. Ctrl-C ends it and removes its data, unless --keep says where
to keep it; kymo serve --data DIR goes on with that.

Examples:
  kymo open train.kymo.jsonl
  kymo open *.telemetry.jsonl --no-browser --port 3200
  kymo open traces.pb metrics.pb --keep ./kymo-data";

/// Look at recorded files in a private server
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{FORMATS_HELP}\n\n{EXAMPLES}"))]
pub(crate) struct Args {
    /// Files to read; - is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Port of the server on this machine; any that is free if not given
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Do not open a browser
    #[arg(long)]
    no_browser: bool,
    /// Directory for the data, which then stays
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    keep: Option<PathBuf>,
    #[command(flatten)]
    reading: ReadArgs,
}

/// Serves the files until somebody wants it to end; false if something could not be read.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    let began = Instant::now();
    let cannot_listen = |source| Failure::Io { act: "listen to", what: "signals".into(), source };
    let interrupt = Interrupt::listen().and_then(Interrupt::with_hangup).map_err(cannot_listen)?;
    let place = Place::choose(args.keep.as_deref())?;
    let (records, faults) = load(args, place.path(), &interrupt)?;
    if interrupt.is_wanted() {
        return Ok(false);
    }
    serve::raise_open_files();
    let runtime = serve::runtime()?;
    let server = runtime.block_on(Server::start(options(place.path(), args.port)))?;
    let url = format!("http://{}", server.addresses().http);
    let client = Client::new(&url, TENANT)?;
    let sessions = sessions::find(&client)?;
    let has_pages = sessions.first().is_some_and(|session| session.has_page(&client));
    let pages: Vec<String> = sessions.iter().map(|session| session.url(&url, has_pages)).collect();
    let loaded = Loaded { files: args.files.len() as u64, records, took: began.elapsed() };
    let addresses = server.addresses();
    output::text(&lines(&loaded, addresses, &sessions, &pages, &url, place.kept()))?;
    if !args.no_browser {
        show(&url, if has_pages { &pages } else { &[] });
    }
    while !interrupt.is_wanted() {
        interrupt.wait(WAIT);
    }
    runtime.block_on(server.stop());
    runtime.shutdown_timeout(ABANDON_AFTER);
    place.remove()?;
    Ok(faults == 0)
}

/// Where the data is.
enum Place {
    Own(TempDir),
    Kept(PathBuf),
}

impl Place {
    fn choose(keep: Option<&Path>) -> Result<Self, Failure> {
        match keep {
            Some(directory) => Ok(Self::Kept(directory.to_owned())),
            None => {
                let made = tempfile::Builder::new().prefix("kymo-open-").tempdir();
                let made =
                    made.map_err(|source| Failure::io("write to", &std::env::temp_dir(), source))?;
                Ok(Self::Own(made))
            }
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Own(directory) => directory.path(),
            Self::Kept(directory) => directory,
        }
    }

    /// The directory, if it stays.
    fn kept(&self) -> Option<&Path> {
        match self {
            Self::Own(_) => None,
            Self::Kept(directory) => Some(directory),
        }
    }

    fn remove(self) -> Result<(), Failure> {
        let Self::Own(directory) = self else { return Ok(()) };
        let path = directory.path().to_owned();
        directory.close().map_err(|source| Failure::io("remove", &path, source))
    }
}

/// Stores the files; how many records, and how much could not be read.
fn load(args: &Args, data: &Path, interrupt: &Interrupt) -> Result<(u64, u64), Failure> {
    let progress = Progress::new(files::total_bytes(&args.files));
    let mut loader = Loader::open(data, None, TENANT)?;
    let mut walk = Walk {
        options: args.reading.options(),
        progress: &progress,
        interrupt,
        is_strict: false,
        faults: 0,
    };
    let walked = walk.files(&args.files, |request| loader.add(request));
    let faults = walk.faults;
    // The server joins blocks when it has time.
    let finished = loader.finish(false);
    progress.finish();
    walked?;
    Ok((finished?.total_records(), faults))
}

/// A server for one person: nothing that it gathers, nothing that it gives up.
fn options(data: &Path, port: u16) -> ServerOptions {
    ServerOptions {
        data: data.to_owned(),
        http: format!("127.0.0.1:{port}"),
        otlp_grpc: "127.0.0.1:0".to_owned(),
        otlp_http: "127.0.0.1:0".to_owned(),
        collect: CollectOptions { probe: false, ..CollectOptions::default() },
        ..ServerOptions::default()
    }
}

/// What was read.
struct Loaded {
    files: u64,
    records: u64,
    took: Duration,
}

/// What is said once everything can be asked. Programs read these lines: their first words stay.
fn lines(
    loaded: &Loaded,
    addresses: &Addresses,
    sessions: &[Session],
    pages: &[String],
    url: &str,
    kept: Option<&Path>,
) -> String {
    let mut lines = format!(
        "{} records of {} {} open in {} ms\n",
        units::count(loaded.records),
        units::count(loaded.files),
        if loaded.files == 1 { "file" } else { "files" },
        loaded.took.as_millis()
    );
    let mut add = |name: &str, value: &str| {
        // Writing to memory cannot fail.
        let _ = writeln!(lines, "{name:<10} {}", units::printable(value));
    };
    add("http", url);
    add("traceql", &format!("{url}/tempo        (Grafana: a data source of type Tempo)"));
    add("promql", &format!("{url}/prometheus   (Grafana: a data source of type Prometheus)"));
    add("jaeger", &format!("{url}/jaeger       (Grafana: a data source of type Jaeger)"));
    add("sql", &format!("kymo sql --url {url} 'SELECT …'"));
    add("otlp grpc", &format!("http://{}", addresses.otlp_grpc));
    add("otlp http", &format!("http://{}", addresses.otlp_http));
    add("sessions", &format!("{url}{}", sessions::LIST));
    for (session, page) in sessions.iter().zip(pages) {
        add("session", &format!("{}  {page}", session.id));
    }
    if let Some(kept) = kept {
        add("data", &kept.display().to_string());
    }
    lines.push_str("Ctrl-C ends it\n");
    lines
}

/// Opens the pages of sessions; the list of them if there are none, or more than somebody wants.
fn show(url: &str, pages: &[String]) {
    let list = [format!("{url}{}", sessions::LIST)];
    let pages = if pages.is_empty() || pages.len() > MAX_PAGES { &list } else { pages };
    for page in pages {
        if let Err(why) = browser::open(page) {
            output::note(&format!("no browser was opened: {why}; the page is {page}"));
            return;
        }
    }
}
