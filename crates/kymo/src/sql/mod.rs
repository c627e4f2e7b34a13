//! `kymo sql`: a query asked of a server or of a directory.
//!
//! ```text
//!  server ── POST /api/sql, Arrow IPC ──┐
//!                                       ├──> Answer: schema, batches ──> table | json | jsonl | csv | arrow
//!  directory ── kymo_engine ────────────┘
//! ```
//!
//! One path writes all formats, so that it does not matter where the rows are from. Memory does not
//! grow with the answer.

pub(crate) mod answer;
pub(crate) mod json;
pub(crate) mod table;

use std::io::{self, IsTerminal, Read, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use kymo_server::format::{ArrowStream, Csv, Encoder};

use crate::failure::Failure;
use crate::source::SourceArgs;
use crate::{frame, output, terminal, units};
use answer::Answer;

/// Bytes of a query that are read from a file: no more can be asked.
const MAX_QUERY_BYTES: u64 = kymo_engine::limits::QUERY_MAX_BYTES as u64;

const EXAMPLES: &str = "\
Tables: spans, traces, events, links, logs, points. Attributes are columns such as \"span.http.route\",
\"resource.service.name\", \"log.level\", \"label.host\"; a key that nobody sent is NULL.

Examples:
  kymo sql 'SELECT name, count(*) FROM spans GROUP BY name ORDER BY 2 DESC LIMIT 10'
  kymo sql --file slow.sql --format csv > slow.csv
  kymo sql 'SELECT * FROM logs' --format jsonl | jq .body
  kymo sql 'SELECT count(*) FROM spans' --data ./kymo-data     without a server, or beside one";

/// Ask in SQL, of a server or of a directory
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The query; - or nothing reads it from stdin
    #[arg(value_name = "QUERY")]
    query: Option<String>,
    /// Read the query from a file
    #[arg(long, value_name = "FILE", conflicts_with = "query", value_hint = clap::ValueHint::FilePath)]
    file: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
    /// How the rows are written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table for people, fitted to the terminal
    #[default]
    Table,
    /// One JSON array of objects
    Json,
    /// A JSON object on each line
    Jsonl,
    /// CSV with a header line
    Csv,
    /// An Arrow IPC stream
    Arrow,
}

/// Asks, and writes what comes.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    if args.format == Format::Arrow {
        frame::refuse_terminal()?;
    }
    let query = query(args)?;
    let source = args.source.open()?;
    let answer = Answer::ask(&source, &query)?;
    let mut encoder: Box<dyn Encoder> = match args.format {
        Format::Table => Box::new(table::Table::new(terminal::columns())),
        Format::Json => Box::new(json::Objects::array()),
        Format::Jsonl => Box::new(json::Objects::lines()),
        Format::Csv => Box::new(Csv),
        Format::Arrow => Box::new(ArrowStream::default()),
    };
    write(answer, &mut *encoder)?;
    Ok(true)
}

/// Writes what comes.
pub(crate) fn write(answer: Answer, encoder: &mut dyn Encoder) -> Result<(), Failure> {
    let unwritable =
        |error| Failure::Other(format!("the rows cannot be written in this format: {error}"));
    let mut out = io::stdout().lock();
    // A reader that has seen enough ends the query too.
    let mut put = |bytes: Vec<u8>| output::until_closed(out.write_all(&bytes));
    let begun = encoder.begin(&answer.schema).map_err(unwritable)?;
    if !put(begun)? {
        return Ok(());
    }
    for batch in answer.batches {
        if !put(encoder.batch(&batch?).map_err(unwritable)?)? {
            return Ok(());
        }
    }
    put(encoder.end().map_err(unwritable)?)?;
    output::until_closed(out.flush()).map(|_| ())
}

/// The query, wherever it is.
fn query(args: &Args) -> Result<String, Failure> {
    let text = match (&args.query, &args.file) {
        (Some(query), _) if query != "-" => query.clone(),
        (_, Some(path)) => {
            let failed = |error| Failure::io("read", path, error);
            read_limited(std::fs::File::open(path).map_err(failed)?).map_err(failed)?
        }
        (query, None) => {
            if query.is_none() && io::stdin().is_terminal() {
                let hint = "give it as an argument, with --file, or on stdin";
                return Err(Failure::Usage(format!("there is no query: {hint}")));
            }
            read_limited(io::stdin().lock()).map_err(|source| Failure::Io {
                act: "read",
                what: "the query on stdin".into(),
                source,
            })?
        }
    };
    if text.trim().is_empty() {
        return Err(Failure::Usage("the query is empty".into()));
    }
    Ok(text)
}

fn read_limited(reader: impl Read) -> io::Result<String> {
    let mut text = String::new();
    reader.take(MAX_QUERY_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_QUERY_BYTES {
        let most = units::bytes(MAX_QUERY_BYTES);
        return Err(io::Error::other(format!(
            "it is longer than {most}, which is the longest query"
        )));
    }
    Ok(text)
}
