//! One group: its rules one after another, the ends of series, and what a reload hands on.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kymo_promql::labels::Labels;
use kymo_promql::sample::{STALE_NAN, Value};
use xxhash_rust::xxh3::xxh3_64;

use crate::evaluate::{Evaluate, RuleSample, Sink, SinkError};
use crate::file::{Group, Query, Rule, RuleKind};
use crate::limits::DEFAULT_INTERVAL;
use crate::notify::Notify;
use crate::options::RuleOptions;
use crate::rule::{RuleRun, Slot};
use crate::state::{GroupState, Health, lock};
use crate::time::{nanos, now_nanos};

/// What groups need from outside.
pub(crate) struct Context {
    pub(crate) evaluate: Arc<dyn Evaluate>,
    pub(crate) sink: Arc<dyn Sink>,
    pub(crate) notify: Arc<dyn Notify>,
    pub(crate) options: Arc<RuleOptions>,
}

/// What others see of a group.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) state: Mutex<GroupState>,
    /// What its rules wrote last.
    pub(crate) series: Mutex<HashSet<Labels>>,
}

/// A group, and what is remembered of it.
#[derive(Debug)]
pub(crate) struct GroupRun {
    pub(crate) group: Arc<Group>,
    pub(crate) rules: Vec<RuleRun>,
    pub(crate) interval: Duration,
    /// Series of rules that are gone, which have to end.
    stale: Vec<Labels>,
    /// Whether the state of alerts is to be restored after a restart.
    pub(crate) should_restore: bool,
    pub(crate) shared: Arc<Shared>,
}

impl GroupRun {
    pub(crate) fn new(group: Arc<Group>, options: &RuleOptions, should_restore: bool) -> Self {
        let interval = match group.interval.unwrap_or(options.evaluation_interval) {
            Duration::ZERO => DEFAULT_INTERVAL,
            interval => interval,
        };
        let rules: Vec<RuleRun> = group
            .rules
            .iter()
            .map(|rule| RuleRun::new(Arc::new(rule.clone()), !should_restore))
            .collect();
        let state = GroupState {
            name: group.name.clone(),
            file: group.file.clone(),
            rules: rules.iter().map(RuleRun::state).collect(),
            interval_secs: interval.as_secs_f64(),
            limit: group.limit,
            evaluation_time_secs: 0.0,
            last_evaluation_nanos: 0,
        };
        let shared = Shared { state: Mutex::new(state), series: Mutex::default() };
        Self { group, rules, interval, stale: Vec::new(), should_restore, shared: Arc::new(shared) }
    }

    /// Takes over what is known of rules that have the same name and labels; of several, the
    /// first from the first. Series of others end with the next evaluation.
    pub(crate) fn inherit(&mut self, from: GroupRun) {
        {
            let before = lock(&from.shared.state);
            let mut state = lock(&self.shared.state);
            state.evaluation_time_secs = before.evaluation_time_secs;
            state.last_evaluation_nanos = before.last_evaluation_nanos;
        }
        self.should_restore = from.should_restore;
        self.stale = from.stale;
        type Key = (String, Vec<(String, String)>, bool);
        let key = |rule: &Rule| -> Key {
            let labels = rule.labels.iter().map(|(n, v)| (n.clone(), v.clone())).collect();
            (rule.name.clone(), labels, matches!(rule.kind, RuleKind::Recording))
        };
        let mut before: HashMap<Key, VecDeque<RuleRun>> = HashMap::new();
        for rule in from.rules {
            before.entry(key(&rule.rule)).or_default().push_back(rule);
        }
        for rule in &mut self.rules {
            rule.is_restored = !self.should_restore;
            if let Some(known) = before.get_mut(&key(&rule.rule)).and_then(VecDeque::pop_front) {
                *rule = RuleRun { rule: rule.rule.clone(), ..known };
            }
        }
        self.stale.extend(before.into_values().flatten().flat_map(|rule| rule.series));
        let states = self.rules.iter().map(RuleRun::state).collect();
        lock(&self.shared.state).rules = states;
        self.publish_series();
    }

    /// How far from the beginning of an interval the group is evaluated: not all at once, and
    /// always at the same time.
    fn offset(&self) -> i64 {
        let identity = format!("{}\u{ff}{}", self.group.file, self.group.name);
        let hash = xxh3_64(identity.as_bytes()) % self.interval_nanos().unsigned_abs();
        i64::try_from(hash).unwrap_or(0)
    }

    pub(crate) fn interval_nanos(&self) -> i64 {
        nanos(self.interval).max(1)
    }

    /// The next time of evaluation.
    pub(crate) fn next_slot(&self, now: i64) -> i64 {
        let (interval, offset) = (self.interval_nanos(), self.offset());
        let since = now.saturating_sub(offset);
        since - since.rem_euclid(interval) + offset + interval
    }

