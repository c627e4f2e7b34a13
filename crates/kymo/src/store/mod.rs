//! `kymo store …`: commands on a whole store.

mod check;
mod journal;
mod place;
mod show;

use clap::Subcommand;

use crate::cli::OutputFormat;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  kymo store check ./kymo-data             blocks, commit logs and journal of a data directory
  kymo store check ./kymo-data/blocks      only blocks and commit logs
  kymo store check s3://telemetry/prod     the same in a bucket (AWS_… variables as usual)

The exit code is 0 if nothing is damaged, missing or unreadable. Files that nothing names are
listed as orphans; they are harmless, and the store deletes them in time.";

/// Commands on a whole store
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(CheckArgs),
}

/// Verify a store: read every block whole, add up every commit log, account for every file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckArgs {
    /// A data directory, a directory of blocks, or s3://BUCKET/PREFIX
    #[arg(value_name = "DIR|URL")]
    place: String,
    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

/// Runs the command; false if something is wrong with the store.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    match &args.command {
        Command::Check(args) => check::run(args),
    }
}
