//! The commands and their help. Arguments of a command are in its own module.

use clap::{Parser, Subcommand, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  kymo serve                                             receive OTLP on 4317 and 4318, answer on 3200
  kymo demo                                              send living data to look around with
  kymo sql 'SELECT name, count(*) FROM spans GROUP BY 1' ask in SQL
  kymo query '{ status = error }' --since 1h              find traces with TraceQL
  kymo promql 'rate(http_requests_total[5m])' --chart     ask in PromQL, and draw the answer
  kymo logs '{app=\"shop\"} |= \"timeout\"' --follow        ask in LogQL, and see what comes
  kymo top                                               watch hosts, GPUs, sessions and the server
  kymo trace 5b8efff798038103d269b633813fc60c            show a trace as a tree
  kymo export --signal logs --since 1d -o logs.parquet   write what a query finds to a file
  kymo ci summarize all_jobs.json                        send a run of GitHub Actions as a trace
  kymo run -- python train.py                            any command as a session
  kymo report train.kymo.jsonl                           how a session went
  kymo import traces.pb logs.jsonl --data ./kymo-data    store OTLP files
  kymo store check ./kymo-data                           read everything, find what is damaged
  kymo token new ci --role write                         a token for those who send
  kymo audience create flag_ot_traces                    decide who is recorded
  kymo delete --where '{ span.user.id = \"ada\" }' --dry-run  what a privacy request would delete
  kymo block ./kymo-data/blocks/default/spans/*/*.parquet

Environment:
  KYMO_LOG       what is logged to stderr: warn (default), info, debug, or kymo_store=debug,warn
  KYMO_URL       server that kymo sql, query, promql, logs, top, trace and ci ask
  KYMO_TENANT    whose data they ask for
  KYMO_TOKEN     who they are, for a server that wants to know
  KYMO_CA        authorities to trust instead of the system's, in PEM
  KYMO_…         settings of kymo serve, see kymo serve --help";

/// Kymograph records what compute does: it receives traces, metrics and logs, keeps them as Parquet,
/// and answers queries.
#[derive(Debug, Parser)]
#[command(name = "kymo", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Serve(crate::serve::Args),
    Demo(crate::demo::Args),
    Sql(crate::sql::Args),
    Query(crate::query::Args),
    Export(crate::export::Args),
    Promql(crate::promql::Args),
    Logs(crate::logs::Args),
    Top(crate::top::Args),
    Trace(crate::trace::Args),
    Ci(crate::ci::Args),
    Run(crate::run::Args),
    Report(crate::report::Args),
    Replay(crate::replay::Args),
    Open(crate::open::Args),
    Doctor(crate::doctor::Args),
    Import(crate::import::Args),
    Block(crate::block::Args),
    Store(crate::store::Args),
    Config(crate::config::command::Args),
    Health(crate::health::Args),
    Audience(crate::audience::Args),
    Delete(Box<crate::delete::Args>),
    Destinations(crate::destinations::Args),
    Token(crate::token::Args),
    Certs(crate::certs::Args),
    Completions(crate::generate::CompletionsArgs),
    Man(crate::generate::ManArgs),
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
