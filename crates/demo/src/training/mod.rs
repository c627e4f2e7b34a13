//! A model that is trained on two nodes with four GPUs each, run after run.
//!
//! A run is a session: its steps are spans with what each rank did below them, loss and speed are
//! metrics and attributes, checkpoints are events. A run of some forty minutes is a trace of more
//! than ten thousand spans.
//!
//! What is to be found: while the last GPU is too hot ([`THROTTLING`]) its rank computes slower, and
//! all others wait for it in `all_reduce`; now and then a step waits for data; one in three runs has
//! a learning rate that is too high, and its loss does not go down.

mod step;

use kymo_ci::attributes::Attributes;

use crate::batch::Batch;
use crate::limits::METRICS_EVERY;
use crate::metric::{Histogram, Points};
use crate::random::Random;
use crate::record::{Severity, Status};
use crate::session::{SCOPE, Session, opens, pairs};
use crate::wave::THROTTLING;
use crate::{MINUTE, SECOND};
use step::{NODES, RANKS, Step};

/// How long a run takes, and how long until the next.
const RUN: u64 = 38 * MINUTE;
const PAUSE: u64 = 2 * MINUTE;
const CHECKPOINT_EVERY: u64 = 100;
const TOKENS_PER_STEP: f64 = 524_288.0;
const STEP_SECONDS: &[f64] = &[0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0];

#[derive(Debug)]
pub(crate) struct Training {
    random: Random,
    start_nanos: u64,
    /// When the next step ends, or the next run begins.
    next_nanos: u64,
    metrics_nanos: u64,
    runs: u64,
    run: Option<Run>,
}

/// One run.
#[derive(Debug)]
struct Run {
    session: Session,
    epoch: [u8; 8],
    learning_rate: f64,
    steps: u64,
    /// The last one, and when it ended.
    step: Step,
    step_nanos: u64,
    loss: f64,
    tokens: f64,
    checkpoints: u64,
    seconds: Histogram,
}

impl Training {
    pub(crate) fn new(random: Random, start_nanos: u64) -> Self {
        Self {
            random,
            start_nanos,
            next_nanos: start_nanos + 3 * SECOND,
            metrics_nanos: start_nanos + METRICS_EVERY,
            runs: 0,
            run: None,
        }
    }

    pub(crate) fn advance(&mut self, to_nanos: u64, batch: &mut Batch) {
        while self.next_nanos.min(self.metrics_nanos) <= to_nanos {
            if self.metrics_nanos < self.next_nanos {
                if let Some(run) = &self.run {
                    run.tell_metrics(self.metrics_nanos, self.start_nanos, batch);
                }
                self.metrics_nanos += METRICS_EVERY;
            } else {
                self.go_on(batch);
            }
        }
    }

    /// Ends a step, ends a run, or begins one.
    fn go_on(&mut self, batch: &mut Batch) {
        let nanos = self.next_nanos;
        let Some(run) = &mut self.run else {
            let run = Run::begin(&mut self.random, self.runs, nanos, batch);
            self.runs += 1;
            self.next_nanos = run.step_nanos + run.step.nanos();
            self.run = Some(run);
            return;
        };
        run.tell_step(&mut self.random, nanos, batch);
        if nanos >= run.session.start_nanos + RUN {
            run.end(nanos, batch);
            self.run = None;
            self.next_nanos = nanos + PAUSE;
            return;
        }
        run.step = Step::plan(&mut self.random, run.steps, nanos);
        run.step_nanos = nanos;
        self.next_nanos = nanos + run.step.nanos();
    }
}

impl Run {
    fn begin(random: &mut Random, number: u64, nanos: u64, batch: &mut Batch) -> Self {
        let learning_rate = [3e-4, 1e-4, 2e-3][(number % 3) as usize];
        let mut own = Attributes::new();
        own.set("training.model", "llama-3-8b");
        own.set("training.learning_rate", learning_rate);
        own.set("training.world_size", RANKS as i64);
        own.set("training.batch_size", 128_i64);
        own.set("training.precision", "bf16");
        let session = Session::begin("train-llama", NODES[0], &own, random, nanos, batch);
        let epoch = random.span_id();
        let opened = opens("epoch", session.span_id);
        session.event("SpanStarted", nanos, epoch, pairs(&opened), batch);
        let step = Step::plan(random, 0, nanos);
        Self {
            session,
            epoch,
            learning_rate,
            steps: 0,
            step,
            step_nanos: nanos,
            loss: 10.8,
            tokens: 0.0,
            checkpoints: 0,
            seconds: Histogram::new(STEP_SECONDS),
        }
    }

