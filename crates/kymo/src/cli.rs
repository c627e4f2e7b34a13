//! The commands and their help. Arguments of a command are in its own module.

use clap::{Parser, Subcommand, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  kymo import traces.pb logs.jsonl --data ./kymo-data    store OTLP files
  kymo store check ./kymo-data                           read everything, find what is damaged
  kymo block ./kymo-data/blocks/default/spans/*/*.parquet

Environment:
  KYMO_LOG    what is logged to stderr: warn (default), info, debug, or kymo_store=debug,warn";

/// Kymograph records what compute does: traces, metrics and logs, stored as Parquet.
#[derive(Debug, Parser)]
#[command(name = "kymo", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Block(crate::block::Args),
    Store(crate::store::Args),
    Import(crate::import::Args),
}

/// How a result is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Tables for people
    #[default]
    Table,
    /// JSON for programs
    Json,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
