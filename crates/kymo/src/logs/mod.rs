//! `kymo logs`: LogQL asked of a server or of a directory, and lines followed as they come.
//!
//! ```text
//!  server ── /loki/api/v1/query, query_range ──┐                 ┌─> lines: text | json | csv | arrow
//!                                              ├─> Loki's JSON ──┤
//!  directory ── kymo_engine ── kymo_server ────┘                 └─> numbers: as kymo promql has them
//!
//!  server ── /loki/api/v1/tail ── socket ── follow ─> lines: text | json
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | `ask` | asking |
//! | `answer` | what comes: lines with their labels |
//! | `shown` | lines for people, rows for programs |
//! | `socket` | a WebSocket, with all that asking a server takes |
//! | `follow`, `told` | lines as they come, once each, also after the server was away |
//!
//! A query is read here first, so that what is wrong with it is said without asking anybody.

mod answer;
mod ask;
mod follow;
mod shown;
mod socket;
mod told;

use kymo_engine::logql::LogqlOptions;
use kymo_logql::ast::{Expr, LogExpr};

use crate::failure::Failure;
use crate::frame::Format;
use crate::promql::{self, Moments};
use crate::source::{Source, SourceArgs};
use crate::terminal::Paint;
use crate::times::TimeArgs;
use crate::{caret, output, sql};
use shown::Style;

/// Lines that people are shown unless told otherwise, and from which following begins. Programs get
/// all that an answer may have.
const DEFAULT_LINES: usize = 100;

const EXAMPLES: &str = "\
Time: the last hour for lines; numbers are evaluated now, with --end alone at that time, with --since,
--start or --step over that time.

Examples:
  kymo logs '{app=\"shop\"}'                                     the newest lines, the last one last
  kymo logs '{app=\"shop\"} |= \"timeout\" | logfmt' --since 1d --limit 1000
  kymo logs '{app=\"shop\"}' --follow                            and what comes from now on
  kymo logs '{app=\"shop\"} | json | level=\"error\"' --format csv > errors.csv
  kymo logs 'sum by (level) (count_over_time({app=\"shop\"} | logfmt [5m]))' --since 6h --chart
  kymo logs '{app=\"shop\"}' --data ./kymo-data                  without a server, or beside one";

/// Ask in LogQL, of a server or of a directory
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The query, such as {app="shop"} |= "timeout"
    #[arg(value_name = "QUERY")]
    query: String,
    #[command(flatten)]
    times: TimeArgs,
    /// Lines to show, the newest [default: 100 as text and with --follow, else all]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Show the newest line first
    #[arg(long, conflicts_with = "follow")]
    newest_first: bool,
    /// Show all labels of each line: metadata and what the query found too
    #[arg(long, conflicts_with = "format")]
    labels: bool,
    /// Show lines as they come, until Ctrl-C
    #[arg(long, short, conflicts_with_all = ["end", "data"])]
    follow: bool,
    /// Draw numbers as lines over time
    #[arg(long, conflicts_with = "format")]
    chart: bool,
    #[command(flatten)]
    source: SourceArgs,
    /// How the result is written; as a table, lines are plain text
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Asks, and writes what comes.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    let expr = match kymo_logql::parser::parse(&args.query) {
        Ok(expr) => expr,
        Err(error) => {
            let place = Some((error.line, error.column));
            caret::show(&error.to_string(), &args.query, place);
            return Ok(false);
        }
    };
    let answered = match expr {
        Expr::Log(log) => lines(args, log),
        Expr::Metric(_) => numbers(args, expr),
    };
    match answered {
        // A server of another version may know less.
        Err(Failure::Status { status: 400, message }) => {
            caret::show(&message, &args.query, caret::place_in(&message));
            Ok(false)
        }
        answered => answered.map(|()| true),
    }
}

/// Refuses flags that would be ignored: whoever gave one would take the answer for something else.
fn refuse(flags: &[(&str, bool)], why: &str) -> Result<(), Failure> {
    match flags.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(Failure::Usage(format!("{flag} has no use here: {why}"))),
        None => Ok(()),
    }
}

fn lines(args: &Args, log: LogExpr) -> Result<(), Failure> {
    let why = "it is for numbers, and this query gives lines: count them, as in count_over_time()";
    refuse(&[("--step", args.times.has_step()), ("--chart", args.chart)], why)?;
    args.format.check()?;
    let time = args.times.series_range()?;
    let style = Style::new(&log, args.labels, Paint::stdout());
    let limit = args.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    if args.follow {
        let limit = limit.unwrap_or(DEFAULT_LINES);
        return followed(args, time.start, limit, &style);
    }
    let is_text = args.format == Format::Table;
    let of_format = if is_text { DEFAULT_LINES } else { LogqlOptions::default().max_lines };
    let limit = limit.unwrap_or(of_format);
    let source = args.source.open()?;
    let answer = ask::lines(&source, &args.query, Expr::Log(log), &time, limit)?;
    answer.warnings.iter().for_each(|warning| output::warning(warning));
    let mut lines = answer.lines()?;
    if args.newest_first {
        lines.reverse();
    }
    if is_text {
        let mut text = String::new();
        lines.iter().for_each(|line| style.write(line, &mut text));
        output::text(&text)?;
    } else {
        sql::write(shown::table(&lines)?, &mut *args.format.encoder())?;
    }
    if lines.len() >= limit {
        output::say(
            "there may be older lines: --limit COUNT shows more, --end those before a time",
        );
    }
    Ok(())
}

fn followed(args: &Args, start_nanos: i64, limit: usize, style: &Style) -> Result<(), Failure> {
    let as_json = match args.format {
        Format::Table => false,
        Format::Json => true,
        Format::Csv | Format::Arrow => {
            let why = "--follow writes text, or with --format json a line of JSON for each line";
            return Err(Failure::Usage(why.to_owned()));
        }
    };
    // It is not a directory: the command line does not allow that.
    let Source::Server(client) = args.source.open()? else { return Ok(()) };
    let asked = follow::Asked { query: &args.query, start_nanos, limit };
    follow::follow(&client, asked, |lines| {
        let mut text = String::new();
        for line in lines {
            match as_json {
                true => text.push_str(&output::json_line(&shown::object(line))?),
                false => style.write(line, &mut text),
            }
        }
        output::text_until_closed(&text)
    })
}

fn numbers(args: &Args, expr: Expr) -> Result<(), Failure> {
    let flags = [
        ("--limit", args.limit.is_some()),
        ("--newest-first", args.newest_first),
        ("--labels", args.labels),
        ("--follow", args.follow),
    ];
    refuse(&flags, "it is for lines, and this query gives numbers")?;
    args.format.check()?;
    let moments = Moments::of(&args.times, args.chart)?.aligned();
    let source = args.source.open()?;
    let answer = ask::numbers(&source, &args.query, expr, &moments)?;
    promql::show(answer, &moments, args.chart, args.format)
}
