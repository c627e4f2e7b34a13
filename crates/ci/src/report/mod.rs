//! What a person wants to know of a run: how long it took against earlier ones, what decided that,
//! who waited for which runners, what was slow, what the caches did, what failed.
//!
//! It is made of spans, wherever they are: of a summary that was just made, or of a store. What is
//! said of earlier runs comes from a store.
//!
//! | module | what is there |
//! |---|---|
//! | `path` | the critical path |
//! | `cache` | hit rates of compiler caches |
//! | `document` | the report as headings, texts and tables |
//! | `markdown` | those as Markdown |

mod cache;
mod document;
mod markdown;
mod path;

use crate::attributes::Value;
use crate::model::Nanos;
use crate::span::{Status, Trace};

pub use cache::{Cache, totals};
pub use document::{Part, Table, document};
pub use markdown::markdown;
pub use path::{Lasted, PathJob, Place, chain, slack};

/// Jobs and steps that are listed.
const LISTED: usize = 5;
/// Failures that are listed.
const LISTED_FAILURES: usize = 20;

/// A span, as far as a report needs it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// `run`, `job`, `queue`, `step`, `target`, `test`, `command`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The whole name of the job that it is of.
    pub job: Option<String>,
    /// When it began.
    pub start_nanos: Nanos,
    /// When it ended.
    pub end_nanos: Nanos,
    /// Whether it failed.
    pub is_error: bool,
    /// Why it failed.
    pub message: Option<String>,
    /// How it ended.
    pub conclusion: Option<String>,
    /// What was asked of the runner.
    pub labels: Option<String>,
    /// How long it waited for a runner.
    pub queue_seconds: Option<f64>,
    /// Whether an earlier attempt ran it.
    pub is_carried_over: bool,
    /// All attributes that are numbers.
    pub numbers: Vec<(String, f64)>,
}

impl Row {
    /// How long it took.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.end_nanos.saturating_sub(self.start_nanos) as f64 / 1e9
    }

    /// The job that it is of.
    #[must_use]
    pub fn job_name(&self) -> &str {
        self.job.as_deref().unwrap_or(&self.name)
    }
}

/// The spans of a summary.
#[must_use]
pub fn rows(trace: &Trace) -> Vec<Row> {
    trace
        .spans()
        .map(|span| {
            let text = |name: &str| span.attributes.text(name).map(str::to_owned);
            let number =
                |(name, value): (&str, &Value)| Some((name.to_owned(), value.as_number()?));
            let message = match &span.status {
                Status::Error(message) => Some(message.clone()),
                _ => None,
            };
            Row {
                kind: text("ci.kind").unwrap_or_default(),
                name: span.name.clone(),
                job: text("ci.job"),
                start_nanos: span.start_nanos,
                end_nanos: span.end_nanos,
                is_error: message.is_some(),
                message,
                conclusion: text("ci.conclusion"),
                labels: text("ci.labels"),
                queue_seconds: span.attributes.get("ci.queue_seconds").and_then(Value::as_number),
                is_carried_over: span.attributes.get("ci.carried_over") == Some(&Value::Bool(true)),
                numbers: span.attributes.iter().filter_map(number).collect(),
            }
        })
        .collect()
}

/// Earlier runs of the same workflow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// How long they took, in seconds.
    pub seconds: Vec<f64>,
    /// Hit rates of their caches, by name.
    pub hit_rates: Vec<(String, f64)>,
}

/// What is said of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// How it ended.
    pub conclusion: Option<String>,
    /// How long it took.
    pub seconds: f64,
    /// How many earlier runs it is compared with.
    pub earlier_runs: usize,
    /// How long half of them took at most.
    pub median_seconds: Option<f64>,
    /// Jobs that ran.
    pub jobs: usize,
    /// Jobs that were skipped.
    pub skipped_jobs: usize,
    /// Jobs that an earlier attempt ran.
    pub carried_over_jobs: usize,
    /// The jobs that decided how long it took, the first first.
    pub critical_path: Vec<PathJob>,
    /// Waiting, by labels of runners, the longest first.
    pub queues: Vec<Queue>,
    /// The longest jobs.
    pub slowest_jobs: Vec<Slow>,
    /// The longest steps.
    pub slowest_steps: Vec<Slow>,
    /// What caches did.
    pub caches: Vec<Cache>,
    /// What failed.
    pub failures: Vec<Failure>,
    /// Failures that are not listed.
    pub more_failures: usize,
}

/// Waiting for runners with some labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Queue {
    /// The labels.
    pub labels: String,
    /// Jobs that asked for them.
    pub jobs: usize,
    /// What half of the jobs waited at most.
    pub median_seconds: f64,
    /// What one of them waited at most.
    pub max_seconds: f64,
}

