//! Restarts over the real evaluator: what one server wrote is what the next one restores.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kymo_promql::ast::Expr;
use kymo_promql::eval::{EvalOptions, Outcome, Times, Uninterrupted, evaluate as answer};
use kymo_promql::labels::Labels;
use kymo_promql::sample::{Samples, Value};
use kymo_promql::source::{Select, Series, Source, SourceError};

use super::{MINUTE, evaluate, group, lock, world};
use crate::evaluate::{BoxFuture, Evaluate, RuleSample, Sink, SinkError, VectorSample};
use crate::group::Context;

/// Keeps floats in memory.
#[derive(Default)]
struct Store(Mutex<BTreeMap<Labels, BTreeMap<i64, f64>>>);

impl Store {
    fn set(&self, name: &str, minute: i64, value: f64) {
        let labels = Labels::of([("__name__", "up"), ("i", name)]);
        lock(&self.0).entry(labels).or_default().insert(minute * 60_000, value);
    }
}

impl Source for Store {
    fn select(&self, select: &Select) -> Result<Vec<Series>, SourceError> {
        let store = lock(&self.0);
        let is_selected = |labels: &Labels| {
            let value = |name: &str| labels.get(name).unwrap_or_default();
            select.matchers.iter().all(|matcher| matcher.matches(value(&matcher.name)))
        };
        let found = store.iter().filter(|(labels, _)| is_selected(labels));
        let series = found.map(|(labels, samples)| Series {
            labels: labels.clone(),
            samples: Arc::new(Samples {
                times: samples.keys().copied().collect(),
                values: samples.values().copied().collect(),
                ..Samples::default()
            }),
        });
        Ok(series.collect())
    }
}

impl Evaluate for Store {
    fn promql<'a>(
        &'a self,
        expr: &'a Expr,
        time_millis: i64,
    ) -> BoxFuture<'a, Result<Vec<VectorSample>, String>> {
        Box::pin(async move {
            let options = EvalOptions::default();
            let found = answer(expr, Times::instant(time_millis), self, &options, &Uninterrupted);
            match found.map_err(|error| error.to_string())?.outcome {
                Outcome::Vector { samples, .. } => Ok(samples),
                _ => Err("rule result is not a vector or scalar".to_owned()),
            }
        })
    }

    fn traceql<'a>(
        &'a self,
        _: &'a str,
        _: i64,
        _: Duration,
    ) -> BoxFuture<'a, Result<Vec<VectorSample>, String>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

impl Sink for Store {
    fn write(&self, samples: Vec<RuleSample>) -> BoxFuture<'_, Result<(), SinkError>> {
        for sample in samples {
            if let Value::Float(value) = sample.value {
                let mut store = lock(&self.0);
                store.entry(sample.labels).or_default().insert(sample.time_millis, value);
            }
        }
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn pending_alerts_go_on_and_ended_ones_begin_anew() {
    let (notify, context) = world();
    let store = Arc::new(Store::default());
    let options = context.options.clone();
    let context = Context { evaluate: store.clone(), sink: store.clone(), notify, options };
    let rules = "rules: [{alert: A, expr: up == 0, for: 30m, labels: {severity: page}}]";

    // The first server runs from minute 0 to 10; "ended" is fine from minute 9 on.
    let mut first = group(rules, &context, false);
    for minute in 0..=10 {
        store.set("pending", minute, 0.0);
        store.set("ended", minute, f64::from(u8::from(minute >= 9)));
        evaluate(&mut first, &context, minute).await;
    }
    // The second one from minute 30 on; both are down.
    let mut second = group(rules, &context, true);
    for minute in 30..=31 {
        store.set("pending", minute, 0.0);
        store.set("ended", minute, 0.0);
        evaluate(&mut second, &context, minute).await;
    }
    second.restore(&context, 31 * MINUTE).await;
    let active = |name: &str| {
        let mut found = second.rules[0].alerts.active();
        let (_, alert) = found.find(|(labels, _)| labels.get("i") == Some(name)).unwrap();
        alert.active_at / MINUTE
    };
    assert_eq!(active("pending"), 21, "it was pending for 10 minutes of 31");
    assert_eq!(active("ended"), 30);
}

#[tokio::test]
async fn an_alert_that_ended_just_before_the_restart_begins_anew() {
    let (notify, context) = world();
    let store = Arc::new(Store::default());
    let options = context.options.clone();
    let context = Context { evaluate: store.clone(), sink: store.clone(), notify, options };
    let rules = "rules: [{alert: A, expr: up == 0, for: 30m}]";
    let mut first = group(rules, &context, false);
    for minute in 0..=10 {
        store.set("a", minute, f64::from(u8::from(minute >= 10)));
        evaluate(&mut first, &context, minute).await;
    }
    let mut second = group(rules, &context, true);
    store.set("a", 12, 0.0);
    evaluate(&mut second, &context, 12).await;
    second.restore(&context, 12 * MINUTE).await;
    let (_, alert) = second.rules[0].alerts.active().next().unwrap();
    assert_eq!(alert.active_at, 12 * MINUTE);
}

#[tokio::test]
async fn alerts_that_fired_before_the_restart_and_are_over_are_told_as_resolved() {
    let (notify, context) = world();
    let store = Arc::new(Store::default());
    let options = context.options.clone();
    let context =
        Context { evaluate: store.clone(), sink: store.clone(), notify: notify.clone(), options };
    let rules = "rules: [{alert: A, expr: up == 0, for: 1m}]";
    let mut first = group(rules, &context, false);
    for minute in 0..=10 {
        store.set("over", minute, 0.0);
        store.set("shaky", minute, 0.0);
        // It was resolved, and told so, before the restart.
        store.set("fine", minute, f64::from(u8::from(minute >= 5)));
        evaluate(&mut first, &context, minute).await;
    }
    lock(&notify.sent).clear();
    let mut second = group(rules, &context, true);
    for minute in 12..=15 {
        store.set("over", minute, 1.0);
        store.set("fine", minute, 1.0);
        // Down once more, but not for long enough to fire again.
        store.set("shaky", minute, f64::from(u8::from(minute != 13)));
        evaluate(&mut second, &context, minute).await;
        if minute == 13 {
            second.restore(&context, minute * MINUTE).await;
        }
    }
    let sent = lock(&notify.sent).clone();
    let mut resolved: Vec<(&str, i64)> = sent
        .iter()
        .inspect(|alert| assert!(alert.is_resolved && alert.is_restored, "{alert:?}"))
        .map(|alert| (alert.labels["i"].as_str(), alert.ends_at_nanos / MINUTE))
        .collect();
    resolved.sort_unstable();
    resolved.dedup();
    assert_eq!(resolved, [("over", 13), ("shaky", 14)]);
    let over = sent.iter().find(|alert| alert.labels["i"] == "over").unwrap();
    assert_eq!((over.labels.len(), over.starts_at_nanos), (2, 0), "{over:?}");
}