    fn tell_step(&mut self, random: &mut Random, nanos: u64, batch: &mut Batch) {
        self.steps += 1;
        let seconds = (nanos - self.step_nanos) as f64 / 1e9;
        self.learn(random);
        self.tokens += TOKENS_PER_STEP;
        self.seconds.record(seconds, 1);
        let span_id = random.span_id();
        let times = (self.step_nanos, nanos);
        let mut span = self.session.span(span_id, Some(self.epoch), "train_step", times);
        let attributes = &mut span.attributes;
        attributes.set("training.step", self.steps);
        attributes.set("training.loss", self.loss);
        attributes.set("training.learning_rate", self.learning_rate);
        attributes.set("training.tokens_per_second", TOKENS_PER_STEP / seconds);
        attributes.set("training.grad_norm", 0.4 + self.loss * 0.1 + 0.05 * random.around());
        batch.span(&self.session.resource, SCOPE, &span);
        self.step.tell(&self.session, random, span_id, self.step_nanos, batch);
        if seconds > 5.0 {
            let line = format!("step {} took {seconds:.1} s, waiting for data", self.steps);
            self.session.line(Severity::Warn, nanos, span_id, line, batch);
        } else if self.steps.is_multiple_of(20) {
            let line = format!(
                "step {} loss {:.4} lr {:.1e} {:.0} tokens/s",
                self.steps,
                self.loss,
                self.learning_rate,
                TOKENS_PER_STEP / seconds
            );
            self.session.line(Severity::Info, nanos, span_id, line, batch);
        }
        if self.steps.is_multiple_of(CHECKPOINT_EVERY) {
            self.save(random, nanos, span_id, batch);
        }
        if self.steps.is_multiple_of(5) {
            self.tell_resources(random, nanos, batch);
        }
    }

    /// The loss goes down by a law of powers, unless the learning rate is too high.
    fn learn(&mut self, random: &mut Random) {
        let steps = self.steps as f64;
        let is_too_high = self.learning_rate > 1e-3 && steps > 150.0;
        let aim = if is_too_high {
            6.0 + 1.5 * (steps / 40.0).sin().abs()
        } else {
            1.9 + 8.9 * (1.0 + steps / 12.0).powf(-0.55)
        };
        self.loss = aim * (1.0 + 0.015 * random.around());
    }

    fn save(&mut self, random: &mut Random, nanos: u64, span_id: [u8; 8], batch: &mut Batch) {
        self.checkpoints += 1;
        let mut attributes = Attributes::new();
        attributes.set("step", self.steps);
        attributes.set("path", format!("/scratch/llama/step-{:06}.ckpt", self.steps));
        attributes.set("size_bytes", 16_060_522_496_i64 + (random.next() % 4_096) as i64);
        attributes.set("duration_seconds", random.between(1.0, 2.2));
        let saved = "training.CheckpointSaved";
        self.session.event(saved, nanos, span_id, pairs(&attributes), batch);
    }

    /// What nodes and GPUs do, as the session's own poll sees it.
    fn tell_resources(&self, random: &mut Random, nanos: u64, batch: &mut Batch) {
        let session = &self.session;
        for node in NODES {
            let mut fields: Attributes =
                [("resource_scope", "per_node"), ("node_id", node)].into_iter().collect();
            fields.set("cpu_percent", random.between(28.0, 41.0));
            fields.set("memory_percent", random.between(55.0, 58.0));
            fields.set("gpu_percent", random.between(95.0, 99.0));
            session.event("ResourceUpdate", nanos, session.span_id, pairs(&fields), batch);
            for gpu in 0..RANKS / NODES.len() {
                let mut fields: Attributes =
                    [("resource_scope", "per_gpu"), ("node_id", node)].into_iter().collect();
                fields.set("gpu_id", gpu as i64);
                fields.set("gpu_percent", random.between(90.0, 99.0));
                fields.set("gpu_memory_used_bytes", 68_719_476_736_i64);
                fields.set("gpu_memory_total_bytes", 85_899_345_920_i64);
                session.event("ResourceUpdate", nanos, session.span_id, pairs(&fields), batch);
            }
        }
    }

    fn tell_metrics(&self, nanos: u64, start_nanos: u64, batch: &mut Batch) {
        let writer = batch.metrics(&self.session.resource, SCOPE);
        let start_nanos = self.session.start_nanos.max(start_nanos);
        let mut points = Points { writer, start_nanos, nanos };
        let seconds = self.step.nanos() as f64 / 1e9;
        points.gauge("training.loss", &[], self.loss);
        points.gauge("training.learning_rate", &[], self.learning_rate);
        points.gauge("training.tokens_per_second", &[], TOKENS_PER_STEP / seconds);
        points.gauge("training.step", &[], self.steps as f64);
        points.counter("training.tokens", &[], self.tokens);
        points.counter("training.checkpoints.saved", &[], self.checkpoints as f64);
        points.histogram("training.step.duration", &[], &self.seconds);
        for node in NODES {
            let labels = [("node_id", node), ("backend", "torchrun")];
            points.gauge("node_gpu_utilization", &labels, 97.0);
        }
    }

    fn end(&self, nanos: u64, batch: &mut Batch) {
        let times = (self.session.start_nanos, nanos);
        let parent = Some(self.session.span_id);
        let mut span = self.session.span(self.epoch, parent, "epoch", times);
        span.attributes.set("training.steps", self.steps);
        span.attributes.set("training.loss", self.loss);
        span.status = Status::Ok;
        batch.span(&self.session.resource, SCOPE, &span);
        self.session.end(nanos, batch);
    }
}

/// Whether the last GPU is too hot.
fn is_throttled(nanos: u64) -> bool {
    THROTTLING.is_open(nanos)
}
