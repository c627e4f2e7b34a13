//! `report`: how a run went, for whoever looks after it.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use kymo_ci::environment::Environment;
use kymo_ci::identity::Identity;
use kymo_ci::model::Run;
use kymo_ci::report::{self, History, Part, Report, Row, median, totals};
use kymo_ci::warnings::Warnings;
use kymo_ci::{input, summary};
use serde_json::{Value, json};

use super::common::{RunArgs, duration, read, warn};
use super::history::ask;
use super::history::columns::Columns;
use super::history::sql::{self, Filter};
use super::summarize;
use crate::client::DEFAULT_URL;
use crate::failure::Failure;
use crate::source::{Source, SourceArgs};
use crate::table::{Align, Table};
use crate::{output, units};

/// Where people look at a trace unless told otherwise.
const DEFAULT_LINK: &str = "{url}/tempo/api/v2/traces/{trace_id}";

const EXAMPLES: &str = "\
The run is the one that the variables of GitHub Actions name, or --run, or --trace; it is read from
the store, or from files if some are given. Earlier runs are read from the store in either case.

Examples:
  kymo ci report                                    in a workflow, after kymo ci summarize
  kymo ci report --repo rapidsai/cudf --run 123456
  kymo ci report all_jobs.json --data ./kymo-data
  kymo ci report --link 'https://grafana.example.org/explore?trace={trace_id}'";

/// Say how a run went: against earlier ones, critical path, waiting, caches, failures
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Files that tell of the run, instead of the store
    #[arg(value_name = "JOBS.json")]
    files: Vec<PathBuf>,
    /// Id of the trace to report on
    #[arg(long, value_name = "TRACE_ID", conflicts_with = "files")]
    trace: Option<String>,
    /// Directory with what jobs left behind, for files [default: telemetry-artifacts, here or beside the file]
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
    #[command(flatten)]
    run: RunArgs,
    /// Earlier runs to compare with, at most
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    earlier: u64,
    /// Compare with runs of this branch only [default: of all branches]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Where a trace can be seen, with {trace_id} and {url} [env: KYMO_CI_TRACE_URL]
    #[arg(long, value_name = "TEMPLATE")]
    link: Option<String>,
    /// Time for the server to answer a question
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "30s")]
    timeout: Duration,
    #[command(flatten)]
    source: SourceArgs,
    /// How the report is written; Markdown goes to $GITHUB_STEP_SUMMARY in any case, if that is set
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Table,
    /// For pages
    Markdown,
    /// For programs
    Json,
}

/// What is reported on.
struct Subject {
    trace: String,
    rows: Vec<Row>,
    workflow: Option<String>,
    repository: Option<String>,
    branch: Option<String>,
    run: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let environment = Environment::of_process();
    let source = args.source.open()?.within(args.timeout)?;
    let subject = if args.files.is_empty() {
        stored(args, &environment, &source)?
    } else {
        of_files(args, &environment)?
    };
    let history = match history(args, &subject, &source) {
        Ok(history) => history,
        // What is known of the run itself is worth saying.
        Err(failure) => {
            output::warning(&format!("earlier runs are not known: {failure}"));
            History::default()
        }
    };
    let report = Report::new(&subject.rows, &history);
    let parts = report::document(&report);
    let link = link(args, &environment, &source, &subject.trace);
    let title = title(&subject);
    let markdown = report::markdown(&title, &parts, link.as_deref());
    if let Some(path) = environment.get("GITHUB_STEP_SUMMARY") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let written = file.and_then(|mut file| file.write_all(markdown.as_bytes()));
        written.map_err(|error| Failure::io("write", path.as_ref(), error))?;
    }
    match args.format {
        Format::Markdown => output::text(&markdown),
        Format::Json => output::json(&as_json(&subject, &report, link.as_deref())),
        Format::Table => output::text(&terminal(&title, &parts, &subject.trace, link.as_deref())),
    }
}

fn title(subject: &Subject) -> String {
    let mut title = subject.workflow.clone().unwrap_or_else(|| "run".to_owned());
    for (word, value) in
        [("of", &subject.repository), ("on", &subject.branch), ("run", &subject.run)]
    {
        if let Some(value) = value {
            title.push_str(&format!(" {word} {value}"));
        }
    }
    title
}

