//! `shift-time`: the times of a saved run, moved.

use std::path::PathBuf;
use std::time::Duration;

use kymo_ci::shift;

use super::common::{duration, read};
use crate::failure::Failure;
use crate::{output, times};

/// Move the times of a saved run, so that its first created_at is an hour ago
///
/// Nothing but times is changed; what is null stays null.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// File of jobs, as GitHub's API or gh told them
    #[arg(default_value = "all_jobs.json")]
    file: PathBuf,
    /// How long ago the first created_at shall be
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1h")]
    ago: Duration,
    /// When it shall be instead: 2026-01-02T03:04:05Z
    #[arg(long, value_name = "TIME", value_parser = times::moment, conflicts_with = "ago")]
    to: Option<i64>,
    /// File to write [default: the same]; - for stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let bytes = read(&args.file)?;
    let now = kymo_ci::times::now();
    let ago = u64::try_from(args.ago.as_nanos()).unwrap_or(u64::MAX);
    let to = match args.to {
        Some(nanos) => u64::try_from(nanos)
            .map_err(|_| Failure::Usage("--to must not be before 1970".into()))?,
        None => now.saturating_sub(ago),
    };
    let shifted = shift::shift(&bytes, to)
        .map_err(|why| Failure::Other(format!("{}: {why}", args.file.display())))?;
    let target = args.output.as_ref().unwrap_or(&args.file);
    if target.as_os_str() == "-" {
        return output::text(&shifted.text);
    }
    std::fs::write(target, &shifted.text).map_err(|error| Failure::io("write", target, error))?;
    let (count, days) = (shifted.count, shifted.by_nanos as f64 / 86_400e9);
    output::note(&format!("moved {count} times by {days:+.3} days in {}", target.display()));
    Ok(())
}
