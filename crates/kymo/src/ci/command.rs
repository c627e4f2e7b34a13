//! `record` and `exec`: a command, with a span around it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use kymo_ci::command::{Outcome, Output, describe, parent_of, run};
use kymo_ci::environment::Environment;
use kymo_ci::ids::{SpanId, TraceId, TraceParent};
use kymo_ci::redact::Redactor;
use kymo_ci::send::spool::Spool;
use kymo_ci::warnings::Warnings;

use super::common::{SendArgs, stash_directory, warn};
use crate::output;

/// Time for sending one span: the build waits for it.
const SEND_TIMEOUT: Duration = Duration::from_secs(3);
/// After a server was not reached, spans of commands go to the spool for this time, untried: a build
/// of a hundred commands must not wait a hundred times.
const UNREACHED_PAUSE: Duration = Duration::from_secs(60);

const REDACTION: &str = "\
Secrets are taken out of the command line that the span shows: tokens of the usual shapes, passwords
in addresses, values of arguments and variables whose names sound like it. docs/ci.md has the list.";

#[derive(Debug, clap::Args)]
struct CommandArgs {
    /// Name of the span [default: that of the program]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Take out what matches this regular expression too; may be repeated
    #[arg(long, value_name = "REGEX")]
    redact: Vec<String>,
    /// Take nothing out of the command line
    #[arg(long, conflicts_with = "redact")]
    no_redact: bool,
    #[command(flatten)]
    send: SendArgs,
}

/// Run a command, keep its output in a file for the summary, and record a span for it
#[derive(Debug, clap::Args)]
#[command(after_help = REDACTION)]
pub(super) struct RecordArgs {
    #[command(flatten)]
    common: CommandArgs,
    /// Directory of the file [default: $GITHUB_WORKSPACE/telemetry-artifacts]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Name of the file
    file: PathBuf,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Run a command and record a span for it
#[derive(Debug, clap::Args)]
#[command(after_help = REDACTION)]
pub(super) struct ExecArgs {
    #[command(flatten)]
    common: CommandArgs,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

pub(super) fn record(args: &RecordArgs) -> ExitCode {
    let environment = Environment::of_process();
    let path = stash_directory(args.dir.as_deref(), &environment).join(&args.file);
    run_and_send(&args.common, &args.command, &Output::Tee(&path), Some(&path), &environment)
}

pub(super) fn exec(args: &ExecArgs) -> ExitCode {
    let environment = Environment::of_process();
    run_and_send(&args.common, &args.command, &Output::Only, None, &environment)
}

fn run_and_send(
    args: &CommandArgs,
    words: &[OsString],
    out: &Output<'_>,
    file: Option<&Path>,
    environment: &Environment,
) -> ExitCode {
    let mut warnings = Warnings::new();
    let parent = parent_of(environment, &mut warnings);
    let trace = parent.map_or_else(TraceId::random, |parent| parent.trace);
    let own = TraceParent { trace, span: SpanId::random() };
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env("TRACEPARENT", own.to_string());
    let outcome = run(&mut command, out);
    if let Some(why) = &outcome.not_started {
        output::error(why);
    }
    if let Some(warning) = &outcome.warning {
        warnings.add(warning.as_str());
    }
    // Whatever happens now, the status is the command's.
    send(args, words, file, (&outcome, own, parent), environment, &mut warnings);
    warn(&warnings);
    ExitCode::from(outcome.code)
}

fn send(
    args: &CommandArgs,
    words: &[OsString],
    file: Option<&Path>,
    (outcome, own, parent): (&Outcome, TraceParent, Option<TraceParent>),
    environment: &Environment,
    warnings: &mut Warnings,
) {
    let settings = args.send.settings(environment, SEND_TIMEOUT, warnings);
    let redactor = if args.no_redact {
        Redactor::none()
    } else {
        match Redactor::new(environment, &args.redact) {
            Ok(redactor) => redactor,
            Err(why) => return warnings.add(format!("no span is sent: {why}")),
        }
    };
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut trace = describe(&words, outcome, (own, parent), environment, &redactor);
    if let Some(span) = trace.groups.first_mut().and_then(|group| group.spans.first_mut()) {
        if let Some(name) = &args.name {
            span.name.clone_from(name);
        }
        let file = file.and_then(Path::file_name);
        span.attributes.set_some("ci.file", file.map(|name| name.to_string_lossy().into_owned()));
    }
    let spool = args.send.spool(environment);
    if settings.is_sending() && spool.was_unreached_within(UNREACHED_PAUSE) {
        return keep(&spool, &trace, warnings);
    }
    if let Err(failure) = args.send.send(&trace, &settings, environment, warnings) {
        warnings.add(failure.to_string());
    }
}

fn keep(spool: &Spool, trace: &kymo_ci::span::Trace, warnings: &mut Warnings) {
    for request in kymo_ci::encode::requests(trace) {
        spool.keep(&request, warnings);
    }
}
