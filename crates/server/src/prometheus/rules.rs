//! Rules and alerts.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::Request;
use serde_json::{Value, json};

use super::asked::{Unanswered, ask, success};
use crate::router::Shared;

/// The paths.
pub(super) fn over_http() -> Router<Shared> {
    let path = |rest: &str| format!("/prometheus/api/v1/{rest}");
    Router::new()
        .route(&path("rules"), get(rules))
        .route(&path("alerts"), get(alerts))
        .route(&path("alertmanagers"), get(alertmanagers))
}

/// `/api/v1/rules`: all groups, or those that are asked for.
async fn rules(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_rules", async |shared, asked| {
        let parameters = &asked.parameters;
        let wanted_type = match parameters.get("type") {
            None => None,
            Some("alert") => Some("alerting"),
            Some("record") => Some("recording"),
            Some(other) => {
                let why = format!("not supported value {other:?}");
                return Err(Unanswered::parameter("type", why));
            }
        };
        let without_alerts = parameters.switch("exclude_alerts").map_err(Unanswered::Wrong)?;
        let named = |parameter: &'static str| parameters.all(parameter).collect::<Vec<_>>();
        let (rule_names, group_names, files) =
            (named("rule_name[]"), named("rule_group[]"), named("file[]"));
        let is_among = |names: &[&str], value: &Value| {
            names.is_empty() || value.as_str().is_some_and(|value| names.contains(&value))
        };
        let groups = shared.rules.as_ref().map(|rules| rules.manager.groups()).unwrap_or_default();
        let mut shown = Vec::new();
        for group in &groups {
            let mut group = serde_json::to_value(group).unwrap_or_default();
            if !is_among(&group_names, &group["name"]) || !is_among(&files, &group["file"]) {
                continue;
            }
            let is_filtered = wanted_type.is_some() || !rule_names.is_empty();
            if let Some(rules) = group["rules"].as_array_mut() {
                rules.retain(|rule| {
                    is_among(&rule_names, &rule["name"])
                        && wanted_type.is_none_or(|wanted| rule["type"] == wanted)
                });
                if rules.is_empty() && is_filtered {
                    continue;
                }
                for rule in rules.iter_mut().filter(|_| without_alerts) {
                    if let Some(rule) = rule.as_object_mut() {
                        rule.remove("alerts");
                    }
                }
            }
            shown.push(group);
        }
        Ok(success(&json!({ "groups": shown }).to_string()))
    })
    .await
}

/// `/api/v1/alerts`
async fn alerts(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_rules", async |shared, _| {
        let alerts = shared.rules.as_ref().map(|rules| rules.manager.alerts()).unwrap_or_default();
        Ok(success(&json!({ "alerts": alerts }).to_string()))
    })
    .await
}

/// `/api/v1/alertmanagers`
async fn alertmanagers(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_rules", async |shared, _| {
        let data = match &shared.rules {
            Some(rules) => json!(rules.manager.alertmanagers()),
            None => json!({ "activeAlertmanagers": [], "droppedAlertmanagers": [] }),
        };
        Ok(success(&data.to_string()))
    })
    .await
}
