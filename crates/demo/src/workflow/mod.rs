//! A workflow of some four hundred tasks on two nodes, again and again.
//!
//! ```text
//!  prepare ──> dock ──> simulate ──> score        each waits for all of the one before
//! ```
//!
//! A run is a session with events of every state of every task, as programs with the library `session`
//! or with RHAPSODY send them. What is to be found: stragglers that take seven times as long, tasks
//! that run out of memory on one node, and a node that does nothing at the end of a stage.

mod plan;

use kymo_ci::attributes::Attributes;

use crate::batch::Batch;
use crate::limits::METRICS_EVERY;
use crate::metric::{Histogram, Points};
use crate::random::{Random, hex};
use crate::record::{Event, Severity, Status};
use crate::session::{SCOPE, Session, opens, pairs};
use crate::{MINUTE, SECOND};
use plan::{NODES, Plan, STAGES, State, Task};

const PAUSE: u64 = MINUTE;
const TASK_SECONDS: &[f64] = &[1.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0];
const BACKEND: &str = "dask";

#[derive(Debug)]
pub(crate) struct Workflow {
    random: Random,
    next_begin_nanos: u64,
    metrics_nanos: u64,
    run: Option<Run>,
    counts: Counts,
    start_nanos: u64,
}

#[derive(Debug)]
struct Run {
    session: Session,
    plan: Plan,
    /// How much of the plan has been told.
    told: usize,
    stages: Vec<[u8; 8]>,
}

/// What was counted over all runs, by stage.
#[derive(Debug)]
struct Counts {
    submitted: [u64; STAGES.len()],
    started: [u64; STAGES.len()],
    completed: [u64; STAGES.len()],
    failed: [u64; STAGES.len()],
    seconds: Vec<Histogram>,
    waited: Vec<Histogram>,
}

impl Workflow {
    pub(crate) fn new(random: Random, start_nanos: u64) -> Self {
        let histograms = || STAGES.iter().map(|_| Histogram::new(TASK_SECONDS)).collect();
        let none = [0; STAGES.len()];
        Self {
            random,
            next_begin_nanos: start_nanos + 10 * SECOND,
            metrics_nanos: start_nanos + METRICS_EVERY,
            run: None,
            counts: Counts {
                submitted: none,
                started: none,
                completed: none,
                failed: none,
                seconds: histograms(),
                waited: histograms(),
            },
            start_nanos,
        }
    }

    pub(crate) fn advance(&mut self, to_nanos: u64, batch: &mut Batch) {
        loop {
            let next = match &self.run {
                Some(run) => run.next_nanos(),
                None => self.next_begin_nanos,
            };
            if next.min(self.metrics_nanos) > to_nanos {
                return;
            }
            if self.metrics_nanos < next {
                self.tell_metrics(batch);
                self.metrics_nanos += METRICS_EVERY;
                continue;
            }
            match &mut self.run {
                None => self.run = Some(Run::begin(&mut self.random, next, batch)),
                Some(run) => {
                    if run.tell(&mut self.counts, batch) {
                        self.next_begin_nanos = next + PAUSE;
                        self.run = None;
                    }
                }
            }
        }
    }

    fn tell_metrics(&mut self, batch: &mut Batch) {
        let Some(run) = &self.run else { return };
        let nanos = self.metrics_nanos;
        let busy = run.plan.busy_at(nanos);
        for (node, slots) in NODES.iter().zip(busy) {
            let mut fields: Attributes =
                [("resource_scope", "per_node"), ("node_id", *node)].into_iter().collect();
            let share = slots as f64 / plan::SLOTS as f64;
            fields.set("cpu_percent", 4.0 + 90.0 * share);
            fields.set("memory_percent", 18.0 + 60.0 * share);
            let session = &run.session;
            session.event("ResourceUpdate", nanos, session.span_id, pairs(&fields), batch);
        }
        let writer = batch.metrics(&run.session.resource, SCOPE);
        let mut points = Points { writer, start_nanos: self.start_nanos, nanos };
        for (nth, stage) in STAGES.iter().enumerate() {
            let labels =
                [("backend", BACKEND), ("executable", stage.name), ("task_type", "compute")];
            let counts = &self.counts;
            let ended = counts.completed[nth] + counts.failed[nth];
            points.counter("tasks_submitted", &labels, counts.submitted[nth] as f64);
            points.counter("tasks_started", &labels, counts.started[nth] as f64);
            points.counter("tasks_completed", &labels, counts.completed[nth] as f64);
            points.counter("tasks_failed", &labels, counts.failed[nth] as f64);
            points.gauge(
                "tasks_running",
                &labels,
                counts.started[nth].saturating_sub(ended) as f64,
            );
            points.histogram("task_duration_seconds", &labels, &counts.seconds[nth]);
            points.histogram("task_queue_seconds", &labels, &counts.waited[nth]);
        }
        for (node, slots) in NODES.iter().zip(busy) {
            let percent = 4.0 + 90.0 * slots as f64 / plan::SLOTS as f64;
            let labels = [("backend", BACKEND), ("node_id", *node)];
            points.gauge("node_cpu_utilization", &labels, percent);
        }
    }
}

