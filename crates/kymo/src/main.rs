//! `kymo`, the command line of Kymograph.
//!
//! Glue and nothing else: arguments in, a library called, a table or JSON out. Each command has a
//! module of its own with its arguments, what it does, and how its result looks.
//!
//! | module | what it is for |
//! |---|---|
//! | `cli` | the commands and their help |
//! | `serve`, `sql`, `query`, `promql`, `logs`, `top`, `trace`, `import`, `replay`, `open`, `block`, `store` | one command each |
//! | `demo` | living data, to look around with |
//! | `audience`, `destinations`, `token`, `certs` | who is recorded, where it goes, who may ask |
//! | `delete` | records that are to go for good |
//! | `ci` | GitHub Actions runs as traces: commands of their own |
//! | `config` | settings of `serve`, and the command that checks and shows them |
//! | `health` | whether a server is ready |
//! | `generate` | completions and manual pages |
//! | `source`, `client` | where queries are asked: a server over HTTP, or a directory |
//! | `failure` | what ends a command, in one line |
//! | `logging` | log lines on stderr |
//! | `output`, `table`, `units`, `terminal` | results for people and for programs |
//! | `files` | recorded files as requests of OTLP, for all commands that read them |
//! | `frame`, `runs` | results as Arrow; numbers over time, drawn |
//! | `times`, `caret` | `--since`, `--start`, `--end`, `--step`; where in a query the error is |
//! | `progress` | bars on a terminal, nothing elsewhere |
//! | `interrupt` | Ctrl-C |
//!
//! Results go to stdout; messages, logs and bars to stderr. Exit codes: 0 all is well, 1 something
//! failed or was found wrong, 2 the command line cannot be understood.

// They panic where nobody reads; `output` does not.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

mod audience;
mod block;
mod caret;
mod certs;
mod ci;
mod cli;
mod client;
mod config;
mod delete;
mod demo;
mod destinations;
mod doctor;
mod export;
mod failure;
mod files;
mod frame;
mod generate;
mod health;
mod import;
mod interrupt;
mod logging;
mod logs;
mod open;
mod output;
mod progress;
mod promql;
mod query;
mod replay;
mod report;
mod run;
mod runs;
mod serve;
mod source;
mod sql;
mod store;
mod table;
mod terminal;
mod times;
mod token;
mod top;
mod trace;
mod units;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use failure::Failure;

const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // The server's settings say how it logs; it begins when it has read them.
    let starts_logging = matches!(cli.command, Command::Serve(_));
    if !starts_logging && let Err(why) = logging::start_from_environment() {
        // Neither a build nor a command ends because of how something is logged.
        if !matches!(cli.command, Command::Ci(_) | Command::Run(_)) {
            output::error(&why);
            return ExitCode::from(EXIT_USAGE);
        }
        output::warning(&why);
    }
    match run(cli.command) {
        Ok(code) => code,
        Err(failure) => {
            output::error(&failure.to_string());
            match failure {
                Failure::Usage(_) => ExitCode::from(EXIT_USAGE),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

/// Runs a command.
fn run(command: Command) -> Result<ExitCode, Failure> {
    // False if it has already said what is wrong.
    let is_well = match command {
        Command::Ci(args) => return ci::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Sql(args) => sql::run(&args),
        Command::Query(args) => query::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Promql(args) => promql::run(&args),
        Command::Logs(args) => logs::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Run(args) => return Ok(run::run(&args)),
        Command::Report(args) => report::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Open(args) => open::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Block(args) => block::run(&args),
        Command::Store(args) => store::run(&args),
        Command::Config(args) => config::command::run(&args),
        Command::Health(args) => health::run(&args),
        Command::Audience(args) => audience::run(&args),
        Command::Delete(args) => delete::run(&args),
        Command::Destinations(args) => destinations::run(&args),
        Command::Token(args) => token::run(&args),
        Command::Certs(args) => certs::run(&args),
        Command::Completions(args) => generate::completions(&args),
        Command::Man(args) => generate::man(&args),
    }?;
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
