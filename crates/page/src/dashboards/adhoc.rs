//! `POST /api/dashboards/adhoc`: labels and attributes that conditions can be about, and their values.

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::response::Response;
use kymo_dash::interpolate::TimeRange;
use kymo_dash::model::Language;
use kymo_dash::variables::Question;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answers::answer;
use super::limits::MAX_OFFERED;
use super::range::{self, Calendar};
use crate::answer::{Failed, Whose, json as reply};
use crate::{Page, times};

/// What conditions are chosen for.
#[derive(Deserialize)]
pub(super) struct Asked {
    /// The kind of data source, as `prometheus`.
    #[serde(rename = "type")]
    kind: String,
    /// The key whose values are asked for; keys are, without.
    key: Option<String>,
    /// Only what contains this.
    #[serde(default)]
    search: String,
    from: Option<Value>,
    to: Option<Value>,
}

pub(super) async fn adhoc(
    State(page): State<Page>,
    Whose(tenants): Whose,
    asked: Result<Json<Asked>, JsonRejection>,
) -> Result<Response, Failed> {
    let Json(asked) = asked?;
    let unknown =
        || Failed::Invalid(format!("the data source type {:?} is not supported", asked.kind));
    let language = Language::of_kind(&asked.kind).ok_or_else(unknown)?;
    let question = question(language, asked.key.as_deref())?;
    let text = |value: &Option<Value>, otherwise: &str| {
        value.as_ref().and_then(range::text).unwrap_or_else(|| otherwise.to_owned())
    };
    let (from, to) = (text(&asked.from, "now-1h"), text(&asked.to, "now"));
    let now_millis = times::now_nanos() / 1_000_000;
    let time: TimeRange = range::range(&from, &to, now_millis, Calendar::default())?;
    let found = answer(&page, &tenants, &question, time, true).await.map_err(Failed::Invalid)?;
    let matching = found.into_iter().filter(|choice| choice.value.contains(&asked.search));
    let offered: Vec<String> = matching.map(|choice| choice.value).take(MAX_OFFERED + 1).collect();
    let is_cut = offered.len() > MAX_OFFERED;
    let values = &offered[..offered.len().min(MAX_OFFERED)];
    reply(&json!({"values": values, "truncated": is_cut}))
}

fn question(language: Language, key: Option<&str>) -> Result<Question, Failed> {
    let label = || key.unwrap_or_default().to_owned();
    Ok(match (language, key) {
        (Language::Promql, None) => Question::MetricLabelNames { selector: None },
        (Language::Promql, Some(_)) => {
            Question::MetricLabelValues { selector: None, label: label() }
        }
        (Language::Logql, None) => Question::LogLabelNames,
        (Language::Logql, Some(_)) => Question::LogLabelValues { selector: None, label: label() },
        (Language::Traceql | Language::Jaeger, None) => Question::TagNames,
        (Language::Traceql | Language::Jaeger, Some(_)) => {
            Question::TagValues { attribute: label(), filter: None }
        }
        (Language::Sql, _) => {
            return Err(Failed::Invalid("conditions cannot be added to SQL".to_owned()));
        }
    })
}
