//! Since when alerts are pending, and which of them fired, after a restart.
//!
//! `ALERTS_FOR_STATE` tells since when each alert was active. It is asked for once, after the
//! second evaluation, when everything that alerts depend on has been there. The time that the
//! server was away does not count as pending, and an alert that is about to fire waits for the
//! grace period, so that what it looks at can recover first.
//!
//! `ALERTS` tells which alerts fired. Those that are over by now count as resolved, so that webhooks,
//! which were told of them, are told of that, too; what was said about them is not known any more.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use kymo_promql::labels::Labels;
use kymo_promql::names::{is_legacy_label, quoted};
use kymo_promql::sample::Value;

use crate::alert::{ALERT_NAME, ALERT_STATE, ALERTS, Alert, AlertState, Alerts, FOR_STATE};
use crate::evaluate::{Evaluate, VectorSample};
use crate::file::{Rule, RuleKind};
use crate::group::{Context, GroupRun};
use crate::time::{millis, nanos};

const SECOND: i64 = 1_000_000_000;

/// How far back a query looks for a sample at least. Whether a series ended can be told only
/// within it.
const LOOKBACK: Duration = Duration::from_secs(300);

impl GroupRun {
    /// Restores the state of all alerts of the group.
    pub(crate) async fn restore(&mut self, context: &Context, now: i64) {
        let options = context.options.clone();
        self.should_restore = false;
        let asking = Asking {
            evaluate: &*context.evaluate,
            now,
            tolerance: options.outage_tolerance,
            interval: self.interval,
        };
        for rule in &mut self.rules {
            rule.is_restored = true;
            let definition = rule.rule.clone();
            let RuleKind::Alerting(alerting) = &definition.kind else { continue };
            let grace = options.for_grace_period;
            let restored = restore(&mut rule.alerts, &asking, &definition, alerting.hold, grace);
            if let Err(error) = restored.await {
                let name = &definition.name;
                tracing::error!(alert = name, error, "the state of alerts cannot be restored");
            }
        }
    }
}

/// Restores the alerts of a rule: since when they are pending, and which of them fired.
async fn restore(
    alerts: &mut Alerts,
    asking: &Asking<'_>,
    rule: &Rule,
    hold: Duration,
    grace: Duration,
) -> Result<(), String> {
    let firing = format!("{ALERT_STATE}={}", quoted(AlertState::Firing.name()));
    let firing = asking.stored(&selector(ALERTS, rule, Some(firing))).await?;
    let firing: HashSet<Labels> =
        firing.into_keys().map(|labels| labels.filtered(|name| name != ALERT_STATE)).collect();
    // With a shorter one it would wait for the grace period, which is longer than its own.
    let has_pending = hold >= grace && !alerts.by_labels.is_empty();
    if firing.is_empty() && !has_pending {
        return Ok(());
    }
    let stored = asking.stored(&selector(FOR_STATE, rule, None)).await?;
    for (labels, alert) in &mut alerts.by_labels {
        alert.fired_before = alert.state != AlertState::Firing && firing.contains(labels);
        if let Some(stored) = stored.get(labels).filter(|_| has_pending) {
            alert.active_at = active_at(*stored, asking.now, hold, grace);
        }
    }
    for labels in firing {
        let since = stored.get(&labels).map_or(asking.now, |stored| stored.active_at);
        alerts.by_labels.entry(labels).or_insert_with(|| Alert::over(since, asking.now));
    }
    Ok(())
}

/// What was stored of an alert, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stored {
    active_at: i64,
    down_at: i64,
}

/// Since when an alert counts as active.
fn active_at(stored: Stored, now: i64, hold: Duration, grace: Duration) -> i64 {
    let Stored { active_at, down_at } = stored;
    let remaining = nanos(hold).saturating_sub(down_at.saturating_sub(active_at));
    if remaining <= 0 {
        // It was firing, and fires again with the next evaluation.
        active_at
    } else if remaining < nanos(grace) {
        // It fires when the grace period is over.
        now.saturating_add(nanos(grace)).saturating_sub(nanos(hold))
    } else {
        active_at.saturating_add(now.saturating_sub(down_at))
    }
}

