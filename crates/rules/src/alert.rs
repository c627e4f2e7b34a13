//! The alerts of one rule, from pending to resolved.
//!
//! ```text
//!            series is there                held for `for`
//! (nothing) ────────────────> pending ──────────────────────> firing
//!     ^                          │                              │
//!     └───── series is gone ─────┘     series is gone, and      │
//!     ^                                `keep_firing_for` over   v
//!     └────────────── 15 minutes ──────────────────────── inactive (resolved)
//! ```
//!
//! Time is given, never asked for. All times are nanoseconds since 1970.

use std::collections::BTreeMap;
use std::time::Duration;

use kymo_promql::labels::{Label, Labels, NAME};
use kymo_promql::sample::Value;

use crate::evaluate::RuleSample;
use crate::limits::RESOLVED_RETENTION;
use crate::time::nanos;

pub(crate) const ALERTS: &str = "ALERTS";
pub(crate) const FOR_STATE: &str = "ALERTS_FOR_STATE";
pub(crate) const ALERT_NAME: &str = "alertname";
pub(crate) const ALERT_STATE: &str = "alertstate";

/// Where an alert, or a rule with its alerts, stands; later ones weigh more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum AlertState {
    /// The rule was not evaluated yet.
    #[default]
    Unknown,
    /// Nothing is wrong, or not any more.
    Inactive,
    /// Something is wrong, but not for long enough.
    Pending,
    /// Something is wrong.
    Firing,
}

impl AlertState {
    /// The word in the API and in `ALERTS`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Inactive => "inactive",
            Self::Pending => "pending",
            Self::Firing => "firing",
        }
    }
}

/// An alert.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Alert {
    pub(crate) state: AlertState,
    pub(crate) annotations: BTreeMap<String, String>,
    /// At the last evaluation in which its series was there.
    pub(crate) value: f64,
    pub(crate) active_at: i64,
    pub(crate) fired_at: Option<i64>,
    pub(crate) resolved_at: Option<i64>,
    pub(crate) last_sent_at: Option<i64>,
    /// Receivers take it for resolved then, if they hear no more.
    pub(crate) valid_until: i64,
    pub(crate) keep_firing_since: Option<i64>,
    /// Whether it fired before the server started, and not since: receivers may know of it, and are
    /// told when it is over.
    pub(crate) fired_before: bool,
}

/// A series that the expression of an alert gave, with templates filled in.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) labels: Labels,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) value: f64,
}

/// What a rule and its group say about alerts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Terms {
    pub(crate) hold: Duration,
    pub(crate) keep_firing_for: Duration,
    /// Zero is any number.
    pub(crate) limit: usize,
}

/// All alerts of a rule by their labels.
#[derive(Debug, Clone, Default)]
pub(crate) struct Alerts {
    pub(crate) by_labels: BTreeMap<Labels, Alert>,
}

impl Alerts {
    /// Takes over what an evaluation found. On an error, what was there before stays, except
    /// where the limit is exceeded: then nothing stays.
    pub(crate) fn advance(
        &mut self,
        found: Vec<Found>,
        time: i64,
        terms: Terms,
    ) -> Result<(), String> {
        let mut fresh: BTreeMap<Labels, Found> = BTreeMap::new();
        for found in found {
            if fresh.insert(found.labels.clone(), found).is_some() {
                let message =
                    "vector contains metrics with the same labelset after applying alert labels";
                return Err(message.to_owned());
            }
        }
        for (labels, alert) in &mut self.by_labels {
            let is_found = fresh.contains_key(labels);
            alert.step(is_found, time, terms);
        }
        self.by_labels.retain(|labels, alert| fresh.contains_key(labels) || alert.is_kept(time));
        for (labels, found) in fresh {
            let known = self.by_labels.get_mut(&labels);
            match known.filter(|alert| alert.state != AlertState::Inactive) {
                Some(alert) => {
                    alert.value = found.value;
                    alert.annotations = found.annotations;
                }
                // New, or back after it was resolved.
                None => {
                    let mut alert = Alert::new(found, time);
                    alert.step(true, time, terms);
                    self.by_labels.insert(labels, alert);
                }
            }
        }
        let active = self.active().count();
        if terms.limit > 0 && active > terms.limit {
            self.by_labels.clear();
            return Err(format!("exceeded limit of {} with {active} alerts", terms.limit));
        }
        Ok(())
    }

    /// Those that are pending or firing.
    pub(crate) fn active(&self) -> impl Iterator<Item = (&Labels, &Alert)> {
        self.by_labels.iter().filter(|(_, alert)| alert.state > AlertState::Inactive)
    }

    /// The state of the rule: that of its worst alert.
    pub(crate) fn state(&self) -> AlertState {
        self.by_labels.values().map(|alert| alert.state).max().unwrap_or(AlertState::Inactive)
    }

