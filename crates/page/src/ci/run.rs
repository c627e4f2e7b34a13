//! One run: what its Gantt chart, its critical path and its tables are drawn from.
//!
//! A job is created when what it needs has ended; it waits for a runner (queue), the runner gets
//! ready (dispatch: the steps that GitHub puts before those of the workflow), and it runs. Which job
//! needs which is not told, so that the critical path is that of the jobs that ended last when the
//! next was created; see `kymo_ci::report`.

use std::collections::{BTreeMap, HashMap, HashSet};

use kymo_ci::report::{Lasted, chain, slack};
use kymo_engine::{Engine, Tenants};
use serde::Serialize;

use super::earlier::{self, Earlier, Usual};
use super::figures::{Cached, cut, seconds, share};
use super::jobs::{self, Runners};
use super::limits::{MAX_LISTED, MAX_RUN_JOBS};
use super::rows;
use super::spans::{Span, Spans, text};
use crate::answer::Failed;
use crate::times::{millis, now_nanos};

/// A run with all that is drawn of it at first.
#[derive(Debug, Serialize)]
pub(super) struct Document {
    pub(super) run: Run,
    /// Rows of the chart: jobs of a matrix are one, which can be unfolded.
    groups: Vec<Group>,
    /// In the order in which they were created; how many there are, of which these are the first.
    pub(super) jobs: Vec<Job>,
    jobs_total: usize,
    /// The critical path, by the places of jobs.
    path: Vec<OnPath>,
    runners: Vec<Runners>,
    pub(super) caches: Vec<Cache>,
    /// From the smallest part; how many there are, of which these are the first.
    failures: Vec<Failure>,
    failures_total: usize,
    earlier: Earlier,
    /// Whether there are more jobs and steps than are read.
    has_more_spans: bool,
    /// Whether anything is left out.
    is_truncated: bool,
}

impl Document {
    /// Whether jobs or steps are left out.
    pub(super) fn lacks_jobs(&self) -> bool {
        self.has_more_spans || self.jobs_total > self.jobs.len()
    }
}

/// What is known of a run as a whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Run {
    pub(super) trace_id: String,
    /// The run's own span.
    span_id: Option<String>,
    pub(super) repository: Option<String>,
    pub(super) workflow: Option<String>,
    pub(super) branch: Option<String>,
    commit: Option<String>,
    pull_request: Option<String>,
    event: Option<String>,
    title: Option<String>,
    actor: Option<String>,
    run_id: Option<String>,
    attempt: Option<String>,
    url: Option<String>,
    pub(super) conclusion: Option<String>,
    /// Whether it goes on, as far as is known.
    is_running: bool,
    pub(super) start_ms: f64,
    /// Now, while it goes on.
    pub(super) end_ms: f64,
    pub(super) seconds: f64,
    #[serde(skip)]
    pub(super) start_nanos: i64,
}

/// A row of the chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Group {
    name: String,
    /// Places of its jobs.
    jobs: Vec<usize>,
}

/// A job.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Job {
    span_id: String,
    pub(super) name: String,
    created_ms: f64,
    /// When a runner took it, and was ready; none if none did.
    taken_ms: Option<f64>,
    ready_ms: Option<f64>,
    end_ms: f64,
    pub(super) queue_seconds: f64,
    dispatch_seconds: f64,
    /// How long a runner worked on it, with getting ready.
    pub(super) run_seconds: f64,
    pub(super) conclusion: Option<String>,
    is_running: bool,
    pub(super) is_carried_over: bool,
    labels: Option<String>,
    runner: Option<String>,
    url: Option<String>,
    is_on_path: bool,
    /// How much later it might have ended without making the run longer.
    slack_seconds: Option<f64>,
    /// What earlier runs took for it, in the middle, and how much longer this one did.
    usual_seconds: Option<f64>,
    delta_seconds: Option<f64>,
    pub(super) steps: Vec<Step>,
    /// Spans right below it that are no steps, by kind.
    below: BTreeMap<String, i64>,
}