/// Whom is asked for what was stored, and when.
struct Asking<'a> {
    evaluate: &'a dyn Evaluate,
    now: i64,
    tolerance: Duration,
    interval: Duration,
}

impl Asking<'_> {
    /// What is stored about the alerts of a rule that were active when the server went down.
    async fn stored(&self, selector: &str) -> Result<HashMap<Labels, Stored>, String> {
        let range = format!("{selector}[{}ms]", self.tolerance.as_millis().max(1));
        let since = self.ask(&format!("last_over_time({range})"), millis(self.now)).await?;
        if since.is_empty() {
            return Ok(HashMap::new());
        }
        let last = self.ask(&format!("ts_of_last_over_time({range})"), millis(self.now)).await?;
        // All active alerts of a rule are written together: those that are older had ended.
        let Some(newest) = last.values().copied().max_by(f64::total_cmp) else {
            return Ok(HashMap::new());
        };
        let down_millis = (newest * 1e3) as i64;
        // An alert that ended in the last evaluation was marked as such one interval later.
        let alive = match self.interval < LOOKBACK {
            true => {
                let then = down_millis.saturating_add(millis(nanos(self.interval)));
                Some(self.ask(selector, then).await?)
            }
            false => None,
        };
        let is_alive = |labels: &Labels| {
            last.get(labels) == Some(&newest)
                && alive.as_ref().is_none_or(|alive| alive.contains_key(labels))
        };
        let down_at = down_millis.div_euclid(1_000).saturating_mul(SECOND);
        let found = since.into_iter().filter(|(labels, _)| is_alive(labels));
        let stored = found.map(|(labels, secs)| {
            let active_at = (secs as i64).saturating_mul(SECOND);
            (labels, Stored { active_at, down_at })
        });
        Ok(stored.collect())
    }

    /// Numbers by labels without the name.
    async fn ask(&self, text: &str, time_millis: i64) -> Result<HashMap<Labels, f64>, String> {
        let expr = kymo_promql::parser::parse(text).map_err(|error| error.to_string())?;
        let found = self.evaluate.promql(&expr, time_millis).await?;
        let number = |sample: VectorSample| match sample.value {
            Value::Float(value) => Some((sample.labels.without_metadata(), value)),
            Value::Histogram(_) => None,
        };
        Ok(found.into_iter().filter_map(number).collect())
    }
}

/// The series about the alerts of a rule, with one more matcher if need be.
fn selector(metric: &str, rule: &Rule, more: Option<String>) -> String {
    let mut matchers = vec![format!("{ALERT_NAME}={}", quoted(&rule.name))];
    for (name, value) in &rule.labels {
        // What a template gives differs from alert to alert.
        if value.contains("{{") || name == ALERT_NAME {
            continue;
        }
        let name = if is_legacy_label(name) { name.clone() } else { quoted(name) };
        matchers.push(format!("{name}={}", quoted(value)));
    }
    matchers.extend(more);
    format!("{metric}{{{}}}", matchers.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60 * SECOND;

    #[test]
    fn the_time_away_does_not_count_as_pending() {
        let minutes = |count: u64| Duration::from_secs(count * 60);
        let (hold, grace) = (minutes(60), minutes(10));
        let at = |active: i64, down: i64, now: i64| {
            let stored = Stored { active_at: active * MINUTE, down_at: down * MINUTE };
            active_at(stored, now * MINUTE, hold, grace) / MINUTE
        };
        assert_eq!(at(100, 170, 200), 100, "it was firing");
        assert_eq!(at(100, 155, 200), 150, "it fires 10 minutes from now");
        assert_eq!(at(100, 120, 200), 180, "it was pending for 20 minutes");
    }

    #[test]
    fn a_selector_leaves_templates_out() {
        let text = "groups: [{name: g, rules: [{alert: 'A\"', expr: up, \
                    labels: {a.b: x, c: '{{ $value }}', d: e}}]}]";
        let groups = crate::file::RuleFiles::parse(text, std::path::Path::new("r")).unwrap();
        let selector = selector(FOR_STATE, &groups[0].rules[0], None);
        assert_eq!(selector, r#"ALERTS_FOR_STATE{alertname="A\"","a.b"="x",d="e"}"#);
        kymo_promql::parser::parse(&selector).unwrap();
    }
}
