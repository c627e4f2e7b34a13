//! One run: when its jobs wait, run and end; and what is told of it when.

use kymo_ci::encode;
use kymo_ci::environment::Environment;
use kymo_ci::identity::{Asked, Identity};
use kymo_ci::ids::SpanId;
use kymo_ci::model::{Conclusion, Job, Run, Step};
use kymo_ci::span::Trace;
use kymo_ci::summary::{StoredJobs, Summary};
use kymo_ci::warnings::Warnings;
use kymo_wire::Signal;

use super::plan::{FLAKY, Jobs, PEOPLE, TITLES, What, Workflow};
use super::stash::{Left, log_lines};
use crate::batch::Batch;
use crate::random::{Random, hex};
use crate::record::{Log, Resource, Severity};
use crate::{MARK, SECOND};

/// A run that is planned to its end, of which some has been told.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) workflow: &'static Workflow,
    random: Random,
    age_nanos: u64,
    run: Run,
    identity: Identity,
    environment: Environment,
    /// How far each job has been told.
    told: Vec<Told>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    Waiting,
    All,
}

impl Running {
    pub(super) fn new(
        workflow: &'static Workflow,
        mut random: Random,
        nanos: u64,
        age_nanos: u64,
        (number, attempt): (u64, u64),
        change: u64,
    ) -> Self {
        let is_change = workflow.event == "pull_request";
        let sha = hex(&[random.trace_id().as_slice(), &[0; 4]].concat());
        let url = format!("https://github.com/{}/actions/runs/{number}", workflow.repository);
        let mut run = Run {
            repository: Some(workflow.repository.to_owned()),
            id: Some(number),
            attempt: Some(attempt),
            workflow: Some(workflow.name.to_owned()),
            title: Some((*random.of(&TITLES)).to_owned()),
            event: Some(workflow.event.to_owned()),
            branch: Some(if is_change { format!("change-{change}") } else { "main".to_owned() }),
            sha: Some(sha),
            url: Some(url),
            actor: Some((*random.of(&PEOPLE)).to_owned()),
            pull_request: is_change.then_some(change),
            base_branch: is_change.then(|| "main".to_owned()),
            created_nanos: Some(nanos),
            started_nanos: Some(nanos),
            ..Run::default()
        };
        plan_jobs(workflow, &mut random, nanos, age_nanos, &mut run);
        let is_broken = |job: &Job| job.conclusion == Some(Conclusion::Failure);
        let has_failed = run.jobs.iter().any(is_broken);
        run.conclusion = Some(if has_failed { Conclusion::Failure } else { Conclusion::Success });
        run.status = Some("completed".to_owned());
        run.updated_nanos = run.jobs.iter().filter_map(|job| job.completed_nanos).max();
        let environment = Environment::default();
        let identity =
            Identity::resolve(&Asked::default(), &environment, &run, &mut Warnings::new());
        let told = vec![Told::Nothing; run.jobs.len()];
        Self { workflow, random, age_nanos, run, identity, environment, told }
    }

    pub(super) fn end_nanos(&self) -> u64 {
        self.run.updated_nanos.unwrap_or(0)
    }

    /// The change that it is for, if it is for one.
    pub(super) fn change(&self) -> Option<u64> {
        self.run.pull_request
    }

    pub(super) fn number(&self) -> u64 {
        self.run.id.unwrap_or(0)
    }

    /// Whether somebody runs it again: what is flaky is.
    pub(super) fn is_run_again(&self) -> bool {
        let is_flaky =
            |job: &Job| job.name.ends_with(FLAKY) && job.conclusion == Some(Conclusion::Failure);
        self.run.attempt == Some(1) && self.run.jobs.iter().any(is_flaky)
    }