/// The run as the store has it.
fn stored(args: &Args, environment: &Environment, source: &Source) -> Result<Subject, Failure> {
    let mut warnings = Warnings::new();
    let trace = match &args.trace {
        Some(trace) => trace.to_lowercase(),
        None => {
            let none = Run::default();
            let found = Identity::resolve(&args.run.asked(), environment, &none, &mut warnings);
            found.trace.to_string()
        }
    };
    if !warnings.all().is_empty() {
        return Err(Failure::Other(
            "it is not known which run is meant: give --trace, or --repo and --run, or files"
                .into(),
        ));
    }
    let found = ask(source, &sql::spans_of(&trace))?;
    if found.is_empty() {
        return Err(Failure::Other(format!(
            "the trace {trace} is not stored, or not of a run: kymo ci runs lists those that are"
        )));
    }
    let (kinds, all) = (found.texts("kind")?, rows_of(&found)?);
    let of_run = |name: &str| -> Result<Option<String>, Failure> {
        let values = found.texts(name)?;
        let root = kinds.iter().position(|kind| kind.as_deref() == Some("run"));
        let of_root = root.and_then(|root| values[root].clone());
        Ok(of_root.or_else(|| values.iter().flatten().next().cloned()))
    };
    Ok(Subject {
        trace,
        workflow: of_run("workflow")?,
        repository: of_run("repository")?,
        branch: of_run("branch")?,
        run: of_run("run")?,
        rows: all,
    })
}

fn rows_of(found: &Columns) -> Result<Vec<Row>, Failure> {
    let (names, kinds, jobs) = (found.texts("name")?, found.texts("kind")?, found.texts("job")?);
    let (starts, ends) = (found.times("start_time")?, found.times("end_time")?);
    let (statuses, messages) = (found.texts("status")?, found.texts("status_message")?);
    let (conclusions, labels) = (found.texts("conclusion")?, found.texts("labels")?);
    let (queues, carried) = (found.numbers("queue_seconds")?, found.texts("carried_over")?);
    let attributes = found.texts("attributes")?;
    let nanos = |time: i64| u64::try_from(time).unwrap_or(0);
    let row = |nth: usize| Row {
        kind: kinds[nth].clone().unwrap_or_default(),
        name: names[nth].clone().unwrap_or_default(),
        job: jobs[nth].clone(),
        start_nanos: nanos(starts[nth]),
        end_nanos: nanos(ends[nth]),
        is_error: statuses[nth].as_deref() == Some("error"),
        message: messages[nth].clone(),
        conclusion: conclusions[nth].clone(),
        labels: labels[nth].clone(),
        queue_seconds: queues[nth],
        is_carried_over: carried[nth].as_deref() == Some("true"),
        numbers: numbers(attributes[nth].as_deref()),
    };
    Ok((0..names.len()).map(row).collect())
}

/// Statistics of caches among the attributes of a span.
fn numbers(attributes: Option<&str>) -> Vec<(String, f64)> {
    let text = attributes.filter(|text| text.contains("sccache."));
    let Some(Value::Object(members)) = text.and_then(|text| serde_json::from_str(text).ok()) else {
        return Vec::new();
    };
    members.into_iter().filter_map(|(name, value)| Some((name, value.as_f64()?))).collect()
}

/// The run as files tell it.
fn of_files(args: &Args, environment: &Environment) -> Result<Subject, Failure> {
    let (mut run, mut warnings) = (Run::default(), Warnings::new());
    for file in &args.files {
        input::read(&mut run, &read(file)?, &file.display().to_string(), &mut warnings);
    }
    let artifacts = summarize::artifacts(args.artifacts.as_deref(), &args.files);
    let asked = args.run.asked();
    let (identity, trace) =
        summary::summarize(&run, &asked, environment, &artifacts, &mut warnings);
    warn(&warnings);
    Ok(Subject {
        trace: trace.id.to_string(),
        rows: report::rows(&trace),
        workflow: run.workflow,
        repository: identity.repository,
        branch: run.branch,
        run: identity.run,
    })
}

/// Earlier runs of the same workflow.
fn history(args: &Args, subject: &Subject, source: &Source) -> Result<History, Failure> {
    let start = subject.rows.iter().map(|row| row.start_nanos).min().unwrap_or(0);
    let start = i64::try_from(start).unwrap_or(i64::MAX);
    let filter = Filter {
        workflow: subject.workflow.clone(),
        branch: args.branch.clone(),
        repository: subject.repository.clone(),
        range: 0..start,
    };
    let found = ask(source, &sql::earlier(&filter, args.earlier))?;
    let traces: Vec<String> = found.texts("trace_id")?.into_iter().flatten().collect();
    let seconds = found.numbers("seconds")?.into_iter().flatten().collect();
    let hit_rates = if traces.is_empty() {
        Vec::new()
    } else {
        hit_rates(&ask(source, &sql::caches_of(&traces, &filter))?)?
    };
    Ok(History { seconds, hit_rates })
}

