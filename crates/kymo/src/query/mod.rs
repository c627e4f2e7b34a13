//! `kymo query`: TraceQL asked of a server or of a directory.
//!
//! ```text
//!  server ── /tempo/api/search, /tempo/api/metrics/… ──┐          ┌─> traces ─┐
//!                                                      ├─> ask ───┼─> spans ──┼─> Arrow ─> table | json | csv | arrow
//!  directory ── kymo_engine ───────────────────────────┘          ├─> series ─┤
//!                                                                 └─> groups ─┘
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | `ask`, `answers` | asking, and what a server answers |
//! | `flags` | what is asked for, and flags that have no use for it |
//! | `traces`, `spans`, `series`, `groups` | the four kinds of results |
//! | `aggregate` | `--agg` |
//!
//! A query is read here first, so that what is wrong with it is said without asking anybody. All
//! results are written by the formats of `kymo sql`.

mod aggregate;
mod answers;
mod ask;
mod flags;
mod groups;
mod series;
mod spans;
mod traces;

use clap::ValueEnum;
use kymo_engine::traceql::{Search, Sort as Order};
use kymo_server::limits::MAX_SEARCH_TRACES;
use kymo_traceql::ast::Query;

use crate::failure::Failure;
use crate::frame::{Format, Reader};
use crate::source::SourceArgs;
use crate::sql::answer::Answer;
use crate::times::TimeArgs;
use crate::{caret, output, sql};
use aggregate::Aggregate;
pub(crate) use ask::Asker;
use flags::Kind;

/// Traces that people are shown unless told otherwise. Programs get all.
const DEFAULT_TRACES: usize = 20;

const EXAMPLES: &str = "\
Time: everything for traces and spans, the last hour for series and groups, unless told otherwise.

Examples:
  kymo query '{ status = error }'                              the newest traces with errors
  kymo query '{ duration > 1s }' --since 1d --sort duration    the slowest traces of a day
  kymo query '{ span.http.route = \"/cart\" } | select(span.http.method)' --spans --format csv
  kymo query '{ } | rate() by (resource.service.name)' --since 6h
  kymo query '{ } | quantile_over_time(duration, .5, .99)' --instant
  kymo query '{ }' --group-by name --agg 'count()' --agg 'p99(duration)' --since 30d
  kymo query '{ status = error }' --data ./kymo-data           without a server, or beside one";

/// Ask in TraceQL, of a server or of a directory
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The query, such as { status = error }
    #[arg(value_name = "QUERY")]
    query: String,
    /// Show the spans that match, one on each line, instead of their traces
    #[arg(long, conflicts_with_all = ["group_by", "agg"])]
    spans: bool,
    /// Group the spans that match by an attribute, such as resource.service.name; may be repeated
    #[arg(long, value_name = "ATTRIBUTE", value_delimiter = ',')]
    group_by: Vec<String>,
    /// What to compute of each group: count(), sum(x), avg(x), min(x), max(x), p50(x), p99(x); may
    /// be repeated
    #[arg(long, value_name = "AGGREGATE")]
    agg: Vec<Aggregate>,
    #[command(flatten)]
    times: TimeArgs,
    /// Traces to find [default: 20 in a table, else all], or groups to show [default: all]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Spans to show of each spanset, with --spans [default: all]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    spans_per_set: Option<u64>,
    /// Which traces come first [default: newest]
    #[arg(long, value_enum)]
    sort: Option<Sort>,
    /// One number for each series over all the time, not one for each step
    #[arg(long, conflicts_with = "step")]
    instant: bool,
    /// Show how the answer would be found, not the answer
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    source: SourceArgs,
    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Those with the newest matching spans; the fastest, since it need not look at everything
    #[default]
    Newest,
    /// Those that began last
    Start,
    /// The longest
    Duration,
    /// Those with the most matching spans
    Spans,
}

impl From<Sort> for Order {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Newest => Self::Newest,
            Sort::Start => Self::Start,
            Sort::Duration => Self::Duration,
            Sort::Spans => Self::Spans,
        }
    }
}

/// Asks, and writes what comes.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    let query = match kymo_traceql::parse(&args.query) {
        Ok(query) => query,
        Err(error) => {
            let place = error.position().map(|at| (at.line, at.column));
            caret::show(&error.to_string(), &args.query, place);
            return Ok(false);
        }
    };
    match answer(args, query) {
        // A server of another version may know less.
        Err(Failure::Status { status: 400, message }) => {
            caret::show(&message, &args.query, caret::place_in(&message));
            Ok(false)
        }
        answered => answered.map(|()| true),
    }
}

fn answer(args: &Args, query: Query) -> Result<(), Failure> {
    let kind = Kind::of(args, &query);
    kind.refuse_flags(args)?;
    args.format.check()?;
    let reader = args.format.reader();
    let source = args.source.open()?;
    let asker = Asker::new(&source);
    if args.explain {
        let mut plan = asker.explain(query, args.times.range()?)?;
        if !plan.ends_with('\n') {
            plan.push('\n');
        }
        return output::text(&plan);
    }
    let limit = args.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    match kind {
        Kind::Groups => {
            let asked = groups::Asked::new(query, &args.group_by, &args.agg, limit)?;
            write(args.format, groups::find(&asker, &asked, &args.times, reader)?)
        }
        Kind::Series => {
            let found = series::find(&asker, query, &args.times, args.instant, reader)?;
            write(args.format, found)
        }
        Kind::Traces | Kind::Spans => {
            let of_format = if reader.is_person() { DEFAULT_TRACES } else { MAX_SEARCH_TRACES };
            let per_set = args.spans_per_set.and_then(|count| usize::try_from(count).ok());
            let search = Search {
                query,
                time: args.times.range()?,
                limit: limit.unwrap_or(of_format),
                spans_per_set: per_set.unwrap_or(usize::MAX),
                sort: args.sort.unwrap_or_default().into(),
                after: None,
            };
            find(args, &asker, search, reader)
        }
    }
}

/// Looks for traces or spans, and says if there may be more.
fn find(args: &Args, asker: &Asker<'_>, search: Search, reader: Reader) -> Result<(), Failure> {
    let limit = search.limit;
    let has_more = if args.spans {
        let spans = spans::find(asker, search, reader)?;
        write(args.format, spans.found)?;
        spans.has_more
    } else {
        let traces = asker.traces(Search { spans_per_set: 1, ..search })?;
        write(args.format, traces::frame(traces.found, reader)?)?;
        traces.has_more
    };
    if has_more && limit < MAX_SEARCH_TRACES {
        output::say("there may be more traces: --limit COUNT shows them");
    } else if has_more {
        let why = "ask for less time, by --start and --end";
        output::say(&format!("there may be more traces than {limit}: {why}"));
    }
    Ok(())
}

fn write(format: Format, answer: Answer<'_>) -> Result<(), Failure> {
    sql::write(answer, &mut *format.encoder())
}
