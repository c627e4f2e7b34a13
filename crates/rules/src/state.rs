//! What `/api/v1/rules` and `/api/v1/alerts` show. Written as JSON, all types here have Prometheus'
//! shape.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Serialize, Serializer};

use crate::alert::{Alert, AlertState};
use crate::time::rfc3339;

/// How a rule was at its last evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// It was not evaluated yet.
    #[default]
    Unknown,
    /// It was evaluated and written.
    Ok,
    /// It was not.
    Err,
}

/// A group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupState {
    /// Its name.
    pub name: String,
    /// The file that it stands in.
    pub file: String,
    /// Its rules in their order.
    pub rules: Vec<RuleState>,
    /// How often it is evaluated.
    #[serde(rename = "interval", serialize_with = "number")]
    pub interval_secs: f64,
    /// How many series or alerts a rule may give; zero is any number.
    pub limit: usize,
    /// How long the last evaluation took.
    #[serde(rename = "evaluationTime", serialize_with = "number")]
    pub evaluation_time_secs: f64,
    /// When it began, in nanoseconds since 1970; zero if there was none.
    #[serde(rename = "lastEvaluation", serialize_with = "time")]
    pub last_evaluation_nanos: i64,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RuleState {
    /// One that makes alerts.
    Alerting(AlertingRuleState),
    /// One that writes series.
    Recording(RecordingRuleState),
}

/// A rule that makes alerts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlertingRuleState {
    /// That of its worst alert.
    #[serde(serialize_with = "state")]
    pub state: AlertState,
    /// The name of the alert.
    pub name: String,
    /// What is evaluated.
    pub query: String,
    /// `for`.
    #[serde(rename = "duration", serialize_with = "number")]
    pub hold_secs: f64,
    /// `keep_firing_for`.
    #[serde(rename = "keepFiringFor", serialize_with = "number")]
    pub keep_firing_for_secs: f64,
    /// Labels as they are written.
    pub labels: BTreeMap<String, String>,
    /// Annotations as they are written.
    pub annotations: BTreeMap<String, String>,
    /// Alerts that are pending or firing.
    pub alerts: Vec<ActiveAlert>,
    /// How the last evaluation went, and the type of the rule.
    #[serde(flatten)]
    pub last: LastEvaluation,
}

/// A rule that writes series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordingRuleState {
    /// The name of the metric.
    pub name: String,
    /// What is evaluated.
    pub query: String,
    /// Labels that are set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// How the last evaluation went, and the type of the rule.
    #[serde(flatten)]
    pub last: LastEvaluation,
}

/// How the last evaluation of a rule went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LastEvaluation {
    /// In a word.
    pub health: Health,
    /// What went wrong; empty if nothing did.
    #[serde(rename = "lastError", skip_serializing_if = "String::is_empty")]
    pub last_error: String,
    /// How long it took.
    #[serde(rename = "evaluationTime", serialize_with = "number")]
    pub evaluation_time_secs: f64,
    /// When it began, in nanoseconds since 1970; zero if there was none.
    #[serde(rename = "lastEvaluation", serialize_with = "time")]
    pub last_evaluation_nanos: i64,
    /// `alerting` or `recording`.
    #[serde(rename = "type")]
    pub kind: &'static str,
}

/// An alert that is pending or firing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActiveAlert {
    /// What identifies it.
    pub labels: BTreeMap<String, String>,
    /// What is said about it.
    pub annotations: BTreeMap<String, String>,
    /// Pending or firing.
    #[serde(serialize_with = "state")]
    pub state: AlertState,
    /// Since when its series is there, in nanoseconds since 1970.
    #[serde(rename = "activeAt", serialize_with = "time")]
    pub active_at_nanos: i64,
    /// Since when it fires only because of `keep_firing_for`.
    #[serde(
        rename = "keepFiringSince",
        serialize_with = "some_time",
        skip_serializing_if = "Option::is_none"
    )]
    pub keep_firing_since_nanos: Option<i64>,
    /// The value of its series, as text.
    pub value: String,
}

impl ActiveAlert {
    pub(crate) fn new(labels: BTreeMap<String, String>, alert: &Alert) -> Self {
        Self {
            labels,
            annotations: alert.annotations.clone(),
            state: alert.state,
            active_at_nanos: alert.active_at,
            keep_firing_since_nanos: alert.keep_firing_since,
            value: scientific(alert.value),
        }
    }
}

/// `1e+00`, as Go writes a float with an exponent.
fn scientific(value: f64) -> String {
    if !value.is_finite() {
        return kymo_promql::number::format_float(value);
    }
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

fn state<S: Serializer>(state: &AlertState, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(state.name())
}

fn time<S: Serializer>(nanos: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*nanos))
}

fn some_time<S: Serializer>(nanos: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(nanos.unwrap_or_default()))
}

/// Whole numbers without a fraction, as Go writes them.
fn number<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match number.fract() == 0.0 && number.abs() < 1e15 {
        true => serializer.serialize_i64(*number as i64),
        false => serializer.serialize_f64(*number),
    }
}

/// Locks; what a thread left behind that panicked is whole, since each value is set at once.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
