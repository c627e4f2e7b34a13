//! `kymo import`: files of OTLP into a store.
//!
//! ```text
//!  file ──> input ──> detect ──> frames (protobuf) ─┐
//!                              └> text (JSON) ──────┴> load: inspect, journal, store ──> summary
//! ```
//!
//! A file is read as a stream: memory does not depend on its size, only on that of its largest
//! request. Each request passes an admission check, is acknowledged by the journal, and then stored.
//! The check is that of the server without its limits on attributes and values, which are for
//! senders that nobody chose: a file is stored as it is.

mod detect;
mod frames;
mod input;
mod limits;
mod load;
mod summary;
mod text;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use kymo_wire::Signal;

use crate::cli::OutputFormat;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Progress;
use detect::InputFormat;
use input::{Fault, Input, Requests};
use load::Loader;

const EXAMPLES: &str = "\
Input formats, told apart by their first bytes:
  protobuf         one OTLP request, as an exporter sends it; begins with byte 0x0a
  protobuf-frames  requests one after another, each after its length as a varint
                   (as protobuf's writeDelimitedTo writes them)
  json-lines       one OTLP/JSON object per line (as the collector's file exporter writes them)
  json             OTLP/JSON objects over several lines each

JSON says which signal it carries. Protobuf does not: without --signal, the first request of a file
is checked as each of the three, and the signal that keeps most records of it is taken.

What is refused: a span without a valid trace id or span id, a record with a time after 2199. Such
records are counted by reason, the rest of their request is stored. A request or line that cannot be
read at all is reported with its place; the others are stored and the exit code is 1.

A request with the same bytes as one of the last 10 minutes counts as a retry and is not stored
again, so an import that was interrupted can be repeated at once.

Examples:
  kymo import traces.pb --data ./kymo-data
  kymo import *.jsonl --data ./kymo-data --tenant team-a
  zstd -dc traces.jsonl.zst | kymo import - --data ./kymo-data --store s3://telemetry/prod";

/// Store files of OTLP: protobuf, JSON lines, length-prefixed requests
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
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
    /// What protobuf files carry
    #[arg(long, value_enum)]
    signal: Option<SignalArg>,
    /// How the files are written
    #[arg(long, value_enum, value_name = "FORMAT")]
    input_format: Option<InputFormat>,
    /// Stop at the first request or line that cannot be read
    #[arg(long)]
    strict: bool,
    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SignalArg {
    Traces,
    Metrics,
    Logs,
}

impl From<SignalArg> for Signal {
    fn from(signal: SignalArg) -> Self {
        match signal {
            SignalArg::Traces => Signal::Traces,
            SignalArg::Metrics => Signal::Metrics,
            SignalArg::Logs => Signal::Logs,
        }
    }
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
    let progress = Progress::new(total_bytes(&args.files));
    let mut loader = Loader::open(&args.data, args.store.as_deref(), &args.tenant)?;
    let mut importer = Importer { args, progress: &progress, interrupt, faults: 0 };
    let outcome = importer.import_all(&mut loader);
    let stopped = matches!(outcome, Ok(false));
    // What was acknowledged is stored even if reading ended early; the first error is the one shown.
    progress.doing("writing blocks");
    let finished = loader.finish(!stopped && outcome.is_ok());
    progress.finish();
    outcome?;
    let mut summary = finished?;
    summary.files = args.files.len() as u64;
    summary.unreadable = importer.faults;
    summary.interrupted = importer.interrupt.is_wanted();
    match args.format {
        OutputFormat::Json => output::json(&summary)?,
        OutputFormat::Table => output::text(&summary.to_string())?,
    }
    if summary.interrupted {
        output::error("interrupted; what is counted above is stored, run it again for the rest");
    } else if importer.faults > 0 {
        output::error(&format!("{} could not be read", requests(importer.faults)));
    }
    Ok(importer.faults == 0 && !summary.interrupted)
}

struct Importer<'a> {
    args: &'a Args,
    progress: &'a Progress,
    interrupt: Interrupt,
    faults: u64,
}

impl Importer<'_> {
    /// Reads all files; false if it was told to stop.
    fn import_all(&mut self, loader: &mut Loader) -> Result<bool, Failure> {
        for path in &self.args.files {
            let name = name_of(path);
            self.progress.doing(&name);
            let before = self.faults;
            let goes_on = self.import_file(path, &name, loader)?;
            let unsaid = (self.faults - before).saturating_sub(limits::MAX_FAULTS_SHOWN);
            if unsaid > 0 {
                self.progress.error(&format!("{name}: and {unsaid} more"));
            }
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn import_file(
        &mut self,
        path: &Path,
        name: &str,
        loader: &mut Loader,
    ) -> Result<bool, Failure> {
        let mut shown = 0;
        let input = match Input::open(path) {
            Ok(input) => input,
            Err(why) => return Ok(self.fault(name, &Fault::whole_file(why), &mut shown)),
        };
        if input.is_empty() {
            tracing::warn!(file = name, "is empty");
        }
        let format = match self.args.input_format.map_or_else(|| detect::format(&input), Ok) {
            Ok(format) => format,
            Err(why) => return Ok(self.fault(name, &Fault::whole_file(why), &mut shown)),
        };
        let mut requests = Requests::new(format, input);
        let mut signal = self.args.signal.map(Signal::from);
        let mut done_bytes = 0;
        while let Some(request) = requests.next() {
            let loaded = match request {
                Ok(request) => loader.add(request, &mut signal)?,
                Err(fault) => Err(fault),
            };
            if let Err(fault) = loaded
                && !self.fault(name, &fault, &mut shown)
            {
                return Ok(false);
            }
            self.progress.advance(requests.offset() - done_bytes);
            done_bytes = requests.offset();
            if self.interrupt.is_wanted() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reports what could not be read; false if that is the end.
    fn fault(&mut self, name: &str, fault: &Fault, shown: &mut u64) -> bool {
        self.faults += 1;
        if *shown < limits::MAX_FAULTS_SHOWN {
            *shown += 1;
            self.progress.error(&format!("{name}{fault}"));
        }
        !self.args.strict
    }
}

fn requests(count: u64) -> String {
    match count {
        1 => "1 request".to_owned(),
        count => format!("{count} requests"),
    }
}

fn name_of(path: &Path) -> String {
    if input::is_stdin(path) { "stdin".to_owned() } else { path.display().to_string() }
}

/// Bytes of all files; unknown if one of them is a pipe.
fn total_bytes(files: &[PathBuf]) -> Option<u64> {
    let size = |path: &PathBuf| {
        let metadata = path.metadata().ok().filter(|_| !input::is_stdin(path));
        metadata.filter(std::fs::Metadata::is_file).map(|metadata| metadata.len())
    };
    files.iter().map(size).sum()
}
