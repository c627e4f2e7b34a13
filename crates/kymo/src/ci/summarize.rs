//! `summarize`: a run as a trace.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use kymo_ci::environment::Environment;
use kymo_ci::identity::Identity;
use kymo_ci::ids::TraceParent;
use kymo_ci::model::Run;
use kymo_ci::send::Sent;
use kymo_ci::send::settings::{Exporter, Settings};
use kymo_ci::span::Trace;
use kymo_ci::variables::actions;
use kymo_ci::warnings::Warnings;
use kymo_ci::{input, limits, rapids, summary};
use serde::Serialize;

use super::common::{RunArgs, STASH, SendArgs, read, warn};
use super::fetch::{ApiArgs, Fetched};
use crate::cli::OutputFormat;
use crate::failure::Failure;
use crate::{output, units};

const EXAMPLES: &str = "\
Files may be what GitHub's API, gh run view --json or webhooks tell of a run, in any number and
order: jobs, the run, several pages one after another.

Examples:
  kymo ci summarize all_jobs.json
  gh run view 123 --json jobs,workflowName,headBranch,databaseId,attempt | kymo ci summarize -
  kymo ci summarize --fetch --delete-artifacts        in a workflow, with GITHUB_TOKEN
  kymo ci summarize all_jobs.json --compat rapids     exactly as RAPIDS' send_trace.py";

/// Send a run as a trace: jobs, waiting, steps, and what jobs left behind
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Files that tell of the run; - for stdin [default: all_jobs.json]
    #[arg(value_name = "JOBS.json")]
    files: Vec<PathBuf>,
    /// Make the trace exactly as another system does
    #[arg(long, value_enum)]
    compat: Option<Compat>,
    /// Directory with what jobs left behind [default: telemetry-artifacts, here or beside the file]
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
    /// Get jobs, run and artifacts from GitHub
    #[arg(long, conflicts_with = "files")]
    fetch: bool,
    /// Delete stashed artifacts once they are sent, unless the runner is in debug mode
    #[arg(long, requires = "fetch")]
    delete_artifacts: bool,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    api: ApiArgs,
    #[command(flatten)]
    send: SendArgs,
    /// How the result is written
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

/// Systems whose traces can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Compat {
    /// RAPIDS' send_trace.py, errors included
    Rapids,
}

/// What was done, for programs.
#[derive(Debug, Serialize)]
struct Done {
    trace_id: String,
    traceparent: String,
    jobs: usize,
    steps: usize,
    spans: usize,
    requests: usize,
    bytes: usize,
    earlier_requests: usize,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let environment = Environment::of_process();
    let mut warnings = Warnings::new();
    let result = summarize(args, &environment, &mut warnings);
    warn(&warnings);
    result
}

fn summarize(
    args: &Args,
    environment: &Environment,
    warnings: &mut Warnings,
) -> Result<(), Failure> {
    // Fetched artifacts are gone with the command.
    let place = tempdir(args.fetch)?;
    let given = artifacts(args.artifacts.as_deref(), &args.files);
    let artifacts = place.as_ref().map_or(given.as_path(), |place| place.path());
    let mut run = Run::default();
    let fetched = gather(args, environment, artifacts, &mut run, warnings)?;
    let asked = args.run.asked();
    let make =
        if args.compat == Some(Compat::Rapids) { rapids::summarize } else { summary::summarize };
    let (identity, trace) = make(&run, &asked, environment, artifacts, warnings);
    let settings = args.send.settings(environment, limits::SEND_TIMEOUT, warnings);
    let sent = args.send.send(&trace, &settings, environment, warnings)?;
    if let Some(fetched) = fetched.filter(|_| args.delete_artifacts && settings.is_sending()) {
        if environment.is_true("RUNNER_DEBUG") {
            output::note("the artifacts stay: the runner is in debug mode");
        } else {
            fetched.delete_artifacts(warnings);
        }
    }
    tell(args, environment, &run, &identity, &trace, sent, &settings)
}