    /// Tells what has happened; whether that is all.
    pub(super) fn tell(&mut self, to_nanos: u64, batch: &mut Batch) -> bool {
        for nth in 0..self.run.jobs.len() {
            let job = &self.run.jobs[nth];
            let is_taken = job.started_nanos.is_some_and(|taken| taken <= to_nanos);
            let is_done = job.completed_nanos.is_some_and(|done| done <= to_nanos);
            if is_taken && self.told[nth] == Told::Nothing {
                self.told[nth] = Told::Waiting;
                let trace = self.summary(&|_, _| Left::default().stash).queue(&self.run.jobs[nth]);
                trace.into_iter().for_each(|trace| send(trace, batch));
            }
            if is_done && self.told[nth] == Told::Waiting {
                self.told[nth] = Told::All;
                self.tell_job(nth, batch);
            }
        }
        let is_over = self.end_nanos() <= to_nanos;
        if is_over {
            let jobs = StoredJobs {
                from_nanos: self.run.started_nanos.unwrap_or(0),
                to_nanos: self.end_nanos(),
                conclusions: self.run.jobs.iter().map(|job| job.conclusion.clone()).collect(),
            };
            send(self.summary(&|_, _| Left::default().stash).run(Some(&jobs)), batch);
        }
        is_over
    }

    fn tell_job(&mut self, nth: usize, batch: &mut Batch) {
        let job = &self.run.jobs[nth];
        let left = Left::of(job, &mut self.random, self.workflow.is_cache_worse, self.age_nanos);
        let stash = left.stash;
        let stash = |_: &Job, _: &mut Warnings| stash.clone();
        let trace = self.summary(&stash).job(&self.run.jobs[nth], &mut Warnings::new());
        if let Some(failed) = left.failed {
            self.tell_lines(nth, &failed, &trace, batch);
        }
        send(trace, batch);
    }

    /// What a step wrote before it failed.
    fn tell_lines(&self, nth: usize, test: &str, trace: &Trace, batch: &mut Batch) {
        let job = &self.run.jobs[nth];
        let broken = |step: &&Step| step.conclusion == Some(Conclusion::Failure);
        let Some(step) = job.steps.iter().find(broken) else { return };
        let Some(group) = trace.groups.first() else { return };
        let resource = Resource::new(&group.resource);
        let span_id = SpanId::of(trace.id, &[&job.name, &step.name]).0;
        let (from, to) = (step.started_nanos.unwrap_or(0), step.completed_nanos.unwrap_or(0));
        let lines = log_lines(test);
        let every = (to - from) / (lines.len() as u64 + 1);
        for (line, nanos) in lines.into_iter().zip((1..).map(|nth| from + nth * every)) {
            let is_error = line.starts_with("E ") || line.contains("FAILED");
            let log = Log {
                nanos,
                severity: if is_error { Severity::Error } else { Severity::Info },
                body: line,
                place: Some((trace.id.0, span_id)),
                attributes: [("ci.job", job.name.as_str()), ("ci.step", &step.name)]
                    .into_iter()
                    .collect(),
                ..Log::default()
            };
            batch.log(&resource, "kymo.ci", &log);
        }
    }

    fn summary<'a>(
        &'a self,
        stash: &'a dyn Fn(&Job, &mut Warnings) -> kymo_ci::stash::Stash,
    ) -> Summary<'a> {
        Summary { identity: &self.identity, run: &self.run, environment: &self.environment, stash }
    }
}

fn send(mut trace: Trace, batch: &mut Batch) {
    trace.groups.iter_mut().for_each(|group| group.resource.set(MARK, true));
    encode::requests(&trace).into_iter().for_each(|body| batch.request(Signal::Traces, body));
}

/// Gives the run its jobs, with their times.
fn plan_jobs(
    workflow: &'static Workflow,
    random: &mut Random,
    nanos: u64,
    age_nanos: u64,
    run: &mut Run,
) {
    let (mut begins, mut ends) = (nanos, nanos);
    for jobs in workflow.jobs {
        if !jobs.is_beside {
            begins = ends.max(begins);
        }
        for matrix in jobs.matrix {
            let job = plan_job(workflow, jobs, *matrix, random, begins, age_nanos, run);
            ends = ends.max(job.completed_nanos.unwrap_or(begins));
            run.jobs.push(job);
        }
    }
}

