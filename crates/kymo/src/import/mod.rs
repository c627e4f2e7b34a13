//! `kymo import`: recorded files into a store.
//!
//! ```text
//!  files ──> load: inspect, journal, store ──> summary
//! ```
//!
//! A file is read as a stream. Each request passes an admission check, is acknowledged by the
//! journal, and then stored. The check is that of the server without its limits on attributes and
//! values, which are for senders that nobody chose: a file is stored as it is.

mod limits;
mod load;
mod summary;

use std::path::PathBuf;

use crate::cli::OutputFormat;
use crate::failure::Failure;
use crate::files::{self, FORMATS_HELP, ReadArgs, Walk};
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Progress;

pub(crate) use load::Loader;

const EXAMPLES: &str = "\
What is refused: a span without a valid trace id or span id, a record with a time after 2199. Such
records are counted by reason, the rest of their request is stored. A request or line that cannot be
read at all is reported with its place; the others are stored and the exit code is 1.

A request with the same bytes as one of the last 10 minutes counts as a retry and is not stored
again, so an import that was interrupted can be repeated at once.

Examples:
  kymo import traces.pb --data ./kymo-data
  kymo import *.kymo.jsonl --data ./kymo-data --tenant team-a
  zstd -dc traces.jsonl.zst | kymo import - --data ./kymo-data --store s3://telemetry/prod";

/// Store recorded files: checkpoints of sessions, OTLP in protobuf or JSON
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{FORMATS_HELP}\n\n{EXAMPLES}"))]
pub(crate) struct Args {
    /// Files to read; - is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Directory of the store: journal and, without --store, blocks
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Where blocks go instead: a directory or s3://BUCKET/PREFIX
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Whose data it is
    #[arg(long, value_name = "TENANT", default_value = "default", value_parser = tenant)]
    tenant: String,
    #[command(flatten)]
    reading: ReadArgs,
    /// Stop at the first request or line that cannot be read
    #[arg(long)]
    strict: bool,
    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

/// A name that a server would take too.
fn tenant(name: &str) -> Result<String, String> {
    match kymo_admit::check_tenant(name) {
        Ok(()) => Ok(name.to_owned()),
        Err(why) => Err(format!("the tenant's name {why}")),
    }
}

/// Imports every file; false if something could not be read.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    let interrupt = Interrupt::listen().map_err(|source| Failure::Io {
        act: "listen to",
        what: "signals".into(),
        source,
    })?;
    let progress = Progress::new(files::total_bytes(&args.files));
    let mut loader = Loader::open(&args.data, args.store.as_deref(), &args.tenant)?;
    let mut walk = Walk {
        options: args.reading.options(),
        progress: &progress,
        interrupt: &interrupt,
        is_strict: args.strict,
        faults: 0,
    };
    let outcome = walk.files(&args.files, |request| loader.add(request));
    let faults = walk.faults;
    let stopped = matches!(outcome, Ok(false));
    // What was acknowledged is stored even if reading ended early; the first error is the one shown.
    progress.doing("writing blocks");
    let finished = loader.finish(!stopped && outcome.is_ok());
    progress.finish();
    outcome?;
    let mut summary = finished?;
    summary.files = args.files.len() as u64;
    summary.unreadable = faults;
    summary.interrupted = interrupt.is_wanted();
    match args.format {
        OutputFormat::Json => output::json(&summary)?,
        OutputFormat::Table => output::text(&summary.to_string())?,
    }
    if summary.interrupted {
        output::error("interrupted; what is counted above is stored, run it again for the rest");
    } else if faults > 0 {
        output::error(&format!("{} could not be read", requests(faults)));
    }
    Ok(faults == 0 && !summary.interrupted)
}

fn requests(count: u64) -> String {
    match count {
        1 => "1 request".to_owned(),
        count => format!("{count} requests"),
    }
}
