//! One rule: its evaluation, and what is remembered of it.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use kymo_promql::labels::{Labels, NAME};
use kymo_promql::sample::Value;

use crate::alert::{ALERT_NAME, AlertState, Alerts, Found, Terms, labels_of};
use crate::evaluate::{BoxFuture, Evaluate, RuleSample, VectorSample};
use crate::file::{Alerting, Query, Rule, RuleKind};
use crate::notify::OutgoingAlert;
use crate::options::RuleOptions;
use crate::state::{
    ActiveAlert, AlertingRuleState, Health, LastEvaluation, RecordingRuleState, RuleState,
};
use crate::template::{Template, TemplateData};
use crate::time::millis;
use crate::url::table_link;

/// A rule, and what is remembered of it.
#[derive(Debug)]
pub(crate) struct RuleRun {
    pub(crate) rule: Arc<Rule>,
    pub(crate) alerts: Alerts,
    /// Whether series about the alerts are written: not before their state was restored.
    pub(crate) is_restored: bool,
    /// What the last evaluation wrote.
    pub(crate) series: HashSet<Labels>,
    pub(crate) health: Health,
    pub(crate) last_error: String,
    pub(crate) evaluation_time: Duration,
    pub(crate) last_evaluation: i64,
}

/// When and how rules of a group are evaluated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) time: i64,
    pub(crate) query_offset: i64,
    pub(crate) interval: Duration,
    pub(crate) limit: usize,
}

impl Slot {
    /// What is asked for, and when samples are from.
    pub(crate) fn query_millis(&self) -> i64 {
        millis(self.time.saturating_sub(self.query_offset))
    }
}

impl RuleRun {
    pub(crate) fn new(rule: Arc<Rule>, is_restored: bool) -> Self {
        Self {
            rule,
            alerts: Alerts::default(),
            is_restored,
            series: HashSet::new(),
            health: Health::Unknown,
            last_error: String::new(),
            evaluation_time: Duration::ZERO,
            last_evaluation: 0,
        }
    }

    /// Evaluates the rule; what comes out is to be written.
    pub(crate) async fn evaluate(
        &mut self,
        evaluate: &dyn Evaluate,
        options: &RuleOptions,
        slot: Slot,
    ) -> Result<Vec<RuleSample>, String> {
        let rule = self.rule.clone();
        let time_millis = slot.query_millis();
        let found = match &rule.query {
            Query::PromQl(expr) => evaluate.promql(expr, time_millis).await?,
            Query::TraceQl(query) => evaluate.traceql(query, time_millis, slot.interval).await?,
        };
        let RuleKind::Alerting(alerting) = &rule.kind else {
            return record(&rule, found, slot);
        };
        let mut alerts = Vec::with_capacity(found.len());
        for sample in found {
            alerts.push(fill_in(&rule, alerting, &sample, evaluate, options, slot.time).await);
        }
        let terms = Terms {
            hold: alerting.hold,
            keep_firing_for: alerting.keep_firing_for,
            limit: slot.limit,
        };
        self.alerts.advance(alerts, slot.time, terms)?;
        Ok(if self.is_restored { self.alerts.samples(time_millis) } else { Vec::new() })
    }

    /// What receivers have to be told now.
    pub(crate) fn due(&mut self, options: &RuleOptions, slot: Slot) -> Vec<OutgoingAlert> {
        if !matches!(self.rule.kind, RuleKind::Alerting(_)) {
            return Vec::new();
        }
        let external = options.external_url.trim_end_matches('/');
        let generator_url = match &self.rule.query {
            Query::PromQl(expr) => format!("{external}{}", table_link(&expr.to_string())),
            // There is no page for other expressions.
            Query::TraceQl(_) => external.to_owned(),
        };
        let due = self.alerts.due(slot.time, options.resend_delay, slot.interval);
        let outgoing = due.into_iter().map(|(labels, alert)| OutgoingAlert {
            labels: map_of(&labels),
            starts_at_nanos: alert.fired_at.unwrap_or(alert.active_at),
            ends_at_nanos: alert.resolved_at.unwrap_or(alert.valid_until),
            is_resolved: alert.resolved_at.is_some(),
            is_restored: alert.fired_before,
            annotations: alert.annotations,
            generator_url: generator_url.clone(),
        });
        outgoing.collect()
    }