    /// When and how a rule is evaluated; without one, what holds for the group.
    pub(crate) fn slot(&self, rule: Option<&Rule>, time: i64, options: &RuleOptions) -> Slot {
        let default = match rule.map(|rule| &rule.query) {
            // Spans arrive when they are over.
            Some(Query::TraceQl(_)) => options.query_offset.max(options.traceql_offset),
            Some(Query::PromQl(_)) | None => options.query_offset,
        };
        let query_offset = nanos(self.group.query_offset.unwrap_or(default));
        Slot { time, query_offset, interval: self.interval, limit: self.group.limit }
    }

    /// Evaluates all rules as of a time, unless `is_stopped` says to stop between two.
    pub(crate) async fn evaluate(
        &mut self,
        context: &Context,
        time: i64,
        is_stopped: &(dyn Fn() -> bool + Send + Sync),
    ) {
        let (started, began) = (Instant::now(), now_nanos());
        for nth in 0..self.rules.len() {
            if is_stopped() {
                return;
            }
            self.rule(nth, context, time).await;
        }
        self.end_stale(context, self.slot(None, time, &context.options)).await;
        self.publish_series();
        let mut state = lock(&self.shared.state);
        state.evaluation_time_secs = started.elapsed().as_secs_f64();
        state.last_evaluation_nanos = began;
    }

    async fn rule(&mut self, nth: usize, context: &Context, time: i64) {
        let (started, began) = (Instant::now(), now_nanos());
        let slot = self.slot(self.group.rules.get(nth), time, &context.options);
        let done = self.evaluate_and_write(nth, context, slot).await;
        let Some(rule) = self.rules.get_mut(nth) else { return };
        rule.evaluation_time = started.elapsed();
        rule.last_evaluation = began;
        match done {
            Ok(()) => (rule.health, rule.last_error) = (Health::Ok, String::new()),
            Err(error) => {
                let (group, name) = (&self.group.name, &rule.rule.name);
                tracing::warn!(group, rule = name, error, "a rule cannot be evaluated");
                (rule.health, rule.last_error) = (Health::Err, error);
            }
        }
        let shown = rule.state();
        if let Some(state) = lock(&self.shared.state).rules.get_mut(nth) {
            *state = shown;
        }
    }

    async fn evaluate_and_write(
        &mut self,
        nth: usize,
        context: &Context,
        slot: Slot,
    ) -> Result<(), String> {
        let Some(rule) = self.rules.get_mut(nth) else { return Ok(()) };
        let mut samples = rule.evaluate(&*context.evaluate, &context.options, slot).await?;
        let due = rule.due(&context.options, slot);
        if !due.is_empty() {
            context.notify.notify(due);
        }
        let series: HashSet<Labels> = samples.iter().map(|sample| sample.labels.clone()).collect();
        let gone = rule.series.difference(&series).cloned().collect::<Vec<_>>();
        let ends = gone.into_iter().filter(|labels| !self.has_other(nth, labels));
        samples.extend(ends.map(|labels| end(labels, slot.query_millis())));
        let written = match samples.is_empty() {
            true => Ok(()),
            false => context.sink.write(samples).await,
        };
        // Series of which some samples were left out are there, and have to end some day.
        let is_there = !matches!(written, Err(SinkError::Lost(_)));
        if let Some(rule) = self.rules.get_mut(nth).filter(|_| is_there) {
            rule.series = series;
        }
        written.map_err(|error| error.to_string())
    }

    /// Whether another rule of the group writes a series, too: then it does not end.
    fn has_other(&self, nth: usize, labels: &Labels) -> bool {
        let mut others = self.rules.iter().enumerate().filter(|(other, _)| *other != nth);
        others.any(|(_, rule)| rule.series.contains(labels))
    }

    /// Ends the series of rules that are gone.
    async fn end_stale(&mut self, context: &Context, slot: Slot) {
        let stale = std::mem::take(&mut self.stale);
        let is_over = |labels: &Labels| !self.rules.iter().any(|rule| rule.series.contains(labels));
        let ends: Vec<RuleSample> = stale
            .into_iter()
            .filter(is_over)
            .map(|labels| end(labels, slot.query_millis()))
            .collect();
        if ends.is_empty() {
            return;
        }
        let labels: Vec<Labels> = ends.iter().map(|sample| sample.labels.clone()).collect();
        if let Err(error) = context.sink.write(ends).await {
            tracing::warn!(group = self.group.name, %error, "ends of series cannot be written");
            if matches!(error, SinkError::Lost(_)) {
                self.stale = labels;
            }
        }
    }

    fn publish_series(&self) {
        let all = self.rules.iter().flat_map(|rule| rule.series.iter().cloned()).collect();
        *lock(&self.shared.series) = all;
    }

    /// All series that end when the group goes away.
    pub(crate) fn into_series(self) -> Vec<Labels> {
        let of_rules = self.rules.into_iter().flat_map(|rule| rule.series);
        of_rules.chain(self.stale).collect()
    }
}

/// The sample that ends a series.
pub(crate) fn end(labels: Labels, time_millis: i64) -> RuleSample {
    RuleSample { labels, value: Value::Float(STALE_NAN), time_millis }
}
