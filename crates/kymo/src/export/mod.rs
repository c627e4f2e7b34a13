//! `kymo export`: what a query finds, into a file of another program.
//!
//! ```text
//!  --sql, --signal ──> rows ────┬──> Parquet, CSV, JSON lines, Arrow
//!  --traceql ──> spans as rows ─┘
//!         └────> traces ────────┐
//!  --signal spans, logs ────────┴──> OTLP: JSON lines, or protobuf with lengths
//! ```
//!
//! A file is written under another name and takes its own when it is complete; one that is there is
//! only replaced if `--force` says so. Memory does not grow with the answer, but for the ids of traces.

mod file;
mod otlp;
mod parquet;
mod rows;

use std::path::PathBuf;

use clap::ValueEnum;
use kymo_engine::traceql::{Search, Sort};
use kymo_server::limits::MAX_SEARCH_TRACES;

use crate::failure::Failure;
use crate::query::Asker;
use crate::source::SourceArgs;
use crate::sql::answer::Answer;
use crate::times::TimeArgs;
use crate::{output, units};
use file::Output;

const EXAMPLES: &str = "\
The format is that of the name, or --format. As OTLP, spans and logs are written as they were sent, and
kymo import, a collector or another server reads them. Points of metrics are written as rows.

Examples:
  kymo export --sql 'SELECT name, duration_nanos FROM spans' -o spans.parquet
  kymo export --signal logs --since 1d -o logs.csv
  kymo export --traceql '{ status = error }' --since 6h -o errors.otlp.jsonl
  kymo export --signal spans --start 2026-01-01 --end 2026-01-02 -o day.otlp.pb --data ./kymo-data";

/// Write what a query finds to a file: Parquet, CSV, Arrow, OTLP
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["sql", "traceql", "signal"])))]
pub(crate) struct Args {
    /// Rows of a query in SQL
    #[arg(long, value_name = "QUERY")]
    sql: Option<String>,
    /// Traces that TraceQL finds: whole ones as OTLP, matching spans as rows
    #[arg(long, value_name = "QUERY")]
    traceql: Option<String>,
    /// Everything of a signal, of the time that is given
    #[arg(long, value_enum)]
    signal: Option<Exported>,
    #[command(flatten)]
    times: TimeArgs,
    /// File to write; - for stdout
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    output: PathBuf,
    /// How it is written [default: by the name of the file]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    source: SourceArgs,
}

/// What can be exported whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Exported {
    Spans,
    Logs,
    Points,
}

impl Exported {
    fn table(self) -> (&'static str, &'static str) {
        match self {
            Self::Spans => ("spans", "start_time"),
            Self::Logs => ("logs", "time"),
            Self::Points => ("points", "time"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Parquet, compressed with zstd
    Parquet,
    /// CSV with a header line
    Csv,
    /// A JSON object of columns on each line
    Jsonl,
    /// An Arrow IPC stream
    Arrow,
    /// An OTLP request in JSON on each line
    OtlpJson,
    /// OTLP requests in protobuf, each after its length
    OtlpProto,
}

impl Format {
    /// By the name of a file; longer endings first.
    const NAMES: [(&str, Self); 8] = [
        (".otlp.jsonl", Self::OtlpJson),
        (".otlp.json", Self::OtlpJson),
        (".otlp.pb", Self::OtlpProto),
        (".pb", Self::OtlpProto),
        (".parquet", Self::Parquet),
        (".csv", Self::Csv),
        (".jsonl", Self::Jsonl),
        (".arrow", Self::Arrow),
    ];

    fn of(args: &Args) -> Result<Self, Failure> {
        let name = args.output.to_string_lossy().to_lowercase();
        let by_name = || Self::NAMES.iter().find(|(ending, _)| name.ends_with(ending));
        let found = args.format.or_else(|| by_name().map(|(_, format)| *format));
        found.ok_or_else(|| {
            let endings = Self::NAMES.map(|(ending, _)| ending).join(", ");
            Failure::Usage(format!("{name} has none of the endings {endings}: give --format"))
        })
    }

    fn is_otlp(self) -> bool {
        matches!(self, Self::OtlpJson | Self::OtlpProto)
    }

    fn is_binary(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow | Self::OtlpProto)
    }
}

/// Asks, and writes the file.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    let format = Format::of(args)?;
    check(args, format)?;
    let source = args.source.open()?;
    let mut out = Output::create(&args.output, args.force, format.is_binary())?;
    let mut missing = None;
    let (count, what) = match (format.is_otlp(), &args.traceql, args.signal) {
        (true, Some(query), _) => {
            let ids = otlp::found(&source, search(args, query)?)?;
            (otlp::traces(&source, ids, format, &mut out)?, "traces")
        }
        (true, None, Some(Exported::Logs)) => {
            let (count, damage) = otlp::logs(&source, args.times.range()?, format, &mut out)?;
            missing = damage;
            (count, "requests of logs")
        }
        (true, ..) => {
            let ids = otlp::all(&source, args.times.range()?)?;
            (otlp::traces(&source, ids, format, &mut out)?, "traces")
        }
        (false, Some(query), _) => {
            let found = Asker::new(&source).spans(search(args, query)?)?;
            (rows::write(found.found, format, &mut out)?, "spans")
        }
        (false, None, signal) => {
            let query = match (&args.sql, signal) {
                (Some(query), _) => query.clone(),
                (None, Some(signal)) => whole(signal, args)?,
                // One of them is given, or the command line is refused.
                (None, None) => return Err(Failure::Usage("there is no query".into())),
            };
            (rows::write(Answer::ask(&source, &query)?, format, &mut out)?, "rows")
        }
    };
    let bytes = out.finish()?;
    let name = args.output.display();
    output::say(&format!("{count} {what}, {} in {name}", units::bytes(bytes)));
    if let Some(missing) = &missing {
        output::warning(missing);
    }
    Ok(missing.is_none())
}

/// Refuses what would be ignored or lost.
fn check(args: &Args, format: Format) -> Result<(), Failure> {
    let usage = |message: &str| Err(Failure::Usage(message.to_owned()));
    if args.sql.is_some() && args.times.is_any() {
        return usage("times have no use with --sql: say them in the query");
    }
    if args.sql.is_some() && format.is_otlp() {
        return usage("rows of SQL are no OTLP: ask with --traceql or --signal, or write .parquet");
    }
    if args.signal == Some(Exported::Points) && format.is_otlp() {
        return usage("points are written as rows: name a file .parquet, .csv, .jsonl or .arrow");
    }
    Ok(())
}

/// All rows of a signal.
fn whole(signal: Exported, args: &Args) -> Result<String, Failure> {
    let (table, time) = signal.table();
    let condition = args.times.range()?.map(|range| {
        let moment = |nanos: i64| format!("to_timestamp_nanos({nanos})");
        let (start, end) = (moment(range.start), moment(range.end));
        format!(" WHERE {time} >= {start} AND {time} < {end}")
    });
    Ok(format!("SELECT * FROM {table}{}", condition.unwrap_or_default()))
}

fn search(args: &Args, query: &str) -> Result<Search, Failure> {
    let query = kymo_traceql::parse(query)
        .map_err(|error| Failure::Usage(format!("--traceql: {error}")))?;
    Ok(Search {
        query,
        time: args.times.range()?,
        limit: MAX_SEARCH_TRACES,
        spans_per_set: usize::MAX,
        sort: Sort::Newest,
        after: None,
    })
}