impl Run {
    fn begin(random: &mut Random, nanos: u64, batch: &mut Batch) -> Self {
        let mut own = Attributes::new();
        own.set("workflow.library", "zinc-12k");
        own.set("workflow.target", "6LU7");
        let session = Session::begin("protein-screen", NODES[0], &own, random, nanos, batch);
        let stages = STAGES.iter().map(|_| random.span_id()).collect();
        Self { session, plan: Plan::new(random, nanos), told: 0, stages }
    }

    fn next_nanos(&self) -> u64 {
        self.plan.moments.get(self.told).map_or(self.plan.end_nanos, |moment| moment.nanos)
    }

    /// Tells what comes next; whether that was the end.
    fn tell(&mut self, counts: &mut Counts, batch: &mut Batch) -> bool {
        let Some(moment) = self.plan.moments.get(self.told) else {
            self.session.end(self.plan.end_nanos, batch);
            return true;
        };
        self.told += 1;
        match moment.task {
            None => self.tell_stage(moment.stage, moment.state, moment.nanos, batch),
            Some(nth) => {
                let task = &self.plan.tasks[nth];
                count(counts, task, moment.state);
                self.tell_task(task, moment.state, moment.nanos, batch);
            }
        }
        false
    }

    fn tell_stage(&self, nth: usize, state: State, nanos: u64, batch: &mut Batch) {
        let (stage, span_id, session) = (&STAGES[nth], self.stages[nth], &self.session);
        if state == State::Started {
            let opened = opens(stage.name, session.span_id);
            session.event("SpanStarted", nanos, span_id, pairs(&opened), batch);
            let line = format!("stage {}: {} tasks", stage.name, stage.tasks);
            session.line(Severity::Info, nanos, span_id, line, batch);
            return;
        }
        let times = (self.plan.stage_nanos[nth], nanos);
        let span = session.span(span_id, Some(session.span_id), stage.name, times);
        batch.span(&session.resource, SCOPE, &span);
    }

    fn tell_task(&self, task: &Task, state: State, nanos: u64, batch: &mut Batch) {
        let session = &self.session;
        let stage = &STAGES[task.stage];
        let mut fields: Attributes =
            [("task_id", task.id.as_str()), ("backend", BACKEND)].into_iter().collect();
        match state {
            State::Created => {
                fields.set("executable", stage.name);
                fields.set("task_type", "compute");
                fields.set("span_name", stage.name);
                fields.set("parent_span_id", hex(&self.stages[task.stage]));
                fields.set("ligand", task.ligand.as_str());
            }
            State::Started => fields.set("node_id", NODES[task.node]),
            State::Completed | State::Failed => {
                fields.set("node_id", NODES[task.node]);
                fields.set("duration_seconds", (nanos - task.started_nanos) as f64 / 1e9);
            }
            State::Submitted | State::Queued => {}
        }
        if state == State::Failed {
            fields.set("error_type", task.error.0);
            fields.set("error_message", task.error.1);
        }
        session.event(state.event(), nanos, task.span_id, pairs(&fields), batch);
        if matches!(state, State::Completed | State::Failed) {
            self.tell_span(task, state, nanos, batch);
        }
    }

    fn tell_span(&self, task: &Task, state: State, nanos: u64, batch: &mut Batch) {
        let (session, stage) = (&self.session, &STAGES[task.stage]);
        let parent = Some(self.stages[task.stage]);
        let mut span = session.span(task.span_id, parent, stage.name, (task.created_nanos, nanos));
        let attributes = &mut span.attributes;
        attributes.set("task_id", task.id.as_str());
        attributes.set("backend", BACKEND);
        attributes.set("node_id", NODES[task.node]);
        attributes.set("executable", stage.name);
        attributes.set("task_type", "compute");
        attributes.set("ligand", task.ligand.as_str());
        let is_failed = state == State::Failed;
        attributes.set("status", if is_failed { "failed" } else { "completed" });
        span.status = Status::Ok;
        if is_failed {
            attributes.set("error_type", task.error.0);
            span.status = Status::Error(task.error.1.to_owned());
            let line = format!("{} failed: {}", task.id, task.error.1);
            session.line(Severity::Error, nanos, task.span_id, line, batch);
        }
        let moments = [
            ("TaskSubmitted", task.submitted_nanos),
            ("TaskQueued", task.queued_nanos),
            ("TaskStarted", task.started_nanos),
        ];
        let event = |(name, nanos)| Event { nanos, name, attributes: Attributes::new() };
        span.events = moments.into_iter().map(event).collect();
        batch.span(&session.resource, SCOPE, &span);
    }
}

fn count(counts: &mut Counts, task: &Task, state: State) {
    let stage = task.stage;
    match state {
        State::Submitted => counts.submitted[stage] += 1,
        State::Started => {
            counts.started[stage] += 1;
            let waited = (task.started_nanos - task.submitted_nanos) as f64 / 1e9;
            counts.waited[stage].record(waited, 1);
        }
        State::Completed | State::Failed => {
            let seconds = (task.ended_nanos - task.started_nanos) as f64 / 1e9;
            counts.seconds[stage].record(seconds, 1);
            let ends = match state {
                State::Failed => &mut counts.failed,
                _ => &mut counts.completed,
            };
            ends[stage] += 1;
        }
        State::Created | State::Queued => {}
    }
}