/// Something that took long.
#[derive(Debug, Clone, PartialEq)]
pub struct Slow {
    /// The job.
    pub job: String,
    /// The step, if it is one.
    pub step: Option<String>,
    /// How long it took.
    pub seconds: f64,
}

/// Something that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The job.
    pub job: String,
    /// The step or test, if it is one.
    pub what: Option<String>,
    /// `job`, `step`, `test`, `command`.
    pub kind: String,
    /// How it ended, and why.
    pub why: String,
}

impl Report {
    /// What is to be said of a run with these spans.
    #[must_use]
    pub fn new(rows: &[Row], history: &History) -> Self {
        let root = rows.iter().find(|row| row.kind == "run");
        let of_kind = |kind: &'static str| rows.iter().filter(move |row| row.kind == kind);
        let jobs: Vec<&Row> = of_kind("job").collect();
        let is_skipped = |row: &&&Row| row.conclusion.as_deref() == Some("skipped");
        let ran: Vec<&Row> =
            jobs.iter().filter(|row| !is_skipped(row) && !row.is_carried_over).copied().collect();
        let steps: Vec<&Row> = of_kind("step").collect();
        let (failures, more_failures) = failures(rows);
        Self {
            conclusion: root.and_then(|root| root.conclusion.clone()),
            seconds: root.map_or(0.0, Row::seconds),
            earlier_runs: history.seconds.len(),
            median_seconds: median(&history.seconds),
            jobs: ran.len(),
            skipped_jobs: jobs.iter().filter(is_skipped).count(),
            carried_over_jobs: jobs.iter().filter(|row| row.is_carried_over).count(),
            critical_path: path::critical(&ran),
            queues: queues(&ran),
            slowest_jobs: slowest(&ran, |row| Slow {
                job: row.job_name().to_owned(),
                step: None,
                seconds: row.seconds() - row.queue_seconds.unwrap_or(0.0),
            }),
            slowest_steps: slowest(&steps, |row| Slow {
                job: row.job_name().to_owned(),
                step: Some(row.name.clone()),
                seconds: row.seconds(),
            }),
            caches: cache::caches(rows, history),
            failures,
            more_failures,
        }
    }
}

/// The value in the middle.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) && middle > 0 {
        return Some((sorted[middle - 1] + sorted[middle]) / 2.0);
    }
    sorted.get(middle).copied()
}

fn slowest(rows: &[&Row], describe: impl Fn(&Row) -> Slow) -> Vec<Slow> {
    let mut all: Vec<Slow> = rows.iter().map(|row| describe(row)).collect();
    all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.job.cmp(&b.job)));
    all.retain(|slow| slow.seconds > 0.0);
    all.truncate(LISTED);
    all
}

fn queues(jobs: &[&Row]) -> Vec<Queue> {
    let mut labels: Vec<&str> = jobs.iter().filter_map(|job| job.labels.as_deref()).collect();
    labels.sort_unstable();
    labels.dedup();
    let queue = |labels: &str| {
        let asked = jobs.iter().filter(|job| job.labels.as_deref() == Some(labels));
        let waited: Vec<f64> = asked.filter_map(|job| job.queue_seconds).collect();
        Some(Queue {
            labels: labels.to_owned(),
            jobs: waited.len(),
            median_seconds: median(&waited)?,
            max_seconds: waited.iter().copied().fold(0.0, f64::max),
        })
    };
    let mut queues: Vec<Queue> = labels.into_iter().filter_map(queue).collect();
    queues.sort_by(|a, b| b.max_seconds.total_cmp(&a.max_seconds));
    queues
}

/// What failed, from the smallest part: a job whose step is named need not be named itself, nor a
/// step whose tests are.
fn failures(rows: &[Row]) -> (Vec<Failure>, usize) {
    let failed = |kind: &'static str| {
        rows.iter().filter(move |row| row.kind == kind && row.is_error && !row.is_carried_over)
    };
    let has = |kind: &'static str, job: &str| failed(kind).any(|row| row.job_name() == job);
    let mut found = Vec::new();
    for kind in ["test", "step", "command", "job"] {
        for row in failed(kind) {
            let job = row.job_name();
            let is_told = match kind {
                "job" => has("step", job) || has("test", job),
                _ => false,
            };
            if is_told {
                continue;
            }
            let why = row.message.clone().filter(|why| !why.is_empty());
            found.push(Failure {
                job: job.to_owned(),
                what: (kind != "job").then(|| row.name.clone()),
                kind: kind.to_owned(),
                why: why.or_else(|| row.conclusion.clone()).unwrap_or_else(|| "failure".to_owned()),
            });
        }
    }
    let more = found.len().saturating_sub(LISTED_FAILURES);
    found.truncate(LISTED_FAILURES);
    (found, more)
}

#[cfg(test)]
mod tests;