impl Job {
    /// Whether its time can be held against that of others: it has ended, in this run.
    pub(super) fn is_comparable(&self) -> bool {
        !self.is_running && !self.is_carried_over
    }
}

/// A step of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Step {
    span_id: String,
    pub(super) name: String,
    number: Option<f64>,
    start_ms: f64,
    pub(super) seconds: f64,
    pub(super) conclusion: Option<String>,
    below: BTreeMap<String, i64>,
}

/// A job on the critical path.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct OnPath {
    job: usize,
    /// Its part of the run.
    share: Option<f64>,
    /// How much earlier the run would have ended, had it taken no time.
    saves_seconds: f64,
}

/// What a cache did for a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Cache {
    pub(super) job: String,
    /// The file, with the language behind a dot if it is of one.
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) cached: Cached,
    pub(super) hit_rate: Option<f64>,
    /// That of earlier runs; of files together, not of languages.
    usual_hit_rate: Option<f64>,
}

/// Something that failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Failure {
    kind: String,
    job: String,
    name: String,
    message: Option<String>,
    span_id: String,
}

/// What is told of a run.
pub(super) async fn of(
    engine: &Engine,
    tenants: &Tenants,
    trace_id: &str,
) -> Result<Document, Failed> {
    let spans = Spans::ask(engine, tenants, trace_id).await?;
    let run = run(&spans, trace_id, now_nanos());
    let usual = earlier::of(engine, tenants, &run).await?;
    // Slack takes time in the square of the jobs: nobody's acknowledgement is to wait for it.
    Ok(engine.blocking(move || document(&spans, run, &usual)).await?)
}

/// A run beside what earlier ones were like.
pub(super) fn document(spans: &Spans, run: Run, usual: &Usual) -> Document {
    let mut jobs = jobs_of(spans, &run);
    let jobs_total = jobs.len();
    jobs.truncate(MAX_RUN_JOBS);
    for job in &mut jobs {
        job.usual_seconds = usual.seconds.get(&job.name).copied();
        let is_known = job.taken_ms.is_some() && job.is_comparable();
        job.delta_seconds =
            job.usual_seconds.filter(|_| is_known).map(|usual| job.run_seconds - usual);
    }
    let path = path(&mut jobs, run.seconds);
    let stored: Vec<rows::Job> = jobs.iter().map(stored).collect();
    let (failures, failures_total) = failures(spans);
    let has_more_spans = spans.is_truncated;
    let is_truncated = has_more_spans || jobs_total > jobs.len() || failures_total > failures.len();
    Document {
        groups: groups(&jobs),
        path,
        runners: jobs::runners(&stored),
        caches: caches(spans, usual),
        failures,
        failures_total,
        earlier: usual.beside(&jobs, run.seconds, run.is_running),
        has_more_spans,
        is_truncated,
        jobs_total,
        jobs,
        run,
    }
}

/// The run itself, as its span tells it, or else its jobs: what goes on has lasted until now.
pub(super) fn run(spans: &Spans, trace_id: &str, now_nanos: i64) -> Run {
    let told = spans.run().or(spans.all.first());
    let told_text = |name: &str| told.and_then(|span| span.text(name));
    let of_resource = |name: &str| told.and_then(|span| text(&span.resource, name));
    let own = spans.run();
    let start_nanos = spans.all.iter().map(|span| span.start_nanos).min().unwrap_or(0);
    let start_nanos = own.map_or(start_nanos, |span| span.start_nanos);
    let last = spans.all.iter().map(|span| span.end_nanos).max().unwrap_or(start_nanos);
    let end_nanos = own.map_or_else(|| rows::end_so_far(last, now_nanos), |span| span.end_nanos);
    Run {
        trace_id: trace_id.to_owned(),
        span_id: own.map(|span| span.span_id.clone()),
        repository: told_text("ci.repository").or_else(|| of_resource("git.repository")),
        workflow: told_text("ci.workflow").or_else(|| of_resource("cicd.pipeline.name")),
        branch: told_text("ci.branch"),
        commit: of_resource("vcs.ref.head.revision").or_else(|| of_resource("git.sha")),
        pull_request: of_resource("vcs.change.id"),
        event: own.and_then(|span| span.text("ci.event")),
        title: own.and_then(|span| span.text("ci.title")),
        actor: own.and_then(|span| span.text("ci.actor")),
        run_id: told_text("ci.run_id"),
        attempt: told_text("ci.attempt"),
        url: of_resource("cicd.pipeline.run.url.full"),
        conclusion: own.and_then(Span::conclusion),
        is_running: own.is_none(),
        start_ms: millis(start_nanos),
        end_ms: millis(end_nanos),
        seconds: seconds(end_nanos.saturating_sub(start_nanos)),
        start_nanos,
    }
}