/// Where what jobs left behind is: as asked, else here, else beside the first file.
pub(super) fn artifacts(asked: Option<&Path>, files: &[PathBuf]) -> PathBuf {
    let here = asked.unwrap_or(Path::new(STASH));
    let beside = files.first().and_then(|file| file.parent()).map(|parent| parent.join(STASH));
    match beside {
        Some(beside) if asked.is_none() && !here.is_dir() => beside,
        _ => here.to_owned(),
    }
}

fn tempdir(is_wanted: bool) -> Result<Option<tempfile::TempDir>, Failure> {
    let made = is_wanted.then(tempfile::tempdir).transpose();
    made.map_err(|source| Failure::Io { act: "make", what: "a temporary directory".into(), source })
}

/// Reads all that tells of the run.
fn gather(
    args: &Args,
    environment: &Environment,
    artifacts: &Path,
    run: &mut Run,
    warnings: &mut Warnings,
) -> Result<Option<Fetched>, Failure> {
    if args.fetch {
        let fetched = args.api.everything(&args.run, environment, artifacts, warnings)?;
        input::read(run, &fetched.run, "the run", warnings);
        input::read(run, &fetched.jobs, "the jobs", warnings);
        return Ok(Some(fetched));
    }
    let usual = [PathBuf::from("all_jobs.json")];
    let files = if args.files.is_empty() { &usual[..] } else { &args.files };
    let mut failure = None;
    for file in files {
        match read(file) {
            Ok(bytes) => input::read(run, &bytes, &file.display().to_string(), warnings),
            Err(error) if files.len() > 1 => warnings.add(error.to_string()),
            Err(error) => failure = Some(error),
        }
    }
    failure.map_or(Ok(None), Err)
}

/// Says what was done, to people, programs and later steps.
fn tell(
    args: &Args,
    environment: &Environment,
    run: &Run,
    identity: &Identity,
    trace: &Trace,
    sent: Sent,
    settings: &Settings,
) -> Result<(), Failure> {
    let root = trace.spans().find(|span| span.parent.is_none()).map(|span| span.id);
    let parent =
        TraceParent { trace: trace.id, span: root.unwrap_or_else(|| identity.root()) }.to_string();
    let outputs =
        [("trace_id".to_owned(), trace.id.to_string()), ("traceparent".to_owned(), parent.clone())];
    let variables = [
        ("OTEL_SERVICE_NAME".to_owned(), identity.service.clone()),
        ("TRACEPARENT".to_owned(), parent.clone()),
    ];
    for (file, lines) in [("GITHUB_OUTPUT", &outputs), ("GITHUB_ENV", &variables)] {
        if let Err(error) = actions::append(environment, file, lines) {
            output::warning(&format!("the file that {file} names cannot be written: {error}"));
        }
    }
    let done = Done {
        trace_id: trace.id.to_string(),
        traceparent: parent,
        jobs: run.jobs.len(),
        steps: run.jobs.iter().map(|job| job.steps.len()).sum(),
        spans: trace.spans().count(),
        requests: sent.requests,
        bytes: sent.bytes,
        earlier_requests: sent.earlier,
    };
    if args.format == OutputFormat::Json {
        return output::json(&done);
    }
    let mut text = format!(
        "trace {}: {} jobs, {} steps, {} spans",
        done.trace_id,
        units::count(done.jobs as u64),
        units::count(done.steps as u64),
        units::count(done.spans as u64)
    );
    if sent.requests > 0 {
        let requests = if sent.requests == 1 { "request" } else { "requests" };
        text.push_str(&format!(
            ", sent to {} in {} {requests}",
            settings.shown_endpoint(),
            sent.requests
        ));
    }
    if sent.earlier > 0 {
        text.push_str(&format!(", with {} of earlier calls", sent.earlier));
    }
    if settings.exporters.contains(&Exporter::Console) {
        // Spans are on stdout; this line must not be among them.
        output::say(&text);
        return Ok(());
    }
    text.push('\n');
    output::text(&text)
}
