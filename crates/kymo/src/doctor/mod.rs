//! `kymo doctor`: why nothing shows up.
//!
//! Walks the way of a record from this shell to a server, and says of each step whether it works and
//! what to do if not.
//!
//! ```text
//!  switches ──> endpoint ──> name, connection, language ──> each signal is taken ──> server shows it
//!  machine: GPU driver, disk, limits
//! ```
//!
//! | module | what is looked at |
//! |---|---|
//! | `check` | what is found, as lines and as JSON |
//! | `switches` | what turns telemetry off, and what is set but cannot be read |
//! | `endpoint` | where it goes and why; names, connections, proxies |
//! | `speech` | what a server speaks: gRPC, HTTP, TLS; whether it takes each signal |
//! | `record` | a record that says that it is a test |
//! | `server` | the server's readiness, its clock, its last records |
//! | `machine` | GPU driver, disk, limits of this process |
//!
//! It changes nothing: requests are empty unless `--send` is given, and the file that tests a
//! directory is removed. Nothing that it prints has a header's value or a password in it. Each wait
//! has an end ([`PATIENCE`]).

mod check;
mod endpoint;
mod machine;
mod record;
mod server;
mod speech;
mod switches;

use std::path::PathBuf;
use std::time::Duration;

use kymo_service::Config;
use kymo_service::export::Protocol;

use crate::cli::OutputFormat;
use crate::failure::Failure;
use crate::source::ServerArgs;
use check::Checks;

/// How long one step may take: longer than that, something is wrong with it.
const PATIENCE: Duration = Duration::from_secs(5);

const EXAMPLES: &str = "\
Looks at this shell's environment as a program that is started here would. Ends with 1 if something
failed; warnings are no failure.

Examples:
  kymo doctor                                          why does nothing show up?
  kymo doctor --config service.yaml                    with a service's own settings
  kymo doctor --endpoint http://collector:4318 --send  send a record of each kind that says it is a test
  kymo doctor --format json | jq '.checks[] | select(.state == \"failed\")'";

/// Find out why nothing shows up
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Endpoint to look at instead of what the environment says
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// How requests are written: grpc, http/protobuf or http/json
    #[arg(long, value_name = "PROTOCOL", value_parser = protocol)]
    protocol: Option<Protocol>,
    /// Settings of a service: a file with telemetry: {enabled, service_name, otlp_endpoint, …}
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    config: Option<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
    /// Send a span, a metric and a log record of the service kymo-doctor instead of empty requests
    #[arg(long)]
    send: bool,
    /// Directory in which a session would write its file
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    directory: PathBuf,
    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

fn protocol(word: &str) -> Result<Protocol, String> {
    Protocol::of(word).ok_or_else(|| "expected grpc, http/protobuf or http/json".to_owned())
}

/// Looks at everything; whether nothing failed.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    let environment = |name: &str| kymo_service::export::process_environment(name);
    let mut checks = Checks::default();
    let config = match &args.config {
        None => None,
        Some(path) => match Config::from_file(path) {
            Ok(config) => Some(config),
            Err(error) => {
                checks.failed("config", error, "mend the file");
                None
            }
        },
    };
    switches::look(&mut checks, config.as_ref(), &environment);
    let asked = endpoint::asked(args, config.as_ref());
    let sent = endpoint::look(&mut checks, &asked, &environment, args.send);
    server::look(&mut checks, &args.server, sent.as_ref());
    machine::look(&mut checks, &args.directory);
    checks.write(args.format)?;
    Ok(!checks.has_failed())
}
