//! `kymo promql`: PromQL asked of a server or of a directory.
//!
//! ```text
//!  server ── /prometheus/api/v1/query, query_range ──┐                      ┌─> table: Arrow ─> table | json | csv | arrow
//!                                                    ├─> Prometheus' JSON ──┤
//!  directory ── kymo_engine ── kymo_server ──────────┘                      └─> chart
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | `ask` | asking |
//! | `answer` | what comes: numbers, texts, series of numbers and histograms |
//! | `shown` | series as tables |
//! | `chart` | series as lines over time |
//!
//! An expression is read here first, so that what is wrong with it is said without asking anybody.

mod answer;
mod ask;
mod chart;
mod shown;

use crate::failure::Failure;
use crate::frame::{Format, Reader};
use crate::source::SourceArgs;
use crate::times::TimeArgs;
use crate::{caret, output, sql, terminal};
use answer::Found;
pub(crate) use answer::{Answer, Series};
pub(crate) use ask::{Moments, ask};

const EXAMPLES: &str = "\
Without a time it is evaluated now, with --end alone at that time; with --since, --start or --step
over that time, as a chart over the last hour unless told otherwise.

Examples:
  kymo promql 'up'
  kymo promql 'topk(5, rate(node_cpu_seconds_total[1m]))'
  kymo promql 'sum by (job) (rate(http_requests_total[5m]))' --since 6h
  kymo promql 'node_load1' --chart
  kymo promql 'node_memory_MemAvailable_bytes' --since 1d --step 5m --format csv > memory.csv
  kymo promql 'up' --data ./kymo-data                          without a server, or beside one";

/// Ask in PromQL, of a server or of a directory
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The expression, such as rate(http_requests_total[5m])
    #[arg(value_name = "EXPR")]
    query: String,
    #[command(flatten)]
    times: TimeArgs,
    /// Draw series as lines over time
    #[arg(long, conflicts_with = "format")]
    chart: bool,
    #[command(flatten)]
    source: SourceArgs,
    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Asks, and writes what comes.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    if let Err(error) = kymo_promql::parser::parse(&args.query) {
        let place = caret::of_bytes(&args.query, error.line, error.column);
        caret::show(&error.to_string(), &args.query, place);
        return Ok(false);
    }
    match answered(args) {
        // A server of another version, or one without what is experimental, may know less.
        Err(Failure::Status { status: 400, message }) => {
            let place = caret::place_before(&message, ": parse error");
            let place = place.and_then(|(line, byte)| caret::of_bytes(&args.query, line, byte));
            caret::show(&message, &args.query, place);
            Ok(false)
        }
        answered => answered.map(|()| true),
    }
}

fn answered(args: &Args) -> Result<(), Failure> {
    let moments = Moments::of(&args.times, args.chart)?;
    args.format.check()?;
    let source = args.source.open()?;
    let answer = ask(&source, &args.query, &moments)?;
    show(answer, &moments, args.chart, args.format)
}

/// Writes an answer as a chart, or as a table in one of the formats.
pub(crate) fn show(
    answer: Answer,
    moments: &Moments,
    is_chart: bool,
    format: Format,
) -> Result<(), Failure> {
    answer.warnings.iter().for_each(|warning| output::warning(warning));
    answer.infos.iter().for_each(|info| output::note(info));
    let found = answer.found()?;
    if is_chart {
        let columns = terminal::columns().unwrap_or(terminal::PIPE_COLUMNS);
        let drawn = chart::draw(&found, moments, columns, terminal::Paint::stdout())?;
        return output::text(&drawn);
    }
    let reader = format.reader();
    match (&found, reader) {
        (Found::Number(_, number), Reader::Person { .. }) => output::text(&format!("{number}\n")),
        (Found::Text(_, text), Reader::Person { .. }) => output::text(&format!("{text}\n")),
        _ => sql::write(shown::table(&found, moments, reader)?, &mut *format.encoder()),
    }
}
