//! `kymo ci`: GitHub Actions runs as traces.
//!
//! Glue over [`kymo_ci`]: variables and files in, spans out; queries about runs that are stored.
//!
//! | module | commands |
//! |---|---|
//! | `variables` | `setup`, `traceparent`, `load`, `attrs`, `stash` |
//! | `command` | `record`, `exec` |
//! | `summarize` | `summarize` |
//! | `fetch` | `fetch`, and what others get from GitHub |
//! | `shift` | `shift-time` |
//! | `report` | `report` |
//! | `history` | `runs`, `run`, `trend`, `labels` |
//! | `common` | what they share: flags of sending, warnings |
//!
//! Nothing of this may break a build. A command that runs another returns that one's status; any
//! other failure is a warning and status 0, unless `--strict` is given. Queries, which people ask,
//! fail as all commands do.

mod command;
mod common;
mod fetch;
mod history;
mod report;
mod shift;
mod summarize;
mod variables;

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples, in a workflow:
  kymo ci setup --file telemetry-env-vars         the first job: variables of the run
  kymo ci load telemetry-env-vars                 other jobs: take them over
  kymo ci attrs --lookup rapids.CUDA_VER=12.9     and say what this job is
  kymo ci record sccache-stats.txt -- sccache --show-adv-stats
  kymo ci exec -- cmake --build build             run something, with a span around it
  kymo ci stash                                   the end of a job: leave its attributes
  kymo ci summarize --fetch                       the last job: send the run as a trace
  kymo ci report                                  and say how it went

And at a desk:
  kymo ci fetch --repo rapidsai/cudf --run 123456 --out run
  kymo ci summarize run/all_jobs.json run/run.json
  kymo ci runs --since 7d
  kymo ci trend --workflow pr --since 30d";

/// GitHub Actions runs as traces
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    /// Fail if something goes wrong, instead of warning of it
    #[arg(long, global = true)]
    strict: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Setup(variables::SetupArgs),
    Traceparent(variables::TraceparentArgs),
    Load(variables::LoadArgs),
    Attrs(variables::AttrsArgs),
    Stash(variables::StashArgs),
    Record(command::RecordArgs),
    Exec(command::ExecArgs),
    Summarize(summarize::Args),
    Fetch(fetch::Args),
    ShiftTime(shift::Args),
    Report(report::Args),
    Runs(history::RunsArgs),
    Run(history::RunArgs),
    Trend(history::TrendArgs),
    Labels(history::LabelsArgs),
}

/// Runs a command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let done = match &args.command {
        Command::Record(args) => return Ok(command::record(args)),
        Command::Exec(args) => return Ok(command::exec(args)),
        Command::Runs(args) => return history::runs(args).map(|()| ExitCode::SUCCESS),
        Command::Run(args) => return history::run(args).map(|()| ExitCode::SUCCESS),
        Command::Trend(args) => return history::trend(args).map(|()| ExitCode::SUCCESS),
        Command::Labels(args) => return history::labels(args).map(|()| ExitCode::SUCCESS),
        Command::Setup(args) => variables::setup(args),
        Command::Traceparent(args) => variables::traceparent(args),
        Command::Load(args) => variables::load(args),
        Command::Attrs(args) => variables::attrs(args),
        Command::Stash(args) => variables::leave(args),
        Command::Summarize(args) => summarize::run(args),
        Command::Fetch(args) => fetch::run(args),
        Command::ShiftTime(args) => shift::run(args),
        Command::Report(args) => report::run(args),
    };
    match done {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(failure) if args.strict || matches!(failure, Failure::Usage(_)) => Err(failure),
        Err(failure) => {
            output::warning(&format!("{failure} (not fatal: --strict makes it so)"));
            Ok(ExitCode::SUCCESS)
        }
    }
}