/// How a job ended of which nobody said it, in a run that has ended.
const NOT_TOLD: &str = "not told";

/// Steps that GitHub puts before those of the workflow.
fn gets_ready(step: &Span) -> bool {
    ["Set up job", "Set up runner", "Initialize containers"].contains(&step.name.as_str())
}

fn jobs_of(spans: &Spans, run: &Run) -> Vec<Job> {
    let mut steps: HashMap<&str, Vec<&Span>> = HashMap::new();
    for step in spans.of_kind("step") {
        steps.entry(step.parent_span_id.as_deref().unwrap_or_default()).or_default().push(step);
    }
    let mut jobs: Vec<Job> = spans
        .of_kind("job")
        .map(|span| job(span, steps.remove(span.span_id.as_str()).unwrap_or_default(), spans))
        .collect();
    if !run.is_running {
        // The job that sends a summary runs while it does, and no more is heard of it.
        for job in jobs.iter_mut().filter(|job| job.is_running) {
            job.is_running = false;
            job.conclusion = Some(NOT_TOLD.to_owned());
        }
    }
    // A job that waited and is not told of runs.
    let known: HashSet<&str> = jobs.iter().map(|job| job.span_id.as_str()).collect();
    let running: Vec<Job> = spans
        .of_kind("queue")
        .filter(|queue| {
            run.is_running && !known.contains(queue.parent_span_id.as_deref().unwrap_or(""))
        })
        .map(|queue| running_job(queue, run))
        .collect();
    jobs.extend(running);
    jobs.sort_by(|one, other| {
        one.created_ms.total_cmp(&other.created_ms).then_with(|| one.name.cmp(&other.name))
    });
    jobs
}

fn job(span: &Span, mut steps: Vec<&Span>, spans: &Spans) -> Job {
    // Many begin in one second: their numbers tell which came first.
    let number = |step: &Span| step.number("ci.step_number").unwrap_or(f64::MAX);
    steps.sort_by(|one, other| {
        number(one).total_cmp(&number(other)).then(one.start_nanos.cmp(&other.start_nanos))
    });
    let queue_seconds = span.number("ci.queue_seconds").filter(|seconds| *seconds >= 0.0);
    let has_run = span.number("ci.run_seconds").is_some();
    let taken_nanos = span.start_nanos.saturating_add((queue_seconds.unwrap_or(0.0) * 1e9) as i64);
    let taken_nanos = taken_nanos.min(span.end_nanos);
    let ready = steps.iter().take_while(|step| gets_ready(step)).map(|step| step.end_nanos).max();
    let ready = ready.unwrap_or(taken_nanos).clamp(taken_nanos, span.end_nanos);
    Job {
        span_id: span.span_id.clone(),
        name: span.job(),
        created_ms: millis(span.start_nanos),
        taken_ms: has_run.then(|| millis(taken_nanos)),
        ready_ms: has_run.then(|| millis(ready)),
        end_ms: millis(span.end_nanos),
        queue_seconds: queue_seconds.unwrap_or(0.0),
        dispatch_seconds: seconds(ready - taken_nanos),
        run_seconds: if has_run { seconds(span.end_nanos - taken_nanos) } else { 0.0 },
        conclusion: span.conclusion(),
        is_running: span.conclusion().is_none(),
        is_carried_over: span.is("ci.carried_over"),
        labels: span.text("ci.labels"),
        runner: span.text("ci.runner"),
        url: span.text("cicd.pipeline.task.run.url.full"),
        steps: steps.into_iter().map(|span| step(span, spans)).collect(),
        below: below(spans, &span.span_id),
        ..Job::default()
    }
}