    /// What the API shows.
    pub(crate) fn state(&self) -> RuleState {
        let rule = &self.rule;
        let last = |kind| LastEvaluation {
            health: self.health,
            last_error: self.last_error.clone(),
            evaluation_time_secs: self.evaluation_time.as_secs_f64(),
            last_evaluation_nanos: self.last_evaluation,
            kind,
        };
        let (name, query, labels) =
            (rule.name.clone(), rule.query.to_string(), rule.labels.clone());
        let RuleKind::Alerting(alerting) = &rule.kind else {
            let last = last("recording");
            return RuleState::Recording(RecordingRuleState { name, query, labels, last });
        };
        let annotations = alerting.annotations.iter();
        RuleState::Alerting(AlertingRuleState {
            state: match self.last_evaluation {
                0 => AlertState::Unknown,
                _ => self.alerts.state(),
            },
            name,
            query,
            hold_secs: alerting.hold.as_secs_f64(),
            keep_firing_for_secs: alerting.keep_firing_for.as_secs_f64(),
            labels,
            annotations: annotations
                .map(|(name, template)| (name.clone(), template.source().to_owned()))
                .collect(),
            alerts: self
                .alerts
                .active()
                .map(|(labels, alert)| ActiveAlert::new(map_of(labels), alert))
                .collect(),
            last: last("alerting"),
        })
    }
}

/// Labels as a map.
pub(crate) fn map_of(labels: &Labels) -> BTreeMap<String, String> {
    labels.iter().map(|label| (label.name.to_string(), label.value.to_string())).collect()
}

/// What a recording rule writes.
fn record(rule: &Rule, found: Vec<VectorSample>, slot: Slot) -> Result<Vec<RuleSample>, String> {
    let mut seen = HashSet::with_capacity(found.len());
    let mut samples = Vec::with_capacity(found.len());
    for sample in found {
        let mut labels = sample.labels.with(NAME, &rule.name);
        for (name, value) in &rule.labels {
            labels = labels.with(name, value);
        }
        if !seen.insert(labels.clone()) {
            let message =
                "vector contains metrics with the same labelset after applying rule labels";
            return Err(message.to_owned());
        }
        let time_millis = slot.query_millis();
        samples.push(RuleSample { labels, value: sample.value, time_millis });
    }
    let (limit, count) = (slot.limit, samples.len());
    if limit > 0 && count > limit {
        return Err(format!("exceeded limit of {limit} with {count} series"));
    }
    Ok(samples)
}

/// An alert with its templates filled in.
async fn fill_in(
    rule: &Rule,
    alerting: &Alerting,
    sample: &VectorSample,
    evaluate: &dyn Evaluate,
    options: &RuleOptions,
    time: i64,
) -> Found {
    let RuleOptions { external_labels, external_url, .. } = options;
    let data = TemplateData::new(sample, external_labels, external_url, time);
    let mut labels = map_of(&sample.labels);
    labels.remove(NAME);
    for (name, template) in &alerting.labels {
        labels.insert(name.clone(), expand(template, &data, evaluate, millis(time)).await);
    }
    labels.insert(ALERT_NAME.to_owned(), rule.name.clone());
    let mut annotations = BTreeMap::new();
    for (name, template) in &alerting.annotations {
        annotations.insert(name.clone(), expand(template, &data, evaluate, millis(time)).await);
    }
    let value = match &sample.value {
        Value::Float(value) => *value,
        Value::Histogram(_) => 0.0,
    };
    Found { labels: labels_of(&labels), annotations, value }
}

async fn expand(
    template: &Template,
    data: &TemplateData,
    evaluate: &dyn Evaluate,
    time_millis: i64,
) -> String {
    let query = |text: String| -> BoxFuture<'_, Result<Vec<VectorSample>, String>> {
        Box::pin(async move {
            let expr = kymo_promql::parser::parse(&text).map_err(|error| error.to_string())?;
            evaluate.promql(&expr, time_millis).await
        })
    };
    template.expand(data, &query).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "a template of an alert cannot be filled in");
        format!("<error expanding template: {error}>")
    })
}
