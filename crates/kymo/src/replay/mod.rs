//! `kymo replay`: recorded files, sent again.
//!
//! ```text
//!  files ──> order: one after another, or all by time ──> shift: times, ids ──> pace ──> send ──> server
//! ```
//!
//! Files are read as streams, twice if times are moved: the earliest of all must be known before
//! the first is sent. Without `--speed`, requests of one signal that follow one another are joined,
//! so that a file of many small lines is not sent line by line.
//!
//! Requests are sent one after another, in their order. A server that is busy or away is tried again
//! for a while; one that stays away is the end. What it refuses is counted and left behind.

mod limits;
mod order;
mod pace;
pub(crate) mod send;
mod shift;
pub(crate) mod summary;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use kymo_forward::Protocol;

use crate::cli::OutputFormat;
use crate::failure::Failure;
use crate::files::{self, FORMATS_HELP, Fault, ReadArgs, Request, Walk};
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Progress;
use kymo_yaml::amounts;
use order::ByTime;
use pace::Pace;
use send::Sender;
use shift::{Shift, ShiftTo};

const EXAMPLES: &str = "\
Times: --shift-to moves all times of all files by one amount, so that the earliest of them is then;
files are read twice for it. With --speed, a request is sent when the last of its records happened,
counted from the first request, and files are sent beside one another; without, everything goes as
fast as the server takes it.

A server keeps spans with the same ids once. --new-ids makes other traces of them, the same ones for
all files of one call; span ids and session ids stay.

Headers, certificates, compression and endpoints of single signals are told by the variables of
OpenTelemetry (OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_LOGS_ENDPOINT, …). The exit code is 1
if something could not be read or was not taken.

Examples:
  kymo replay train.kymo.jsonl
  kymo replay *.telemetry.jsonl --endpoint http://collector:4318 --shift-to now
  kymo replay run.jsonl --shift-to now --speed 10 --new-ids";

/// Send recorded files to a server
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{FORMATS_HELP}\n\n{EXAMPLES}"))]
pub(crate) struct Args {
    /// Files to read; - is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Server to send to [env: OTEL_EXPORTER_OTLP_ENDPOINT] [default: http://localhost:4317]
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// How to send: grpc, http/protobuf or http/json [env: OTEL_EXPORTER_OTLP_PROTOCOL]
    #[arg(long, value_name = "PROTOCOL")]
    protocol: Option<Protocol>,
    /// Time for one request, retries included
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    timeout: Duration,
    /// Move all times so that the earliest is now, or at this time
    #[arg(long, value_name = "now|TIME")]
    shift_to: Option<ShiftTo>,
    /// Send as fast as it happened (1), ten times as fast (10), …
    #[arg(long, value_name = "FACTOR", value_parser = speed)]
    speed: Option<f64>,
    /// Send it as other traces
    #[arg(long)]
    new_ids: bool,
    #[command(flatten)]
    reading: ReadArgs,
    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

/// Sends every file; false if something was not taken.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    let cannot_listen = |source| Failure::Io { act: "listen to", what: "signals".into(), source };
    let interrupt = Interrupt::listen().map_err(cannot_listen)?;
    let mut sender = Sender::new(args.endpoint.as_deref(), args.protocol, args.timeout)?;
    let shift = Shift::find(args.shift_to, args.new_ids, args, &interrupt)?;
    let progress = Progress::new(files::total_bytes(&args.files));
    let began = Instant::now();
    let replayed = replay(args, &shift, &mut sender, &progress, &interrupt);
    progress.finish();
    let mut summary = sender.finish();
    summary.files = Some(args.files.len() as u64);
    summary.seconds = began.elapsed().as_secs_f64();
    summary.shift_seconds = shift.seconds();
    summary.is_interrupted = interrupt.is_wanted();
    let ended = match replayed {
        Ok(unreadable) => {
            summary.unreadable = unreadable;
            Ok(())
        }
        Err(failure) => Err(failure),
    };
    match args.format {
        OutputFormat::Json => output::json(&summary)?,
        OutputFormat::Table => output::text(&summary.to_string())?,
    }
    ended?;
    if summary.is_interrupted {
        output::error("interrupted; what is counted above was sent");
    }
    Ok(summary.is_all_taken())
}

/// Sends everything; how much could not be read.
fn replay(
    args: &Args,
    shift: &Shift,
    sender: &mut Sender,
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<u64, Failure> {
    let options = args.reading.options();
    let send = |mut request: Request, sender: &mut Sender, pace: Option<&mut Pace>| {
        if let Err(error) = shift.apply(&mut request) {
            let why = format!("is not a request of {}: {}", request.signal, error.kind);
            return Ok(Err(Fault::at(request.place.moved(error.offset), why)));
        }
        if let Some(pace) = pace {
            // It is of times as they are in the file: how far they are apart is the same.
            sender.wait(pace.until(&request), interrupt);
        }
        sender.add(request, args.speed.is_none(), progress, interrupt)
    };
    let Some(speed) = args.speed else {
        let mut walk = Walk { options, progress, interrupt, is_strict: false, faults: 0 };
        let is_done = walk.files(&args.files, |request| send(request, sender, None))?;
        if is_done {
            sender.flush(progress, interrupt)?;
        }
        return Ok(walk.faults);
    };
    let mut pace = Pace::new(speed);
    let mut sources = ByTime::open(&args.files, &options, progress);
    while let Some(request) = sources.next(progress) {
        if let Err(fault) = send(request, sender, Some(&mut pace))? {
            sources.fault(&fault, progress);
        }
        if interrupt.is_wanted() {
            break;
        }
    }
    Ok(sources.faults())
}

fn duration(text: &str) -> Result<Duration, String> {
    amounts::duration(text).ok_or_else(|| "expected a duration such as 30s or 2m".to_owned())
}

/// A factor above 0.
pub(crate) fn speed(text: &str) -> Result<f64, String> {
    let speed = text.trim_end_matches('x').parse::<f64>().ok();
    speed
        .filter(|speed| speed.is_finite() && *speed > 0.0)
        .ok_or_else(|| "expected a factor above 0, such as 1, 10 or 0.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_a_factor_above_zero() {
        assert_eq!((speed("1"), speed("10x"), speed("0.5")), (Ok(1.0), Ok(10.0), Ok(0.5)));
        for wrong in ["0", "-1", "NaN", "inf", "fast", ""] {
            assert!(speed(wrong).is_err(), "{wrong}");
        }
    }
}