fn running_job(queue: &Span, run: &Run) -> Job {
    Job {
        span_id: queue.parent_span_id.clone().unwrap_or_default(),
        name: queue.job(),
        created_ms: millis(queue.start_nanos),
        taken_ms: Some(millis(queue.end_nanos)),
        ready_ms: Some(millis(queue.end_nanos)),
        end_ms: run.end_ms,
        queue_seconds: queue.seconds(),
        run_seconds: ((run.end_ms - millis(queue.end_nanos)) / 1e3).max(0.0),
        is_running: true,
        labels: queue.text("ci.labels"),
        ..Job::default()
    }
}

fn step(span: &Span, spans: &Spans) -> Step {
    Step {
        span_id: span.span_id.clone(),
        name: span.name.clone(),
        number: span.number("ci.step_number"),
        start_ms: millis(span.start_nanos),
        seconds: span.seconds(),
        conclusion: span.conclusion(),
        below: below(spans, &span.span_id),
    }
}

fn below(spans: &Spans, span_id: &str) -> BTreeMap<String, i64> {
    let counted = spans.below.get(span_id).into_iter().flatten();
    counted.map(|(kind, count)| (kind.clone(), *count)).collect()
}

/// The critical path; says of each job whether it is on it, and what slack it has.
fn path(jobs: &mut [Job], run_seconds: f64) -> Vec<OnPath> {
    let has_run = |job: &&Job| !job.is_carried_over && job.conclusion.as_deref() != Some("skipped");
    let ran: Vec<usize> = (0..jobs.len()).filter(|nth| has_run(&&jobs[*nth])).collect();
    let nanos = |ms: f64| (ms.max(0.0) * 1e6) as u64;
    let lasted: Vec<Lasted> = ran
        .iter()
        .map(|nth| Lasted {
            start_nanos: nanos(jobs[*nth].created_ms),
            end_nanos: nanos(jobs[*nth].end_ms),
        })
        .collect();
    for (nth, slack) in ran.iter().zip(slack(&lasted)) {
        jobs[*nth].slack_seconds = Some(slack as f64 / 1e9);
    }
    chain(&lasted)
        .into_iter()
        .map(|place| {
            let job = &mut jobs[ran[place.job]];
            job.is_on_path = true;
            let lasted = (job.end_ms - job.created_ms) / 1e3;
            OnPath {
                job: ran[place.job],
                share: share(lasted, run_seconds),
                saves_seconds: place.saves_nanos as f64 / 1e9,
            }
        })
        .collect()
}

/// What a job of a matrix is called without what differs: what stands before a bracket at the end,
/// or before the last slash.
fn base_name(name: &str) -> &str {
    let before_bracket = || name.strip_suffix(')')?.rsplit_once(" (").map(|(base, _)| base);
    let before_slash = || name.rsplit_once(" / ").map(|(base, _)| base);
    before_bracket().or_else(before_slash).unwrap_or(name)
}

/// Jobs of a matrix are one row; what is alone keeps its whole name.
fn groups(jobs: &[Job]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (nth, job) in jobs.iter().enumerate() {
        let base = base_name(&job.name);
        match places.get(base) {
            Some(place) => groups[*place].jobs.push(nth),
            None => {
                places.insert(base, groups.len());
                groups.push(Group { name: base.to_owned(), jobs: vec![nth] });
            }
        }
    }
    for group in groups.iter_mut().filter(|group| group.jobs.len() == 1) {
        group.name = jobs[group.jobs[0]].name.clone();
    }
    groups
}

