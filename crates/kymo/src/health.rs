//! `kymo health`: whether a server answers, for those who start and watch it.

use std::time::Duration;

use crate::client::body;
use crate::failure::Failure;
use crate::output;
use crate::source::ServerArgs;

/// A server that does not say it within this time is not well.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Say whether a server is ready; exit code 0 if it is
///
/// For health checks of containers. It needs no login.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    let client = args.server.client()?.within(TIMEOUT)?;
    let answer = body(client.get("/ready", "text/plain")?)?;
    output::text(&String::from_utf8_lossy(&answer))?;
    Ok(true)
}
