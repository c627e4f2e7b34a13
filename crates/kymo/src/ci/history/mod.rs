//! Runs that are stored: `runs`, `run`, `trend`, `labels`.
//!
//! Each asks in SQL what `--show-sql` shows, so that anybody can go on from there.
//!
//! | module | what is there |
//! |---|---|
//! | `sql` | the queries |
//! | `columns` | their answers as columns |
//! | `trend` | jobs and caches over time |

pub(super) mod columns;
pub(super) mod sql;
mod trend;

use std::ops::Range;

use crate::failure::Failure;
use crate::frame::{Format, Frame, Unit};
use crate::source::{Source, SourceArgs};
use crate::sql::answer::Answer;
use crate::sql::write;
use crate::times::TimeArgs;
use crate::{output, times};
use columns::Columns;
use sql::Filter;
pub(super) use trend::{TrendArgs, trend};

/// How far back is looked unless told otherwise.
const DEFAULT_SINCE_NANOS: i64 = 30 * 24 * 3600 * 1_000_000_000;

/// Flags that all of them have.
#[derive(Debug, clap::Args)]
pub(super) struct AskArgs {
    /// Only runs of this workflow
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// Only runs of this branch
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Only runs of this repository
    #[arg(long, value_name = "OWNER/NAME")]
    repo: Option<String>,
    #[command(flatten)]
    times: TimeArgs,
    /// Show the query instead of its answer
    #[arg(long)]
    show_sql: bool,
    #[command(flatten)]
    source: SourceArgs,
    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl AskArgs {
    /// What is asked about: the last 30 days unless told otherwise.
    fn filter(&self) -> Result<Filter, Failure> {
        let end = self.times.end();
        let range: Range<i64> = match self.times.range()? {
            Some(range) => range,
            None => end.saturating_sub(DEFAULT_SINCE_NANOS)..times::now().max(end),
        };
        Ok(Filter {
            workflow: self.workflow.clone(),
            branch: self.branch.clone(),
            repository: self.repo.clone(),
            range,
        })
    }

    /// Asks, and makes a table of the answer; or shows the query.
    fn answer(
        &self,
        query: &str,
        frame: impl FnOnce(&Columns, &mut Frame) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.show_sql {
            return output::text(&format!("{query}\n"));
        }
        self.format.check()?;
        let source = self.source.open()?;
        let columns = ask(&source, query)?;
        let mut shown = Frame::new(self.format.reader());
        frame(&columns, &mut shown)?;
        write(shown.answer()?, &mut *self.format.encoder())
    }
}

/// Asks in SQL, and gives the whole answer.
pub(super) fn ask(source: &Source, query: &str) -> Result<Columns, Failure> {
    Columns::read(Answer::ask(source, query)?)
}

/// List runs that are stored, the newest first
#[derive(Debug, clap::Args)]
pub(crate) struct RunsArgs {
    #[command(flatten)]
    ask: AskArgs,
    /// Runs to show
    #[arg(long, value_name = "COUNT", default_value_t = 30)]
    limit: u64,
}

pub(super) fn runs(args: &RunsArgs) -> Result<(), Failure> {
    let query = sql::runs(&args.ask.filter()?, args.limit);
    args.ask.answer(&query, |found, frame| {
        frame.times("started", found.times("started")?);
        for name in ["repository", "workflow", "branch", "event"] {
            frame.texts(name, found.texts(name)?);
        }
        for name in ["run", "attempt"] {
            frame.integers(name, found.integers(name)?);
        }
        frame.texts("conclusion", found.texts("conclusion")?);
        frame.numbers("duration", Unit::Seconds, found.numbers("seconds")?);
        frame.integers("jobs", found.integers("jobs")?);
        frame.integers("failed", found.integers("failed")?);
        frame.texts("trace_id", found.texts("trace_id")?);
        Ok(())
    })
}

/// Show one run: its jobs, how long they waited and ran, how they ended
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Number of the run, or id of its trace
    #[arg(value_name = "RUN|TRACE")]
    id: String,
    /// Show the query instead of its answer
    #[arg(long)]
    show_sql: bool,
    #[command(flatten)]
    source: SourceArgs,
    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    let query = sql::jobs_of(&args.id).ok_or_else(|| {
        Failure::Usage(format!(
            "{:?} is neither the number of a run nor the id of a trace (32 hex digits)",
            args.id
        ))
    })?;
    if args.show_sql {
        return output::text(&format!("{query}\n"));
    }
    args.format.check()?;
    let source = args.source.open()?;
    let found = ask(&source, &query)?;
    if found.is_empty() {
        return Err(Failure::Other(format!(
            "no run {} is stored: kymo ci runs lists those that are",
            args.id
        )));
    }
    let mut frame = Frame::new(args.format.reader());
    frame.texts("job", found.texts("job")?);
    frame.integers("attempt", found.integers("attempt")?);
    frame.texts("conclusion", found.texts("conclusion")?);
    frame.times("created", found.times("created")?);
    frame.numbers("queued", Unit::Seconds, found.numbers("queue_seconds")?);
    frame.numbers("ran", Unit::Seconds, found.numbers("run_seconds")?);
    frame.texts("labels", found.texts("labels")?);
    frame.texts("runner", found.texts("runner")?);
    frame.texts("trace_id", found.texts("trace_id")?);
    write(frame.answer()?, &mut *args.format.encoder())
}

/// Show how long runners were used and waited for, by their labels
#[derive(Debug, clap::Args)]
pub(crate) struct LabelsArgs {
    #[command(flatten)]
    ask: AskArgs,
}

pub(super) fn labels(args: &LabelsArgs) -> Result<(), Failure> {
    let query = sql::labels(&args.ask.filter()?);
    args.ask.answer(&query, |found, frame| {
        frame.texts("labels", found.texts("labels")?);
        frame.integers("jobs", found.integers("jobs")?);
        frame.numbers("runner_minutes", Unit::None, found.numbers("runner_minutes")?);
        frame.numbers("queue_p50", Unit::Seconds, found.numbers("queue_p50_seconds")?);
        frame.numbers("queue_p95", Unit::Seconds, found.numbers("queue_p95_seconds")?);
        frame.numbers("queue_max", Unit::Seconds, found.numbers("queue_max_seconds")?);
        Ok(())
    })
}