/// A job as it is counted with those of other runs.
fn stored(job: &Job) -> rows::Job {
    rows::Job {
        name: job.name.clone(),
        conclusion: job.conclusion.clone(),
        labels: job.labels.clone(),
        queue_seconds: job.taken_ms.map(|_| job.queue_seconds),
        run_seconds: job.taken_ms.map(|_| job.run_seconds),
        is_carried_over: job.is_carried_over,
        ..rows::Job::default()
    }
}

fn caches(spans: &Spans, usual: &Usual) -> Vec<Cache> {
    let mut found: BTreeMap<(String, String), Cached> = BTreeMap::new();
    for span in &spans.all {
        for (name, cached) in span.cached() {
            found.entry((span.job(), name.to_owned())).or_default().add(cached);
        }
    }
    let cache = |((job, name), cached): ((String, String), Cached)| Cache {
        hit_rate: cached.rate(),
        usual_hit_rate: usual
            .cached
            .get(&job)
            .filter(|_| !name.contains('.'))
            .and_then(|cached| cached.rate()),
        job,
        name,
        cached,
    };
    found.into_iter().map(cache).collect()
}

/// What failed, from the smallest part: a job is left out if a step or a test of it tells why. Those
/// that are listed, and how many there are.
fn failures(spans: &Spans) -> (Vec<Failure>, usize) {
    let mut found: Vec<Failure> = Vec::new();
    let mut told: HashSet<String> = HashSet::new();
    let failed = |kind: &'static str| {
        spans.of_kind(kind).filter(|span| span.is_failure() && !span.is("ci.carried_over"))
    };
    for kind in ["test", "step", "command", "job"] {
        for span in failed(kind) {
            let job = span.job();
            if told.insert(job.clone()) || kind != "job" {
                found.push(Failure {
                    kind: kind.to_owned(),
                    job,
                    name: span.name.clone(),
                    message: span.message.clone().or_else(|| span.conclusion()),
                    span_id: span.span_id.clone(),
                });
            }
        }
    }
    cut(found, MAX_LISTED)
}

#[cfg(test)]
impl Job {
    /// A job that has ended.
    pub(super) fn of(name: &str, run_seconds: f64, is_carried_over: bool) -> Self {
        Self { name: name.to_owned(), run_seconds, is_carried_over, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_a_matrix_are_one_row() {
        let named = |name: &str| Job { name: name.into(), ..Job::default() };
        let jobs = ["test (a, 1)", "lint / run", "test (a, 2)", "build / x / 1", "build / x / 2"]
            .map(named);
        let groups = groups(&jobs);
        let told: Vec<(&str, &[usize])> =
            groups.iter().map(|group| (group.name.as_str(), group.jobs.as_slice())).collect();
        assert_eq!(told, [("test", &[0, 2][..]), ("lint / run", &[1]), ("build / x", &[3, 4])]);
    }

    #[test]
    fn a_job_of_a_run_that_has_ended_does_not_run() {
        let span = |kind: &str| Span {
            span_id: kind.into(),
            kind: kind.into(),
            name: kind.into(),
            ..Span::default()
        };
        let all = vec![span("job")];
        let goes_on = Run { is_running: true, ..Run::default() };
        let spans = Spans { all, ..Spans::default() };
        assert!(jobs_of(&spans, &goes_on)[0].is_running);
        let ended = &jobs_of(&spans, &Run::default())[0];
        assert_eq!((ended.is_running, ended.conclusion.as_deref()), (false, Some(NOT_TOLD)));
    }

    #[test]
    fn failures_that_are_not_listed_are_counted() {
        let failed = |nth: usize| Span {
            span_id: nth.to_string(),
            kind: "step".into(),
            name: format!("step {nth}"),
            is_error: true,
            ..Span::default()
        };
        let all = (0..MAX_LISTED + 50).map(failed).collect();
        let (listed, total) = failures(&Spans { all, ..Spans::default() });
        assert_eq!((listed.len(), total), (MAX_LISTED, MAX_LISTED + 50));
        assert_eq!(listed[0].name, "step 0");
    }
}