/// The middle of what each cache did in earlier runs.
fn hit_rates(found: &Columns) -> Result<Vec<(String, f64)>, Failure> {
    let (traces, attributes) = (found.texts("trace_id")?, found.texts("attributes")?);
    let mut rates: std::collections::BTreeMap<String, Vec<f64>> = Default::default();
    let mut names: Vec<&Option<String>> = traces.iter().collect();
    names.sort_unstable();
    names.dedup();
    for trace in names {
        let of_trace = traces.iter().zip(&attributes).filter(|(known, _)| *known == trace);
        let all: Vec<(String, f64)> =
            of_trace.flat_map(|(_, attributes)| numbers(attributes.as_deref())).collect();
        for (name, (hits, misses)) in
            totals(all.iter().map(|(name, value)| (name.as_str(), *value)))
        {
            rates.entry(name).or_default().push(hits / (hits + misses));
        }
    }
    Ok(rates.into_iter().filter_map(|(name, rates)| Some((name, median(&rates)?))).collect())
}

fn link(args: &Args, environment: &Environment, source: &Source, trace: &str) -> Option<String> {
    let given = args.link.as_deref().or_else(|| environment.get("KYMO_CI_TRACE_URL"));
    let url = match source {
        Source::Server(client) => client.name(),
        // A directory has no address.
        Source::Directory(_) if given.is_none() => return None,
        Source::Directory(_) => DEFAULT_URL.to_owned(),
    };
    let template = given.unwrap_or(DEFAULT_LINK);
    Some(template.replace("{trace_id}", trace).replace("{url}", &url))
}

fn terminal(title: &str, parts: &[Part], trace: &str, link: Option<&str>) -> String {
    let mut text = format!("{}\n", units::printable(title));
    for part in parts {
        match part {
            Part::Heading(heading) => text.push_str(&format!("\n{}\n", heading.to_uppercase())),
            Part::Text(sentence) => text.push_str(&format!("{}\n", units::printable(sentence))),
            Part::Table(table) => {
                let align = |is_number: bool| if is_number { Align::Right } else { Align::Left };
                let columns: Vec<(&'static str, Align)> = table
                    .columns
                    .iter()
                    .map(|(name, is_number)| (*name, align(*is_number)))
                    .collect();
                let mut shown = Table::new(&columns);
                for row in &table.rows {
                    shown.row(row.iter().map(|cell| units::printable(cell)).collect());
                }
                text.push_str(&shown.to_string());
            }
        }
    }
    text.push_str(&format!("\ntrace {trace}\n"));
    if let Some(link) = link {
        text.push_str(&format!("{link}\n"));
    }
    text
}

fn as_json(subject: &Subject, report: &Report, link: Option<&str>) -> Value {
    let table = |rows: Vec<Value>| Value::Array(rows);
    json!({
        "trace_id": subject.trace,
        "workflow": subject.workflow,
        "repository": subject.repository,
        "branch": subject.branch,
        "run": subject.run,
        "link": link,
        "conclusion": report.conclusion,
        "seconds": report.seconds,
        "median_seconds": report.median_seconds,
        "earlier_runs": report.earlier_runs,
        "jobs": report.jobs,
        "skipped_jobs": report.skipped_jobs,
        "carried_over_jobs": report.carried_over_jobs,
        "critical_path": table(report.critical_path.iter().map(|job| json!({
            "job": job.job, "after_seconds": job.after_seconds,
            "queue_seconds": job.queue_seconds, "run_seconds": job.run_seconds,
        })).collect()),
        "queues": table(report.queues.iter().map(|queue| json!({
            "labels": queue.labels, "jobs": queue.jobs,
            "median_seconds": queue.median_seconds, "max_seconds": queue.max_seconds,
        })).collect()),
        "slowest_jobs": table(report.slowest_jobs.iter().map(|slow| json!({
            "job": slow.job, "seconds": slow.seconds,
        })).collect()),
        "slowest_steps": table(report.slowest_steps.iter().map(|slow| json!({
            "job": slow.job, "step": slow.step, "seconds": slow.seconds,
        })).collect()),
        "caches": table(report.caches.iter().map(|cache| json!({
            "name": cache.name, "requests": cache.requests, "hit_rate": cache.hit_rate,
            "hit_rate_before": cache.hit_rate_before,
        })).collect()),
        "failures": table(report.failures.iter().map(|failure| json!({
            "job": failure.job, "kind": failure.kind, "what": failure.what, "why": failure.why,
        })).collect()),
        "more_failures": report.more_failures,
    })
}
