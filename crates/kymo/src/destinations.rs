//! `kymo destinations`: what was forwarded where, and what is on its way.

use serde_json::Value;

use crate::cli::OutputFormat;
use crate::client;
use crate::failure::Failure;
use crate::output;
use crate::source::ServerArgs;
use crate::table::{Align, Table};
use crate::units::{self, printable};

/// Show where records are forwarded, and how that goes
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    let client = args.server.client()?;
    let all: Value = client::json(client.get("/api/destinations", "application/json")?)?;
    if args.format == OutputFormat::Json {
        output::json(&all)?;
        return Ok(true);
    }
    let mut table = Table::new(&[
        ("NAME", Align::Left),
        ("PROTOCOL", Align::Left),
        ("TARGET", Align::Left),
        ("STATE", Align::Left),
        ("SENT", Align::Right),
        ("BEHIND", Align::Right),
        ("REFUSED", Align::Right),
        ("LOST", Align::Right),
        ("LAST ERROR", Align::Left),
    ]);
    for one in all["destinations"].as_array().into_iter().flatten() {
        let text = |key: &str| printable(one[key].as_str().unwrap_or_default());
        let sum = |key: &str| -> u64 {
            let signals = one["signals"].as_array().into_iter().flatten();
            signals.filter_map(|signal| signal[key].as_u64()).sum()
        };
        table.row(vec![
            text("name"),
            text("protocol"),
            text("target"),
            text("state"),
            units::count(sum("sent_records")),
            units::bytes(one["lag_bytes"].as_u64().unwrap_or(0)),
            units::count(sum("refused_records")),
            units::count(sum("lost_records")),
            printable(one["last_error"]["message"].as_str().unwrap_or_default()),
        ]);
    }
    output::text(&table.to_string())?;
    Ok(true)
}
