//! `kymo`, the command line of Kymograph.
//!
//! Glue and nothing else: arguments in, a library called, a table or JSON out. Each command has a
//! module of its own with its arguments, what it does, and how its result looks.
//!
//! | module | what it is for |
//! |---|---|
//! | `cli` | the commands and their help |
//! | `block`, `store`, `import` | one command each |
//! | `failure` | what ends a command, in one line |
//! | `output`, `table`, `units` | results for people and for programs |
//! | `progress` | bars on a terminal, nothing elsewhere |
//! | `files` | a directory that is only looked at |
//! | `interrupt` | Ctrl-C |
//!
//! Results go to stdout; messages, logs and bars to stderr. Exit codes: 0 all is well, 1 something
//! failed or was found wrong, 2 the command line cannot be understood.

mod block;
mod cli;
mod failure;
mod files;
mod import;
mod interrupt;
mod output;
mod progress;
mod store;
mod table;
mod units;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use cli::{Cli, Command};
use failure::Failure;

const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Err(why) = start_logging() {
        eprintln!("error: {why}");
        return ExitCode::from(EXIT_USAGE);
    }
    match run(cli.command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a command; false if it has already said what is wrong.
fn run(command: Command) -> Result<bool, Failure> {
    match command {
        Command::Block(args) => block::run(&args),
        Command::Store(args) => store::run(&args),
        Command::Import(args) => import::run(&args),
    }
}

/// Sends what the libraries log to stderr: warnings, or what `KYMO_LOG` asks for.
fn start_logging() -> Result<(), String> {
    let wanted = std::env::var("KYMO_LOG").unwrap_or_default();
    let wanted = if wanted.is_empty() { "warn" } else { &wanted };
    let filter: Targets = wanted.parse().map_err(|why| {
        format!("KYMO_LOG=\"{wanted}\" is not understood ({why}): use info, or kymo_store=debug")
    })?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    tracing_subscriber::registry().with(lines).with(filter).init();
    Ok(())
}
