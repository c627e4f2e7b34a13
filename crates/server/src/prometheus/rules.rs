//! Rules and alerts.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::Request;
use kymo_promql::matcher::LabelMatcher;
use serde_json::{Value, json};

use super::asked::{Asked, Unanswered, ask, success};
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
        let wanted = Wanted {
            rule_type: wanted_type,
            rule_names: parameters.all("rule_name[]").collect(),
            group_names: parameters.all("rule_group[]").collect(),
            files: parameters.all("file[]").collect(),
            matchers: asked.matchers()?,
        };
        let without_alerts = parameters.switch("exclude_alerts").map_err(Unanswered::Wrong)?;
        let groups = shared.configured.rules.as_ref().filter(|_| asked.is_of_collected());
        let groups = groups.map(|rules| rules.manager.groups()).unwrap_or_default();
        let mut shown: Vec<Value> = groups
            .iter()
            .filter_map(|group| wanted.of(serde_json::to_value(group).unwrap_or_default()))
            .collect();
        let next = page(&asked, &mut shown)?;
        for rule in shown.iter_mut().filter_map(|group| group["rules"].as_array_mut()).flatten() {
            if without_alerts && rule["type"] == "alerting" {
                rule["alerts"] = Value::Null;
            }
        }
        let mut data = json!({ "groups": shown });
        if let Some(next) = next {
            data["groupNextToken"] = next.into();
        }
        Ok(success(&data.to_string()))
    })
    .await
}

/// Which rules are asked for.
struct Wanted<'a> {
    rule_type: Option<&'static str>,
    rule_names: Vec<&'a str>,
    group_names: Vec<&'a str>,
    files: Vec<&'a str>,
    /// Sets of conditions on labels of rules, of which one has to be fulfilled.
    matchers: Vec<Vec<LabelMatcher>>,
}

impl Wanted<'_> {
    /// A group with those of its rules that are wanted, if there are any.
    fn of(&self, mut group: Value) -> Option<Value> {
        let is_among = |names: &[&str], value: &Value| {
            names.is_empty() || value.as_str().is_some_and(|value| names.contains(&value))
        };
        if !is_among(&self.group_names, &group["name"]) || !is_among(&self.files, &group["file"]) {
            return None;
        }
        let is_filtered =
            self.rule_type.is_some() || !self.rule_names.is_empty() || !self.matchers.is_empty();
        let rules = group["rules"].as_array_mut()?;
        rules.retain(|rule| {
            let fulfils = |m: &LabelMatcher| {
                m.matches(rule["labels"][m.name.as_str()].as_str().unwrap_or_default())
            };
            is_among(&self.rule_names, &rule["name"])
                && self.rule_type.is_none_or(|wanted| rule["type"] == wanted)
                && (self.matchers.is_empty()
                    || self.matchers.iter().any(|matchers| matchers.iter().all(fulfils)))
        });
        (!rules.is_empty() || !is_filtered).then_some(group)
    }
}

/// Leaves the groups of the page that is asked for; what to ask for to get the next.
fn page(asked: &Asked, groups: &mut Vec<Value>) -> Result<Option<String>, Unanswered> {
    let limit = asked.parameters.number::<usize>("group_limit").map_err(Unanswered::Wrong)?;
    if let Some(token) = asked.parameters.get("group_next_token") {
        if limit.is_none() {
            let why = "group_limit needs to be present in order to paginate over the groups";
            return Err(Unanswered::parameter("group_limit", why));
        }
        let Some(first) = groups.iter().position(|group| token_of(group) == token) else {
            let why = "there is no such group any more: ask for the first page again";
            return Err(Unanswered::parameter("group_next_token", why));
        };
        groups.drain(..first);
    }
    let limit = limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    let next = groups.get(limit).map(token_of);
    groups.truncate(limit);
    Ok(next)
}

/// What stands for a group, the same as long as it has its file and name.
fn token_of(group: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    (group["file"].as_str(), group["name"].as_str()).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// `/api/v1/alerts`
async fn alerts(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_rules", async |shared, asked| {
        let rules = shared.configured.rules.as_ref().filter(|_| asked.is_of_collected());
        let alerts = rules.map(|rules| rules.manager.alerts()).unwrap_or_default();
        Ok(success(&json!({ "alerts": alerts }).to_string()))
    })
    .await
}

/// `/api/v1/alertmanagers`
async fn alertmanagers(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_rules", async |shared, asked| {
        let rules = shared.configured.rules.as_ref().filter(|_| asked.is_of_collected());
        let data = match rules {
            Some(rules) => json!(rules.manager.alertmanagers()),
            None => json!({ "activeAlertmanagers": [], "droppedAlertmanagers": [] }),
        };
        Ok(success(&data.to_string()))
    })
    .await
}