fn plan_job(
    workflow: &Workflow,
    jobs: &Jobs,
    (matrix, labels): (&str, &str),
    random: &mut Random,
    created: u64,
    age_nanos: u64,
    run: &Run,
) -> Job {
    let name = match matrix {
        "" => jobs.name.to_owned(),
        matrix => format!("{} / {} / {matrix}", jobs.name, verb(jobs.what)),
    };
    let is_gpu = labels.contains("gpu");
    // Runners with GPUs are few.
    let waits = if is_gpu { random.skewed(16.0) } else { random.skewed(2.5) };
    let is_slow = jobs.what == What::Build
        && workflow.is_cache_worse
        && age_nanos >= super::plan::CACHE_WORSE_AFTER;
    let seconds = random.skewed(jobs.seconds) * if is_slow { 1.6 } else { 1.0 };
    let fails = match jobs.what {
        What::Test if matrix == FLAKY => run.attempt == Some(1) && random.chance(0.2),
        What::Test => random.chance(0.015),
        What::Check => random.chance(0.01),
        _ => false,
    };
    let started = created + (waits * 1e9) as u64;
    let conclusion = if fails { Conclusion::Failure } else { Conclusion::Success };
    let id = random.next() % 90_000_000_000 + 10_000_000_000;
    let mut job = Job {
        place: "jobs".to_owned(),
        id: Some(id),
        run_id: run.id,
        attempt: run.attempt,
        name,
        workflow: run.workflow.clone(),
        branch: run.branch.clone(),
        sha: run.sha.clone(),
        url: run.url.as_ref().map(|url| format!("{url}/job/{id}")),
        status: Some("completed".to_owned()),
        conclusion: Some(conclusion),
        created_nanos: Some(created),
        started_nanos: Some(started),
        labels: vec![labels.to_owned()],
        runner: Some(format!("{labels}-{}", 1 + random.below(4))),
        runner_group: Some("nodes".to_owned()),
        ..Job::default()
    };
    job.completed_nanos = Some(plan_steps(&mut job, jobs.what, random, started, seconds, fails));
    job
}

fn verb(what: What) -> &'static str {
    match what {
        What::Check => "check",
        What::Build => "build",
        What::Test => "tests",
        What::Docs => "docs",
    }
}

/// Steps, with their share of the time; the main one may fail, and then the next are left out.
fn plan_steps(
    job: &mut Job,
    what: What,
    random: &mut Random,
    started: u64,
    seconds: f64,
    fails: bool,
) -> u64 {
    let steps: &[(&str, f64)] = match what {
        What::Check => &[("Set up job", 0.2), ("Checkout", 0.2), ("Run checks", 0.6)],
        What::Build => &[
            ("Set up job", 0.04),
            ("Checkout", 0.03),
            ("Get the environment", 0.1),
            ("C++ build", 0.68),
            ("Upload packages", 0.11),
            ("Complete job", 0.04),
        ],
        What::Test => &[
            ("Set up job", 0.06),
            ("Checkout", 0.04),
            ("Download packages", 0.2),
            ("Run tests", 0.66),
            ("Complete job", 0.04),
        ],
        What::Docs => &[("Set up job", 0.1), ("Checkout", 0.1), ("Render pages", 0.8)],
    };
    let main = steps.iter().map(|step| step.1).fold(0.0, f64::max);
    let mut cursor = started;
    let mut has_failed = false;
    for (number, (name, share)) in (1..).zip(steps) {
        let is_last = *name == "Complete job";
        let is_skipped = has_failed && !is_last;
        let breaks = fails && *share >= main;
        let factor = if is_skipped { 0.0 } else { random.between(0.9, 1.1) };
        let nanos = (share * seconds * factor * SECOND as f64) as u64;
        has_failed |= breaks;
        let conclusion = match (is_skipped, breaks) {
            (true, _) => Conclusion::Skipped,
            (_, true) => Conclusion::Failure,
            _ => Conclusion::Success,
        };
        job.steps.push(Step {
            name: (*name).to_owned(),
            number: Some(number),
            status: Some("completed".to_owned()),
            conclusion: Some(conclusion),
            started_nanos: Some(cursor),
            completed_nanos: Some(cursor + nanos),
        });
        cursor += nanos;
    }
    cursor
}
