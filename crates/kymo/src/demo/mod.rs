//! `kymo demo`: living data, to look around with.
//!
//! ```text
//!  Demo (crate demo) ── history, at once ──> what goes on, every second ──> Sender of `replay` ──> server
//! ```
//!
//! It starts nothing: a server has to be there. What happens is told when it has happened, so that
//! nothing lies in the future.

mod limits;
mod pages;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kymo_demo::{Demo, Detail};
use kymo_forward::Protocol;
use kymo_wire::Limits;
use kymo_wire::inspect::inspect;
use kymo_yaml::amounts;

use crate::cli::OutputFormat;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Progress;
use crate::replay::send::Sender;
use crate::units;
use limits::{EVERY, MAX_HISTORY, SEND_WITHIN};

const EXAMPLES: &str = "\
What is sent: an online shop of eight services, runs of GitHub Actions, a training on GPUs, a workflow
of hundreds of tasks, and the machines of all that; traces, metrics and logs, with a few faults to
find. docs/demo.md tells which. Everything has the resource attribute kymo.demo, so that it can be
left out of a query, and deleted:

  kymo delete --where '{ resource.kymo.demo = true }'

Headers, certificates and endpoints of single signals are told by the variables of OpenTelemetry
(OTEL_EXPORTER_OTLP_HEADERS, …).

Examples:
  kymo demo
  kymo demo --history 12h --for 1m
  kymo demo --endpoint http://server:4317 --seed 7";

/// Send living data of all kinds to a server, until stopped
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Server to send to [env: OTEL_EXPORTER_OTLP_ENDPOINT] [default: http://localhost:4317]
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// How to send: grpc, http/protobuf or http/json [env: OTEL_EXPORTER_OTLP_PROTOCOL]
    #[arg(long, value_name = "PROTOCOL")]
    protocol: Option<Protocol>,
    /// Where people open the page, for the addresses that are shown [env: KYMO_URL]
    /// [default: http://127.0.0.1:3200]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// How much lies behind when it begins: sent first, with fewer traces
    #[arg(long, value_name = "DURATION", default_value = "2h", value_parser = history)]
    history: Duration,
    /// Live the history at this speed instead of sending it at once: 60 is an hour in a minute
    #[arg(long, value_name = "FACTOR", value_parser = crate::replay::speed)]
    speed: Option<f64>,
    /// Stop so long after the history
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    lasts: Option<Duration>,
    /// Another world: the same number gives the same
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

/// Sends until somebody stops it; false if something was not taken.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    let cannot_listen = |source| Failure::Io { act: "listen to", what: "signals".into(), source };
    let interrupt = Interrupt::listen().map_err(cannot_listen)?;
    let mut sender = Sender::new(args.endpoint.as_deref(), args.protocol, SEND_WITHIN)?;
    let progress = Progress::new(None);
    let began = Instant::now();
    let lived = live(args, &mut sender, &progress, &interrupt);
    progress.finish();
    let mut summary = sender.finish();
    summary.seconds = began.elapsed().as_secs_f64();
    // Being stopped is how it ends.
    match args.format {
        OutputFormat::Json => output::json(&summary)?,
        OutputFormat::Table if summary.requests > 0 => output::text(&summary.to_string())?,
        OutputFormat::Table => {}
    }
    lived?;
    Ok(summary.is_all_taken())
}

fn live(
    args: &Args,
    sender: &mut Sender,
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let began = Instant::now();
    let began_nanos = now_nanos();
    let start_nanos = began_nanos.saturating_sub(nanos(args.history));
    let mut demo = Demo::new(args.seed, start_nanos);
    let mut lives_since: Option<Instant> = None;
    while !interrupt.is_wanted() {
        let reached = match args.speed {
            Some(speed) => {
                start_nanos.saturating_add((began.elapsed().as_secs_f64() * speed * 1e9) as u64)
            }
            None => u64::MAX,
        };
        let to_nanos = now_nanos().min(reached);
        let behind_nanos = to_nanos.saturating_sub(demo.now_nanos());
        if demo.now_nanos() >= began_nanos && behind_nanos > nanos(MAX_HISTORY) {
            // The machine slept for longer than any history is.
            demo = Demo::new(args.seed, to_nanos);
        }
        while demo.now_nanos() < to_nanos && !interrupt.is_wanted() {
            let detail = match demo.now_nanos() < began_nanos {
                true => Detail::Coarse,
                false => Detail::of(demo.now_nanos(), to_nanos),
            };
            for request in demo.advance(to_nanos, detail) {
                let inspected = inspect(request.signal, &request.body, &Limits::default());
                let records = inspected.map_or(0, |inspected| inspected.items);
                sender.send(request.signal, &request.body, records, progress, interrupt)?;
                progress.advance(request.body.len() as u64);
                progress.doing(&format!("{} records", units::count(sender.summary().records())));
            }
        }
        if demo.now_nanos() >= began_nanos {
            let since = *lives_since.get_or_insert_with(|| {
                progress.say(&pages::shown(args.url.as_deref()));
                Instant::now()
            });
            if args.lasts.is_some_and(|lasts| since.elapsed() >= lasts) {
                return Ok(());
            }
        }
        sender.wait(Some(Instant::now() + EVERY), interrupt);
    }
    Ok(())
}

fn now_nanos() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, nanos)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn duration(text: &str) -> Result<Duration, String> {
    amounts::duration(text).ok_or_else(|| "expected a duration such as 30s or 2m".to_owned())
}

fn history(text: &str) -> Result<Duration, String> {
    let history = duration(text)?;
    if history > MAX_HISTORY {
        return Err(format!("expected at most {}", units::duration(MAX_HISTORY)));
    }
    Ok(history)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_bounded() {
        assert_eq!(history("2h"), Ok(Duration::from_secs(7_200)));
        assert!(history("100d").is_err() && history("soon").is_err());
    }
}