    /// The series about the alerts.
    pub(crate) fn samples(&self, time_millis: i64) -> Vec<RuleSample> {
        let mut samples = Vec::new();
        for (labels, alert) in self.active() {
            let sample = |labels: Labels, value: f64| RuleSample {
                labels,
                value: Value::Float(value),
                time_millis,
            };
            let named = labels.with(NAME, ALERTS).with(ALERT_STATE, alert.state.name());
            samples.push(sample(named, 1.0));
            let since_secs = alert.active_at.div_euclid(1_000_000_000);
            samples.push(sample(labels.with(NAME, FOR_STATE), since_secs as f64));
        }
        samples
    }

    /// What receivers have to be told now. It counts as sent.
    pub(crate) fn due(
        &mut self,
        time: i64,
        resend_delay: Duration,
        interval: Duration,
    ) -> Vec<(Labels, Alert)> {
        let mut due = Vec::new();
        for (labels, alert) in &mut self.by_labels {
            if !alert.needs_sending(time, resend_delay) {
                continue;
            }
            alert.last_sent_at = Some(time);
            // An evaluation and a message may be lost until a receiver takes it for resolved.
            alert.valid_until = time.saturating_add(nanos(resend_delay.max(interval) * 4));
            due.push((labels.clone(), alert.clone()));
        }
        due
    }
}

impl Alert {
    fn new(found: Found, time: i64) -> Self {
        Self {
            state: AlertState::Pending,
            annotations: found.annotations,
            value: found.value,
            active_at: time,
            fired_at: None,
            resolved_at: None,
            last_sent_at: None,
            valid_until: 0,
            keep_firing_since: None,
            fired_before: false,
        }
    }

    /// One that fired before the server started, since `active_at`, and is over now.
    pub(crate) fn over(active_at: i64, now: i64) -> Self {
        let found = Found { labels: Labels::default(), annotations: BTreeMap::new(), value: 0.0 };
        Self {
            state: AlertState::Inactive,
            resolved_at: Some(now),
            fired_before: true,
            ..Self::new(found, active_at)
        }
    }

    fn step(&mut self, is_found: bool, time: i64, terms: Terms) {
        if self.state == AlertState::Inactive {
            return;
        }
        if is_found {
            self.keep_firing_since = None;
        } else if !self.keeps_firing(time, terms.keep_firing_for) {
            if self.state == AlertState::Firing || self.fired_before {
                self.resolved_at = Some(time);
            }
            self.state = AlertState::Inactive;
            return;
        }
        let is_held = time.saturating_sub(self.active_at) >= nanos(terms.hold);
        match self.state {
            AlertState::Pending if is_held => {
                self.state = AlertState::Firing;
                self.fired_at = Some(time);
                self.fired_before = false;
            }
            // `for` became longer, or its beginning was restored.
            AlertState::Firing if !is_held => {
                self.state = AlertState::Pending;
                self.fired_at = None;
                self.last_sent_at = None;
                self.keep_firing_since = None;
            }
            _ => {}
        }
    }

    fn keeps_firing(&mut self, time: i64, keep_firing_for: Duration) -> bool {
        if self.state != AlertState::Firing || keep_firing_for.is_zero() {
            return false;
        }
        let since = *self.keep_firing_since.get_or_insert(time);
        time.saturating_sub(since) < nanos(keep_firing_for)
    }

    /// Whether an alert whose series is gone is remembered.
    fn is_kept(&self, time: i64) -> bool {
        match (self.state, self.resolved_at) {
            (AlertState::Inactive, Some(at)) => {
                time.saturating_sub(at) <= nanos(RESOLVED_RETENTION)
            }
            (AlertState::Inactive, None) => false,
            _ => true,
        }
    }

    fn needs_sending(&self, time: i64, resend_delay: Duration) -> bool {
        if self.state == AlertState::Pending {
            return false;
        }
        match (self.last_sent_at, self.resolved_at) {
            (None, _) => true,
            (Some(sent), Some(resolved)) if resolved > sent => true,
            (Some(sent), _) => sent.saturating_add(nanos(resend_delay)) < time,
        }
    }
}

/// Labels of a map.
pub(crate) fn labels_of(map: &BTreeMap<String, String>) -> Labels {
    let label = |(name, value): (&String, &String)| Label {
        name: name.as_str().into(),
        value: value.as_str().into(),
    };
    map.iter().map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000_000;

    fn terms(hold_mins: u64, keep_mins: u64) -> Terms {
        let minutes = |count: u64| Duration::from_secs(count * 60);
        Terms { hold: minutes(hold_mins), keep_firing_for: minutes(keep_mins), limit: 0 }
    }

    fn found(names: &[&str]) -> Vec<Found> {
        let found = |name: &&str| Found {
            labels: Labels::of([("alertname", "A"), ("i", *name)]),
            annotations: BTreeMap::new(),
            value: 3.0,
        };
        names.iter().map(found).collect()
    }

    fn states(alerts: &Alerts) -> Vec<&'static str> {
        alerts.by_labels.values().map(|alert| alert.state.name()).collect()
    }

    /// The states after each minute; a letter for each series that is there.
    fn play(steps: &[&str], terms: Terms) -> Vec<Vec<&'static str>> {
        let mut alerts = Alerts::default();
        let step = |(minute, names): (usize, &&str)| {
            let names: Vec<&str> = names.split_terminator("").skip(1).collect();
            alerts.advance(found(&names), minute as i64 * MINUTE, terms).unwrap();
            states(&alerts)
        };
        steps.iter().enumerate().map(step).collect()
    }

    #[test]
    fn an_alert_fires_when_it_was_pending_for_long_enough() {
        let seen = play(&["a", "a", "a", "", "a"], terms(2, 0));
        let expected: [&[&str]; 5] =
            [&["pending"], &["pending"], &["firing"], &["inactive"], &["pending"]];
        assert_eq!(seen, expected);
        assert_eq!(play(&["a"], terms(0, 0)), [["firing"]]);
    }

    #[test]
    fn a_pending_alert_that_is_gone_is_forgotten() {
        let expected: [&[&str]; 3] = [&["pending"], &[], &["pending"]];
        assert_eq!(play(&["a", "", "a"], terms(2, 0)), expected);
    }

    #[test]
    fn a_firing_alert_is_kept_firing_for_a_while() {
        let seen = play(&["a", "", "", "", "a"], terms(0, 2));
        assert_eq!(seen.concat(), ["firing", "firing", "firing", "inactive", "firing"]);
        let back = play(&["a", "", "a", "", "", ""], terms(0, 2));
        let words = ["firing", "firing", "firing", "firing", "firing", "inactive"];
        assert_eq!(back.concat(), words, "it begins anew when the series was back");
    }

    #[test]
    fn a_resolved_alert_is_kept_for_15_minutes() {
        let mut steps = vec!["a"];
        steps.extend([""; 18]);
        let seen = play(&steps, terms(0, 0));
        let kept = seen.iter().position(Vec::is_empty).unwrap();
        assert_eq!(kept, 17, "resolved in minute 1, still there in minute 16");
    }

    #[test]
    fn alerts_are_sent_when_they_change_and_again_after_a_while() {
        let mut alerts = Alerts::default();
        let delay = Duration::from_secs(60);
        let interval = Duration::from_secs(30);
        let mut sent = Vec::new();
        for (nth, names) in [&["a"][..], &["a"], &["a"], &["a"], &[], &[]].iter().enumerate() {
            let time = MINUTE / 2 * (nth as i64 + 1);
            alerts.advance(found(names), time, terms(0, 0)).unwrap();
            for (_, alert) in alerts.due(time, delay, interval) {
                assert_eq!(alert.valid_until, time + 4 * MINUTE);
                sent.push((nth, alert.state.name()));
            }
        }
        assert_eq!(sent, [(0, "firing"), (3, "firing"), (4, "inactive")]);
    }

    #[test]
    fn a_pending_alert_is_not_sent() {
        let mut alerts = Alerts::default();
        alerts.advance(found(&["a"]), MINUTE, terms(5, 0)).unwrap();
        assert!(alerts.due(MINUTE, Duration::ZERO, Duration::ZERO).is_empty());
    }

    #[test]
    fn series_tell_of_active_alerts() {
        let mut alerts = Alerts::default();
        alerts.advance(found(&["a"]), 90 * MINUTE, terms(5, 0)).unwrap();
        let texts: Vec<String> = alerts
            .samples(7)
            .iter()
            .map(|sample| format!("{} {:?} {}", sample.labels, sample.value, sample.time_millis))
            .collect();
        assert_eq!(
            texts,
            [
                r#"{__name__="ALERTS", alertname="A", alertstate="pending", i="a"} Float(1.0) 7"#,
                r#"{__name__="ALERTS_FOR_STATE", alertname="A", i="a"} Float(5400.0) 7"#,
            ]
        );
        alerts.advance(Vec::new(), 91 * MINUTE, terms(5, 0)).unwrap();
        assert!(alerts.samples(8).is_empty());
    }

    #[test]
    fn too_many_alerts_and_equal_alerts_are_errors() {
        let mut alerts = Alerts::default();
        let error = alerts.advance(found(&["a", "a"]), 0, terms(0, 0)).unwrap_err();
        assert!(error.starts_with("vector contains metrics with the same labelset"), "{error}");
        let limited = Terms { limit: 1, ..Terms::default() };
        alerts.advance(found(&["a"]), 0, limited).unwrap();
        let error = alerts.advance(found(&["a", "b"]), 0, limited).unwrap_err();
        assert_eq!(error, "exceeded limit of 1 with 2 alerts");
        assert!(alerts.by_labels.is_empty());
    }

    #[test]
    fn a_longer_hold_makes_a_firing_alert_pending_again() {
        let mut alerts = Alerts::default();
        alerts.advance(found(&["a"]), 0, terms(0, 0)).unwrap();
        alerts.advance(found(&["a"]), MINUTE, terms(5, 0)).unwrap();
        assert_eq!(states(&alerts), ["pending"]);
        assert_eq!(alerts.by_labels.values().next().unwrap().fired_at, None);
    }
}
